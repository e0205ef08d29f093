"""Training points that could go: copies, points without value, points that no prediction needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis._linked_rows import equal_rows, in_conflict, merge_components, number_groups
from pivotal.analysis._ranked_inputs import ScoresLike, as_scores
from pivotal.core.config import Resources
from pivotal.core.labels import as_labels
from pivotal.core.metric_settings import Metric
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import Checked, check_features, check_positive, check_same_length
from pivotal.results.values import Values


@dataclass(frozen=True, eq=False, repr=False)
class Redundancy:
    """Which training points could go, and why.

    Parameters
    ----------
    ids : array of shape (n_train,)
        Names of the training points.
    values : float array of shape (n_train,)
        What they are worth.
    group : int array of shape (n_train,)
        Number of the group of copies that a point belongs to, groups by their first point; -1 for a point without copy.
    conflicting : bool array of shape (n_train,)
        Whether the copies of a point have different labels.
    threshold : float
        A value below or at this counts as zero.
    radius : float
        Copies are no farther apart than this, or linked by copies that are not.
    idle : bool array of shape (n_train,) or None
        Whether no query has the point among its nearest. All of them can go at once, and every prediction stays as it
        is. None where no queries were given.

    Examples
    --------
    >>> from pivotal.analysis import redundancy
    >>> result = redundancy([0.5, 0.0, 0.2], [[1.0], [1.0], [9.0]], ["cat", "cat", "dog"], [[0.0]], k=1)
    >>> result
    Redundancy(1 group of copies with 2 points, 0 in conflict; 1 point without value; 2 of 3 points idle)
    >>> result.droppable
    array([1, 2])
    """

    ids: AnyArray
    values: FloatArray
    group: IndexArray
    conflicting: npt.NDArray[np.bool_]
    threshold: float
    radius: float
    idle: npt.NDArray[np.bool_] | None

    @property
    def groups(self) -> list[IndexArray]:
        """Training indices of each group of copies, ascending."""
        return [np.flatnonzero(self.group == number) for number in range(int(self.group.max()) + 1)]

    @property
    def copies(self) -> IndexArray:
        """Points that have a copy with a lower index. One fewer of them is one vote fewer: look before you drop."""
        first = np.zeros(len(self.group), np.bool_)
        first[np.unique(self.group, return_index=True)[1]] = True
        return np.flatnonzero((self.group >= 0) & ~first)

    @property
    def worthless(self) -> IndexArray:
        """Points whose value cannot be distinguished from zero."""
        return np.flatnonzero(np.abs(self.values) <= self.threshold)

    @property
    def droppable(self) -> IndexArray:
        """Points that can all go at once without any change to any prediction of the queries."""
        if self.idle is None:
            raise AttributeError("what can be dropped depends on the queries; pass X_test to redundancy.")
        return np.flatnonzero(self.idle)

    def to_frame(self) -> pd.DataFrame:
        """One row per training point: id, value, group, conflicting, worthless and, with queries, idle."""
        columns: dict[str, Any] = {
            "id": self.ids,
            "value": self.values,
            "group": self.group,
            "conflicting": self.conflicting,
            "worthless": np.abs(self.values) <= self.threshold,
        }
        if self.idle is not None:
            columns["idle"] = self.idle
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        n_groups, n_copied = int(self.group.max()) + 1, int((self.group >= 0).sum())
        n_conflicts = len(np.unique(self.group[self.conflicting]))
        parts = [
            f"{_many(n_groups, 'group')} of copies with {_many(n_copied, 'point')}, {n_conflicts} in conflict",
            f"{_many(len(self.worthless), 'point')} without value",
        ]
        if self.idle is not None:
            parts.append(f"{int(self.idle.sum())} of {_many(len(self.values), 'point')} idle")
        return f"Redundancy({'; '.join(parts)})"


def redundancy(
    values: ScoresLike,
    X_train: Any,
    y_train: Any,
    X_test: Any = None,
    *,
    radius: float = 0.0,
    threshold: float | None = None,
    k: int = 5,
    weights: Any = "uniform",
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Redundancy:
    """Find copies of training points, points without value, and points that no prediction needs.

    A value near zero does not mean that a point can be dropped: values are averages, and a point may help here and hurt
    there.
    What is safe to drop is what no query looks at, and that is certain: with `X_test` those points are named.

    Parameters
    ----------
    values : Values or array-like of shape (n_train,)
        What the points are worth.
    X_train, y_train : array-like
        Training points with their labels.
    X_test : array-like, optional
        Queries: what may be dropped is what none of them has among its nearest.
    radius : float, default=0.0
        Points no farther apart than this are copies of each other, and so are those linked by such pairs. 0 finds equal
        rows.
    threshold : float, optional
        A value of at most this, either way, counts as zero. By default the error bound of the values, or 0.
    k, weights, metric, metric_params
        The nearest-neighbour model, as in `value`.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Redundancy
    """
    n_jobs = Resources.of(n_jobs=n_jobs).n_jobs
    X = check_features(X_train, "X_train")
    labels = np.asarray(y_train) if _are_numbers(y_train) else as_labels(y_train, "y_train")
    check_same_length(X, labels, "X_train", "y_train")
    scores = as_scores(values, X.shape[0])
    near = Spec.of(k=k, weights=weights, metric=metric, metric_params=metric_params)
    if near.metric.name == "precomputed":
        raise ValueError('redundancy compares rows of features; got metric="precomputed". Use another metric.')
    radius = check_positive(radius, "radius", or_zero=True)
    if threshold is None:
        threshold = (values.bound_given_neighbors or 0.0) if isinstance(values, Values) else 0.0
    threshold = check_positive(threshold, "threshold", or_zero=True)
    group = number_groups(_link(equal_rows(X), X, radius, near.metric, n_jobs))
    idle = None
    if X_test is not None:
        idle = _idle(X, check_features(X_test, "X_test", like=X), near, n_jobs)
    ids = values.ids if isinstance(values, Values) else np.arange(len(scores))
    return Redundancy(ids, scores, group, in_conflict(group, labels), threshold, radius, idle)


def _link(first: IndexArray, X: Any, radius: float, metric: Metric, n_jobs: int | None) -> IndexArray:
    """Link distinct rows within the radius, and return the number of each row's component."""
    if radius == 0.0:
        return first
    from pivotal.neighbors import BruteIndex

    distinct = np.unique(first)
    index = BruteIndex(Checked(X[distinct]), metric.name, metric_params=metric.parameters, n_jobs=n_jobs)
    component, done = np.arange(len(distinct)), 0
    for balls in index.search_radius(Checked(X[distinct]), radius):
        rows = np.arange(done, done + len(balls.sizes))
        component = merge_components(component, np.repeat(rows, balls.sizes), balls.members)
        done += len(rows)
    joined = np.empty(len(first), np.int64)
    joined[distinct] = component
    return joined[first]


def _idle(X: Any, queries: Any, near: Spec, n_jobs: int | None) -> npt.NDArray[np.bool_]:
    """Tell which points are among the nearest of no query."""
    from pivotal.neighbors import BruteIndex, blocks

    index = BruteIndex(Checked(X), near.metric.name, metric_params=near.metric.parameters, n_jobs=n_jobs)
    # Weights may look farther than votes do.
    depth = min(max(near.k, near.weights.depth(near.k)), index.n_train)
    idle = np.ones(index.n_train, np.bool_)
    for part in blocks(queries.shape[0], index.block_size(depth)):
        idle[index.search(Checked(queries[part]), depth)[0]] = False
    return idle


def _are_numbers(y: Any) -> bool:
    """Whether these may be the targets of a regression."""
    labels = np.asarray(y)
    return labels.ndim == 1 and labels.dtype.kind == "f" and bool(np.isfinite(labels).all())


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
