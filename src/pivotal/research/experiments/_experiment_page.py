"""What a page says of an experiment, in one order for all; and tables of means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import Claim, claims_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PageContent", "explain", "mean_table"]


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


def mean_table(
    mean: pd.DataFrame, deviation: pd.DataFrame, *, lowest: bool = False, digits: int = 2, first: str = "data"
) -> str:
    """Write means and deviations; the best of each row in bold, the second best underlined, as printed they compare.

    Parameters
    ----------
    mean, deviation : pandas.DataFrame
        A row per data set, a column per method; NaN where nothing was measured.
    lowest : bool, default=False
        Whether the lowest is the best.
    digits : int, default=2
        Decimals.
    first : str, default="data"
        Name of the first column.
    """
    rows = []
    for name, figures, stds in zip(mean.index, mean.round(digits).to_numpy(), deviation.to_numpy(), strict=True):
        ranked = sorted({figure for figure in figures.tolist() if figure == figure}, reverse=not lowest)
        cells = [str(name)]
        for figure, std in zip(figures.tolist(), stds.tolist(), strict=True):
            if figure != figure:  # not measured
                cells.append("–")
                continue
            text = f"{figure:.{digits}f}"
            if figure == ranked[0]:
                text = f"**{text}**"
            elif figure == ranked[1]:
                text = f"<u>{text}</u>"
            cells.append(text if std != std else f"{text} ± {std:.{digits}f}")
        rows.append(cells)
    return table([first, *map(str, mean.columns)], rows)
