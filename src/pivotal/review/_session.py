"""One review: the rows, the journal, and everything that follows from the decisions so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.core.types import CodeArray, IndexArray
from pivotal.neighbors import Index
from pivotal.review._journal import ACTIONS, Journal, JournalEntry, Proposal
from pivotal.review._live import LiveNeighbors
from pivotal.review._nearest_lists import SEARCHING, ReportProgress, index_of
from pivotal.review._queues import KINDS, Query, first_by_score
from pivotal.review._record import Record
from pivotal.review._scores import Judgement, LiveScores
from pivotal.review._subject import Classes, Subject

_K: Final = 20
_SEED: Final = 0
_PAGE: Final = 200  # rows of a page that are put in order at least
_PAUSE: Final = 0.5  # seconds without a decision before rows are counted again that wait


class Session:
    """A review under way. All methods may be called by any thread; one is let in at a time.

    The path is that of the journal. `neighbors` knows the nearest rows of every row; searched for by default, as the
    subject says. The `lock` is held while several things are looked at that belong together.
    """

    def __init__(
        self,
        subject: Subject,
        path: Path,
        *,
        report_progress: ReportProgress | None = None,
        neighbors: Index | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.subject, errors = subject, subject.errors
        self.classes = Classes(errors.given)
        facts = {
            "fingerprint": subject.fingerprint,
            "table": subject.name,
            "label": subject.label,
            "rows": str(len(subject)),
        }
        self.journal = Journal(path, facts)
        given = self.classes.given
        index = neighbors or index_of(subject.X, subject.search)
        self._neighbors_exact = bool(index.exact)
        self.live = LiveNeighbors(
            index,
            given,
            len(self.classes),
            int(errors.settings.get("k", _K)),
            progress=None if report_progress is None else lambda share: report_progress(SEARCHING, share),
        )
        judgement = Judgement.of(errors, subject.voters, np.arange(len(given)), given)
        self.scores = LiveScores(judgement, self.classes, self.live)
        self._renewing = threading.Lock()
        self._last_change = 0.0
        self.n_asked, self._asking = 1, threading.Lock()
        self.first_values = self.live.values()
        self.first_accuracy = self.live.accuracy
        self.first_right = self.live.predicted_all()
        self.record = Record()
        self.decided: npt.NDArray[np.bool_] = np.zeros(len(subject), np.bool_)
        shuffled = np.random.default_rng(_SEED).permutation(len(subject))
        self._shuffled: IndexArray = shuffled[~self.scores.suspect[shuffled]]
        self.unsuspected = ~self.scores.suspect  # at the start
        self._found: tuple[str, npt.NDArray[np.bool_]] = ("", np.ones(len(subject), np.bool_))
        self.sync()

    @property
    def mark(self) -> str:
        """A text that changes with every entry of the journal, and whenever all voters were asked again."""
        return f"{self.record.last}/{self.n_asked}"

    @property
    def estimated(self) -> str:
        """Which figures are estimates, and how good; empty where all are exact."""
        recall, votes = self.subject.recall, self.scores.neighbors_vote
        if self._neighbors_exact:
            return ""
        found = "and how many of them are the true ones is not known"
        if recall is not None:
            share = "all" if recall == 1.0 else f"{min(99.9, 100 * recall):.1f} %"
            found = f"and {share} of them are the true ones in a sample"
        follow = "suspects, suggestions, " if votes else ""
        rest = "" if votes else " Suspects and suggestions do not depend on them."
        return (
            f"Nearest rows come from an approximate search, {found}: {follow}neighbours, values, leave-one-out "
            f"accuracy, duplicates and outliers are estimates to that extent.{rest} Start with --neighbors brute for "
            "the true ones, which takes longer."
        )

    @property
    def is_asking(self) -> bool:
        """Whether all voters are being asked again."""
        return self._asking.locked()

    def ask_again(self) -> None:
        """Let all voters judge the table as it is now; decisions can be taken meanwhile."""
        look = self.subject.look
        if look is None:
            raise ValueError("the voters cannot be asked again here; start the review again instead.")
        if not self._asking.acquire(blocking=False):
            raise ValueError("all voters are being asked already.")
        try:
            with self.lock:
                codes, rows = self.live.codes.copy(), np.flatnonzero(self.live.alive)
            errors, voters = look(rows, self.classes.labels(codes[rows]))
            with self.lock:
                self.scores.replace(Judgement.of(errors, voters, rows, codes))
                self.n_asked += 1
        finally:
            self._asking.release()

    def sync(self) -> None:
        """Read what others have appended to the journal."""
        with self.lock:
            self._take(self.journal.since(self.record.last))

    def decide(
        self, rows: Iterable[int], action: str, *, label: str | None, reviewer: str, batch: str, note: str, queue: str
    ) -> list[JournalEntry]:
        """Decide about rows, each once; the journal has it when this returns. What makes no sense is not written.

        The action is keep, fix (to what is suggested for each), label (the one to give), drop, unsure, or note (which
        decides nothing). The batch is a name for this decision, which is taken once however often it is sent; the queue
        is the one that the rows were shown in.
        """
        with self.lock:
            self.sync()
            chosen = list(rows)
            if action not in ACTIONS or action == "undo":
                raise ValueError(f"action must be keep, fix, label, drop, unsure or note; got {action!r}.")
            if action == "label":
                self.classes.check_new(label or "")
            if action == "drop" and self.live.n_alive - int(self.live.alive[chosen].sum()) < 2:
                raise ValueError("at least two rows must stay; keep some of them.")
            proposals = [self._proposal(row, action, label, note, queue) for row in chosen]
            entries = self.journal.append(proposals, reviewer=reviewer, batch=batch)
            self._take(entries)
            return entries

    def undo(self, *, reviewer: str, batch: str) -> list[JournalEntry]:
        """Take back the last decision of a reviewer that is not undone yet; return the entries that are undone."""
        with self.lock:
            self.sync()
            undone = self.record.to_undo(reviewer)
            if undone:
                proposals = [
                    Proposal(
                        entry.row, "undo", entry.given, None, entry.suggested, entry.confidence, entry.score,
                        entry.queue, undoes=entry.id,
                    )
                    for entry in undone
                ]  # fmt: skip
                self._take(self.journal.append(proposals, reviewer=reviewer, batch=batch))
            return undone

    def select(self, query: Query, max_rows: int = _PAGE) -> tuple[int, IndexArray]:
        """Return how many rows a query has, and at least the first `max_rows` of them in order."""
        with self.lock:
            if query.kind in ("suspects", "all"):
                chosen = (self.scores.suspect & ~self.decided) if query.kind == "suspects" else self.live.alive.copy()
                chosen = self._filtered(chosen, query)
                return int(chosen.sum()), first_by_score(chosen, self.scores.scores, max_rows)
            rows = self._ordered(query)
            kept = self.matching(query)
            rows = rows[kept[rows]]
            return len(rows), rows

    def _ordered(self, query: Query) -> IndexArray:
        record = self.record
        if query.kind == "random":
            return self._shuffled[~self.decided[self._shuffled]]
        if query.kind == "unsure":
            found = [ruling.row for ruling in record.rulings() if ruling.action == "unsure"]
        elif query.kind == "conflicts":
            found = record.conflicts()
        elif query.kind == "second":
            found = [one.row for one in record.rulings() if query.reviewer not in record.reviewers(one.row)]
        elif query.kind == "decided":
            found = [ruling.row for ruling in sorted(record.rulings(), key=lambda entry: -entry.id)]
        else:
            finding = next((one for one in self.subject.findings if one.name == query.kind), None)
            if finding is None:
                names = [*KINDS, *(one.name for one in self.subject.findings)]
                raise ValueError(f"kind must be one of {', '.join(names)}; got {query.kind!r}.")
            rows: IndexArray = np.asarray(finding.rows, np.int64)
            return rows[~self.decided[rows]]
        return np.array(found, dtype=np.int64)

    def matching(self, query: Query) -> npt.NDArray[np.bool_]:
        """Return which rows the filters of a query leave, whatever its queue; shape (n_rows,)."""
        with self.lock:
            return self._filtered(np.ones(len(self.decided), np.bool_), query)

    def _filtered(self, chosen: npt.NDArray[np.bool_], query: Query) -> npt.NDArray[np.bool_]:
        """Return which of the chosen rows have what a query asks for."""
        if query.given is not None:
            chosen &= self.classes.given == self.classes.code(query.given)
        if query.suggested is not None:
            chosen &= self.scores.suggested == self.classes.code(query.suggested)
        if query.confidence > 0.0:
            chosen &= self.scores.confidence >= query.confidence
        if query.owner is not None:
            owners = self.subject.owners
            chosen &= False if owners is None else np.asarray(owners).astype(str) == query.owner
        if query.search.strip():
            chosen &= self._matching(query.search.strip())
        if query.rows is not None:
            only = np.zeros(len(chosen), np.bool_)
            only[list(query.rows)] = True
            chosen &= only
        return chosen

    def _matching(self, words: str) -> npt.NDArray[np.bool_]:
        """Return which rows contain some words: in their cells, their text or their name."""
        if self._found[0] != words:
            n_rows, subject = len(self.decided), self.subject
            found = np.zeros(n_rows, np.bool_) if subject.cells is None else subject.cells.find(words)
            small = words.casefold()
            if subject.text is not None:
                found |= np.fromiter((small in text.casefold() for text in subject.text), np.bool_, n_rows)
            found |= np.fromiter((small == str(name).casefold() for name in subject.errors.ids), np.bool_, n_rows)
            self._found = (words, found)
        return self._found[1]

    def _proposal(self, row: int, action: str, label: str | None, note: str, queue: str) -> Proposal:
        names, scores = self.classes.names, self.scores
        given, suggested = names[self.classes.given[row]], names[scores.suggested[row]]
        to = {"keep": given, "fix": suggested, "label": label}.get(action)
        kind: Any = "keep" if to == given else action  # one that there is: checked by the caller
        confidence = float(scores.confidence[row])
        return Proposal(row, kind, given, to, suggested, confidence, float(scores.scores[row]), queue, note)

    def _take(self, entries: list[JournalEntry]) -> None:
        """Make entries hold: labels, drops, and what follows from them."""
        rows = np.array(sorted(self.record.add(entries)), dtype=np.int64)
        if not len(rows):
            return
        rulings = [self.record.ruling(int(row)) for row in rows]
        self.decided[rows] = [ruling is not None for ruling in rulings]
        codes: CodeArray = self.classes.given[rows].copy()
        alive = np.ones(len(rows), np.bool_)
        for place, ruling in enumerate(rulings):
            if ruling is None or ruling.action in ("unsure", "keep"):
                continue
            if ruling.action == "drop":
                alive[place] = False
            elif ruling.label is not None:
                codes[place] = self.classes.add(ruling.label)
        changed = (codes != self.live.codes[rows]) | (alive != self.live.alive[rows])
        if changed.any():
            touched = self.live.edit(rows[changed], codes[changed], alive[changed], len(self.classes))
            self.scores.follow(rows[changed], touched)
            self._last_change = time.monotonic()
            if self.scores.n_waiting:
                threading.Thread(target=self._renew, name="pivotal-review-renew", daemon=True).start()

    def _renew(self) -> None:
        """Bring scores up to date that have waited, so that decisions stay fast."""
        if self._renewing.acquire(blocking=False):
            try:
                while self.scores.n_waiting:  # decisions are taken meanwhile
                    self._wait_for_a_pause()
                    self.scores.renew(self.lock, self._wait_for_a_pause)
            finally:
                self._renewing.release()

    def _wait_for_a_pause(self) -> None:
        """Return when no decision was taken for a while: the processors are for the next one."""
        while (left := self._last_change + _PAUSE - time.monotonic()) > 0.0:
            time.sleep(left)

    def close(self) -> None:
        """Close the journal."""
        with self.lock:
            self.journal.close()
