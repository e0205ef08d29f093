"""One finding of a check-up: a score for everything, what is below the threshold, a sentence, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.checkup._kinds import KINDS
from pivotal.core.frozen import freeze_arrays, read_only
from pivotal.core.types import AnyArray, FloatArray, IndexArray


class Queue(NamedTuple):
    """Rows to look at, in order: what a page for reviewing takes from a finding."""

    name: str
    """Name of the finding."""

    rows: IndexArray
    """Positions of the rows, worst first."""

    scores: FloatArray
    """Their scores; low is worse."""

    sentence: str
    """What was found."""


@dataclass(frozen=True, eq=False, repr=False)
class Finding:
    """What a check-up found of one kind. All arrays are read-only.

    Parameters
    ----------
    name : str
        A key of `pivotal.analysis.checkup.KINDS`.
    scores : float64 array
        One for each row, or for each column; low is worse.
    flagged : bool array of the same shape
        Which of them were found.
    ids : array of the same shape
        Names of the rows or columns.
    threshold : float or None
        What decided: scores below it, as a rule.
    sentence : str
        What was found, with numbers.
    details : mapping of str to arrays
        What else there is to say about each row or column.
    table : pandas DataFrame, optional
        What the sentence rests on where that is not a row: classes, groups, pairs of rows.
    present : bool
        Whether there is anything to do; order that is not random is a fault of the table, whatever the rows.
    skipped : str
        Why it was not looked for; empty where it was.
    """

    name: str
    scores: FloatArray
    flagged: npt.NDArray[np.bool_]
    ids: AnyArray
    threshold: float | None
    sentence: str
    details: dict[str, AnyArray] = field(default_factory=dict)
    table: pd.DataFrame | None = None
    present: bool = False
    skipped: str = ""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "details", {name: read_only(content) for name, content in self.details.items()})

    @property
    def title(self) -> str:
        """A heading."""
        return KINDS[self.name].title

    @property
    def advice(self) -> str:
        """What to do about it."""
        return KINDS[self.name].advice

    @property
    def score_means(self) -> str:
        """What the score is."""
        return KINDS[self.name].score

    @property
    def about(self) -> str:
        """What has a score: rows or columns."""
        return KINDS[self.name].about

    @property
    def rows(self) -> IndexArray:
        """Positions of what was found, worst first; equal scores in their order."""
        found = np.flatnonzero(self.flagged)
        return found[np.argsort(self.scores[found], kind="stable")]

    def __len__(self) -> int:
        return int(self.flagged.sum())

    def to_frame(self, *, all_rows: bool = False) -> pd.DataFrame:
        """One line for each row (or column) that was found, worst first; its index is the position.

        Parameters
        ----------
        all_rows : bool, default=False
            Whether to list all of them, in the order of the scores, with a column `found`.
        """
        rows = np.argsort(self.scores, kind="stable") if all_rows else self.rows
        columns: dict[str, Any] = {"id": self.ids[rows], "score": self.scores[rows]}
        columns |= {name: content[rows] for name, content in self.details.items()}
        if all_rows:
            columns["found"] = self.flagged[rows]
        return pd.DataFrame(columns, index=pd.Index(rows, name="row" if self.about == "rows" else "column"))

    def queue(self) -> Queue:
        """Return the rows to look at, for a page on which people decide."""
        return Queue(self.name, self.rows, self.scores[self.rows], self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return what there is to say about all of it, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "present": self.present,
            "found": len(self),
            "of": len(self.scores),
            "threshold": self.threshold,
            "sentence": self.sentence,
            "advice": self.advice if self.present else "",
            "skipped": self.skipped,
        }

    def __repr__(self) -> str:
        return f"Finding({self.name}: {self.sentence})"


def found_below(
    name: str,
    scores: FloatArray,
    threshold: float,
    ids: AnyArray,
    sentence: str,
    *,
    details: dict[str, AnyArray] | None = None,
    table: pd.DataFrame | None = None,
) -> Finding:
    """Return the finding of all whose score is below a threshold."""
    flagged = scores < threshold
    return Finding(name, scores, flagged, ids.view(), threshold, sentence, details or {}, table, bool(flagged.any()))


def skipped(name: str, ids: AnyArray, why: str) -> Finding:
    """Return a finding that was not looked for."""
    nothing = np.zeros(len(ids), np.bool_)
    return Finding(name, np.ones(len(ids)), nothing, ids.view(), None, f"Not looked for: {why}", skipped=why)


def count_of(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count_of(1, "row"), count_of(1204, "class", "classes")
    ('1 row', '1204 classes')
    """
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
