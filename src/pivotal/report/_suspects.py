"""Points whose label looks wrong, each with the reason; and who is near whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import is_sparse
from pivotal.report.encode import as_text

__all__ = ["Suspects", "find_neighbours", "find_suspects", "read_suspects"]

_MOST: Final = 500  # suspects told
_WIDTH: Final = 5  # neighbours told of a point
_NAME: Final = 200  # characters of a label
_REASON: Final = 400  # characters of a sentence


@dataclass(frozen=True, eq=False)
class Suspects:
    """Suspected label errors, most suspicious first.

    Parameters
    ----------
    points : int array of shape (n_suspects,)
        Training indices.
    total : int
        How many are suspected in all; no more than some hundreds are listed.
    probable : int
        How many are probably wrong, however many were asked for.
    suggested : list of n_suspects str
        The label that the neighbourhood suggests.
    why : list of n_suspects str
        One sentence each.
    nearest : int array of shape (n_train, width)
        Nearest others of every training point, nearest first.
    """

    points: IndexArray
    total: int
    probable: int
    suggested: list[str]
    why: list[str]
    nearest: IndexArray

    def first(self, n: int) -> Suspects:
        """Return no more than the n most suspicious."""
        return replace(self, points=self.points[:n], suggested=self.suggested[:n], why=self.why[:n])

    def with_neighbours(self) -> IndexArray:
        """Return the suspects, each followed by its neighbours."""
        return np.column_stack([self.points, self.nearest[self.points]]).ravel()


def find_suspects(
    X: Any, labels: AnyArray, ids: AnyArray, metric: str, metric_params: Mapping[str, Any] | None
) -> Suspects:
    """Look for label errors with `pivotal.find_label_errors`, at its defaults."""
    from pivotal.analysis.label_errors import find_label_errors

    largest = float(abs(X.data if is_sparse(X) else X).max(initial=0.0))
    # A forest splits features, not distances, and holds them in single precision.
    no_forest = metric == "precomputed" or largest > np.finfo(np.float32).max
    options: dict[str, Any] = {"n_trees": 0} if no_forest else {}
    errors = find_label_errors(X, labels, ids=ids, metric=metric, metric_params=metric_params, **options)
    return read_suspects(errors, len(labels))


def read_suspects(errors: Any, n_train: int) -> Suspects:
    """Take from a `LabelErrors` what the page tells."""
    from pivotal.analysis.label_errors import LabelErrors

    if not isinstance(errors, LabelErrors):
        raise TypeError(f"suspects must come from pivotal.find_label_errors, or be False; got {type(errors).__name__}.")
    if errors.scores.size != n_train:
        raise ValueError(f"suspects must be of these {n_train} training points; got some of {errors.scores.size} rows.")
    points = errors.suspects[:_MOST]
    return Suspects(
        points=points,
        total=errors.suspects.size,
        probable=errors.n_probable,
        suggested=[as_text(errors.suggested[row], _NAME) for row in points],
        why=[_sentence(as_text(errors.explain(row), _REASON)) for row in points],
        nearest=errors.nearest[:, :_WIDTH],
    )


def find_neighbours(X: Any, metric: str, metric_params: Mapping[str, Any] | None) -> IndexArray:
    """Return the nearest others of every training point; shape (n_train, 5), or fewer columns if there are fewer."""
    from pivotal.neighbors import as_index, blocks

    depth = min(_WIDTH, X.shape[0] - 1)
    index = as_index("auto", X, metric=metric, metric_params=metric_params)
    parts = [index.search_self(rows.start, rows.stop, depth)[0] for rows in blocks(X.shape[0], index.block_size(depth))]
    return np.concatenate(parts)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
