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

Results = Sequence[tuple[Cell, Result]]
"""Cells with what was measured."""


@dataclass(frozen=True)
class Picture:
    """A figure of a page."""

    part: str  # what its file is called after the experiment; empty for the main figure
    caption: str  # what it shows, in words: also its alternative text
    draw: Callable[[pd.DataFrame], Figure | None]  # from the table; None where it has nothing to draw

    @property
    def token(self) -> str:
        """What stands for it among the paragraphs of a page."""
        return f"<!-- figure {self.part} -->"

    def stem(self, experiment: str) -> str:
        """Return the name of its file, without the ending."""
        return f"{experiment}-{self.part}" if self.part else experiment


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper."""

    name: str  # what `pivotal reproduce` takes
    title: str
    cells: Callable[[Setup], list[Cell]]  # those it needs
    measure: Measure
    gather: Callable[[Results], pd.DataFrame]  # to a tidy table: a row per number
    pictures: tuple[Picture, ...]  # the first stands at the top of the page and is its thumbnail
    explain: Callable[[pd.DataFrame, Setup], PageContent]  # from the table that is kept; one template writes the page
    # From all numbers to the table that is kept; pages and figures are made from that alone.
    tabulate: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    alone: bool = False  # whether its cells are timed, and so never run beside each other
    needs_data: bool = True  # whether it uses the data sets; the others make their own
