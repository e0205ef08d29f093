"""Indexes that walk along links between near points: hnswlib and pynndescent."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.core.validation import check_positive
from pivotal.neighbors._approximate import EUCLIDEAN, PASSED_THROUGH, ApproximateIndex, Settings, SingleArray

_TOO_FEW = "Cannot return the results in a contiguous 2D array"  # what hnswlib says then


class _Lock:
    """A lock that travels with an index: copies of the index share it, and what is unpickled has one of its own."""

    def __init__(self) -> None:
        self.held = threading.Lock()

    def __reduce__(self) -> tuple[type[_Lock], tuple[()]]:
        return _Lock, ()


class HNSWLibIndex(ApproximateIndex):
    """Search along the links of hnswlib; see `HNSWLib`, and `ApproximateIndex` for the other parameters."""

    _settings: HNSWLib

    def _build(self, points: SingleArray) -> None:
        self._index = self._package.Index(space="l2", dim=points.shape[1])
        self._index.init_index(
            max_elements=len(points),
            ef_construction=self._settings.build_effort,
            M=self._settings.n_links,
            random_seed=self._settings.seed,
        )
        self._index.add_items(points, np.arange(len(points)), num_threads=self._settings.build_threads)
        self._effort = _Lock()

    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        given = self._settings.search_effort
        breadth = min(self.n_train, effort * max(asked, 2 * asked if given == "auto" else given))
        with self._effort.held:  # the breadth of a search is a setting of the index
            before = self._index.ef
            self._index.set_ef(breadth)
            try:
                return self._query(queries, asked)
            finally:
                self._index.set_ef(before)

    def _query(self, queries: SingleArray, asked: int) -> tuple[AnyArray, SingleArray]:
        """Return what hnswlib finds; a query for which it finds too few gets none."""
        found = np.full((len(queries), asked), -1, np.int64)
        squares = np.full((len(queries), asked), np.inf, np.float32)
        waiting = [slice(0, len(queries))]
        while waiting:
            part = waiting.pop()
            try:
                found[part], squares[part] = self._index.knn_query(queries[part], k=asked, num_threads=self._n_threads)
            except RuntimeError as error:
                if _TOO_FEW not in str(error):
                    raise RuntimeError(
                        f'hnswlib cannot search its index ({error}). Build it anew, or use neighbors="auto".'
                    ) from error
                # One list that is too short spoils the whole answer: look for it by halving.
                middle = (part.start + part.stop) // 2
                if middle > part.start:
                    waiting += [slice(part.start, middle), slice(middle, part.stop)]
        return found, squares


class PyNNDescentIndex(ApproximateIndex):
    """Search along the graph of pynndescent; see `PyNNDescent`, and `ApproximateIndex` for the other parameters."""

    metrics: ClassVar[tuple[str, ...]] = (*EUCLIDEAN, *PASSED_THROUGH)
    _settings: PyNNDescent

    def _build(self, points: SingleArray) -> None:
        metric = self._metric if self._metric in PASSED_THROUGH else "euclidean"
        with warnings.catch_warnings():
            # It warns of what is measured here: points that are hard to tell apart, graphs in several parts.
            warnings.simplefilter("ignore")
            self._index = self._package.NNDescent(
                points,
                metric="manhattan" if metric in ("l1", "cityblock") else metric,
                n_neighbors=min(self._settings.n_neighbors, self.n_train - 1),
                random_state=self._settings.seed,
                n_jobs=self._n_threads,
            )
            self._index.prepare()

    def _propose(self, queries: SingleArray, asked: int, effort: int) -> tuple[AnyArray, SingleArray]:
        found, distances = self._index.query(queries, k=asked, epsilon=self._settings.epsilon * effort)
        return found, distances


@dataclass(frozen=True)
class HNSWLib(Settings):
    """The package hnswlib links every point to some near ones, and walks along the links towards the query.

    Approximate. Built by one thread, it is the same every time; more threads are faster and link differently each time.

    Parameters
    ----------
    n_links : int, default=16
        Links of a point ("M").
    build_effort : int, default=100
        Candidates looked at to find the links of a point ("ef_construction").
    search_effort : int or "auto", default="auto"
        Candidates looked at in a search ("ef"); at least the number of neighbours, and twice that by default.
    build_threads : int, default=1
        Threads for building.
    seed : int, default=0
        Decides the levels of the points.

    Examples
    --------
    >>> from pivotal.neighbors import HNSWLib
    >>> HNSWLib(n_links=24).n_links
    24
    """

    n_links: int = 16
    build_effort: int = 100
    search_effort: int | Literal["auto"] = "auto"
    build_threads: int = 1
    seed: int = 0

    name: ClassVar[str] = "hnswlib"
    package: ClassVar[str] = "hnswlib"
    extra: ClassVar[str] = "hnswlib"
    index: ClassVar[type[ApproximateIndex]] = HNSWLibIndex

    def __post_init__(self) -> None:
        self._check_count("n_links", 2)
        self._check_count("build_effort")
        self._check_count("search_effort", auto=True)
        self._check_count("build_threads")
        self._check_count("seed", 0)


@dataclass(frozen=True)
class PyNNDescent(Settings):
    """The package pynndescent improves a graph of neighbours step by step, and walks along it towards the query.

    Approximate; the seed is fixed. Knows more metrics than the others. The package compiles itself when it is first
    used in a process, which can take more than a minute. It builds in threads and answers queries in one: answering in
    threads would take twice as long to compile.

    Parameters
    ----------
    n_neighbors : int, default=30
        Neighbours of a point in the graph.
    epsilon : float, default=0.1
        How much farther than the farthest neighbour so far the search looks, relatively.
    seed : int, default=0
        Decides where the graph and the searches start.

    Examples
    --------
    >>> from pivotal.neighbors import PyNNDescent
    >>> PyNNDescent(epsilon=0.2)
    PyNNDescent(n_neighbors=30, epsilon=0.2, seed=0)
    """

    n_neighbors: int = 30
    epsilon: float = 0.1
    seed: int = 0

    name: ClassVar[str] = "pynndescent"
    package: ClassVar[str] = "pynndescent"
    extra: ClassVar[str] = "ann"
    index: ClassVar[type[ApproximateIndex]] = PyNNDescentIndex

    def __post_init__(self) -> None:
        self._check_count("n_neighbors", 2)
        self._check_count("seed", 0)
        check_positive(self.epsilon, "epsilon", or_zero=True)
