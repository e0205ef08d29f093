"""Points whose label looks wrong, each with the reason; and who is near whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import is_sparse
from pivotal.report._words import count
from pivotal.report.encode import as_text

if TYPE_CHECKING:
    from pivotal.analysis.label_errors import LabelErrors

_MOST: Final = 500  # suspects told
_WIDTH: Final = 5  # neighbours told of a point
_NAME: Final = 200  # characters of a label
_REASON: Final = 400  # characters of a sentence


@dataclass(frozen=True, eq=False)
class Suspects:
    """Suspected label errors, most suspicious first."""

    points: IndexArray  # training indices, shape (n_suspects,)
    total: int  # how many are suspected in all; no more than some hundreds are listed
    summary: str  # how many are suspects, and how many are wrong
    suggested: list[str]  # for each the label, the number or the labels that the votes suggest
    why: list[str]  # one sentence each
    nearest: IndexArray  # nearest others of every training point, nearest first; shape (n_train, width)

    def first(self, n: int) -> Suspects:
        """Return no more than the n most suspicious."""
        return replace(self, points=self.points[:n], suggested=self.suggested[:n], why=self.why[:n])

    def as_table(self, shown: IndexArray) -> dict[str, Any]:
        """Return rows of the page's table, told as places among the points shown, and a note."""
        places = np.searchsorted(shown, self.points).tolist()
        rows = [
            {"at": place, "suggested": suggested, "why": why}
            for place, suggested, why in zip(places, self.suggested, self.why, strict=True)
        ]
        note = self.summary
        if len(rows) < self.total:
            note += f" The {count(len(rows), 'most suspicious is', 'most suspicious are')} listed."
        if rows:
            note += " They are found by votes, not by the value beside them. Open a row to see its neighbours."
        return {"rows": rows, "note": note}


def find_suspects(
    X: Any, targets: Any, task: str, ids: AnyArray, metric: str, metric_params: Mapping[str, Any] | None
) -> Suspects:
    """Look for label errors with `pivotal.find_label_errors`, at its defaults."""
    from pivotal.analysis.label_errors import find_label_errors

    largest = float(abs(X.data if is_sparse(X) else X).max(initial=0.0))
    # A forest splits features, not distances, and holds them in single precision.
    no_forest = metric == "precomputed" or largest > np.finfo(np.float32).max
    options: dict[str, Any] = {"n_trees": 0} if no_forest else {}
    if task != "classification":
        options["task"] = task
    errors = find_label_errors(X, targets, ids=ids, metric=metric, metric_params=metric_params, **options)
    return read_suspects(errors, len(ids))


def read_suspects(errors: Any, n_train: int) -> Suspects:
    """Take from a `LabelErrors` what the page tells; of many labels, all that is suspected of a row together."""
    from pivotal.analysis.label_errors import LabelErrors, ManyLabelErrors, NumberErrors

    if not isinstance(errors, LabelErrors):
        raise TypeError(f"suspects must come from pivotal.find_label_errors, or be False; got {type(errors).__name__}.")
    if len(errors.ids) != n_train:
        raise ValueError(f"suspects must be of these {n_train} training points; got some of {len(errors.ids)} rows.")
    cells: dict[int, list[int]] = {}  # what is suspected of each row
    n_labels = len(errors.names) if isinstance(errors, ManyLabelErrors) else 1
    for cell in errors.suspects.tolist():
        cells.setdefault(cell // n_labels, []).append(cell)
    points = np.array(list(cells)[:_MOST], dtype=np.int64)
    if isinstance(errors, ManyLabelErrors):
        what, corrected = "cell", errors.corrected()
        suggested = [names_of_labels(corrected[row], errors.names) for row in points]
    elif isinstance(errors, NumberErrors):
        what, suggested = "number", [f"{errors.rivals[row]:.6g}" for row in points]
    else:
        what, suggested = "label", list(errors.suggested[points])
    return Suspects(
        points=points,
        total=len(cells),
        summary=_summary(errors, what),
        suggested=[as_text(one, _NAME) for one in suggested],
        why=[_sentence(as_text("; ".join(map(errors.explain, cells[row])), _REASON)) for row in points.tolist()],
        nearest=errors.nearest[:, :_WIDTH],
    )


def names_of_labels(row: AnyArray, names: AnyArray) -> str:
    """Return the labels that a row of a table of 0 and 1 has, in words."""
    return ", ".join(str(name) for name in names[np.asarray(row) == 1]) or "none"


def _summary(errors: LabelErrors, what: str) -> str:
    n = errors.suspects.size
    if not n:
        return f"No {what} looks wrong."
    suspects = f"{'The ' if errors.fixed_size else ''}{count(n, what)} "
    verdict = "most suspicious" if errors.fixed_size else "looks wrong" if n == 1 else "look wrong"
    return f"{suspects}{verdict} by the votes of the other rows; {errors.n_wrong.sentence}."


def find_neighbours(X: Any, metric: str, metric_params: Mapping[str, Any] | None) -> IndexArray:
    """Return the nearest others of every training point; shape (n_train, 5), or fewer columns if there are fewer."""
    from pivotal.neighbors import KeptLists, as_index

    kept = KeptLists(as_index("auto", X, metric=metric, metric_params=metric_params), min(_WIDTH, X.shape[0] - 1))
    kept.fill()
    return kept.indices.astype(np.int64)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
