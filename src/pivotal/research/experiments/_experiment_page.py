"""What a page says of an experiment, in one order for all; and tables of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import Claim, claims_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PageContent:
    """What the page of an experiment says, beside what all pages have."""

    how: str  # how it was measured
    claims: Sequence[Claim]  # what the paper says
    note: str = ""  # how the numbers of the claims are to be read
    sections: Sequence[tuple[str, str]] = ()  # headings and what follows under them, tables for the most part
    caveats: Sequence[str] = ()  # what to know before the claims are read

    def paragraphs(self) -> list[str]:
        """Return the paragraphs of the page: the same order for every experiment."""
        return [
            self.how,
            *(["## How the printed tables may be read"] if self.caveats else []),
            "\n".join(f"{number}. {caveat}" for number, caveat in enumerate(self.caveats, 1)),
            "## What the paper says, and what is found here",
            self.note,
            claims_table(self.claims),
            *(part for heading, text in self.sections for part in (f"## {heading}", *text.split("\n\n"))),
        ]


def marked(numbers: Sequence[float], *, lowest: bool = False, digits: int = 2) -> list[str]:
    """Write a row of numbers, the best in bold and the second best underlined, as printed they compare; NaN is a dash.

    Examples
    --------
    >>> marked([0.5, 0.123, float("nan"), 0.9])
    ['<u>0.50</u>', '0.12', '–', '**0.90**']
    """
    ranked = sorted({round(number, digits) for number in numbers if number == number}, reverse=not lowest)
    found = []
    for number in numbers:
        text = "–" if number != number else f"{number:.{digits}f}"
        place = 2 if number != number else ranked.index(round(number, digits))
        found.append(f"**{text}**" if place == 0 else f"<u>{text}</u>" if place == 1 else text)
    return found


def mean_table(mean: pd.DataFrame, deviation: pd.DataFrame, *, lowest: bool = False, digits: int = 2) -> str:
    """Write means, marked by row, and deviations: a row per data set, a column per method, NaN where nothing is."""
    rows = []
    for name, figures, stds in zip(mean.index, mean.round(digits).to_numpy(), deviation.to_numpy(), strict=True):
        cells = marked(figures.tolist(), lowest=lowest, digits=digits)
        with_stds = zip(cells, stds.tolist(), strict=True)
        rows.append([name, *(cell if std != std else f"{cell} ± {std:.{digits}f}" for cell, std in with_stds)])
    return table(["data", *mean.columns], rows)
