"""Are these the nearest? What is known of the neighbours that a source finds, and what a sample of queries shows.

    source                                         before the sample    after it
    ours, exact: "auto", "brute", a tree, ...      exact                not asked
    ours, approximate: "faiss-ivf", ...            not exact            not exact, with its recall
    the user's, which says `exact = True`          not believed         exact, unless the sample shows otherwise
    the user's, which says `exact = False`         not exact            not exact, with its recall
    the user's, which says nothing                 not known            not known, or not exact if the sample shows it

The sample is compared with an exhaustive search by the metric of the call. Where that is not possible, because rows
cannot be compared by that metric, nothing is known and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.notices import logger, notify
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_count
from pivotal.neighbors._approximate import Settings
from pivotal.neighbors._balls import Balls
from pivotal.neighbors._factory import as_index
from pivotal.neighbors._sources import RowSource, take_rows
from pivotal.neighbors.brute import Neighbors
from pivotal.neighbors.index import Index
from pivotal.neighbors.metrics import MetricLike, with_estimates

_SAMPLE, _FEWEST = 200, 4
# What the sample may cost: lists in entries, and exhaustive search in numbers compared. A function of the user's is
# called for every pair of rows, which takes as long as very many numbers.
_ENTRIES, _NUMBERS = 2_000_000, 20_000_000_000
_NARROW, _CALL = 32, 100_000
# Distances that differ by less count as equal: a part of the distance itself, and of the longest on the list.
_OWN_PART, _LIST_PART = 1e-9, 1e-12
# Distances of a source that says nothing about itself may be those of single precision, but not of another metric.
_GROSS = 1e-3


class Verdict(NamedTuple):
    """What a result says of its neighbours."""

    exact: bool | None
    recall: float | None


class _Sample(NamedTuple):
    """What the sample of one batch of queries showed."""

    n_queries: int
    """Queries of the batch."""

    found: FloatArray
    """Share of the true m nearest that are among the first m, for m = 1, 2, ...; one number for balls."""

    right: bool
    """Whether every place holds a point as near as it should be."""

    distance_error: float
    """How far the distances are off, relatively, at most."""


def measure_recall(index: Index, exact: Index, queries: Any, depth: int, *, sample: int = 200, seed: int = 0) -> float:
    """Return the share of the true neighbours that an index finds, on a random sample of the queries.

    A neighbour counts as found only by its own training index: of points at the same distance, the first ones are the
    true ones, as everywhere in this package.

    Parameters
    ----------
    index : Index
        The index in question.
    exact : Index
        An exact one of the same training points, with the same metric.
    queries : array or sparse matrix of shape (n_queries, n_features), or None
        Queries to draw from; None draws from the training points, each against all the others.
    depth : int
        Length of the lists.
    sample : int, default=200
        Most queries to draw.
    seed : int, default=0
        Decides which are drawn.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.neighbors import BruteIndex, as_index, measure_recall
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> class Careless:
    ...     def search(self, queries, depth):
    ...         return np.tile(np.arange(depth), (len(queries), 1)), np.zeros((len(queries), depth))
    >>> measure_recall(as_index(Careless(), X), BruteIndex(X), np.array([[0.0], [3.0]]), 2)
    0.5
    """
    check_count(sample, "sample")
    if exact.n_train != index.n_train:
        raise ValueError(
            f"both indexes must hold the same training points; got {index.n_train} and {exact.n_train} of them."
        )
    n_queries = index.n_train if queries is None else queries.shape[0]
    if n_queries == 0:
        raise ValueError("queries must have at least one row; got none.")
    chosen = _draw_queries(n_queries, sample, seed)
    found, true = (_search_sample(one, queries, chosen, depth)[0] for one in (index, exact))
    hits = sum(np.intersect1d(a, b, assume_unique=True).size for a, b in zip(found, true, strict=True))
    return hits / true.size


def _draw_queries(n_queries: int, sample: int, seed: int = 0) -> IndexArray:
    """Return the numbers of at most `sample` queries, drawn without repetition, ascending."""
    return np.sort(np.random.default_rng(seed).choice(n_queries, min(sample, n_queries), replace=False))


def _search_sample(index: Index, queries: Any, chosen: IndexArray, depth: int) -> Neighbors:
    """Return the lists of some queries; of some training points, against all the others, where `queries` is `None`."""
    return index.search_rows(chosen, depth) if queries is None else index.search(queries[chosen], depth)


def audited_queries(shape: tuple[int, int], depth: int, metric: MetricLike) -> int:
    """Return how many queries an exhaustive search may be asked about.

    `shape` is that of the training points, and `depth` the length of the lists.
    """
    cost = shape[0] * (max(shape[1], _NARROW) if isinstance(metric, str) else _CALL)
    return max(_FEWEST, min(_SAMPLE, _ENTRIES // depth, _NUMBERS // cost))


def recall_of(distances: FloatArray, limits: FloatArray, k: int) -> float:
    """Return the share of the true neighbours that lists hold, the smallest over the first k, k + 1, ... of them.

    Given are the true distances of what was found, and those of the nearest; shape (n_queries, depth).
    """
    return _smallest(_shares(distances, limits + _slack(limits)), k)


def _smallest(shares: FloatArray, k: int) -> float:
    """Return the smallest share over the first k, k + 1, ... of the lists."""
    return float(shares[min(k, len(shares)) - 1 :].min())


def _slack(limits: FloatArray) -> FloatArray:
    """Return by how much distances may differ and count as equal."""
    slack: FloatArray = _OWN_PART * limits + _LIST_PART * limits[:, -1:]
    return slack


class NeighborAudit:
    """Samples queries and compares what a source finds with an exhaustive search, where that is called for.

    Parameters
    ----------
    neighbors : object
        What the user asked for: names and settings stand for indexes of ours, anything else is a source of theirs.
    index : Index
        What it became.
    X : array, sparse matrix or RowSource with a row per training point
        Training points.
    metric, metric_params, n_jobs
        As in `as_index`.
    """

    def __init__(
        self,
        neighbors: Any,
        index: Index,
        X: Any,
        *,
        metric: MetricLike,
        metric_params: Mapping[str, Any] | None,
        n_jobs: int | None,
    ) -> None:
        self._index, self._X = index, X
        self._metric, self._metric_params, self._n_jobs = metric, metric_params, n_jobs
        self._ours = isinstance(neighbors, str | Settings)
        self._name = type(neighbors).__name__
        self._samples: list[_Sample] = []
        self._n_asked = 0
        self._said: set[str] = set()

    def check_lists(self, queries: Any, n_queries: int, depth: int, *, weighted: bool) -> None:
        """Sample a batch of queries whose lists were used; None: the training points, each against all the others.

        `depth` is the length of the lists; `weighted` says whether the distances became votes.
        """
        chosen = self._choose(n_queries, depth)
        exhaustive = None if chosen is None else self._exhaustive()
        if chosen is None or exhaustive is None:
            return
        found, far = _search_sample(self._index, queries, chosen, depth)
        rows = take_rows(self._X, chosen) if queries is None else queries[chosen]
        try:
            true, limits = _search_sample(exhaustive, queries, chosen, depth)
            lengths = self._measure(rows, found, true, limits)
        except (TypeError, ValueError) as error:
            self._not_measured(error)
            return
        slack = _slack(limits)
        sample = _Sample(
            n_queries,
            _shares(lengths, limits + slack),
            bool((np.abs(lengths - limits) <= slack).all()),
            _relative_error(far, lengths, limits[:, -1:]),
        )
        self._add(sample, weighted=weighted)

    def check_balls(self, queries: Any, n_queries: int, radius: float) -> None:
        """Sample a batch of queries whose balls were used. Parameters as in `check_lists`."""
        chosen = self._choose(n_queries, 1)
        exhaustive = None if chosen is None else self._exhaustive()
        if chosen is None or exhaustive is None:
            return
        rows = take_rows(self._X, chosen) if queries is None else queries[chosen]
        found = _balls(self._index, rows, radius, chosen if queries is None else None)
        try:
            true = _balls(exhaustive, rows, radius, chosen if queries is None else None)
            common = together = 0
            for place in range(len(chosen)):
                mine, theirs = (one.part(place, place + 1).members for one in (found, true))
                odd = np.setxor1d(mine, theirs, assume_unique=True)
                common += np.intersect1d(mine, theirs, assume_unique=True).size
                if odd.size:  # those on the rim may be on either side of it
                    lengths = self._distances(rows[place : place + 1], odd)
                    together += int((np.abs(lengths - radius) > _OWN_PART * radius).sum())
        except (TypeError, ValueError) as error:
            self._not_measured(error)
            return
        share = common / (common + together) if common + together else 1.0
        self._add(_Sample(n_queries, np.array([share]), together == 0, 0.0), weighted=False)

    def verdict(self, k: int, *, weighted: bool) -> Verdict:
        """Return what is known of the neighbours of all queries so far.

        Lists shorter than k are not looked at by themselves; `weighted` says whether the distances became votes.
        """
        if self._ours and self._index.exact:
            return Verdict(True, None)
        if not self._samples:
            return Verdict(False if self._index.exact is False else None, None)
        total = sum(sample.n_queries for sample in self._samples)
        recall = sum(_smallest(sample.found, k) * sample.n_queries for sample in self._samples) / total
        right = all(sample.right and not (weighted and sample.distance_error > _OWN_PART) for sample in self._samples)
        if not right or self._index.exact is False:
            return Verdict(False, min(1.0, recall))
        return Verdict(True if self._index.exact else None, min(1.0, recall))

    def _choose(self, n_queries: int, depth: int) -> IndexArray | None:
        """Draw the queries to look at; None where there is no need to."""
        if self._ours and self._index.exact:
            return None
        self._n_asked += n_queries
        n_features = self._X.shape[1] if len(self._X.shape) > 1 else 1
        most = audited_queries((self._index.n_train, n_features), depth, self._metric)
        # Of many small batches not every one is sampled, but all queries have the same chance.
        wanted = most * n_queries / self._n_asked
        whole = int(wanted) + int(np.random.default_rng(self._n_asked).random() < wanted % 1.0)
        return _draw_queries(n_queries, whole) if whole else None

    def _exhaustive(self) -> Index | None:
        """Return an index that compares every query with every point; None where rows cannot be compared."""
        try:
            return as_index(
                "brute", self._X, metric=self._metric, metric_params=self._metric_params, n_jobs=self._n_jobs
            )
        except (TypeError, ValueError) as error:
            self._not_measured(error)
            return None

    def _not_measured(self, error: Exception) -> None:
        logger.info("recall of %s was not measured: %s", self._name, error)

    def _measure(self, rows: Any, found: IndexArray, true: IndexArray, limits: FloatArray) -> FloatArray:
        """Return the true distances of what was found, taken from the exhaustive search where they are there."""
        lengths = np.empty(found.shape)
        for place in range(len(found)):
            order = np.argsort(true[place])
            spots = np.minimum(np.searchsorted(true[place], found[place], sorter=order), len(order) - 1)
            same = true[place][order[spots]] == found[place]
            lengths[place, same] = limits[place][order[spots[same]]]
            if not same.all():
                lengths[place, ~same] = self._distances(rows[place : place + 1], found[place, ~same])
        return lengths

    def _distances(self, query: Any, members: IndexArray) -> FloatArray:
        """Return the true distances of some training points to one query."""
        if isinstance(self._metric, str) and self._metric == "precomputed":
            row: FloatArray = np.asarray(query[:, members], dtype=np.float64).reshape(-1)
            return row
        points = take_rows(self._X, members)
        some = as_index("brute", points, metric=self._metric, metric_params=self._parameters, n_jobs=1)
        order, sorted_lengths = some.search(query, len(members))
        lengths = np.empty(len(members))
        lengths[order[0]] = sorted_lengths[0]
        return lengths

    @cached_property
    def _parameters(self) -> Mapping[str, Any] | None:
        """Parameters of the metric, with what it estimates from all the points."""
        if isinstance(self._X, RowSource):
            return self._metric_params  # there such metrics are refused
        return with_estimates(self._X, self._metric, self._metric_params) or None

    def _add(self, sample: _Sample, *, weighted: bool) -> None:
        """Keep a sample, and tell the user what contradicts the source."""
        self._samples.append(sample)
        if self._ours:
            return
        metric = self._metric if isinstance(self._metric, str) else getattr(self._metric, "__name__", "custom")
        if self._index.exact and not sample.right:
            self._say(
                "neighbors",
                f"neighbors says exact = True; got {self._name}, whose lists differ from those of an exhaustive search "
                f"by the metric {metric} on a sample of the queries, so it counts as not exact and the bound holds "
                "given its neighbours. Pass the metric that it uses, or set exact = False.",
            )
        allowed = _OWN_PART if self._index.exact else _GROSS
        if weighted and sample.distance_error > allowed:
            self._say(
                "distances",
                f"weights need the distances of the metric {metric}; got {self._name}, whose distances differ from "
                f"them by up to {sample.distance_error:.2g} times their size, and its own were used. Pass the metric "
                "that it uses, or let it return the distances of this one.",
            )

    def _say(self, topic: str, message: str) -> None:
        if topic not in self._said:
            self._said.add(topic)
            notify(message)


def _shares(lengths: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the share of the true m nearest among the first m found, mean over the queries, for every m.

    A point counts as one of the true m nearest if it is no farther than the m-th of them: ties are not misses.
    """
    n_queries, depth = lengths.shape
    counts = np.zeros(depth + 1)
    for own, limit in zip(lengths, np.maximum.accumulate(limits, axis=1), strict=True):
        # From which m on a point is both listed and near enough.
        since = np.maximum(np.arange(depth), np.searchsorted(limit, own))
        counts += np.bincount(since, minlength=depth + 1)
    shares: FloatArray = np.cumsum(counts[:depth]) / (n_queries * np.arange(1, depth + 1))
    return shares


def _relative_error(distances: FloatArray, lengths: FloatArray, longest: FloatArray) -> float:
    """Return how far distances are off, relatively; what the longest on the list hides does not count."""
    gaps = np.abs(distances - lengths) - _LIST_PART * longest
    sizes = np.maximum(lengths, np.finfo(np.float64).tiny)
    return float(np.max(np.where(gaps > 0.0, gaps / sizes, 0.0), initial=0.0))


def _balls(index: Index, rows: Any, radius: float, own: AnyArray | None) -> Balls:
    """Return the balls of all rows; those of training points without the points themselves."""
    parts = list(index.search_radius(rows, radius))
    balls = Balls.of(np.concatenate([part.sizes for part in parts]), np.concatenate([part.members for part in parts]))
    return balls if own is None else balls.without(own)
