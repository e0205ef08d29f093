"""The journal: every decision, appended to an SQLite file and on the disk before the page hears that it was taken.

Nothing is ever changed or deleted in it. Taking a decision back appends an entry that names the one it undoes. Several
processes may write to one journal; each reads what the others have appended.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, get_args

Action = Literal["keep", "fix", "label", "drop", "unsure", "note", "undo"]
ACTIONS: Final = get_args(Action)

_FORMAT: Final = "1"
_APPLICATION: Final = 0x70697661  # "piva", so that another program's database is not taken for a journal
_SCHEMA: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    batch TEXT NOT NULL,
    row INTEGER NOT NULL,
    action TEXT NOT NULL,
    given TEXT NOT NULL,
    label TEXT,
    suggested TEXT NOT NULL,
    confidence REAL NOT NULL,
    score REAL NOT NULL,
    queue TEXT NOT NULL,
    note TEXT NOT NULL,
    undoes INTEGER REFERENCES entries(id),
    UNIQUE (batch, row)
);
"""
_COLUMNS: Final = (
    "at", "reviewer", "batch", "row", "action", "given", "label", "suggested", "confidence", "score", "queue", "note",
    "undoes",
)  # fmt: skip


class JournalError(ValueError):
    """A journal that cannot be used, with what to do about it."""


@dataclass(frozen=True)
class Proposal:
    """What is decided about one row, before it is written."""

    row: int
    action: Action
    given: str
    label: str | None  # what the row is labelled from now on; None for a row that is dropped, or nothing decided
    suggested: str
    confidence: float
    score: float
    queue: str
    note: str = ""
    undoes: int | None = None


@dataclass(frozen=True)
class JournalEntry(Proposal):
    """A line of the journal."""

    id: int = 0
    at: str = ""
    reviewer: str = ""
    batch: str = ""


class Journal:
    """Decisions about the rows of one table, in a file that is made when it is not there.

    The facts are what the journal is about: `fingerprint`, the digest of the table's content, and what messages name.
    Raised are JournalError if the file is about another table, or is no journal, and OSError if it cannot be made.
    """

    def __init__(self, path: Path, facts: dict[str, str]) -> None:
        self.path = path
        _check_place(path)
        try:
            # The session, which owns the journal, lets one thread in at a time.
            self._base = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
            weakref.finalize(self, self._base.close)  # also if it is never closed
            try:
                self._open(facts)
            except BaseException:
                self.close()
                raise
        except sqlite3.OperationalError as error:
            raise OSError(f"the journal {path} cannot be used: {error}; name another with --journal.") from error
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_CORRUPT:
                raise _damaged(path, error) from error
            raise JournalError(
                f"{path} is not a journal of pivotal review ({error}); move it away, or name another with --journal."
            ) from error

    def _open(self, facts: dict[str, str]) -> None:
        base = self._base
        # Full: a commit waits until the disk has it, so that neither a kill nor a power cut loses what was answered.
        base.execute("PRAGMA synchronous = FULL")
        base.execute("PRAGMA journal_mode = WAL")
        with base:  # commits, or rolls back
            base.execute("BEGIN IMMEDIATE")
            application = base.execute("PRAGMA application_id").fetchone()[0]
            is_new = base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if is_new:
                for statement in _SCHEMA.split(";\n"):
                    base.execute(statement)
                base.execute(f"PRAGMA application_id = {_APPLICATION}")
                base.executemany("INSERT INTO facts VALUES (?, ?)", [("format", _FORMAT), *facts.items()])
            elif application != _APPLICATION:
                raise JournalError(f"{self.path} is another program's database; name another journal with --journal.")
        damage = base.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise _damaged(self.path, damage.splitlines()[-1])
        known = dict(base.execute("SELECT name, content FROM facts").fetchall())
        if known.get("format") != _FORMAT:
            raise JournalError(
                f"{self.path} has format {known.get('format')}, and this version of pivotal reads format {_FORMAT}; "
                "use the version that wrote it, or name another journal with --journal."
            )
        if known.get("fingerprint") != facts["fingerprint"]:
            raise JournalError(
                f"{self.path} holds decisions about other content than {facts.get('table', 'these rows')} has now "
                f"(label column {known.get('label')!r}, {known.get('rows')} rows); its row numbers would be wrong. "
                "Review the table it was made for, or name another journal with --journal."
            )

    def append(self, proposals: Sequence[Proposal], *, reviewer: str, batch: str) -> list[JournalEntry]:
        """Write decisions, each about another row, all or none; they are on the disk when this returns.

        A batch is what is undone together. One that was written before is not written again, so that a page that got no
        answer can ask again. Returned are the entries written; none if the batch was there already.
        """
        more = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "reviewer": reviewer, "batch": batch}
        base = self._base
        with base:  # commits, or rolls back
            base.execute("BEGIN IMMEDIATE")
            known = base.execute("SELECT 1 FROM entries WHERE batch = ? LIMIT 1", (batch,)).fetchone()
            first = base.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
            if known is None:
                base.executemany(
                    f"INSERT INTO entries ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})",
                    [{**vars(proposal), **more} for proposal in proposals],
                )
        return [] if known is not None else self.since(first)

    def since(self, last: int) -> list[JournalEntry]:
        """Return the entries behind the one with this number, in their order."""
        names = ("id", *_COLUMNS)
        lines = self._base.execute(f"SELECT {', '.join(names)} FROM entries WHERE id > ? ORDER BY id", (last,))
        return [JournalEntry(**dict(zip(names, line, strict=True))) for line in lines]

    def close(self) -> None:
        """Close the file."""
        self._base.close()


def check_journal(path: Path, facts: dict[str, str]) -> None:
    """Raise what `Journal` would raise about a file, and make none: before hours of work that would be for nothing."""
    _check_place(path)
    if path.exists():
        Journal(path, facts).close()


def _damaged(path: Path, how: object) -> JournalError:
    return JournalError(
        f"{path} is damaged ({how}); restore a copy of it, or recover what can be read with the program sqlite3 and "
        "its command .recover."
    )


def _check_place(path: Path) -> None:
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise OSError(f"the journal {path} cannot be made there; name a file in a folder to write to with --journal.")
