"""What an experiment is: which cells it needs, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._result_cells import Cell, Measure, Result
from pivotal.research.experiments._setup import Setup

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Experiment", "Picture", "Results"]

Results = Sequence[tuple[Cell, Result]]
"""Cells with what was measured."""


def _unchanged(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


@dataclass(frozen=True)
class Picture:
    """A figure of a page.

    Parameters
    ----------
    part : str
        What its file is called after the experiment; empty for the main figure.
    caption : str
        What it shows, in words: also its alternative text.
    draw : callable
        From the table to the figure; None where the table has nothing to draw.
    """

    part: str
    caption: str
    draw: Callable[[pd.DataFrame], Figure | None]

    @property
    def token(self) -> str:
        """What stands for it among the paragraphs of a page."""
        return f"<!-- figure {self.part} -->"

    def stem(self, experiment: str) -> str:
        """Return the name of its file, without the ending."""
        return f"{experiment}-{self.part}" if self.part else experiment


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
        From cells with results to a tidy table: a row per number.
    pictures : tuple of Picture
        The figures; the first stands at the top of the page and is its thumbnail.
    explain : callable
        From the table that is kept and the setup to what the page says; one template writes it.
    tabulate : callable, optional
        From all numbers to the table that is kept; pages and figures are made from that alone.
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
    pictures: tuple[Picture, ...]
    explain: Callable[[pd.DataFrame, Setup], PageContent]
    tabulate: Callable[[pd.DataFrame], pd.DataFrame] = _unchanged
    alone: bool = False
    needs_data: bool = True
