"""Points by shells around a query: counted, then valued, with no sort.

A score from a product in double precision is the squared distance less the square of the query, off by a rounding error
whose bound is known. Which shell a point is in is a growing function of the squared distance, the least of a few lines:
shells are narrow near the query and wide far away. Where rounding could have moved a point across a wall, its exact
distance says where it is. So shells hold the same points whatever the shape of the product that scores come from.

    shell 0              nearer than the first wall: the points that are put in order
    shell 1 .. SHELLS    the shells
    shell SHELLS + 1     beyond the last wall
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.accumulate import add_row
from pivotal.kernels.measure import measure_rows

# Few enough that their counts stay in the first cache.
SHELLS = 2**12
_TOP = SHELLS + 1.5


class Walls(NamedTuple):
    """Where the shells of some queries are, in the units of the scores."""

    offsets: FloatArray
    """Squared distance less score, shape (n_queries,)."""
    slopes: FloatArray
    """Shells in a unit of squared distance, for each line, shape (n_queries, 3)."""
    places: FloatArray
    """Value of each line at squared distance 0, shape (n_queries, 3)."""
    slack: FloatArray
    """What rounding may have moved a point, in shells, shape (n_queries,)."""
    usable: npt.NDArray[np.bool_]
    """Whether shells are wide enough for their scores, shape (n_queries,)."""


class Tile(NamedTuple):
    """Scores of some queries with the points of a tile."""

    scores: FloatArray
    """Minus twice the product of each query with each point, shape (n_queries, n_points)."""
    norms: FloatArray
    """Squared length of each point, shape (n_points,)."""
    first: int
    """Index of the first of them."""


class Points(NamedTuple):
    """What exact distances are measured with."""

    X: AnyArray
    """All points."""
    queries: FloatArray
    """The queries."""
    squared: bool
    """Whether distances are left squared."""
    unit: float
    """Square of the scale that scores are in."""


class ShellScratch(NamedTuple):
    """Scratch for one thread."""

    codes: CodeArray
    """Twice the shell of a point, one more if it is right; shape (tile,)."""
    values: FloatArray
    """Shape (tile,)."""
    listed: IndexArray
    """Shape (1,)."""
    distance: FloatArray
    """Shape (1,)."""


def make_shell_scratch(size: int) -> ShellScratch:
    """Scratch for tiles of this many points."""
    return ShellScratch(np.empty(size, np.int32), np.empty(size), np.empty(1, np.int64), np.empty(1))


@kernel
def place_of(square: float, slopes: FloatArray, places: FloatArray) -> float:
    """Place of a squared distance among the walls; it never falls when the distance grows."""
    place = min(slopes[0] * square + places[0], slopes[1] * square + places[1])
    return float(min(max(min(place, slopes[2] * square + places[2]), 0.0), _TOP))


@kernel
def exact_shell(
    points: Points, q: int, index: int, slopes: FloatArray, places: FloatArray, scratch: ShellScratch
) -> int:
    """Shell of a point by its exact distance."""
    scratch.listed[0] = index
    measure_rows(points.X, points.queries[q], scratch.listed, 0, 1, points.squared, scratch.distance)
    square = scratch.distance[0] if points.squared else scratch.distance[0] * scratch.distance[0]
    return int(place_of(square * points.unit, slopes, places))


@kernel
def find_shells(
    tile: Tile, q: int, walls: Walls, points: Points, labels: CodeArray, target: int, scratch: ShellScratch
) -> None:
    """Fill `scratch.codes` with the shells of the points of a tile around query q, and whether they are right."""
    width = tile.norms.shape[0]
    scores, norms, codes = tile.scores[q], tile.norms, scratch.codes[:width]
    own = labels[tile.first : tile.first + width]
    offset, slack = walls.offsets[q], walls.slack[q]
    a, b, c = walls.slopes[q, 0], walls.slopes[q, 1], walls.slopes[q, 2]
    at_a, at_b, at_c = walls.places[q, 0], walls.places[q, 1], walls.places[q, 2]
    unsure = 0
    for i in range(width):
        square = scores[i] + norms[i] + offset
        place = min(min(a * square + at_a, b * square + at_b), c * square + at_c)
        low = np.int32(min(max(place - slack, 0.0), _TOP))
        high = np.int32(min(max(place + slack, 0.0), _TOP))
        codes[i] = 2 * low + np.int32(own[i] == target)
        unsure += low != high
    if unsure > 0:
        for i in range(width):
            place = scores[i] + norms[i] + offset
            place = min(min(a * place + at_a, b * place + at_b), c * place + at_c)
            if int(min(max(place - slack, 0.0), _TOP)) != int(min(max(place + slack, 0.0), _TOP)):
                shell = exact_shell(points, q, tile.first + i, walls.slopes[q], walls.places[q], scratch)
                codes[i] = 2 * shell + (own[i] == target)


@kernel
def count_tile(
    tile: Tile,
    walls: Walls,
    points: Points,
    labels: CodeArray,
    targets: CodeArray,
    counts: npt.NDArray[np.int32],
    near: CodeArray,
    n_near: IndexArray,
    scratch: ShellScratch,
) -> None:
    """Count the points of a tile by shell and by whether they are right, and list those of shell 0.

    Parameters
    ----------
    tile, walls, points, scratch
        As above.
    labels, targets : int32 arrays of shape (n_train,) and (n_queries,)
        Classes of the points and of the queries.
    counts : int32 array of shape (n_queries, SHELLS + 2, 2)
        Wrong and right points in each shell; added to.
    near : int32 array of shape (n_queries, room)
        Points of shell 0; appended to as long as there is room.
    n_near : int64 array of shape (n_queries,)
        How many they are; more than `room` if that was too little.
    """
    for q in range(tile.scores.shape[0]):
        if not walls.usable[q]:
            continue
        find_shells(tile, q, walls, points, labels, targets[q], scratch)
        own_counts = counts[q].ravel()
        for i in range(tile.norms.shape[0]):
            code = np.uint32(scratch.codes[i])  # not negative: nothing to look for from the end
            own_counts[code] += 1
            if code < 2:
                if n_near[q] < near.shape[1]:
                    near[q, n_near[q]] = tile.first + i
                n_near[q] += 1


@kernel
def add_tile(
    tile: Tile,
    walls: Walls,
    points: Points,
    labels: CodeArray,
    targets: CodeArray,
    tables: FloatArray,
    starts: IndexArray,
    near: CodeArray,
    near_values: FloatArray,
    at: IndexArray,
    weights: FloatArray,
    sums: FloatArray,
    scratch: ShellScratch,
) -> None:
    """Add the values of the points of a tile to their sums, query after query.

    Parameters
    ----------
    tile, walls, points, labels, targets, scratch
        As in `count_tile`.
    tables : float64 array of shape (n_queries, SHELLS + 2, 2)
        Value of a wrong and of a right point in each shell; 0 in shell 0.
    starts : int64 array of shape (n_queries + 1,)
        Where the near points of each query start in `near`.
    near, near_values : arrays
        Points that have values of their own, by index, and these.
    at : int64 array of shape (n_queries,)
        First of them that is in the tile or behind it; moved on.
    weights, sums : float64 arrays
        What the queries weigh, or nothing, and the sums of all points: as in `pivotal.kernels.accumulate.add_moments`.
    """
    width = tile.norms.shape[0]
    values = scratch.values[:width]
    for q in range(tile.scores.shape[0]):
        find_shells(tile, q, walls, points, labels, targets[q], scratch)
        table = tables[q].ravel()
        for i in range(width):
            values[i] = table[np.uint32(scratch.codes[i])]
        while at[q] < starts[q + 1] and near[at[q]] < tile.first + width:
            values[near[at[q]] - tile.first] = near_values[at[q]]
            at[q] += 1
        add_row(values, tile.first, weights[q] if weights.shape[0] > 0 else 1.0, sums)
