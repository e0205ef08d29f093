"""Exhaustive search: every query meets every training point.

Three engines with two methods, `search(queries, depth, n_threads) -> (indices, distances)` and `measure(queries)`, all
distances; `pivotal.neighbors` checks what goes in and picks one:

    DenseEuclidean    products in single precision to discard by, exact distances to rank by (kernels/search.py)
    SparseEuclidean   the same with sparse products in double precision
    Pairwise          blocks of distances that come from elsewhere: scikit-learn, or the user

For the Euclidean ones neither rounding in the products, nor their shapes, nor the number of threads can be seen in the
result. In arithmetic with rounding unit u, a score |x|^2 - 2 x.q is off by at most e (|x| + |q|)^2, with

    e = (terms / 2 + 6) u    half a u for each term of the product, as 2 |x| |q| <= (|x| + |q|)^2 / 2; two for rounding
                             x and q beforehand; one each for the norm and for the sum; two spare for higher orders

and a point at distance r has |x| <= |q| + r, so its score is off by at most noise + 2 e r^2, noise = 8 e |q|^2. Hence
no point at distance r or less scores above growth * (r^2 + noise) + noise - |q|^2, growth = (1 + 2e) / (1 - 2e), where
r^2 itself may be such a score plus |q|^2. What scores below that is ranked by its exact distance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pivotal.core.frozen import read_only
from pivotal.core.threads import run_all, single_threaded_blas, slices
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.kernels.measure import centre_rows, measure_all, measure_all_sparse, measure_rows
from pivotal.kernels.order import STRIDE, make_scratch, rank_rows
from pivotal.kernels.search import Shortlists, rank_shortlists, rank_sparse, scan_tile
from pivotal.neighbors.lists import sorted_rows

Neighbors: TypeAlias = tuple[IndexArray, FloatArray]

# Queries and points in a tile: large enough to keep the matrix product busy, small enough to stay in the cache.
_TILE_QUERIES = 512
_TILE_POINTS = 1024
# Features multiplied at once. The error bound grows with the number of terms, not with the number of such groups.
_TILE_FEATURES = 512
# Bytes for the shortlists of one thread, and for the rows of distances of all threads.
_SHORTLIST_BYTES = 2**24
_ROWS_BYTES = 2**26
# Beyond this part of the training set, sorting everything is faster than selecting.
_SORT_FRACTION = 0.125

_SINGLE = 2.0**-24
_DOUBLE = 2.0**-53
# Longer queries, in units of the spread of the points, are not worth a product: all points are alike to them.
_FAR = 2.0**30
# What may be lost to underflow, per feature, in units of the squared spread.
_UNDERFLOW = 2.0**-90


def empty_result(n_queries: int, depth: int) -> Neighbors:
    """Arrays for the answer."""
    return np.empty((n_queries, depth), np.int64), np.empty((n_queries, depth), np.float64)


def largest_entry(X: AnyArray) -> float:
    """Return the largest absolute value."""
    return max(abs(float(X.min())), abs(float(X.max())))


def scale_of(magnitude: float) -> float:
    """Return the power of two that brings the points to about 1, its square far from overflow."""
    return float(2.0 ** -max(-480, int(np.frexp(magnitude)[1])))


def _room(depth: int) -> int:
    """Candidates to hold before thinning them out to `depth`: twice as many, so that each is looked at a few times."""
    return 2 * depth + 128


def _sorts_everything(depth: int, n_train: int) -> bool:
    return depth > _SORT_FRACTION * n_train


def _rows_at_once(n_train: int, n_threads: int) -> int:
    """How many rows of distances to all points a thread may hold."""
    return max(1, min(_TILE_QUERIES, _ROWS_BYTES // (8 * n_train * n_threads)))


def _rank(rows: FloatArray, indices: IndexArray, distances: FloatArray) -> None:
    """Fill the answer from rows of all distances, which are overwritten."""
    n_train, depth = rows.shape[1], indices.shape[1]
    if _sorts_everything(depth, n_train):
        indices[...] = sorted_rows(rows, depth)
        distances[...] = np.take_along_axis(rows, indices, axis=1)
    else:
        rank_rows(rows, make_scratch(_room(depth)), indices, distances)


def _error(terms: int, unit: float, n_features: int) -> tuple[float, float]:
    """Return e of the module's note, and growth, with what the exact distances themselves may be off by."""
    error = (terms / 2 + 6) * unit + (n_features + 8) * _DOUBLE
    return error, (1 + 2 * error) / (1 - 2 * error) * (1 + (4 * n_features + 32) * _DOUBLE)


class DenseEuclidean:
    """Euclidean distances between rows of dense arrays.

    `points` are the rows of X centred, scaled by a power of two and rounded to single precision, once. X is float32 or
    float64, C-contiguous, finite and of moderate size (see `pivotal.neighbors`).
    """

    unit = 1.0

    def __init__(self, X: AnyArray, *, squared: bool, n_threads: int) -> None:
        self._X = X
        self._squared = squared
        n_train, n_features = X.shape
        self._centre: FloatArray = X.mean(axis=0, dtype=np.float64)
        self._scale = scale_of(largest_entry(X) + float(np.abs(self._centre).max()))
        self.points = np.empty((n_train, n_features), np.float32)
        # Infinite norms fill up the last stride of points.
        self._norms = np.full(-(-n_train // STRIDE) * STRIDE, np.inf, np.float32)

        def prepare(rows: slice) -> None:
            centre_rows(X[rows], self._centre, self._scale, self.points[rows], self._norms[:n_train][rows])

        run_all(prepare, slices(n_train, n_train, n_threads, 4 * n_features), n_threads)
        groups = -(-n_features // _TILE_FEATURES)
        self._error, self._growth = _error(min(n_features, _TILE_FEATURES) + groups, _SINGLE, n_features)

    @property
    def geometry(self) -> tuple[AnyArray, bool, FloatArray, float]:
        """The points, whether distances are left squared, and the centre and the scale that products are taken in."""
        return read_only(self._X), self._squared, self._centre, self._scale

    def centred(self, queries: FloatArray) -> FloatArray:
        """Return queries centred and scaled as the points are."""
        centred: FloatArray = (queries - self._centre) * self._scale
        return centred

    def squares(self, distances: FloatArray) -> FloatArray:
        """Return the squares of distances, as far as centred and scaled points are from each other."""
        return (distances if self._squared else distances**2) * self._scale**2

    def measure_some(self, query: FloatArray, candidates: IndexArray, start: int, distances: FloatArray) -> None:
        """Fill in the distances of the candidates from `start` on."""
        measure_rows(self._X, query, candidates, start, len(candidates), self._squared, distances)

    def search(self, queries: FloatArray, depth: int, n_threads: int) -> Neighbors:
        """Return the `depth` nearest points of each query, float64 (n_queries, n_features)."""
        n_queries, (n_train, n_features) = queries.shape[0], self._X.shape
        indices, distances = empty_result(n_queries, depth)
        if _sorts_everything(depth, n_train):
            most, fill = _rows_at_once(n_train, n_threads), self._sort_all
        else:
            room_bytes = _room(depth) * 20
            most, fill = max(1, min(_TILE_QUERIES, _SHORTLIST_BYTES // room_bytes)), self._scan_all

        def work(part: slice) -> None:
            fill(queries[part], indices[part], distances[part])

        with single_threaded_blas():
            run_all(work, slices(n_queries, most, n_threads, n_train * (n_features + 8)), n_threads)
        return indices, distances

    def measure(self, queries: FloatArray) -> FloatArray:
        """Return the distances of all points to each query, shape (n_queries, n_train)."""
        rows = np.empty((queries.shape[0], self._X.shape[0]))
        measure_all(self._X, queries, self._squared, np.zeros((self._X.shape[1] + 1, STRIDE)), rows)
        return rows

    def _sort_all(self, queries: FloatArray, indices: IndexArray, distances: FloatArray) -> None:
        _rank(self.measure(queries), indices, distances)

    def _scan_all(self, queries: FloatArray, indices: IndexArray, distances: FloatArray) -> None:
        n_train, depth = self._X.shape[0], indices.shape[1]
        factor, lists = self._open_shortlists(queries, depth)
        scratch = make_scratch(_room(depth))
        tile = np.zeros((queries.shape[0], _TILE_POINTS), np.float32)
        extra = np.empty_like(tile)
        marks = np.empty(_TILE_POINTS // STRIDE, np.bool_)
        for first in range(0, n_train, _TILE_POINTS):
            points = self.points[first : first + _TILE_POINTS]
            self._multiply(factor, points, tile[:, : len(points)], extra[:, : len(points)])
            norms = self._norms[first : first + _TILE_POINTS]
            scan_tile(
                tile,
                norms,
                first,
                self._X,
                queries,
                depth,
                self._squared,
                self._growth,
                self._scale**2,
                lists,
                marks,
                scratch,
            )
        rank_shortlists(self._X, queries, self._squared, lists, scratch, indices, distances)

    @staticmethod
    def _multiply(factor: AnyArray, points: AnyArray, product: AnyArray, extra: AnyArray) -> None:
        """Fill `product` with factor @ points.T, a group of features at a time."""
        np.matmul(factor[:, :_TILE_FEATURES], points[:, :_TILE_FEATURES].T, out=product)
        for start in range(_TILE_FEATURES, points.shape[1], _TILE_FEATURES):
            group = slice(start, start + _TILE_FEATURES)
            np.matmul(factor[:, group], points[:, group].T, out=extra)
            np.add(product, extra, out=product)

    def _open_shortlists(self, queries: FloatArray, depth: int) -> tuple[npt.NDArray[np.float32], Shortlists]:
        """Return what to multiply the points by, and empty shortlists."""
        n_queries, n_features = queries.shape
        with np.errstate(over="ignore"):
            centred = self.centred(queries)
            square = np.einsum("ij,ij->i", centred, centred)
        far = ~(square <= _FAR**2)
        # For a far query all scores are the norms and the noise is infinite: every point is a candidate.
        centred[far] = 0.0
        rounded = centred.astype(np.float32)
        offset = np.einsum("ij,ij->i", rounded, rounded, dtype=np.float64)
        noise = 8 * self._error * square + n_features * _UNDERFLOW
        noise[far] = np.inf
        room = _room(depth)
        lists = Shortlists(
            scores=np.empty((n_queries, room), np.float32),
            indices=np.empty((n_queries, room), np.int64),
            distances=np.empty((n_queries, room), np.float64),
            counts=np.zeros(n_queries, np.int64),
            settled=np.zeros(n_queries, np.int64),
            cuts=np.full(n_queries, np.finfo(np.float32).max, np.float32),
            offset=offset,
            noise=noise,
        )
        return -2 * rounded, lists


class SparseEuclidean:
    """Euclidean distances between rows of sparse matrices, which stay sparse.

    X is by rows, in float64, columns ascending; finite and of moderate size (see `pivotal.neighbors`).
    """

    unit = 1.0

    def __init__(self, X: Any, *, squared: bool) -> None:
        self._X = X
        self._squared = squared
        self._features = X.T.tocsr()
        self._norms: FloatArray = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()

    def search(self, queries: Any, depth: int, n_threads: int) -> Neighbors:
        """Return the `depth` nearest points of each query, sparse like X."""
        n_queries, n_train = queries.shape[0], self._X.shape[0]
        indices, distances = empty_result(n_queries, depth)
        terms = int(max(np.diff(self._X.indptr).max(), np.diff(queries.indptr).max()))
        error, growth = _error(terms, _DOUBLE, 2 * terms)

        def work(part: slice) -> None:
            block = queries[part]
            scores = (block @ self._features).toarray()
            scores *= -2.0
            scores += self._norms
            offset = np.asarray(block.multiply(block).sum(axis=1), dtype=np.float64).ravel()
            noise = 8 * error * offset + np.finfo(np.float64).tiny * (terms + 1)
            rank_sparse(
                scores,
                offset,
                noise,
                growth,
                self._X.indptr,
                self._X.indices,
                self._X.data,
                block.indptr,
                block.indices,
                block.data,
                self._squared,
                make_scratch(_room(depth)),
                indices[part],
                distances[part],
            )

        run_all(work, slices(n_queries, _rows_at_once(n_train, n_threads), n_threads), n_threads)
        return indices, distances

    def measure(self, queries: Any) -> FloatArray:
        """Return the distances of all points to each query, shape (n_queries, n_train)."""
        rows = np.empty((queries.shape[0], self._X.shape[0]))
        measure_all_sparse(
            self._X.indptr,
            self._X.indices,
            self._X.data,
            queries.indptr,
            queries.indices,
            queries.data,
            self._squared,
            rows,
        )
        return rows


class Pairwise:
    """Distances that a function computes for a block of queries at a time.

    It returns float64 (n_rows, n_train), finite and at least 0, to be overwritten.
    """

    unit = 1.0

    def __init__(self, measure: Callable[[Any], FloatArray], n_train: int) -> None:
        self.measure, self._n_train = measure, n_train

    def search(self, queries: Any, depth: int, n_threads: int) -> Neighbors:
        """Return the `depth` nearest points of each query."""
        n_queries = queries.shape[0]
        indices, distances = empty_result(n_queries, depth)

        def work(part: slice) -> None:
            _rank(self.measure(queries[part]), indices[part], distances[part])

        with single_threaded_blas():
            run_all(work, slices(n_queries, _rows_at_once(self._n_train, n_threads), n_threads), n_threads)
        return indices, distances
