"""What the journal amounts to: the decision that holds for each row, who disagrees, and how often reviewers agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from pivotal.review._journal import JournalEntry

_DECIDED: Final = ("keep", "fix", "label", "drop")
_RULING: Final = (*_DECIDED, "unsure")


@dataclass(frozen=True)
class Agreement:
    """How often two reviewers decided alike."""

    reviewers: tuple[str, str]
    n_rows: int  # that both decided
    share: float  # of them, on which the outcome is the same
    kappa: float | None  # Cohen's, agreement beyond chance; None where chance alone would agree always


class Record:
    """All entries so far. The last decision about a row holds; those before it are kept.

    What holds is worked out again for the rows that new entries are about, and for no others, so that the ten
    thousandth decision is answered as fast as the first.
    """

    def __init__(self) -> None:
        self.entries: dict[int, JournalEntry] = {}
        self._undone: set[int] = set()
        self._of_row: dict[int, list[JournalEntry]] = defaultdict(list)
        self._rulings: dict[int, JournalEntry] = {}
        self._conflicts: set[int] = set()
        self._shared: dict[int, dict[str, JournalEntry]] = {}  # verdicts about rows that several have decided
        self.last = 0

    def add(self, entries: Iterable[JournalEntry]) -> set[int]:
        """Take entries in; return the rows they are about."""
        rows = set()
        for entry in entries:
            if entry.id in self.entries:
                continue
            self.entries[entry.id] = entry
            self.last = max(self.last, entry.id)
            rows.add(entry.row)
            if entry.action == "undo":
                if entry.undoes is not None:
                    self._undone.add(entry.undoes)
            else:
                self._of_row[entry.row].append(entry)
        for row in rows:
            self._settle(row)
        return rows

    def _settle(self, row: int) -> None:
        """Work out again what holds for a row."""
        history = self.history(row)
        ruling = next((entry for entry in reversed(history) if entry.action in _RULING), None)
        if ruling is None:
            self._rulings.pop(row, None)
        else:
            self._rulings[row] = ruling
        verdicts = {entry.reviewer: entry for entry in history if entry.action in _DECIDED}
        self._shared.pop(row, None)
        self._conflicts.discard(row)
        if len(verdicts) > 1:
            self._shared[row] = verdicts
            if len({entry.label for entry in verdicts.values()}) > 1:
                self._conflicts.add(row)

    def history(self, row: int) -> list[JournalEntry]:
        """Return what was decided and noted about a row and not undone, oldest first."""
        return [entry for entry in self._of_row.get(row, ()) if entry.id not in self._undone]

    def ruling(self, row: int) -> JournalEntry | None:
        """Return the decision that holds for a row: the last one that was not undone."""
        return self._rulings.get(row)

    def reviewers(self, row: int) -> set[str]:
        """Return who has decided or noted something about a row."""
        return {entry.reviewer for entry in self.history(row)}

    def note(self, row: int) -> str:
        """Return the last note about a row."""
        return next((entry.note for entry in reversed(self.history(row)) if entry.note), "")

    def rulings(self) -> Collection[JournalEntry]:
        """Return the decisions that hold, one for every row that has one."""
        return self._rulings.values()

    def is_conflict(self, row: int) -> bool:
        """Whether reviewers decided differently about a row; an unsure reviewer does not decide."""
        return row in self._conflicts

    def conflicts(self) -> list[int]:
        """Return the rows about which reviewers decided differently, ascending."""
        return sorted(self._conflicts)

    def to_undo(self, reviewer: str) -> list[JournalEntry]:
        """Return the entries of the last batch of a reviewer that is not undone."""
        batch = None
        found = []
        for entry in reversed(self.entries.values()):
            if entry.reviewer != reviewer or entry.action == "undo" or entry.id in self._undone:
                continue
            batch = entry.batch if batch is None else batch
            if entry.batch == batch:
                found.append(entry)
            else:
                break
        return found[::-1]

    def latest(self, n: int, queue: str) -> list[JournalEntry]:
        """Return the last decisions taken from a queue that still hold and are not unsure, newest first."""
        found: list[JournalEntry] = []
        for entry in reversed(self.entries.values()):
            if len(found) == n:
                break
            if entry.queue == queue and entry.action in _DECIDED and self.ruling(entry.row) is entry:
                found.append(entry)
        return found

    def agreements(self) -> list[Agreement]:
        """Return how often reviewers agree, for every two who decided a row in common."""
        pairs: dict[tuple[str, str], list[tuple[str | None, str | None]]] = defaultdict(list)
        for verdicts in self._shared.values():
            for one, other in combinations(sorted(verdicts), 2):
                pairs[one, other].append((verdicts[one].label, verdicts[other].label))
        return [_agreement(names, outcomes) for names, outcomes in sorted(pairs.items())]


def _agreement(names: tuple[str, str], outcomes: list[tuple[str | None, str | None]]) -> Agreement:
    n = len(outcomes)
    share = sum(one == other for one, other in outcomes) / n
    ones, others = Counter(one for one, _ in outcomes), Counter(other for _, other in outcomes)
    chance = sum(ones[outcome] * others[outcome] for outcome in ones) / n**2
    return Agreement(names, n, share, None if chance == 1.0 else (share - chance) / (1.0 - chance))
