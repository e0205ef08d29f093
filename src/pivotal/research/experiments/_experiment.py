"""What an experiment is: which cells it needs, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pivotal.research.experiments._result_cells import Cell, Measure, Result
from pivotal.research.experiments._setup import Setup

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Experiment", "Results"]

Results = Sequence[tuple[Cell, Result]]
"""Cells with what was measured."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper.

    Parameters
    ----------
    name : str
        What `pivotal reproduce` takes.
    title : str
        What it shows.
    cells : callable
        From a setup to the cells it needs.
    measure : callable
        Measures one cell.
    gather : callable
        From cells with results to a tidy table: a row per figure.
    draw : callable
        From that table to a figure.
    tell : callable
        From that table and the setup to the paragraphs of the page.
    alone : bool, default=False
        Whether its cells are timed, and so never run beside each other.
    needs_data : bool, default=True
        Whether it uses the data sets; the others make their own.
    """

    name: str
    title: str
    cells: Callable[[Setup], list[Cell]]
    measure: Measure
    gather: Callable[[Results], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Figure]
    tell: Callable[[pd.DataFrame, Setup], list[str]]
    alone: bool = False
    needs_data: bool = True
