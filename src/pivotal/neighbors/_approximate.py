"""What indexes of other packages have in common: they propose candidates, exact distances put them in order.

Such a package works in single precision. It is given points centred, scaled by a power of two and rounded, so that an
offset costs no digits. It is asked for more candidates than are wanted, and these are ranked by the same distances in
double precision as in an exhaustive search, equal distances by index. A query that gets too few is asked again with
twice the effort, then four times, and then answered exhaustively. So is every query whose list takes more than an
eighth of the training points, and every query to fewer than 256 of them: an index would not help.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from pivotal.core.extras import needed
from pivotal.core.threads import run_all, slices
from pivotal.core.types import AnyArray, BoolArray, FloatArray, IndexArray
from pivotal.core.validation import check_features, is_integer, is_sparse
from pivotal.neighbors._external import tree_classes
from pivotal.neighbors.brute import DenseEuclidean, Neighbors, empty_result, largest_entry, scale_of
from pivotal.neighbors.index import Index, by_rows
from pivotal.neighbors.lists import nearest_of
from pivotal.neighbors.metrics import (
    Cosine,
    MetricLike,
    Searcher,
    check_size,
    make_searcher,
    metric_names,
    plain_metric,
)

SingleArray: TypeAlias = npt.NDArray[np.float32]

EUCLIDEAN = ("euclidean", "l2", "sqeuclidean", "cosine")
# Named and meant alike by pynndescent and scikit-learn; a common factor leaves the order of neighbours as it is.
PASSED_THROUGH = ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "hamming", "l1", "manhattan")

_SMALLEST = 256
_LONGEST = 0.125
_EFFORTS = (1, 2, 4)
# Queries farther out than this, in units of the spread of the points, see no difference between them in float32.
_FAR = 2.0**20


class Settings:
    """What an index of another package is built with; passed as `neighbors=`, or by name for the defaults."""

    exact: ClassVar[bool] = False
    name: ClassVar[str]
    package: ClassVar[str]
    extra: ClassVar[str]
    index: ClassVar[type[ApproximateIndex]]

    def build(
        self, X: Any, metric: MetricLike, *, metric_params: Mapping[str, Any] | None, n_jobs: int | None
    ) -> ApproximateIndex:
        """Return the index of the training points."""
        return self.index(X, self, metric, metric_params=metric_params, n_jobs=n_jobs)

    def load(self) -> Any:
        """Import the package."""
        with needed(f'neighbors="{self.name}" needs {self.package}', self.extra):
            return importlib.import_module(self.package)

    def _check_count(self, parameter: str, minimum: int = 1, *, auto: bool = False) -> None:
        """Raise unless a parameter is an integer, or "auto" where that is allowed."""
        given = getattr(self, parameter)
        if auto and isinstance(given, str) and given == "auto":
            return
        if not is_integer(given, minimum):
            other = ', or "auto"' if auto else ""
            raise ValueError(f"{parameter} must be an integer of at least {minimum}{other}; got {given!r}.")


class ApproximateIndex(Index):
    """Ranks by exact distances what another package's index proposes.

    Parameters
    ----------
    X : array-like of shape (n_train, n_features)
        Training points, dense.
    settings : Settings
        Which index, and how it is built.
    metric : str, default="euclidean"
        One of those in `metrics`.
    metric_params : dict, optional
        None are known.
    n_jobs : int or None, default=-1
        Threads; -1 is one per processor.

    Attributes
    ----------
    exact : bool
        Whether the neighbours are the true ones in any case; otherwise `measure_recall` tells how many are.
    """

    exact: bool | None = False
    metrics: ClassVar[tuple[str, ...]] = EUCLIDEAN

    def __init__(
        self,
        X: Any,
        settings: Settings,
        metric: MetricLike = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(by_rows(check_features(X, "X")), n_jobs)
        name = settings.name
        if is_sparse(self._X):
            raise ValueError(f'neighbors="{name}" needs dense points; got a sparse matrix. Use neighbors="brute".')
        metric, parameters = plain_metric(metric, metric_params)
        if metric not in self.metrics or parameters:
            raise ValueError(_unsupported(name, metric, parameters, self.metrics))
        self._metric = str(metric)
        self._settings = settings
        self._package = settings.load()
        self._space = (
            OtherSpace(self._X, self._metric)
            if metric in PASSED_THROUGH
            else EuclideanSpace(self._X, self._metric, self._n_threads)
        )
        if self.n_train >= _SMALLEST:
            self._build(self._space.points)

    @abstractmethod
    def _build(self, points: SingleArray) -> None:
        """Build the index."""

    @abstractmethod
    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        """Return candidates, -1 where there are none, and their rough distances; `effort` multiplies the default."""

    def _spare(self, depth: int) -> int:
        """How many candidates to ask for beyond `depth`, so that rounding does not cut off the wrong one."""
        return 8 + depth // 8

    def _doubtful(self, queries: SingleArray, last: SingleArray, farthest: FloatArray) -> BoolArray:
        """Which queries must be answered exhaustively, given the last rough and the last wanted exact distance."""
        return np.zeros(len(queries), np.bool_)

    def _check_queries(self, queries: Any) -> Any:
        queries = super()._check_queries(queries)
        if self._metric != "cosine":
            check_size(queries, "queries")
        return queries

    def _find(self, queries: FloatArray, depth: int) -> Neighbors:
        if self.n_train < _SMALLEST or depth > _LONGEST * self.n_train:
            return self._exhaustive.search(queries, depth, self._n_threads)
        asked = min(self.n_train, depth + self._spare(depth))
        exact, rough, unfit = self._space.place(queries)
        candidates = np.full((len(queries), asked), -1, np.int64)
        last = np.full(len(queries), np.inf, np.float32)
        waiting = np.flatnonzero(~unfit)
        for effort in _EFFORTS:
            if waiting.size == 0:
                break
            found, distances = self._propose(rough[waiting], asked, effort)
            candidates[waiting] = _each_once(found)
            last[waiting] = distances[:, -1]
            waiting = waiting[(candidates[waiting, asked - depth] < 0)]
        answer = self._rank(exact, candidates, depth)
        short = candidates[:, asked - depth] < 0
        short[~short] |= self._doubtful(rough[~short], last[~short], answer[1][~short, -1])
        if short.any():
            answer[0][short], answer[1][short] = self._exhaustive.search(queries[short], depth, self._n_threads)
        return answer

    def _rank(self, queries: FloatArray, candidates: IndexArray, depth: int) -> Neighbors:
        """Return the nearest `depth` candidates of each query; they come in ascending order, after any -1."""
        indices, distances = empty_result(len(queries), depth)

        def work(part: slice) -> None:
            gaps = np.full(candidates[part].shape, np.inf)
            starts = np.count_nonzero(candidates[part] < 0, axis=1)
            for i, row in enumerate(range(part.start, part.stop)):
                self._space.measure(queries[row], candidates[row], starts[i], gaps[i])
            distances[part], indices[part] = nearest_of(depth, gaps, candidates[part])

        run_all(work, slices(len(queries), 4096, self._n_threads), self._n_threads)
        return indices, distances

    @cached_property
    def _exhaustive(self) -> Searcher:
        """The exhaustive search, made when it is first needed unless the points are compared by it anyway."""
        if isinstance(self._space, EuclideanSpace):
            return self._space.searcher
        return make_searcher(self._X, self._metric, None, self._n_threads)


class EuclideanSpace:
    """Points whose Euclidean distances are wanted, perhaps after scaling them to length 1, and their rounded images."""

    def __init__(self, X: AnyArray, metric: str, n_threads: int) -> None:
        self.searcher = make_searcher(X, metric, None, n_threads)
        engine = self.searcher.inner if isinstance(self.searcher, Cosine) else self.searcher
        assert isinstance(engine, DenseEuclidean)
        self._engine, self.points = engine, engine.points

    def place(self, queries: FloatArray) -> tuple[FloatArray, SingleArray, BoolArray]:
        """Return the queries among the points and among their images, and which of them have no place there."""
        nowhere = np.zeros(len(queries), np.bool_)
        if isinstance(self.searcher, Cosine):
            queries, nowhere = self.searcher.units(queries)
        with np.errstate(over="ignore"):
            return queries, *_images(self._engine.centred(queries), nowhere)

    def measure(self, query: FloatArray, candidates: IndexArray, start: int, distances: FloatArray) -> None:
        """Fill in the exact distances of the candidates from `start` on."""
        self._engine.measure_some(query, candidates, start, distances)
        distances *= self.searcher.unit

    def squares(self, distances: FloatArray) -> FloatArray:
        """Return squared distances among the images."""
        return self._engine.squares(distances / self.searcher.unit)


class OtherSpace:
    """Points for a metric that the package computes by itself."""

    def __init__(self, X: AnyArray, metric: str) -> None:
        self._X, self._metric = X.astype(np.float64, copy=False), metric
        check_size(X, "X")
        self._scale = scale_of(largest_entry(X))
        self.points = (X * self._scale).astype(np.float32)

    def place(self, queries: FloatArray) -> tuple[FloatArray, SingleArray, BoolArray]:
        return queries, *_images(queries * self._scale, np.zeros(len(queries), np.bool_))

    def measure(self, query: FloatArray, candidates: IndexArray, start: int, distances: FloatArray) -> None:
        from sklearn.metrics import pairwise_distances

        rows = self._X[candidates[start:]]
        if len(rows):
            distances[start:] = np.maximum(pairwise_distances(query[np.newaxis], rows, metric=self._metric)[0], 0.0)


def _images(rough: FloatArray, nowhere: BoolArray) -> tuple[SingleArray, BoolArray]:
    """Return queries rounded, and which of them have no place among the points: those at 0 here."""
    unfit = nowhere | ~(np.abs(rough).max(axis=1) <= _FAR)
    rough[unfit] = 0.0
    return rough.astype(np.float32), unfit


def _each_once(found: AnyArray) -> IndexArray:
    """Return the candidates of each row in ascending order, each once, behind a -1 for each one missing."""
    candidates = np.sort(found.astype(np.int64), axis=1)
    again = candidates[:, 1:] == candidates[:, :-1]
    if again.any():
        candidates[:, 1:][again] = -1
        candidates.sort(axis=1)
    return candidates


def _unsupported(name: str, metric: MetricLike, parameters: dict[str, Any], metrics: tuple[str, ...]) -> str:
    """Say which metrics the index knows, and which indexes know the metric."""
    who = ["brute"]
    if isinstance(metric, str):
        who = [*who, *(kind for kind, tree in tree_classes().items() if metric in tree.valid_metrics)]
        if metric in PASSED_THROUGH and not parameters:
            who.append("pynndescent")
    shown = repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", "a function")
    if parameters:
        shown += f" with metric_params={parameters}"
    known = f'neighbors="{name}" knows the metrics {", ".join(metrics)}, without parameters; got {shown}.'
    if isinstance(metric, str) and metric not in metric_names():
        return known
    quoted = [f'"{one}"' for one in who]
    return f"{known} Use neighbors={' or '.join(quoted)}."
