"""Choosing an index by name or object, and cutting queries into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from pivotal.core.threads import run_all, slices
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import Checked, check_features, is_integer, is_sparse
from pivotal.kernels.radix import make_words
from pivotal.neighbors._approximate import Settings
from pivotal.neighbors._external import TREES, ExternalIndex, TreeIndex, tree_classes
from pivotal.neighbors._faiss import FaissFlat, FaissHNSW, FaissIVF
from pivotal.neighbors._hnsw import HNSWLib, PyNNDescent
from pivotal.neighbors._orders import MeasuredOrders, Orders, ProductOrders
from pivotal.neighbors._shells import Shells
from pivotal.neighbors._sources import is_source, open_source
from pivotal.neighbors.brute import DenseEuclidean, Neighbors, SparseEuclidean, empty_result
from pivotal.neighbors.chunks import ChunkedIndex
from pivotal.neighbors.index import Index, by_rows
from pivotal.neighbors.lists import nearest_of
from pivotal.neighbors.metrics import Cosine, MetricLike, check_size, make_searcher

_SETTINGS: dict[str, Settings] = {
    settings.name: settings for settings in (FaissFlat(), FaissIVF(), FaissHNSW(), PyNNDescent(), HNSWLib())
}
_NAMES = ("auto", "brute", *TREES, *_SETTINGS)

# When a tree pays. Seconds per 1000 queries, 75 neighbours, for brute force and for the tree (and to build it); lists
# of 750 and 7500 where they are named. Single runs on 2 cores that had other work too, so good for the ratios only;
# points are normal, with 1000 queries, or uniform, with 500 and times two. A range spans the runs of its line.
#
#     points, features    Euclidean brute, tree (build)          points, features    Manhattan brute, tree (build)
#     10 000, 3           0.11, 0.06 (0.01)                      20 000, 4           0.09, 0.03 (0.01)
#     100 000, 2 and 3    0.2 to 0.3, 0.06 to 0.09 (0.15)        20 000, 8           0.12, 0.23 (0.02)
#     100 000, 4          0.2 to 0.3, 0.09 to 0.12 (0.15)        100 000, 4          0.36, 0.05 (0.08)
#     100 000, 5          0.14, 0.17 (0.11)                      100 000, 6          0.43, 0.36 (0.15)
#     100 000, 8          0.32, 1.46 (0.25)                      100 000, 8          0.83, 2.0 (0.16)
#     1 000 000, 2        0.9 to 1.3, 0.07 (1.4)                 points, features    other metrics
#     1 000 000, 4        0.8 to 0.9, 0.14 (2.5)                 100 000, 2          haversine 7.7, 0.11 (0.11)
#     1 000 000, 5        0.86, 0.32 (3.2)                       100 000, 3          Minkowski, p = 3: 8.6, 0.08 (0.07)
#     1 000 000, 8        1.0, 4.4 (4.5)
#     1 000 000, 4        1.5, 0.9 at 750; 3.9, 4.0 at 7500
#
# So a tree wins in up to 4 dimensions, once some thousands of queries repay the building, and if lists are short.
_TREE_FEATURES = 4
_TREE_POINTS = {"euclidean": 100_000, "other": 20_000}
_TREE_DEPTH = {"euclidean": 1000, "other": 200}
_TREE_QUERIES = 4000
_TREE_SPARE = 8
_TREE_METRICS = dict.fromkeys(("manhattan", "cityblock", "l1", "chebyshev", "minkowski"), "kd_tree")
_TREE_METRICS["haversine"] = "ball_tree"


class BruteIndex(Index):
    """Compares every query with every training point; exact.

    Euclidean and cosine neighbours come from fast products and are then ranked by distances in double precision, so
    that large offsets, duplicates and ties are ordered rightly, and alike for any number of threads and block of
    queries.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points. They are not copied if they are float32 or float64, by rows; a copy in single precision is kept
        beside them. Sparse points stay sparse.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn, a function of two rows, or ``"precomputed"``: then queries are rows of distances to
        all training points, and so is X if its own points are to be queries.
    metric_params : dict, optional
        Parameters of the metric.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor.

    Examples
    --------
    >>> from pivotal.neighbors import BruteIndex
    >>> indices, distances = BruteIndex([[0.0], [1.0], [3.0]]).search([[1.5], [9.0]], depth=2)
    >>> indices
    array([[1, 0],
           [2, 1]])
    >>> distances
    array([[0.5, 1.5],
           [6. , 8. ]])
    """

    exact: bool | None = True

    def __init__(
        self,
        X: Any,
        metric: MetricLike = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(by_rows(check_features(X, "X")), n_jobs)
        self._metric, self._metric_params = metric, dict(metric_params or {})
        self._engine = make_searcher(self._X, metric, metric_params, self._n_threads)

    def orders(self, labels: AnyArray, n_codes: int, *, distances: bool = False) -> Orders:
        """Return what puts all points in the order of `search`.

        Parameters
        ----------
        labels : int32 or float64 array of shape (n_train,)
            Label of each point.
        n_codes : int
            Labels are codes below this; 0: they are numbers.
        distances : bool, default=False
            Whether the distances of all points are wanted as well.
        """
        engine, words = self._engine, make_words(labels, n_codes)
        if not distances and isinstance(engine, DenseEuclidean):
            return ProductOrders(engine, words, self._n_threads)
        if not distances and isinstance(engine, Cosine) and isinstance(engine.inner, DenseEuclidean):
            return ProductOrders(engine.inner, words, self._n_threads, engine.units)
        return MeasuredOrders(engine.measure, engine.unit, words)

    def shells(self, depth: int, enclosed: int) -> Shells | None:
        """Return what counts all points but the nearest `depth` by shells; None where `orders` is `None`."""
        engine = self._engine
        return Shells(engine, depth, enclosed, self._n_threads) if isinstance(engine, DenseEuclidean) else None

    def own_rows(self, start: int, stop: int) -> FloatArray:
        """Return some of the training points as queries."""
        return self.rows(self._own(self._X[start:stop]))

    def rows(self, queries: Any) -> FloatArray:
        """Return queries in double precision, checked as `search` checks them."""
        checked: FloatArray = self._check_queries(queries)
        return checked

    def _find(self, queries: Any, depth: int) -> Neighbors:
        return self._engine.search(queries, depth, self._n_threads)

    def _check_queries(self, queries: Any) -> Any:
        if self._metric == "precomputed":
            queries = check_features(queries, "queries")
            if queries.shape[1] != self.n_train:
                raise ValueError(
                    f"precomputed queries must have a distance to each of the {self.n_train} training points; "
                    f"got {queries.shape[1]} columns."
                )
            return queries.toarray() if is_sparse(queries) else queries
        queries = super()._check_queries(queries)
        if isinstance(self._engine, DenseEuclidean | SparseEuclidean):
            check_size(queries, "queries")
        return queries


class AutoIndex(BruteIndex):
    """Brute force, or one of scikit-learn's trees where it is faster; exact in either case.

    A tree is built for dense points of few features, when lists are short and, for Euclidean neighbours, when enough
    queries have come. Euclidean neighbours from the tree are measured and ranked as in an exhaustive search, and a
    query for which rounding in the tree could matter is searched exhaustively, so that the answer is the same to the
    last bit. With other metrics distances are those of the tree. No approximate index is ever chosen, whatever is
    installed: ask for one by name.

    Parameters
    ----------
    X, metric, metric_params, n_jobs
        As in `BruteIndex`.
    """

    _n_asked = 0
    _tree: Any = None

    def for_worker(self, n_queries: int, depth: int) -> Self:
        self._ensure_tree(n_queries, depth)  # once, and not again by every worker
        other = super().for_worker(n_queries, depth)
        if isinstance(other._tree, Index):
            other._tree = other._tree.for_worker(n_queries, depth)
        return other

    def _find(self, queries: Any, depth: int) -> Neighbors:
        kind = self._ensure_tree(queries.shape[0], depth)
        if kind is None:
            return super()._find(queries, depth)
        if kind == "euclidean":
            return self._find_in_tree(queries, depth)
        answer: Neighbors = self._tree.search(queries, depth)
        return answer

    def _ensure_tree(self, n_queries: int, depth: int) -> str | None:
        """Return the kind of tree that pays now that this many more queries have come; there is one from then on."""
        self._n_asked += n_queries
        kind = self._kind_of_tree(depth)
        if kind is not None and self._tree is None:
            if kind == "euclidean":
                self._tree = tree_classes()["kd_tree"](self._X)
            else:
                how: dict[str, Any] = {"metric_params": self._metric_params, "n_jobs": self._n_threads}
                self._tree = TreeIndex(self._X, kind, self._metric, **how)
        return kind

    def _kind_of_tree(self, depth: int) -> str | None:
        """Name the tree that pays: "euclidean", or one for `TreeIndex`."""
        if is_sparse(self._X) or self._X.shape[1] > _TREE_FEATURES:
            return None
        euclidean = isinstance(self._engine, DenseEuclidean)
        case = "euclidean" if euclidean else "other"
        if self.n_train < max(_TREE_POINTS[case], depth * _TREE_DEPTH[case]):
            return None
        if euclidean:
            return case if self._n_asked >= _TREE_QUERIES else None
        # Not by the number of queries: distances may differ from those of brute force in the last bit, and must not
        # depend on how queries are cut into blocks.
        power = self._metric_params.get("p", 1)
        if callable(self._metric) or self._metric_params.keys() - {"p"} or not power >= 1:
            return None
        return _TREE_METRICS.get(self._metric)

    def _find_in_tree(self, queries: FloatArray, depth: int) -> Neighbors:
        """Take a few candidates more than wanted from the tree, and rank them by our own distances."""
        engine, squared = self._engine, self._metric == "sqeuclidean"
        assert isinstance(engine, DenseEuclidean)
        indices, distances = empty_result(len(queries), depth)
        unsure = np.zeros(len(queries), np.bool_)

        def work(part: slice) -> None:
            far, near = self._tree.query(queries[part], depth + _TREE_SPARE)
            candidates: AnyArray = np.sort(near, axis=1)
            gaps = np.empty(far.shape)
            for i, row in enumerate(range(part.start, part.stop)):
                engine.measure_some(queries[row], candidates[i], 0, gaps[i])
            distances[part], indices[part] = nearest_of(depth, gaps, candidates)
            # The tree computes the same distances, up to a few units in the last place.
            last = far[:, -1] ** 2 if squared else far[:, -1]
            unsure[part] = ~(last * (1 - 1e-12) > distances[part, -1])

        run_all(work, slices(len(queries), 4096, self._n_threads), self._n_threads)
        if unsure.any():
            indices[unsure], distances[unsure] = super()._find(queries[unsure], depth)
        return indices, distances


def orders_of(index: Index, labels: AnyArray, n_codes: int, *, distances: bool = False) -> Orders | None:
    """Return what puts all points in order for this index, as `BruteIndex.orders`; None where only its search can."""
    return index.orders(labels, n_codes, distances=distances) if isinstance(index, BruteIndex) else None


def shells_of(index: Index, depth: int, enclosed: int) -> Shells | None:
    """Return what counts points by shells for this index; None where only its own search finds them."""
    return index.shells(depth, enclosed) if isinstance(index, BruteIndex) else None


def as_index(
    neighbors: Any,
    X: Any,
    *,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = -1,
    max_memory: int | str | None = None,
) -> Index:
    """Return an index of the training points.

    Parameters
    ----------
    neighbors : str, Settings, NeighborIndex or fitted scikit-learn estimator
        ``"auto"`` and ``"brute"`` for any metric; ``"kd_tree"`` and ``"ball_tree"`` in few dimensions;
        ``"faiss-flat"``, ``"faiss-ivf"``, ``"faiss-hnsw"``, ``"pynndescent"`` and ``"hnswlib"`` where these packages
        are installed, or their settings, such as ``pivotal.neighbors.FaissIVF(n_probes=32)``; or an object with
        `search` or `kneighbors` that knows the training points, which then decides on the metric.
    X : array-like or sparse matrix of shape (n_train, n_features)
        Training points.
    metric, metric_params, n_jobs
        As in `BruteIndex`.
    max_memory : int or str, optional
        Memory for training points that stay in their file; see `ChunkedIndex`.
    """
    if is_source(rows := Checked.content(X)):
        X = rows = open_source(rows)
        if isinstance(neighbors, str) and neighbors in ("auto", "brute"):
            return ChunkedIndex(X, metric, metric_params=metric_params, max_memory=max_memory, n_jobs=n_jobs)
        if isinstance(neighbors, Settings) or (isinstance(neighbors, str) and neighbors in _NAMES):
            raise ValueError(
                f"neighbors={str(neighbors)!r} needs the training points in memory, and these are in a file; "
                'load them first, as with numpy.load, or use neighbors="brute".'
            )
    if isinstance(neighbors, str):
        if neighbors not in _NAMES:
            raise ValueError(
                f"neighbors must be one of {', '.join(_NAMES)}, or an object with search or kneighbors; "
                f"got {neighbors!r}."
            )
        if neighbors in TREES:
            return TreeIndex(X, neighbors, metric, metric_params=metric_params, n_jobs=n_jobs)
        if neighbors in ("auto", "brute"):
            brute = AutoIndex if neighbors == "auto" else BruteIndex
            return brute(X, metric, metric_params=metric_params, n_jobs=n_jobs)
        neighbors = _SETTINGS[neighbors]
    if isinstance(neighbors, Settings):
        return neighbors.build(X, metric, metric_params=metric_params, n_jobs=n_jobs)
    if isinstance(neighbors, Index) and neighbors.n_train == rows.shape[0]:
        return neighbors
    if isinstance(neighbors, type) or not (hasattr(neighbors, "search") or hasattr(neighbors, "kneighbors")):
        shown = neighbors.__name__ + ", a class" if isinstance(neighbors, type) else type(neighbors).__name__
        raise TypeError(
            f"neighbors must be one of {', '.join(_NAMES)}, or an object with search or kneighbors; got {shown}."
        )
    return ExternalIndex(neighbors, X)


def is_exact(neighbors: str | Settings) -> bool:
    """Return whether the index that a name or settings stand for finds the nearest in any case.

    Examples
    --------
    >>> from pivotal.neighbors import is_exact
    >>> is_exact("auto"), is_exact("faiss-flat"), is_exact("faiss-ivf")
    (True, True, False)
    """
    settings = _SETTINGS.get(neighbors) if isinstance(neighbors, str) else neighbors
    return settings is None or settings.exact


def blocks(n_queries: int, block_size: object) -> Iterator[slice]:
    """Cut the queries into blocks.

    Examples
    --------
    >>> from pivotal.neighbors import blocks
    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if not is_integer(block_size, minimum=1):
        raise ValueError(f"block_size must be an integer of at least 1, or None; got {block_size!r}.")
    for start in range(0, n_queries, int(block_size)):
        yield slice(start, min(start + int(block_size), n_queries))
