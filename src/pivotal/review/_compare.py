"""Before and after: what the decisions did, as numbers with their uncertainty."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.core.games import Plurality
from pivotal.core.types import FloatArray
from pivotal.neighbors import as_index
from pivotal.review._compare_page import write_page
from pivotal.review._nearest_lists import with_defaults
from pivotal.review._session import Session

_WIDE: Final = 1.959963984540054
_BARS: Final = 40
_PAIRS: Final = 30
_CLASSES: Final = 60


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of a nearest-neighbour model before and after, on the same rows, with 95 % intervals."""

    n_rows: int
    before: tuple[float, float, float]
    after: tuple[float, float, float]
    difference: tuple[float, float, float]
    gained: int
    lost: int


def measure(before: npt.NDArray[np.bool_], after: npt.NDArray[np.bool_]) -> Accuracy:
    """Compare which predictions were right before and after.

    Shares have their Wilson intervals; the difference has an interval from the pairs (Agresti and Min: half a
    discordant pair is added to either kind).
    """
    n = len(before)
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    more, less, all_ = gained + 0.5, lost + 0.5, n + 2.0
    middle = (more - less) / all_
    half = _WIDE * math.sqrt(max(more + less - (more - less) ** 2 / all_, 0.0)) / all_
    shares = [_wilson(int(right.sum()), n) for right in (before, after)]
    difference = ((gained - lost) / n if n else 0.0, middle - half, middle + half)
    return Accuracy(n, shares[0], shares[1], difference, gained, lost)


def compare_page(session: Session, test: tuple[Any, Any] | None = None) -> str:
    """Return one HTML page that compares the labels as given with those decided, on test rows too."""
    with session.lock:
        return write_page(facts(session, test))


def facts(session: Session, test: tuple[Any, Any] | None) -> dict[str, Any]:
    """Return all that the page says."""
    live, classes = session.live, session.classes
    given, alive = classes.given, live.alive
    rulings = list(session.record.rulings())
    unchanged = alive & (live.codes == given)
    held_out = measure(session.first_right[unchanged], live.predicted_all()[unchanged])
    before, after = np.bincount(given, minlength=len(classes)), np.bincount(live.codes[alive], minlength=len(classes))
    order = np.argsort(-(before + after), kind="stable")
    pairs = Counter(
        (entry.given, entry.label if entry.action in ("fix", "label") else None)
        for entry in rulings
        if entry.action in ("fix", "label", "drop")
    )
    values = live.values()[alive]
    return {
        "name": session.subject.name,
        "label": session.subject.label,
        "n_rows": len(session.subject),
        "k": min(int(session.subject.errors.settings.get("k", 20)), len(session.subject) - 1),
        "actions": Counter(entry.action for entry in rulings),
        "reviewers": Counter(entry.reviewer for entry in rulings),
        "agreements": session.record.agreements(),
        "n_conflicts": len(session.record.conflicts()),
        "dates": (min((e.at for e in rulings), default=""), max((e.at for e in rulings), default="")),
        "held_out": held_out,
        "test": None if test is None else _on_test_rows(session, test),
        "loo": (session.first_accuracy, live.accuracy),
        "estimated": session.estimated,
        "values": _histograms(session.first_values, values),
        "negative": (int((session.first_values < 0).sum()), int((values < 0).sum())),
        "classes": [(classes.names[code], int(before[code]), int(after[code])) for code in order[:_CLASSES]],
        "n_classes": len(classes),
        "pairs": pairs.most_common(_PAIRS),
        "n_pairs": len(pairs),
    }


def _on_test_rows(session: Session, test: tuple[Any, Any]) -> Accuracy:
    """Predict test rows from the labels before and after."""
    X_test, y_test = test
    live, classes, errors = session.live, session.classes, session.subject.errors
    names = {name: code for code, name in enumerate(classes.names)}
    targets = np.array([names.get(str(label), len(names)) for label in y_test], dtype=np.int32)
    k = int(errors.settings.get("k", 20))
    how = with_defaults(session.subject.search)
    named = how.pop("neighbors")
    neighbors = named if isinstance(named, str) else "auto"  # an index of all rows is none of those that are left
    right = []
    for rows, codes in ((np.arange(len(classes.given)), classes.given), (np.flatnonzero(live.alive), live.codes)):
        index = as_index(neighbors, session.subject.X[rows], **how)
        nearest = rows[index.search(X_test, min(k, len(rows)))[0]]
        right.append(Plurality().full_utility(codes[nearest], None, targets, len(names) + 1, k) > 0.0)
    return measure(*right)


def _histograms(before: FloatArray, after: FloatArray) -> dict[str, Any]:
    both = np.concatenate([before, after])
    low, high = np.quantile(both, [0.002, 0.998])
    edges = np.linspace(low, high if high > low else low + 1e-12, _BARS + 1)
    counts = [np.histogram(np.clip(one, edges[0], edges[-1]), edges)[0] / max(1, len(one)) for one in (before, after)]
    return {"edges": edges, "before": counts[0], "after": counts[1]}


def _wilson(right: int, n: int) -> tuple[float, float, float]:
    if n == 0:
        return 0.0, 0.0, 1.0
    share, z2 = right / n, _WIDE**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _WIDE * math.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return share, middle - half, middle + half
