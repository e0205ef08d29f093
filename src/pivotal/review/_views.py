"""What the page is told: small objects of JSON, the same size however many rows there are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pivotal.core.types import IndexArray
from pivotal.report.encode import as_text, pack
from pivotal.report.point_map import project
from pivotal.review._estimate import LATEST, estimate_left, log_odds, suggest_stop, together
from pivotal.review._journal import JournalEntry
from pivotal.review._queues import KINDS, Query
from pivotal.review._session import Session

_NEIGHBORS: Final = 8
_HARMED: Final = 5
_SNIPPET: Final = 240  # characters of a text in a list
_TEXT: Final = 20_000  # characters of a text that is looked at
_MAPPED: Final = 6000  # points on the map
_CELLS: Final = 400  # of the confusion table
_CLASSES: Final = 20_000  # names of classes that the page gets at once


class Views:
    """Says what there is to see."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._planted: dict[int, str] | None = None
        self._mapped: tuple[IndexArray, Any, list[str], str] | None = None

    def about(self) -> dict[str, Any]:
        """Return what stays the same."""
        session, subject = self.session, self.session.subject
        owners = subject.owners
        names = [] if owners is None else sorted({as_text(owner, 200) for owner in np.unique(owners.astype(str))[:500]})
        kinds = [(name, *words) for name, words in KINDS.items()]
        findings = [(one.name, one.title, one.sentence) for one in subject.findings]
        return {
            "name": as_text(subject.name, 300),
            "label": as_text(subject.label, 300),
            "n_rows": len(subject),
            "classes": self.classes(),
            "owners": names,
            "pictures": subject.images is not None,
            "sharp": subject.images is not None and subject.images.sharp,
            "text": subject.text is not None,
            "columns": [] if subject.cells is None else [as_text(name, 200) for name in subject.cells.columns],
            "truth": subject.truth is not None,
            "estimated": session.estimated,
            "journal": session.journal.path.name,
            "queues": [
                {"name": name, "title": title, "sentence": sentence}
                for name, title, sentence in [*kinds[:2], *findings, *kinds[2:]]
            ],
        }

    def classes(self) -> list[dict[str, Any]]:
        """Return the classes with the numbers of their rows at present."""
        session = self.session
        names, live = session.classes.names, session.live
        counts = np.bincount(live.codes[live.alive], minlength=len(names))
        return [{"name": name, "count": int(counts[code])} for code, name in enumerate(names[:_CLASSES])]

    def strip(self) -> dict[str, Any]:
        """Return how the review stands."""
        session, record, scores = self.session, self.session.record, self.session.scores
        rulings = list(record.rulings())
        sure = [entry for entry in rulings if entry.action != "unsure"]
        seen = [entry for entry in sure if entry.queue != "random"]
        sampled = [entry for entry in sure if entry.queue == "random"]
        left = scores.suspect & ~session.decided
        others = session.unsuspected & ~session.decided & ~left
        odds = log_odds(scores.scores[left])
        suspects, elsewhere = estimate_left(
            odds,
            log_odds(np.array([e.score for e in seen])),
            np.array([float(e.action != "keep") for e in seen]),
            int(others.sum()),
            (len(sampled), sum(entry.action != "keep" for entry in sampled)),
        )
        whole = together(suspects, elsewhere)
        latest = record.latest(LATEST, "suspects")
        wrong = sum(entry.action != "keep" for entry in latest)
        n_left = int(left.sum())
        actions = [entry.action for entry in rulings]
        return {
            "version": session.mark,
            "asked": {
                "possible": session.subject.look is not None,
                "running": session.is_asking,
                "changed": scores.n_changed,
            },
            "decided": len(rulings),
            "changed": sum(action in ("fix", "label") for action in actions),
            "dropped": actions.count("drop"),
            "kept": actions.count("keep"),
            "unsure": actions.count("unsure"),
            "suspects": n_left,
            "findings": {one.name: int((~session.decided[one.rows]).sum()) for one in session.subject.findings},
            "accuracy": session.live.accuracy,
            "first_accuracy": session.first_accuracy,
            "left": {"count": whole.count, "low": whole.low, "high": whole.high, "sampled": len(sampled)},
            "latest": {"decided": len(latest), "wrong": wrong},
            "stop": suggest_stop(n_left, (len(latest), wrong), len(sampled)),
            "conflicts": len(record.conflicts()),
            "agreement": [
                {"reviewers": [as_text(name, 80) for name in one.reviewers], "rows": one.n_rows, "share": one.share,
                 "kappa": one.kappa}
                for one in record.agreements()
            ],
            "caught": self._caught(),
        }  # fmt: skip

    def queue(self, query: Query, offset: int, limit: int) -> dict[str, Any]:
        """Return one page of a queue."""
        session = self.session
        total, rows = session.select(query, offset + limit)
        offset = min(offset, max(0, total - 1))
        if offset + limit > len(rows):  # an offset beyond the end was asked for
            total, rows = session.select(query, total)
        shown = rows[offset : offset + limit]
        session.scores.settle(shown)
        return {"total": total, "offset": offset, "items": [self.brief(int(row)) for row in shown]}

    def brief(self, row: int) -> dict[str, Any]:
        """Return what a list shows of a row."""
        session, subject, scores = self.session, self.session.subject, self.session.scores
        names = session.classes.names
        ruling = session.record.ruling(row)
        suggests = scores.suggested[row] != session.live.codes[row]
        return {
            "row": row,
            "id": as_text(subject.errors.ids[row], 120),
            "given": names[session.classes.given[row]],
            "label": names[session.live.codes[row]] if session.live.alive[row] else None,
            "suggested": names[scores.suggested[row]],
            "confidence": float(scores.rivals[row] if suggests else scores.support[row]),
            "score": float(scores.scores[row]),
            "value": float(session.live.values(np.array([row]))[0]),
            "suspect": bool(scores.suspect[row]),
            "text": None if subject.text is None else as_text(subject.text[row], _SNIPPET),
            "owner": None if subject.owners is None else as_text(subject.owners[row], 120),
            "decision": None if ruling is None else _entry_json(ruling),
            "conflict": session.record.is_conflict(row),
        }

    def item(self, row: int) -> dict[str, Any]:
        """Return all that is known of a row."""
        session, subject = self.session, self.session.subject
        one = np.array([row])
        near = session.live.neighbors(one, _NEIGHBORS)[0]
        votes = session.live.votes(one)[0]
        best = [code for code in np.argsort(-votes, kind="stable")[:5] if votes[code] > 0.0005]
        harmed, worth = session.live.harmed(row, _HARMED) if session.live.alive[row] else (near[:0], near[:0])
        session.scores.settle(np.concatenate([one, near, harmed]))
        names = session.classes.names
        return {
            **self.brief(row),
            "full_text": None if subject.text is None else as_text(subject.text[row], _TEXT),
            "neighbors": [self.brief(int(other)) for other in near],
            "votes": [{"label": names[code], "share": float(votes[code])} for code in best],
            "harmed": [
                {**self.brief(int(other)), "harm": float(value)} for other, value in zip(harmed, worth, strict=True)
            ],
            "cells": [] if subject.cells is None else subject.cells.compare(row, near[:5]),
            "history": [_entry_json(entry) for entry in session.record.history(row)],
            "note": session.record.note(row),
            "reasons": [
                {"title": one.title, "text": as_text(one.reasons[row], _TEXT)}
                for one in subject.findings
                if row in one.reasons
            ],
        }

    def confusion(self, query: Query) -> dict[str, Any]:
        """Return how many suspects have each pair of given and suggested label, the most frequent pairs first."""
        session = self.session
        _, rows = session.select(query, len(session.subject))
        names = session.classes.names
        pairs = session.classes.given[rows].astype(np.int64) * len(names) + session.scores.suggested[rows]
        found, counts = np.unique(pairs, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_CELLS]
        return {
            "total": len(rows),
            "cells": [
                {"given": names[pair // len(names)], "suggested": names[pair % len(names)], "count": int(count)}
                for pair, count in zip(found[order].tolist(), counts[order], strict=True)
            ],
        }

    def map(self, query: Query) -> dict[str, Any]:
        """Return places of some rows on a plane, what to colour them by, and which of them a query's filters leave."""
        session, subject, scores = self.session, self.session.subject, self.session.scores
        if self._mapped is None:
            shown = self._chosen_for_map()
            self._mapped = (shown, *project(subject.X, session.first_values, shown, 0))
        shown, places, axes, note = self._mapped
        owners = None
        if subject.owners is not None:
            texts, codes = np.unique(subject.owners[shown].astype(str), return_inverse=True)
            owners = {"names": [as_text(text, 80) for text in texts], "codes": pack(codes, "u4")}
        return {
            "rows": pack(shown, "u4"),
            "ids": [as_text(subject.errors.ids[row], 120) for row in shown],
            "matches": pack(session.matching(query)[shown], "u1"),
            "places": pack(places, "f8"),
            "axes": axes,
            "note": note,
            "labels": pack(session.live.codes[shown], "u4"),
            "values": pack(session.live.values(shown), "f8"),
            "suspect": pack(scores.suspect[shown] & ~session.decided[shown], "u1"),
            "decided": pack(session.decided[shown], "u1"),
            "owners": owners,
            "total": len(subject),
        }

    def _chosen_for_map(self) -> IndexArray:
        """Return the rows on the map: all, or the suspects and a random sample."""
        session = self.session
        n_rows = len(session.subject)
        if n_rows <= _MAPPED:
            return np.arange(n_rows)
        rng = np.random.default_rng(0)
        suspects = np.flatnonzero(session.scores.suspect | session.decided)
        suspects = suspects[np.argsort(session.scores.scores[suspects], kind="stable")][: _MAPPED // 2]
        sample = rng.choice(n_rows, _MAPPED - len(suspects), replace=False)
        return np.unique(np.concatenate([suspects, sample]))

    def _caught(self) -> dict[str, int] | None:
        """Return how many of the labels that are known to be wrong were changed or dropped, and to the right one."""
        session, truth = self.session, self.session.subject.truth
        if truth is None:
            return None
        if self._planted is None:
            names = session.classes.names
            self._planted = {
                row: text for row, text in enumerate(map(as_text, truth)) if text != names[session.classes.given[row]]
            }
        wrong = self._planted
        changed = [entry for entry in session.record.rulings() if entry.action in ("fix", "label", "drop")]
        found = [entry for entry in changed if entry.row in wrong]
        right = sum(entry.label == wrong[entry.row] for entry in found)
        harmed = len(changed) - len(found)
        return {"planted": len(wrong), "found": len(found), "right": right, "harmed": harmed}


def _entry_json(entry: JournalEntry) -> dict[str, Any]:
    return {
        "action": entry.action,
        "label": entry.label,
        "reviewer": as_text(entry.reviewer, 80),
        "at": entry.at,
        "note": as_text(entry.note, 2000),
    }
