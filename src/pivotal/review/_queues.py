"""Which rows to look at, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray, IndexArray

KINDS: Final = {
    "suspects": ("Suspects", "Labels that are probably wrong, the most suspicious first."),
    "random": ("Random check", "Random rows among those that are no suspects, to learn what was missed."),
    "unsure": ("Unsure", "Rows that a reviewer was unsure about."),
    "conflicts": ("Conflicts", "Rows that reviewers decided differently."),
    "second": ("Second opinion", "Rows that others have decided and you have not."),
    "decided": ("Decided", "All decisions, the latest first."),
    "all": ("All rows", "Every row, the most suspicious label first."),
}
"""Queues that there always are: their titles, and a sentence on each."""


@dataclass(frozen=True)
class Query:
    """What to list: a queue, and what its rows must have."""

    kind: str = "suspects"
    reviewer: str = ""  # who looks
    given: str | None = None
    suggested: str | None = None
    owner: str | None = None
    confidence: float = 0.0  # least share of the votes for the suggestion
    search: str = ""  # words that a row contains
    rows: tuple[int, ...] | None = None  # only these

    @classmethod
    def of(cls, content: Any, n_rows: int) -> Query:
        """Return a query from what a page sent; raise ValueError where it makes no sense."""
        if not isinstance(content, dict):
            raise ValueError(f"a query must be an object; got {type(content).__name__}.")
        texts = {}
        for name in ("kind", "reviewer", "given", "suggested", "owner", "search"):
            text = content.get(name)
            if text is not None and not isinstance(text, str):
                raise ValueError(f"{name} must be a text; got {type(text).__name__}.")
            if text is not None and (text or name not in ("given", "suggested", "owner")):
                texts[name] = text[:1000]
        confidence = content.get("confidence") or 0.0
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.0 <= confidence <= 1.0:
            raise ValueError(f"confidence must be a number from 0 to 1; got {confidence!r}.")
        chosen = content.get("rows")
        rows = None if chosen is None else tuple(as_rows(chosen, n_rows))
        return cls(**texts, confidence=float(confidence), rows=rows)


def as_rows(content: Any, n_rows: int) -> list[int]:
    """Return numbers of rows from what a page sent, each once; raise ValueError where they are not."""
    if not isinstance(content, list) or len(content) > 100_000:
        raise ValueError("rows must be a list of at most 100000 row numbers.")
    if any(isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n_rows for row in content):
        raise ValueError(f"rows must be integers from 0 to {n_rows - 1}.")
    return list(dict.fromkeys(content))


def first_by_score(chosen: npt.NDArray[np.bool_], scores: FloatArray, max_rows: int) -> IndexArray:
    """Return at least the first `max_rows` of the chosen rows by score, lowest first, ties in order of the row.

    Only those are sorted, so that a page of a million rows costs no sort of a million.
    """
    rows: AnyArray = np.flatnonzero(chosen)
    if len(rows) > 4 * max_rows:
        worst = np.partition(scores[rows], max_rows)[max_rows]
        rows = rows[scores[rows] <= worst]
    return rows[np.argsort(scores[rows], kind="stable")]
