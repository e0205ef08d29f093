"""Approximate neighbours of very many rows, with nothing but this package: a search among the nearest clusters.

Rows are cut into clusters by k-means on a sample of them. A query is compared with the rows of the clusters nearest to
its own, about 80 000 in all, by the exhaustive search that all other neighbours come from; what lies farther off
is not looked at. Time grows with the number of queries and not with its square, and memory is a copy of the rows in
single precision. How many of the true neighbours are found depends on the data: `measure_recall` tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import Checked, check_features, is_sparse
from pivotal.neighbors._approximate import EUCLIDEAN, EuclideanSpace
from pivotal.neighbors._factory import as_index, blocks
from pivotal.neighbors.brute import Neighbors, empty_result
from pivotal.neighbors.index import Index, by_rows
from pivotal.neighbors.metrics import MetricLike, make_searcher

_ROWS_PER_CLUSTER: Final = 1000
_SAMPLED: Final = 50  # rows per cluster that k-means sees
_STEPS: Final = 5  # of k-means; more of them find hardly more neighbours
_DEEPER: Final = 16  # rows compared per neighbour wanted, at least
_AT_ONCE: Final = 2**16  # rows whose clusters are looked for at a time


class ClusteredIndex(Index):
    """Compares a query with the rows of the nearest clusters; approximate.

    Parameters
    ----------
    X : array-like of shape (n_train, n_features)
        Training points, dense.
    metric : {"euclidean", "l2", "sqeuclidean", "cosine"}, default="euclidean"
    n_compared : int, default=80_000
        Rows that a query is compared with, about.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor.
    seed : int, default=0
        Decides which rows k-means sees.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.neighbors import ClusteredIndex
    >>> index = ClusteredIndex(np.arange(6.0).reshape(-1, 1))
    >>> index.search([[1.2]], depth=3)[0]
    array([[1, 2, 0]])
    """

    def __init__(
        self,
        X: Any,
        metric: MetricLike = "euclidean",
        *,
        n_compared: int = 80_000,
        n_jobs: int | None = -1,
        seed: int = 0,
    ) -> None:
        super().__init__(by_rows(check_features(X, "X")), n_jobs)
        if not self.takes(self._X, metric):
            kind = "a sparse matrix" if is_sparse(self._X) else f"metric={metric!r}"
            raise ValueError(f"clusters need dense points and one of {', '.join(EUCLIDEAN)}; got {kind}. Use brute.")
        self._metric, self._n_compared = str(metric), n_compared
        self._space = EuclideanSpace(self._X, self._metric, self._n_threads)
        self._centres = _find_centres(self._space.points, seed)
        clusters = self._clusters(lambda part: self._space.points[part], self.n_train)
        self._members: IndexArray = np.argsort(clusters, kind="stable")
        self._starts = np.searchsorted(clusters[self._members], np.arange(len(self._centres) + 1))

    @staticmethod
    def takes(X: Any, metric: object) -> bool:
        """Whether rows of this kind, compared by this metric, can be cut into clusters."""
        return not is_sparse(X) and isinstance(metric, str) and metric in EUCLIDEAN

    @property
    def walk(self) -> IndexArray:
        return self._members

    def walk_of(self, queries: Any) -> IndexArray:
        checked = self._check_queries(queries)
        own = self._clusters(lambda part: self._space.place(checked[part])[1], len(checked))
        return np.argsort(own, kind="stable")

    def _find(self, queries: FloatArray, depth: int) -> Neighbors:
        indices, distances = empty_result(len(queries), depth)
        own = self._nearest_centre(self._space.place(queries)[1])
        for cluster in np.unique(own):
            asked = np.flatnonzero(own == cluster)
            candidates = self._candidates(int(cluster), depth)
            searcher = make_searcher(self._X[candidates], self._metric, None, self._n_threads)
            found, distances[asked] = searcher.search(queries[asked], depth, self._n_threads)
            indices[asked] = candidates[found]
        return indices, distances

    def _candidates(self, cluster: int, depth: int) -> IndexArray:
        """Return the rows that queries of a cluster are compared with, ascending."""
        wanted = min(self.n_train, max(self._n_compared, _DEEPER * depth))
        nearest = np.argsort(_squares(self._centres[[cluster]], self._centres)[0], kind="stable")
        sizes = np.cumsum(np.diff(self._starts)[nearest])
        taken = nearest[: int(np.searchsorted(sizes, wanted)) + 1]
        rows = np.concatenate([self._members[self._starts[one] : self._starts[one + 1]] for one in taken])
        if len(rows) > 4 * wanted:  # one cluster holds many rows that are hardly to be told apart
            rows = rows[np.linspace(0, len(rows) - 1, 4 * wanted).astype(np.int64)]
        return np.sort(rows)

    def _clusters(self, rows: Callable[[slice], AnyArray], count: int) -> IndexArray:
        """Return the cluster of each of this many rows, which come some at a time."""
        return np.concatenate([self._nearest_centre(rows(part)) for part in blocks(count, _AT_ONCE)])

    def _nearest_centre(self, points: AnyArray) -> IndexArray:
        found: IndexArray = np.argmin(_squares(points, self._centres), axis=1)
        return found


def as_index_of_many(
    neighbors: Any,
    X: Any,
    *,
    beyond: float,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = -1,
    max_memory: int | None = None,
) -> Index:
    """Return an index as `as_index` does; of more rows than `beyond`, one of clusters where nothing else was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(6.0).reshape(-1, 1)
    >>> as_index_of_many("auto", rows, beyond=5).exact, as_index_of_many("brute", rows, beyond=5).exact
    (False, True)
    """
    nothing_asked, rows = isinstance(neighbors, str) and neighbors == "auto" and not metric_params, Checked.content(X)
    if rows.shape[0] > beyond and nothing_asked and ClusteredIndex.takes(rows, metric):
        return ClusteredIndex(X, metric, n_jobs=n_jobs)
    return as_index(neighbors, X, metric=metric, metric_params=metric_params, n_jobs=n_jobs, max_memory=max_memory)


def _find_centres(points: AnyArray, seed: int) -> AnyArray:
    """Return the centres of clusters of about a thousand rows; float32, of shape (n_clusters, n_features)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    n_clusters = max(1, len(points) // _ROWS_PER_CLUSTER)
    rng = np.random.default_rng(seed)
    sample = points[np.sort(rng.choice(len(points), min(len(points), _SAMPLED * n_clusters), replace=False))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        means = KMeans(n_clusters, init="random", n_init=1, max_iter=_STEPS, random_state=seed).fit(sample)
    centres: AnyArray = means.cluster_centers_.astype(np.float32)
    return centres


def _squares(points: AnyArray, centres: AnyArray) -> AnyArray:
    """Squared distances, but for a term that all centres have in common; shape (n_points, n_centres)."""
    scores: AnyArray = points @ centres.T
    scores *= -2.0
    scores += (centres * centres).sum(axis=1)
    return scores
