"""What a page says of an experiment, in one order for all; and tables of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import Claim, claims_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PageContent", "explain", "marked", "mean_table"]


@dataclass(frozen=True)
class PageContent:
    """What the page of an experiment says, beside what all pages have.

    Parameters
    ----------
    how : str
        How it was measured.
    claims : sequence of Claim
        What the paper says.
    note : str
        How the numbers of the claims are to be read.
    sections : sequence of (str, str)
        Headings and what follows under them, tables for the most part.
    caveats : sequence of str
        What to know before the claims are read.
    """

    how: str
    claims: Sequence[Claim]
    note: str = ""
    sections: Sequence[tuple[str, str]] = ()
    caveats: Sequence[str] = ()


def explain(found: PageContent) -> list[str]:
    """Return the paragraphs of a page: the same order for every experiment."""
    return [
        found.how,
        *(["## How the printed tables may be read"] if found.caveats else []),
        "\n".join(f"{number}. {caveat}" for number, caveat in enumerate(found.caveats, 1)),
        "## What the paper says, and what is found here",
        found.note,
        claims_table(found.claims),
        *(part for heading, text in found.sections for part in (f"## {heading}", *text.split("\n\n"))),
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
    """Write means, marked by row, and deviations.

    Parameters
    ----------
    mean, deviation : pandas.DataFrame
        A row per data set, a column per method; NaN where nothing was measured.
    lowest : bool, default=False
        Whether the lowest is the best.
    digits : int, default=2
        Decimals.
    """
    rows = []
    for name, figures, stds in zip(mean.index, mean.round(digits).to_numpy(), deviation.to_numpy(), strict=True):
        cells = marked(figures.tolist(), lowest=lowest, digits=digits)
        with_stds = zip(cells, stds.tolist(), strict=True)
        rows.append([name, *(cell if std != std else f"{cell} ± {std:.{digits}f}" for cell, std in with_stds)])
    return table(["data", *mean.columns], rows)
