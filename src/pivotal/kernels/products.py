"""Products of queries with all points, in double precision: the scores of `pivotal.kernels.radix`, as words.

Points lie in tiles, feature by feature:

    tile  =  feature 0 of its points | feature 1 of its points | ...       so that the inner loop runs over points

A few queries at a time add a few features to their rows of products, which stay in the first cache; the factors stay in
registers. When all features are in, the row becomes words on its way out. A product and the sum it joins may be rounded
once instead of twice: the bound on scores (`pivotal.neighbors._orders`) holds for both, and no score is a result.

Points that are small integers, such as pixels, lie in tiles of single precision. With queries that are such, too,
the sums of a panel of features are integers of at most `EXACT`, so single precision adds them up without rounding,
twice as many at a time; sums of panels join in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray
from pivotal.kernels._compile import kernel, score_kernel
from pivotal.kernels.measure import PointRows
from pivotal.kernels.radix import SortWords, WordArray, write_words

# Points of a tile. Features and queries that are multiplied at once: 16 factors, as many as registers.
TILE = 256
FEATURES = 4
QUERIES = 4
# Features of a tile that stay in the cache while all queries meet them.
PANEL = 64
# Integers up to this one are exact in single precision.
EXACT = 2**24
# Points whose features are gathered at once.
_GROUP = 8
_LINE = 64  # bytes of a line of the cache: a vector that crosses two of them takes twice as long


class Space(NamedTuple):
    """Points, and where the origin is."""

    points: PointRows
    """All of them, in their order."""
    centre: FloatArray
    """Shape (n_features,)."""
    scale: float
    """Points are (X - centre) * scale."""
    tiles: AnyArray
    """Tiles of all points, float32 if they are small integers, else float64.

    Shape (n_tiles, width * TILE); shape (0, 0) where they are made when needed.
    """
    norms: FloatArray
    """Squared lengths, shape (n_tiles * TILE,)."""


class Factors(NamedTuple):
    """What some queries do with the points."""

    factors: AnyArray
    """What points are multiplied with, float32 where sums of a panel are exact in it, else float64.

    Shape (n_queries, width), both made up with zeros to whole multiples.
    """
    scales: FloatArray
    """A product plus the norm, times its scale, plus its shift, makes a word, as in `write_words`; (n_queries,)."""
    shifts: FloatArray
    """Shape (n_queries,)."""


class Workspace(NamedTuple):
    """Memory of one thread."""

    tile: AnyArray
    """Shape (width * TILE,), of the kind of the tiles."""
    products: FloatArray
    """Shape (n_queries made up to a multiple of QUERIES, times TILE)."""


def aligned(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> AnyArray:
    """Memory that begins with a line of the cache."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = np.empty(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(dtype).reshape(shape)


def made_up(count: int, unit: int) -> int:
    """`count`, made up to a multiple."""
    return -(-count // unit) * unit


@kernel
def fill_tile(X: AnyArray, first: int, centre: FloatArray, scale: float, tile: AnyArray) -> None:
    """Fill a tile with the points from `first` on; where there are no more, with the last."""
    n_features, last = X.shape[1], X.shape[0] - 1
    for start in range(0, TILE, _GROUP):
        p = first + start
        x0, x1, x2, x3 = X[min(p, last)], X[min(p + 1, last)], X[min(p + 2, last)], X[min(p + 3, last)]
        x4, x5, x6, x7 = X[min(p + 4, last)], X[min(p + 5, last)], X[min(p + 6, last)], X[min(p + 7, last)]
        for j in range(n_features):
            group, c = tile[j * TILE + start : j * TILE + start + _GROUP], centre[j]
            group[0], group[1] = (x0[j] - c) * scale, (x1[j] - c) * scale
            group[2], group[3] = (x2[j] - c) * scale, (x3[j] - c) * scale
            group[4], group[5] = (x4[j] - c) * scale, (x5[j] - c) * scale
            group[6], group[7] = (x6[j] - c) * scale, (x7[j] - c) * scale
    for place in range(n_features * TILE, tile.shape[0]):
        tile[place] = 0.0


@kernel
def fill_with_points(points: PointRows, first: int, centre: FloatArray, scale: float, tile: AnyArray) -> None:
    """As `fill_tile`, with points in either precision."""
    if points.single.shape[0] > 0:
        fill_tile(points.single, first, centre, scale, tile)
    else:
        fill_tile(points.double, first, centre, scale, tile)


@kernel
def fill_norms(tile: AnyArray, norms: FloatArray) -> None:
    """Fill norms with the squared lengths of the points of a tile."""
    for t in range(TILE):
        norms[t] = 0.0
    for start in range(0, tile.shape[0], TILE):
        feature = tile[start : start + TILE]
        for t in range(TILE):
            norms[t] += feature[t] * feature[t]


@score_kernel
def multiply(factors: AnyArray, first: int, panel: AnyArray, rows: AnyArray) -> None:
    """Add products of QUERIES queries with some features of a tile, from `first` on, to their rows."""
    for j in range(0, panel.shape[0] // TILE, FEATURES):
        f = first + j
        a0, a1, a2, a3 = factors[0, f], factors[0, f + 1], factors[0, f + 2], factors[0, f + 3]
        b0, b1, b2, b3 = factors[1, f], factors[1, f + 1], factors[1, f + 2], factors[1, f + 3]
        c0, c1, c2, c3 = factors[2, f], factors[2, f + 1], factors[2, f + 2], factors[2, f + 3]
        d0, d1, d2, d3 = factors[3, f], factors[3, f + 1], factors[3, f + 2], factors[3, f + 3]
        part = panel[j * TILE : (j + FEATURES) * TILE]
        for t in range(TILE):
            x0, x1, x2, x3 = part[t], part[t + TILE], part[t + 2 * TILE], part[t + 3 * TILE]
            rows[t] = (((rows[t] + a0 * x0) + a1 * x1) + a2 * x2) + a3 * x3
            rows[t + TILE] = (((rows[t + TILE] + b0 * x0) + b1 * x1) + b2 * x2) + b3 * x3
            rows[t + 2 * TILE] = (((rows[t + 2 * TILE] + c0 * x0) + c1 * x1) + c2 * x2) + c3 * x3
            rows[t + 3 * TILE] = (((rows[t + 3 * TILE] + d0 * x0) + d1 * x1) + d2 * x2) + d3 * x3


@kernel
def made_up_rows(n_queries: int) -> int:
    """Rows of products that this many queries take."""
    return (n_queries + QUERIES - 1) // QUERIES * QUERIES


@kernel
def score_tiles(
    start: int,
    stop: int,
    space: Space,
    factors: Factors,
    words: SortWords,
    work: Workspace,
    sums: AnyArray | None,
    made: WordArray,
) -> None:
    """Fill `made`, of shape (n_queries, n_train), with the words of the points of some tiles.

    With factors in single precision, `sums` is a scratch of QUERIES * TILE of them; otherwise None.
    """
    n_queries, n_train = made.shape
    width = factors.factors.shape[1]
    for number in range(start, stop):
        first = number * TILE
        count = min(TILE, n_train - first)
        tile = work.tile
        if space.tiles.shape[0] > 0:
            tile = space.tiles[number]
        else:
            fill_with_points(space.points, first, space.centre, space.scale, tile)
        products = work.products
        for place in range(made_up_rows(n_queries) * TILE):
            products[place] = 0.0
        for j in range(0, width, PANEL):
            panel = tile[j * TILE : min(j + PANEL, width) * TILE]
            for q in range(0, n_queries, QUERIES):
                rows = products[q * TILE : (q + QUERIES) * TILE]
                if sums is None:
                    multiply(factors.factors[q : q + QUERIES], j, panel, rows)
                else:
                    for t in range(QUERIES * TILE):
                        sums[t] = 0.0
                    multiply(factors.factors[q : q + QUERIES], j, panel, sums)
                    for t in range(QUERIES * TILE):
                        rows[t] += sums[t]
        for q in range(n_queries):
            row = products[q * TILE : q * TILE + count]
            norms, own = space.norms[first : first + count], made[q, first : first + count]
            write_words(row, norms, factors.scales[q], factors.shifts[q], words, first, own)
