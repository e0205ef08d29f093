"""All points in order of their distance to a query: what games need in which all points matter.

Two classes with two methods, `place` for many queries and `scores` for some of them, which make what
`pivotal.kernels.radix` puts in order. The order is that of an exhaustive search, equal distances by index.

    ProductOrders    scores are products in double precision; exact distances decide where rounding could change a value
    MeasuredOrders   scores are the distances of an engine, of whatever metric, which are also what votes may depend on

Rounding. With u = 2^-53, the score |x|^2 - 2 x.q of a point of d features is off by at most e (|x| + |q|)^2, with

    e = (3/2 d + 5) u    d/2 for the product, as 2 |x| |q| <= (|x| + |q|)^2 / 2; d for the norm; one for the sum;
                         two for rounding x and q beforehand; two spare for higher orders

and the distance that decides, summed feature by feature, is off by (d + 8) u relative to its square, root included. So
two points whose scores differ by more than 2 (5/2 d + 16) u (R + |q|)^2, R the largest |x|, are in their true order.

Where points and queries are small integers, such as pixels or counts, nothing is rounded: scores are in the order
of the distances, and equal ones come by index already.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from pivotal.core.frozen import read_only
from pivotal.core.threads import Threads, check_cancelled, run_all, slices
from pivotal.core.types import AnyArray, BoolArray, FloatArray, IndexArray
from pivotal.kernels.measure import PointRows
from pivotal.kernels.products import (
    EXACT,
    FEATURES,
    PANEL,
    QUERIES,
    TILE,
    Factors,
    Space,
    Workspace,
    aligned,
    fill_norms,
    fill_with_points,
    made_up,
    score_tiles,
)
from pivotal.kernels.radix import INTEGER, Scores, SortWords, WordArray, write_known
from pivotal.neighbors.brute import DenseEuclidean
from pivotal.neighbors.lists import scores_of_known

__all__ = ["MeasuredOrders", "Orders", "ProductOrders", "ScoreScratch"]

# Bytes that may be spent on keeping all points in tiles. Multiplications between two looks at whether to go on.
_KEPT_BYTES = 2**28
_BREATH = 2**28
# Coordinates of queries that are placed at once.
_PLACED_AT_ONCE = 2**18
# Queries whose distances are measured at once.
_MEASURED_AT_ONCE = 24
_UNIT = 2.0**-53
# Longer queries, in units of the spread of the points, are measured: all scores are alike to them.
_FAR = 2.0**30
_UNKNOWN = np.empty((0, 0))
# Entries that are looked at together for whether they are integers.
_LOOKED_AT_ONCE = 2**16
# What the largest number of a point may be times that of a query: a panel adds up twice their products.
_LARGEST_PRODUCT = EXACT // (2 * PANEL)


def _largest_integer(X: AnyArray, centre: FloatArray) -> float:
    """The largest distance of a coordinate from the centre if all are integers, else infinity."""
    at_once, largest = max(1, _LOOKED_AT_ONCE // X.shape[1]), 0.0
    for start in range(0, len(X), at_once):
        rows = X[start : start + at_once]
        if not (rows == np.rint(rows)).all():
            return np.inf
        largest = max(largest, float(np.abs(rows - centre).max(initial=0.0)))
    return largest


class ScoreScratch(NamedTuple):
    """Memory for the scores of some queries, and of each thread that makes them."""

    made: WordArray
    """Shape (n_queries, n_train)."""
    threads: list[Workspace]
    """Empty where threads need none."""


class Placed(NamedTuple):
    """Queries, and what does not depend on the points they are compared with."""

    queries: Any
    """float64 array or sparse matrix of shape (n_queries, n_features)."""
    own: IndexArray
    """A point to be left out of each; -1: none."""
    factors: Factors | None
    """None where scores are distances that are measured."""
    gaps: IndexArray
    """As in `pivotal.kernels.radix.Scores`."""

    def part(self, queries: slice) -> Placed:
        """Some of them."""
        factors = self.factors
        if factors is not None:
            more = slice(queries.start, queries.stop + QUERIES)
            factors = Factors(factors.factors[more], factors.scales[queries], factors.shifts[queries])
        return Placed(self.queries[queries], self.own[queries], factors, self.gaps[queries])


class Orders(Protocol):
    """Makes scores that put all points of an index in order."""

    words: SortWords
    """Index and label of each point."""

    unit: float
    """What turns exact numbers of the scores, where they are known, into distances."""

    prepares_again: bool
    """Whether points are prepared once more for every call of `scores`, so that more queries at once cost less."""

    placed_at_once: int
    """Queries that are worth being placed at once."""

    def scratch(self, n_queries: int, n_threads: int) -> ScoreScratch:
        """Memory for the scores of up to this many queries at once."""

    def place(self, queries: Any, own: IndexArray) -> Placed:
        """Prepare queries.

        Parameters
        ----------
        queries : float64 array or sparse matrix of shape (n_queries, n_features)
            Queries.
        own : int64 array of shape (n_queries,)
            A point to be left out of each; -1: none.
        """

    def scores(self, placed: Placed, scratch: ScoreScratch, threads: Threads) -> Scores:
        """Return the scores of all points for queries that are placed, in memory of the scratch.

        Parameters
        ----------
        placed : Placed
            The queries.
        scratch : ScoreScratch
            Memory, for at least this many queries and threads.
        threads : Threads
            Who does it.
        """


class ProductOrders:
    """Orders all points of an index by their Euclidean distance to a query.

    Parameters
    ----------
    engine : DenseEuclidean
        The engine of the index.
    words : SortWords
        Index and label of each point.
    n_threads : int
        Threads for the preparation.
    units : callable, optional
        Turns queries into what the engine compares, and says which of them are as far from every point.
    """

    unit = 1.0

    def __init__(
        self,
        engine: DenseEuclidean,
        words: SortWords,
        n_threads: int,
        units: Callable[[Any], tuple[FloatArray, BoolArray]] | None = None,
    ) -> None:
        self.words, self._units = words, units
        self._X, self._squared, self._centre, self._scale = engine.geometry
        n_train, n_features = self._X.shape
        n_tiles, self._width = -(-n_train // TILE), made_up(n_features, FEATURES)
        self._kind: np.dtype[Any] = np.dtype(np.float64)
        centre = np.rint(self._centre)
        self._largest = max(1.0, _largest_integer(self._X, centre))
        if self._largest**2 <= _LARGEST_PRODUCT:
            self._centre, self._scale, self._kind = centre, 1.0, np.dtype(np.float32)
        self.prepares_again = self._kind.itemsize * n_tiles * TILE * self._width > _KEPT_BYTES
        shape = (0, 0) if self.prepares_again else (n_tiles, self._width * TILE)
        tiles = aligned(shape, self._kind)
        self._space = Space(PointRows.of(self._X), self._centre, self._scale, tiles, np.empty(n_tiles * TILE))

        def prepare(part: slice) -> None:
            own = aligned((self._width * TILE if self.prepares_again else 0,), self._kind)
            for number in range(part.start, part.stop):
                tile = own if self.prepares_again else tiles[number]
                fill_with_points(self._space.points, number * TILE, self._centre, self._scale, tile)
                fill_norms(tile, self._space.norms[number * TILE : (number + 1) * TILE])

        run_all(prepare, slices(n_tiles, n_tiles, n_threads, TILE * n_features), n_threads)
        self._n_tiles, self.placed_at_once = n_tiles, max(1, _PLACED_AT_ONCE // n_features)
        self._radius = float(np.sqrt(self._space.norms.max()))
        # In units of (R + |q|)^2 spread over the bits of a score: what rounding may move, and a margin at both ends.
        self._gap = int(2 * (2.5 * n_features + 16) * _UNIT * 2.0**words.score_bits) + 4

    def scratch(self, n_queries: int, n_threads: int) -> ScoreScratch:
        """Memory for the scores of up to this many queries at once."""
        tile = self._width * TILE if self.prepares_again else 0
        shape = (made_up(n_queries, QUERIES) * TILE,)
        room = [Workspace(aligned((tile,), self._kind), aligned(shape)) for _ in range(n_threads)]
        return ScoreScratch(aligned((n_queries, self._X.shape[0]), np.uint64), room)

    def place(self, queries: Any, own: IndexArray) -> Placed:
        """Prepare queries, as `Orders` says."""
        nowhere = None
        if self._units is not None:
            queries, nowhere = self._units(queries)
        n_queries, n_features = queries.shape
        with np.errstate(over="ignore", invalid="ignore"):
            centred = (queries - self._centre) * self._scale
            square = np.einsum("ij,ij->i", centred, centred)
            limit = (self._radius + np.sqrt(square)) ** 2
        far = ~(square <= _FAR**2) | (limit == 0.0)
        gaps = np.full(n_queries, self._gap)
        if nowhere is not None:
            far |= nowhere
            gaps[nowhere] = -1  # the index decides
        # To a far query all scores are the same: one run, in which all points are measured.
        centred[far], square[far], limit[far] = 0.0, 0.0, 1.0
        scales = (2.0**self.words.score_bits - 8 * self._gap) / limit
        exact = self._kind == np.float32 and scales.min(initial=1.0) >= 1.0
        if exact and _largest_integer(queries[~far], self._centre) * self._largest <= _LARGEST_PRODUCT:
            scales = 2.0 ** np.floor(np.log2(scales))  # nothing is rounded, in the words neither
            gaps[~far] = -1
        else:
            exact = False
        scales[far] = 0.0
        shifts = square * scales + (4 * self._gap + INTEGER)
        # Any of them, made up to a multiple, are rows of this array, as of its parts.
        factors = np.zeros((n_queries + QUERIES, self._width), np.float32 if exact else np.float64)
        factors[:n_queries, :n_features] = -2.0 * centred
        return Placed(read_only(queries), own, Factors(factors, scales, shifts), gaps)

    def scores(self, placed: Placed, scratch: ScoreScratch, threads: Threads) -> Scores:
        """Return the scores of all points for queries that are placed, as `Orders` says."""
        made = scratch.made[: len(placed.own)]
        assert placed.factors is not None
        self._multiply(placed.factors, made, scratch, threads)
        return Scores(made, placed.gaps, placed.own, _UNKNOWN, self._space.points, placed.queries, self._squared)

    def _multiply(self, factors: Factors, made: WordArray, scratch: ScoreScratch, threads: Threads) -> None:
        """Fill `made` with the words of all points, some tiles at a time."""
        idle = list(scratch.threads)
        cost = TILE * self._width * len(made)  # of a tile
        exact = factors.factors.dtype == np.float32
        at_once = max(1, _BREATH // cost)

        def work(part: slice) -> None:
            room, sums = idle.pop(), aligned((QUERIES * TILE,), np.float32) if exact else None
            try:
                for start in range(part.start, part.stop, at_once):
                    check_cancelled()
                    stop = min(start + at_once, part.stop)
                    score_tiles(start, stop, self._space, factors, self.words, room, sums, made)
            finally:
                idle.append(room)

        threads.run(work, slices(self._n_tiles, self._n_tiles, threads.count, cost))


class MeasuredOrders:
    """Orders all points of an index by distances that its engine measures, of any metric.

    Parameters
    ----------
    measure : callable
        Takes some queries, returns float64 (n_queries, n_train), finite and at least 0, to be kept.
    unit : float
        What turns these numbers into distances.
    words : SortWords
        Index and label of each point.
    """

    prepares_again = False
    placed_at_once = 1

    def __init__(self, measure: Callable[[Any], FloatArray], unit: float, words: SortWords) -> None:
        self.words, self.unit, self._measure = words, unit, measure
        self._n_train = len(words.tails)

    def scratch(self, n_queries: int, n_threads: int) -> ScoreScratch:  # distances take their own
        """Memory for the scores of up to this many queries at once."""
        return ScoreScratch(np.empty((n_queries, self._n_train), np.uint64), [])

    def place(self, queries: Any, own: IndexArray) -> Placed:
        """Prepare queries, as `Orders` says."""
        return Placed(queries, own, None, np.zeros(queries.shape[0], np.int64))

    def scores(self, placed: Placed, scratch: ScoreScratch, threads: Threads) -> Scores:
        """Return the distances of all points for queries that are placed, as `Orders` says."""
        queries, n_queries = placed.queries, placed.queries.shape[0]
        made, known = scratch.made[:n_queries], np.empty((n_queries, self._n_train))

        def work(part: slice) -> None:
            check_cancelled()
            known[part] = self._measure(queries[part])
            write_known(known[part], self.words, made[part])

        threads.run(work, slices(n_queries, _MEASURED_AT_ONCE, threads.count))
        scores: Scores = scores_of_known(known, made, placed.own)
        return scores
