"""All points in order of their distance to a query: what games need in which everyone matters.

Two classes with one method, `scores`: what `pivotal.kernels.radix` puts in order. The order is that of an exhaustive
search, equal distances by index.

    ProductOrders    scores are products in double precision; exact distances decide where rounding could change a value
    MeasuredOrders   scores are the distances of an engine, of whatever metric, which are also what votes may depend on

Rounding. With u = 2^-53, the score |x|^2 - 2 x.q of a point of d features is off by at most e (|x| + |q|)^2, with

    e = (3/2 d + 5) u    d/2 for the product, as 2 |x| |q| <= (|x| + |q|)^2 / 2; d for the norm; one for the sum;
                         two for rounding x and q beforehand; two spare for higher orders

and the distance that decides, summed feature by feature, is off by (d + 8) u relative to its square, root included. So
two points whose scores differ by more than 2 (5/2 d + 16) u (R + |q|)^2, R the largest |x|, are in their true order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from pivotal.core.threads import run_all, slices
from pivotal.core.types import BoolArray, FloatArray, IndexArray
from pivotal.kernels.radix import (
    INTEGER,
    Scores,
    Sorter,
    Words,
    centre_again,
    centre_in_double,
    make_sorter,
)
from pivotal.neighbors.brute import DenseEuclidean

__all__ = ["MeasuredOrders", "Orders", "ProductOrders"]

# Points multiplied at once; and bytes that may be spent on keeping all of them centred, in double precision.
_TILE_POINTS = 1024
_KEPT_BYTES = 2**28
_UNIT = 2.0**-53
# Longer queries, in units of the spread of the points, are measured: all scores are alike to them.
_FAR = 2.0**30
_UNKNOWN = np.empty((0, 0))


class SortScratch(NamedTuple):
    """Memory of one thread."""

    products: FloatArray
    """Shape (n_queries, n_train)."""
    tile: FloatArray
    """Points of a tile, centred; shape (tile, n_features)."""
    sorter: Sorter


class Orders(Protocol):
    """Makes scores that put all points of an index in order."""

    words: Words
    """Index and label of each point."""

    unit: float
    """What turns exact numbers of the scores, where they are known, into distances."""

    def scratch(self, n_queries: int) -> SortScratch:
        """Memory for a thread that orders up to this many queries at once."""

    def scores(self, queries: Any, own: IndexArray, scratch: SortScratch, *, all_alike: bool) -> Scores:
        """Return the scores of all points for some queries, in memory of the scratch.

        Parameters
        ----------
        queries : float64 array or sparse matrix of shape (n_queries, n_features)
            Queries.
        own : int64 array of shape (n_queries,)
            A point to be left out of each; -1: none.
        scratch : SortScratch
            Memory, for at least this many queries.
        all_alike : bool
            Whether the order of points with the same label matters as well; if not, points of one label that are next
            to each other may be in any order where rounding cannot tell them apart.
        """


class ProductOrders:
    """Orders all points of an index by their Euclidean distance to a query.

    Parameters
    ----------
    engine : DenseEuclidean
        The engine of the index.
    words : Words
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
        words: Words,
        n_threads: int,
        units: Callable[[Any], tuple[FloatArray, BoolArray]] | None = None,
    ) -> None:
        self.words, self._units = words, units
        self._X, self._squared, self._centre, self._scale = engine.geometry
        n_train, n_features = self._X.shape
        self._norms = np.empty(n_train)
        self._points = np.empty(self._X.shape) if 8 * self._X.size <= _KEPT_BYTES else None

        def prepare(rows: slice) -> None:
            points = np.empty(self._X[rows].shape) if self._points is None else self._points[rows]
            centre_in_double(self._X[rows], self._centre, self._scale, points, self._norms[rows])

        run_all(prepare, slices(n_train, _TILE_POINTS, n_threads), n_threads)
        self._radius = float(np.sqrt(self._norms.max()))
        # In units of (R + |q|)^2 spread over the bits of a score: what rounding may move, and a margin at both ends.
        self._gap = int(2 * (2.5 * n_features + 16) * _UNIT * 2.0**words.score_bits) + 4

    def scratch(self, n_queries: int) -> SortScratch:
        """Memory for a thread that orders up to this many queries at once."""
        n_train, n_features = self._X.shape
        tile = min(_TILE_POINTS, n_train)
        return SortScratch(np.empty((n_queries, n_train)), np.empty((tile, n_features)), make_sorter(n_train))

    def scores(self, queries: Any, own: IndexArray, scratch: SortScratch, *, all_alike: bool) -> Scores:
        """Return the scores of all points for some queries, as `Orders` says."""
        nowhere = None
        if self._units is not None:
            queries, nowhere = self._units(queries)
        n_queries = len(queries)
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
        products = scratch.products[:n_queries]
        self._multiply(-2.0 * centred, products, scratch)
        scales = (2.0**self.words.score_bits - 8 * self._gap) / limit
        scales[far] = 0.0
        shifts = square * scales + (4 * self._gap + INTEGER)
        measure = _UNKNOWN, self._X, queries, self._squared
        return Scores(products, self._norms, scales, shifts, gaps, own, *measure, all_alike)

    def _multiply(self, factor: FloatArray, products: FloatArray, scratch: SortScratch) -> None:
        """Fill `products` with the products of the queries with all points, a tile at a time."""
        if self._points is not None:
            np.matmul(factor, self._points.T, out=products)
            return
        for start in range(0, self._X.shape[0], _TILE_POINTS):
            rows = self._X[start : start + _TILE_POINTS]
            tile = scratch.tile[: len(rows)]
            centre_again(rows, self._centre, self._scale, tile)
            np.matmul(factor, tile.T, out=products[:, start : start + len(rows)])


class MeasuredOrders:
    """Orders all points of an index by distances that its engine measures, of any metric.

    A distance less the smallest, times a scale, is no smaller than that of a nearer point, however it is rounded: so
    only equal numbers are too close to tell.

    Parameters
    ----------
    measure : callable
        Takes some queries, returns float64 (n_queries, n_train), finite and at least 0, to be kept.
    unit : float
        What turns these numbers into distances.
    words : Words
        Index and label of each point.
    """

    def __init__(self, measure: Callable[[Any], FloatArray], unit: float, words: Words) -> None:
        self.words, self.unit, self._measure = words, unit, measure
        self._norms = np.zeros(len(words.tails))

    def scratch(self, n_queries: int) -> SortScratch:
        """Memory for a thread that orders up to this many queries at once."""
        n_train = len(self._norms)
        return SortScratch(np.empty((n_queries, n_train)), _UNKNOWN, make_sorter(n_train))

    def scores(self, queries: Any, own: IndexArray, scratch: SortScratch, *, all_alike: bool) -> Scores:
        """Return the distances of all points for some queries, as `Orders` says."""
        known = self._measure(queries)
        products = scratch.products[: len(known)]
        np.subtract(known, known.min(axis=1, keepdims=True), out=products)
        with np.errstate(over="ignore", divide="ignore"):
            scales = (2.0**self.words.score_bits - 8.0) / products.max(axis=1)
        scales[~np.isfinite(scales)] = 0.0  # all the same, or as good as: one run
        n_queries = len(known)
        shifts, gaps = np.full(n_queries, 4.0 + INTEGER), np.zeros(n_queries, np.int64)
        return Scores(
            products,
            self._norms,
            scales,
            shifts,
            gaps,
            own,
            known,
            _UNKNOWN,
            np.empty((n_queries, 0)),
            False,
            all_alike,
        )
