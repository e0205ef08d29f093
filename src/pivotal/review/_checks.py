"""Findings of a check-up as further queues: what was found, in which rows, and what there is to say about each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pivotal.analysis.checkup import CheckUp, Finding, check
from pivotal.core.types import AnyArray
from pivotal.report.encode import as_text
from pivotal.review._subject import CheckQueue

# What people decide about row by row; the rest of a check-up is about the table as a whole.
_LOOKED_FOR: Final = ("conflicts", "duplicates", "near_duplicates", "outliers", "leakage")
_OTHERS: Final = 5  # other rows of a group that are named
_LEFT_OUT: Final = ("label_errors", "order", "class_imbalance", "no_value")


def check_rows(X: Any, y: AnyArray, X_test: Any, **how: Any) -> tuple[CheckQueue, ...]:
    """Look for duplicates, duplicates with other labels, outliers and, with test rows, rows that are among them.

    All that is passed is as in `pivotal.check`.
    """
    wanted = [name for name in _LOOKED_FOR if X_test is not None or name != "leakage"]
    return findings_of(check(X, y, X_test, task="classification", only=wanted, **how))


def findings_of(found: CheckUp) -> tuple[CheckQueue, ...]:
    """Return the findings of a check-up that are about rows, as queues; wrong labels are a queue of their own."""
    kept = [one for one in found.values() if one.about == "rows" and one.name not in _LEFT_OUT and len(one)]
    return tuple(_as_queue(one) for one in kept)


def _as_queue(found: Finding) -> CheckQueue:
    rows = found.rows
    if "group" in found.details:
        reasons = _related_rows(found, rows.tolist())
    elif {"nearest", "distance"} <= found.details.keys():
        near, far = found.details["nearest"], found.details["distance"]
        reasons = {row: f"Nearest is {near[row]}, at distance {far[row]:.3g}." for row in rows.tolist()}
    elif "test_row" in found.details:
        reasons = {row: f"Test row {found.details['test_row'][row]} is equal or nearly." for row in rows.tolist()}
    else:
        reasons = {}
    # Apart from the queues that there always are: reviewers who disagree are conflicts too.
    return CheckQueue(f"check-{found.name}", found.title, f"{found.sentence} {found.advice}", rows, reasons)


def _related_rows(found: Finding, rows: Iterable[int]) -> dict[int, str]:
    """Say which other rows each row goes together with, and what their labels are."""
    groups: dict[Any, list[int]] = {}
    for row in rows:
        groups.setdefault(found.details["group"][row], []).append(row)
    labels = found.details.get("label")

    def named(row: int) -> str:
        return as_text(found.ids[row], 80) + ("" if labels is None else f" ({as_text(labels[row], 80)})")

    reasons = {}
    for members in groups.values():
        for row in members:
            others = [other for other in members if other != row]
            more = f" and {len(others) - _OTHERS} more" if len(others) > _OTHERS else ""
            reasons[row] = f"Together with {', '.join(map(named, np.sort(others[:_OTHERS])))}{more}."
    return reasons
