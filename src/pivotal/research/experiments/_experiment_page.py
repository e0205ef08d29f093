"""Pages in Markdown: tables with the best marked, what the paper says beside what was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from pivotal.research.bench.markdown import table
from pivotal.research.datasets._registry import PAPER
from pivotal.research.experiments._contenders import CONTENDERS
from pivotal.research.experiments._setup import Setup

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "IN_WORDS",
    "Claim",
    "beats",
    "claims_table",
    "data_table",
    "limits",
    "machine",
    "mean_table",
    "mixed",
    "table",
]

IN_WORDS: Final = "In words, "
"""How a line begins that says where paper and figures agree."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what was found.

    Parameters
    ----------
    says : str
        The claim.
    holds : mapping of str to (bool or None, str)
        Where it was looked at, whether it holds there (None: cannot be said), and the figures.
    """

    says: str
    holds: Mapping[str, tuple[bool | None, str]] = field(hash=False)


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


def claims_table(claims: Sequence[Claim]) -> str:
    """Write what the paper says, and for each place where it was looked at whether it is so."""
    places = list(dict.fromkeys(place for claim in claims for place in claim.holds))
    rows = []
    for claim in claims:
        cells = []
        for place in places:
            holds, figures = claim.holds.get(place, (None, "not measured"))
            word = "" if holds is None else "agrees: " if holds else "**differs**: "
            cells.append(f"{word}{figures}")
        rows.append([claim.says, *cells])
    return "\n\n".join([table(["The paper says", *places], rows), *(_verdict(claims, place) for place in places)])


def _verdict(claims: Sequence[Claim], place: str) -> str:
    """Say in words where the paper and the figures agree, and where not."""
    looked = [(claim.says, claim.holds[place][0]) for claim in claims if place in claim.holds]
    decided = [(says, holds) for says, holds in looked if holds is not None]
    if not decided:
        return f"{IN_WORDS}{place}: nothing could be decided."
    apart = [f"“{says.removeprefix('... ')}”" for says, holds in decided if not holds]
    text = f"{IN_WORDS}{place}: {len(decided) - len(apart)} of {len(decided)} statements agree"
    return f"{text}. What differs: {'; '.join(apart)}." if apart else f"{text}."


def beats(figures: pd.DataFrame, one: str, others: Sequence[str], *, lowest: bool = False) -> tuple[bool | None, str]:
    """Say on how many data sets a method is better than each of others, and whether that is more than half.

    Parameters
    ----------
    figures : pandas.DataFrame
        A row per data set, a column per method.
    one : str
        The method.
    others : sequence of str
        Whom it should beat.
    lowest : bool, default=False
        Whether the lowest is the best.

    Examples
    --------
    >>> import pandas as pd
    >>> beats(pd.DataFrame({"a": [0.5, 0.4, 0.9], "b": [0.1, 0.5, 0.2]}), "a", ["b"])
    (True, 'a better than b on 2 of 3')
    """
    here = [other for other in others if other in figures]
    if one not in figures or not here:
        return None, "not measured"
    parts, enough = [], True
    for other in here:
        pair = figures[[one, other]].dropna()
        if pair.empty:
            return None, "not measured"
        won = int(((pair[one] < pair[other]) if lowest else (pair[one] > pair[other])).sum())
        enough &= 2 * won > len(pair)
        parts.append(f"{one} better than {other} on {won} of {len(pair)}")
    return enough, ", ".join(parts)


def mixed(
    figures: pd.DataFrame, ones: Sequence[str], other: str = "rand", *, lowest: bool = False
) -> tuple[bool | None, str]:
    """Say whether methods are better than chance on some data sets and not on others: inconsistent, that is.

    Examples
    --------
    >>> import pandas as pd
    >>> mixed(pd.DataFrame({"a": [0.5, 0.4, 0.9], "rand": [0.1, 0.5, 0.2]}), ["a"])
    (True, 'a better than rand on 2 of 3')
    """
    here = [one for one in ones if one in figures]
    if not here or other not in figures:
        return None, "not measured"
    sides = [(figures[one] < figures[other]) if lowest else (figures[one] > figures[other]) for one in here]
    counts = [int(side.sum()) for side in sides]
    text = [f"{one} better than {other} on {won} of {len(figures)}" for one, won in zip(here, counts, strict=True)]
    return all(0 < won < len(figures) for won in counts), ", ".join(text)


def data_table(setup: Setup) -> str:
    """Write which data sets were used, at which sizes, and what they are not."""
    rows = []
    for name, facts in setup.data.items():
        sizes = ", ".join(f"{rows:,}" for rows in setup.sizes(name).values())
        shape = f"{facts.rows:,} × {facts.features}"
        printed = "{:,} × {}".format(*PAPER[name].in_paper) if name in PAPER else "–"
        rows.append([name, shape, printed, facts.classes, sizes, facts.note])
    return table(["data", "rows × features", "in the paper", "classes", "rows used", "note"], rows)


def limits(setup: Setup) -> str:
    """Say which methods are omitted at full size."""
    capped = {name: CONTENDERS[name].max_rows for name in setup.methods if CONTENDERS[name].max_rows is not None}
    if not capped or setup.quick:
        return ""
    return (
        "Some methods are too slow for large data and are run on all rows only up to a size: "
        + ", ".join(f"`{name}` {most:,} rows" for name, most in capped.items())
        + ". Smaller samples are for all."
    )


def machine() -> str:
    """Say what measured this."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("pivotal", "numpy", "numba", "scikit-learn"))
    return f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}, {packages}"
