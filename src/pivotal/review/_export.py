"""What comes out of a review: the cleaned table, the decisions, and a page that compares before and after."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray
from pivotal.review._compare import compare_page
from pivotal.review._session import Session
from pivotal.tables import Table, cells_of_labels, write_frame, write_table

_COLUMNS: Final = (
    "row", "id", "action", "from", "to", "reviewer", "at", "why", "suggested", "confidence", "score", "queue", "holds",
)  # fmt: skip
_WRITTEN: Final = ("csv", "tsv", "json", "jsonl", "parquet", "feather", "npz", "xlsx")


def decisions_frame(session: Session) -> pd.DataFrame:
    """Return all decisions and notes that were not undone, in the order in which they were taken.

    `holds` says whether one is the last word on its row; `why` is its note or, where it has none, the last note of the
    same reviewer about the row.
    """
    with session.lock:
        ids = session.subject.errors.ids
        lines = []
        for entry in session.record.entries.values():
            history = session.record.history(entry.row)
            if entry not in history:
                continue
            to = None if entry.action in ("drop", "unsure") else entry.label
            notes = [one.note for one in history if one.note and one.reviewer == entry.reviewer]
            why = entry.note or (notes[-1] if notes else None)
            lines.append(
                (
                    entry.row, ids[entry.row], entry.action, entry.given, to, entry.reviewer, entry.at,
                    why, entry.suggested, entry.confidence, entry.score, entry.queue,
                    session.record.ruling(entry.row) is entry,
                )
            )  # fmt: skip
    return pd.DataFrame(lines, columns=list(_COLUMNS))


def cleaned_table(table: Table, label: str, y: AnyArray, changes: dict[int, Any], dropped: Sequence[int]) -> Table:
    """Return a table with other labels in the rows of `changes`, and without others.

    y are the labels of the column `label` as they were read.
    """
    if changes:
        rows = np.array(sorted(changes), dtype=np.int64)
        cells = cells_of_labels(table, label, y, [changes[int(row)] for row in rows])
        table = table.replaced(label, rows, cells)
    if dropped:
        table = table.take(np.setdiff1d(np.arange(len(table)), np.asarray(dropped, dtype=np.int64)))
    return table


class Outputs:
    """Writes what comes out of a review.

    The table has the rows as they were read and y its labels, where there is one; `test` holds features and labels of
    test rows, to compare before and after on.
    """

    def __init__(
        self,
        session: Session,
        table: Table | None = None,
        y: AnyArray | None = None,
        test: tuple[Any, Any] | None = None,
    ) -> None:
        self._session, self._table, self._y, self._test = session, table, y, test

    @property
    def format(self) -> str | None:
        """Format of the cleaned table; CSV where it came from a database or a folder. None where there is no table."""
        if self._table is None:
            return None
        form = self._table.format
        if form == "npy":  # two files cannot be downloaded as one
            return "npz"
        return form if form in _WRITTEN else "csv"

    def cleaned(self) -> Table:
        """Return the table with the decisions applied."""
        assert self._table is not None
        assert self._y is not None
        session = self._session
        with session.lock:
            rulings = list(session.record.rulings())
        changes = {
            entry.row: session.classes.label(entry.label)
            for entry in rulings
            if entry.action in ("fix", "label") and entry.label is not None
        }
        dropped = [entry.row for entry in rulings if entry.action == "drop"]
        return cleaned_table(self._table, session.subject.label, self._y, changes, dropped)

    def write_cleaned(self, path: str) -> None:
        """Write the cleaned table, in the format and encoding of the original where the name has the same suffix."""
        write_table(self.cleaned(), path)

    def write_decisions(self, path: str) -> None:
        """Write the decisions."""
        write_frame(decisions_frame(self._session), path)

    def page(self) -> str:
        """Return the page that compares before and after."""
        return compare_page(self._session, self._test)

    def download(self, name: str) -> tuple[str, bytes]:
        """Return a file by its name, `cleaned`, `decisions` or `before-after`: what to call it, and its bytes."""
        if name == "before-after":
            return "before-after.html", self.page().encode()
        if name == "decisions":
            return "decisions.csv", self._written(self.write_decisions, "decisions.csv")
        if name == "cleaned" and self.format is not None:
            file, cleaned = f"cleaned.{self.format}", self.cleaned()
            if cleaned.format == "images":  # it is not known where the file will lie: paths stay as they are
                cleaned = replace(cleaned, format="csv")
            return file, self._written(lambda path: write_table(cleaned, path), file)
        raise KeyError(name)

    def _written(self, write: Callable[[str], object], name: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="pivotal-") as folder:
            path = Path(folder) / name
            write(str(path))
            return path.read_bytes()
