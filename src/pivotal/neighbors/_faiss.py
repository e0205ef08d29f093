"""Indexes of FAISS, on the processor."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pivotal.core.types import AnyArray, BoolArray, FloatArray
from pivotal.neighbors._approximate import ApproximateIndex, EuclideanSpace, Settings, SingleArray

_SINGLE = 2.0**-24
# FAISS wants 39 points to find a centre from; more than this many say little more about it.
_POINTS_PER_LIST = 39
_POINTS_TO_LEARN_FROM = 64


class _ThreadSetting:
    """The number of threads that FAISS uses: one for the process with some libraries, one per thread with others.

    So every search sets it, searches that want the same number run side by side, those that want another wait, and
    each restores what was there before the first of them came.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0
        self._wanted = self._before = 0

    @contextmanager
    def of(self, faiss: Any, n_threads: int) -> Iterator[None]:
        """Give FAISS this many threads."""
        with self._changed:
            self._changed.wait_for(lambda: self._users == 0 or self._wanted == n_threads)
            if self._users == 0:
                self._wanted, self._before = n_threads, int(faiss.omp_get_max_threads())
            self._users += 1
            faiss.omp_set_num_threads(n_threads)
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                faiss.omp_set_num_threads(self._before)
                if self._users == 0:
                    self._changed.notify_all()


_threads = _ThreadSetting().of


class FaissFlatIndex(ApproximateIndex):
    """Exhaustive search by FAISS; see `FaissFlat`, and `ApproximateIndex` for the parameters."""

    exact: bool | None = True

    def _build(self, points: SingleArray) -> None:
        self._index = self._package.IndexFlatL2(points.shape[1])
        self._index.add(points)

    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        with _threads(self._package, self._n_threads):
            squares, found = self._index.search(queries, asked)
        return found, squares

    def _doubtful(self, queries: SingleArray, last: SingleArray, farthest: FloatArray) -> BoolArray:
        """Doubt a list unless a point as far as its last would have got a smaller distance than what was cut off.

        As in `_brute`, with norms that are summed in single precision too: a product of d terms and two norms are off
        by at most e (|x| + |q|)^2, e = d u and some more for rounding the points beforehand and the sums afterwards.
        """
        error = (queries.shape[1] + 16) * _SINGLE
        error /= 1 - error
        noise = 8 * error * np.einsum("ij,ij->i", queries, queries, dtype=np.float64) + np.finfo(np.float32).tiny
        assert isinstance(self._space, EuclideanSpace)
        square = self._space.squares(farthest)
        unsure: BoolArray = ~(last > square * (1 + 2 * error) * (1 + 1e-12) + noise)
        return unsure


class FaissIVFIndex(ApproximateIndex):
    """Search in lists around centres; see `FaissIVF`, and `ApproximateIndex` for the other parameters."""

    _settings: FaissIVF

    def _build(self, points: SingleArray) -> None:
        n, d = points.shape
        wanted = round(math.sqrt(n)) if self._settings.n_lists == "auto" else self._settings.n_lists
        self._n_lists = max(1, min(wanted, n // _POINTS_PER_LIST))
        probes = max(16, self._n_lists // 8) if self._settings.n_probes == "auto" else self._settings.n_probes
        self._n_probes = min(probes, self._n_lists)
        faiss = self._package
        self._centres = faiss.IndexFlatL2(d)
        self._index = faiss.IndexIVFFlat(self._centres, d, self._n_lists)
        self._index.cp.seed = self._settings.seed
        self._index.cp.max_points_per_centroid = _POINTS_TO_LEARN_FROM
        with _threads(faiss, self._n_threads):
            self._index.train(points)
            self._index.add(points)

    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        how = self._package.SearchParametersIVF(nprobe=min(self._n_lists, self._n_probes * effort))
        with _threads(self._package, self._n_threads):
            squares, found = self._index.search(queries, asked, params=how)
        return found, squares


class FaissHNSWIndex(ApproximateIndex):
    """Search along links between near points; see `FaissHNSW`, and `ApproximateIndex` for the other parameters."""

    _settings: FaissHNSW

    def _build(self, points: SingleArray) -> None:
        self._index = self._package.IndexHNSWFlat(points.shape[1], self._settings.n_links)
        self._index.hnsw.efConstruction = self._settings.build_effort
        with _threads(self._package, self._settings.build_threads):
            self._index.add(points)

    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        given = self._settings.search_effort
        breadth = effort * max(asked, 2 * asked if given == "auto" else given)
        with _threads(self._package, self._n_threads):
            squares, found = self._index.search(
                queries, asked, params=self._package.SearchParametersHNSW(efSearch=breadth)
            )
        return found, squares


@dataclass(frozen=True)
class FaissFlat(Settings):
    """FAISS compares every query with every point, in single precision.

    The true neighbours are found all the same. What FAISS omits is farther by its own distances; where their
    rounding could hide a point that belongs into the list, a query is answered by `BruteIndex` instead.

    Examples
    --------
    >>> from pivotal.neighbors import FaissFlat
    >>> FaissFlat()
    FaissFlat()
    """

    exact: ClassVar[bool] = True
    name: ClassVar[str] = "faiss-flat"
    package: ClassVar[str] = "faiss"
    extra: ClassVar[str] = "faiss"
    index: ClassVar[type[ApproximateIndex]] = FaissFlatIndex


@dataclass(frozen=True)
class FaissIVF(Settings):
    """FAISS sorts the points into lists around centres, and searches the lists whose centres are near the query.

    Approximate. The centres are found with a fixed seed.

    Parameters
    ----------
    n_lists : int or "auto", default="auto"
        Number of lists. By default the root of the number of points.
    n_probes : int or "auto", default="auto"
        Lists to search for each query: more take longer and find more. By default an eighth of the lists, at least 16.
    seed : int, default=0
        Decides which points the centres are found from.

    Examples
    --------
    >>> from pivotal.neighbors import FaissIVF
    >>> FaissIVF(n_lists=100)
    FaissIVF(n_lists=100, n_probes='auto', seed=0)
    """

    n_lists: int | Literal["auto"] = "auto"
    n_probes: int | Literal["auto"] = "auto"
    seed: int = 0

    name: ClassVar[str] = "faiss-ivf"
    package: ClassVar[str] = "faiss"
    extra: ClassVar[str] = "faiss"
    index: ClassVar[type[ApproximateIndex]] = FaissIVFIndex

    def __post_init__(self) -> None:
        self._check_count("n_lists", auto=True)
        self._check_count("n_probes", auto=True)
        self._check_count("seed", 0)


@dataclass(frozen=True)
class FaissHNSW(Settings):
    """FAISS links every point to some near ones, and walks along the links towards the query.

    Approximate. Built by one thread, it is the same every time; more threads are faster and link differently each time.

    Parameters
    ----------
    n_links : int, default=32
        Links of a point.
    build_effort : int, default=80
        Candidates looked at to find the links of a point ("efConstruction").
    search_effort : int or "auto", default="auto"
        Candidates looked at in a search ("efSearch"); at least the number of neighbours, and twice that by default.
    build_threads : int, default=1
        Threads for building.

    Examples
    --------
    >>> from pivotal.neighbors import FaissHNSW
    >>> FaissHNSW(n_links=16).n_links
    16
    """

    n_links: int = 32
    build_effort: int = 80
    search_effort: int | Literal["auto"] = "auto"
    build_threads: int = 1

    name: ClassVar[str] = "faiss-hnsw"
    package: ClassVar[str] = "faiss"
    extra: ClassVar[str] = "faiss"
    index: ClassVar[type[ApproximateIndex]] = FaissHNSWIndex

    def __post_init__(self) -> None:
        self._check_count("n_links", 2)
        self._check_count("build_effort")
        self._check_count("search_effort", auto=True)
        self._check_count("build_threads")
