"""All points in order of their distance to a query: what games need in which everyone matters.

Scores come from products in double precision and are sorted as they are; exact distances decide where rounding could
change a value (`pivotal.kernels.radix`). The order is that of an exhaustive search, equal distances by index.

Rounding. With u = 2^-53, the score |x|^2 - 2 x.q of a point of d features is off by at most e (|x| + |q|)^2, with

    e = (3/2 d + 5) u    d/2 for the product, as 2 |x| |q| <= (|x| + |q|)^2 / 2; d for the norm; one for the sum;
                         two for rounding x and q beforehand; two spare for higher orders

and the distance that decides, summed feature by feature, is off by (d + 8) u relative to its square, root included. So
two points whose scores differ by more than 2 (5/2 d + 16) u (R + |q|)^2, R the largest |x|, are in their true order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pivotal.core.threads import run_all, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels.radix import INTEGER, Sorter, centre_again, centre_in_double, make_sorter, order_rows, score_bits
from pivotal.neighbors.brute import DenseEuclidean

__all__ = ["Orders"]

# Points multiplied at once; and bytes that may be spent on keeping all of them centred, in double precision.
_TILE_POINTS = 1024
_KEPT_BYTES = 2**28
_UNIT = 2.0**-53
# Longer queries, in units of the spread of the points, are measured: all scores are alike to them.
_FAR = 2.0**30


class SortScratch(NamedTuple):
    """Memory of one thread."""

    products: FloatArray
    """Shape (n_queries, n_train)."""
    tile: FloatArray
    """Points of a tile, centred; shape (tile, n_features)."""
    sorter: Sorter


class Orders:
    """Orders all points of an index by their distance to a query.

    Parameters
    ----------
    engine : DenseEuclidean
        The engine of the index.
    n_threads : int
        Threads for the preparation.
    """

    def __init__(self, engine: DenseEuclidean, n_threads: int) -> None:
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
        self._gap = int(2 * (2.5 * n_features + 16) * _UNIT * 2.0 ** score_bits(n_train)) + 4

    def scratch(self, n_queries: int) -> SortScratch:
        """Memory for a thread that orders up to this many queries at once."""
        n_train, n_features = self._X.shape
        tile = min(_TILE_POINTS, n_train)
        return SortScratch(np.empty((n_queries, n_train)), np.empty((tile, n_features)), make_sorter(n_train))

    def order(
        self,
        queries: FloatArray,
        own: IndexArray,
        points: AnyArray,
        scratch: SortScratch,
        labels: AnyArray,
        indices: CodeArray,
        *,
        all_alike: bool = False,
    ) -> int:
        """Fill `labels` and `indices`, of shape (n_queries, n_players), with all points, nearest first.

        Points of one label that are next to each other may be in any order where rounding cannot tell them apart,
        unless `all_alike`. Returns how many points were measured.

        Parameters
        ----------
        queries : float64 array of shape (n_queries, n_features)
            Queries.
        own : int64 array of shape (n_queries,)
            A point to be omitted from each; -1: none.
        points : int32 or float64 array of shape (n_train,)
            Label of each point.
        scratch : SortScratch
            Memory, for at least this many queries.
        labels, indices : arrays
            Output, overwritten.
        all_alike : bool, default=False
            Whether the order of points with the same label matters as well.
        """
        n_queries, n_train = queries.shape[0], self._X.shape[0]
        with np.errstate(over="ignore", invalid="ignore"):
            centred = (queries - self._centre) * self._scale
            square = np.einsum("ij,ij->i", centred, centred)
            limit = (self._radius + np.sqrt(square)) ** 2
        far = ~(square <= _FAR**2) | (limit == 0.0)
        # To a far query all scores are the same: one run, in which all points are measured.
        centred[far], square[far], limit[far] = 0.0, 0.0, 1.0
        products = scratch.products[:n_queries]
        self._multiply(-2.0 * centred, products, scratch)
        scales = (2.0 ** score_bits(n_train) - 8 * self._gap) / limit
        scales[far] = 0.0
        measured: int = order_rows(
            products,
            self._norms,
            scales,
            square * scales + (4 * self._gap + INTEGER),
            np.full(n_queries, self._gap),
            own,
            self._X,
            queries,
            self._squared,
            all_alike,
            points,
            scratch.sorter,
            labels,
            indices,
        )
        return measured

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
