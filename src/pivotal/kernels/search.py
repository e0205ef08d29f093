"""Finding the nearest points: rough distances to discard by, exact distances to rank by.

A tile of rough scores comes from a matrix product; a score is the squared distance less the square of the query, off
by a rounding error whose bound is known. One pass over the tile keeps what may be among the `depth` nearest:

    tile of scores  ->  scan_tile  ->  shortlist of each query  ->  rank_shortlists  ->  indices, distances
                                        (thinned when full)           (exact distances)

A shortlist that is full is thinned by score first. Where rounding cannot tell its candidates apart (duplicates, grids,
data far from the origin) it is thinned by exact distances, so it never outgrows its room. Shortlists stay in order of
training index throughout: what is stable keeps the lower index first, which is how equal distances are to be ordered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.measure import measure_rows, measure_sparse
from pivotal.kernels.order import STRIDE, SearchScratch, copy, keep_nearest, nth_smallest, pick_nearest, sort_nearest

_LARGEST = float(np.finfo(np.float32).max)
# One step up in single precision, with room to spare.
_ROUND_UP = 2.0**-22


class Shortlists(NamedTuple):
    """The candidates of some queries, and how each query tells candidates from the rest.

    A point within squared distance D (in units of the rough scores) has a score of at most
    growth * (D + noise) + noise - offset.
    """

    scores: npt.NDArray[np.float32]
    """Rough score of each candidate, shape (n_queries, room)."""
    indices: IndexArray
    """Training index of each candidate, ascending, shape (n_queries, room)."""
    distances: FloatArray
    """Exact distance of the first `settled` candidates, shape (n_queries, room)."""
    counts: IndexArray
    """How many candidates there are, shape (n_queries,)."""
    settled: IndexArray
    """How many of them are the nearest so far by exact distance; 0 as long as scores suffice. Shape (n_queries,)."""
    cuts: npt.NDArray[np.float32]
    """Scores above this are out, shape (n_queries,)."""
    offset: FloatArray
    """Squared distance less score, shape (n_queries,)."""
    noise: FloatArray
    """Bound on the error of a score that grows with the query alone, shape (n_queries,)."""


@kernel
def cut_at(square: float, growth: float, noise: float, offset: float) -> float:
    """Largest score of a point within this squared distance of the query, which has this noise and offset."""
    return growth * (max(square, 0.0) + noise) + noise - offset


@kernel
def lower_cut(i: int, square: float, growth: float, lists: Shortlists) -> None:
    """Lower the cut of query i, as there are enough points within this squared distance."""
    cut = cut_at(square, growth, lists.noise[i], lists.offset[i])
    cut = min(cut + abs(cut) * _ROUND_UP, _LARGEST)
    lists.cuts[i] = min(lists.cuts[i], np.float32(cut))


@kernel
def thin_out(
    X: AnyArray,
    query: FloatArray,
    i: int,
    depth: int,
    squared: bool,
    growth: float,
    unit: float,
    lists: Shortlists,
    scratch: SearchScratch,
) -> None:
    """Make room in the full shortlist of query i, and lower its cut. Arguments as in `scan_tile`."""
    scores, indices, distances = lists.scores[i], lists.indices[i], lists.distances[i]
    count = lists.counts[i]
    if lists.settled[i] == 0:
        copy(scores, scratch.spare_distances, count)
        score = nth_smallest(scratch.spare_distances, count, depth - 1)
        lower_cut(i, score + lists.offset[i], growth, lists)
        kept = 0
        for c in range(count):
            if scores[c] <= lists.cuts[i]:
                scores[kept] = scores[c]
                indices[kept] = indices[c]
                kept += 1
        lists.counts[i] = kept
        if 2 * kept <= depth + scores.shape[0]:
            return
        count = kept
    # Rounding cannot tell them apart: from now on this query goes by exact distances.
    measure_rows(X, query, indices, lists.settled[i], count, squared, distances)
    farthest = keep_nearest(distances, indices, count, depth, scratch)
    square = farthest if squared else farthest * farthest
    lower_cut(i, square * unit, growth, lists)
    lists.counts[i] = depth
    lists.settled[i] = depth


@kernel
def mark_strides(
    products: npt.NDArray[np.float32], norms: npt.NDArray[np.float32], cut: float, marks: npt.NDArray[np.bool_]
) -> None:
    """Mark the strides of a row of scores, products + norms, that hold a score of at most `cut`.

    Most hold none. Kept apart from what to do about the others, this loop compiles into vector code.
    """
    for b in range(norms.shape[0] // STRIDE):
        start = b * STRIDE
        left, right = products[start : start + STRIDE], norms[start : start + STRIDE]
        found = False
        for t in range(STRIDE):
            found |= left[t] + right[t] <= cut
        marks[b] = found


@kernel
def scan_tile(
    tile: npt.NDArray[np.float32],
    norms: npt.NDArray[np.float32],
    first: int,
    X: AnyArray,
    queries: FloatArray,
    depth: int,
    squared: bool,
    growth: float,
    unit: float,
    lists: Shortlists,
    marks: npt.NDArray[np.bool_],
    scratch: SearchScratch,
) -> None:
    """Add to the shortlists those points of a tile that may be among the nearest.

    Parameters
    ----------
    tile : float32 array of shape (>= n_queries, >= width)
        Products of queries and points.
    norms : float32 array of shape (width,)
        To be added to the products; infinite where there is no point. The width is a multiple of `STRIDE`.
    first : int
        Training index of the first point of the tile.
    X : float32 or float64 array of shape (n_train, n_features)
        The points as they are.
    queries : float64 array of shape (n_queries, n_features)
        The queries as they are.
    depth : int
        Number of neighbours wanted.
    squared : bool
        Whether distances are left squared.
    growth : float
        Relative error of a score, as a factor above 1.
    unit : float
        Squared distance in units of the scores, over squared distance.
    lists : Shortlists
        Updated in place.
    marks : bool array of shape (>= width / STRIDE,)
        Scratch.
    scratch : SearchScratch
        With as much room as the shortlists.
    """
    room = lists.scores.shape[1]
    for i in range(queries.shape[0]):
        scores, indices = lists.scores[i], lists.indices[i]
        cut = lists.cuts[i]
        mark_strides(tile[i], norms, cut, marks)
        for b in range(norms.shape[0] // STRIDE):
            if not marks[b]:
                continue
            if lists.counts[i] + STRIDE > room:
                thin_out(X, queries[i], i, depth, squared, growth, unit, lists, scratch)
                cut = lists.cuts[i]
            # Everything is written, and what is no candidate is written over: no branch to guess wrong.
            count = lists.counts[i]
            for t in range(b * STRIDE, (b + 1) * STRIDE):
                score = tile[i, t] + norms[t]
                scores[count] = score
                indices[count] = first + t
                count += score <= cut
            lists.counts[i] = count


@kernel
def rank_shortlists(
    X: AnyArray,
    queries: FloatArray,
    squared: bool,
    lists: Shortlists,
    scratch: SearchScratch,
    indices: IndexArray,
    distances: FloatArray,
) -> None:
    """Fill `indices` and `distances`, shape (n_queries, depth), with the nearest of each shortlist in order."""
    depth = indices.shape[1]
    for i in range(queries.shape[0]):
        near, far = lists.indices[i], lists.distances[i]
        count = lists.counts[i]
        measure_rows(X, queries[i], near, lists.settled[i], count, squared, far)
        if count > depth:
            keep_nearest(far, near, count, depth, scratch)
        sort_nearest(far, near, depth, scratch)
        copy(near, indices[i], depth)
        copy(far, distances[i], depth)


@kernel
def rank_sparse(
    scores: FloatArray,
    offset: FloatArray,
    noise: FloatArray,
    growth: float,
    starts: AnyArray,
    columns: AnyArray,
    entries: FloatArray,
    query_starts: AnyArray,
    query_columns: AnyArray,
    query_entries: FloatArray,
    squared: bool,
    scratch: SearchScratch,
    indices: IndexArray,
    distances: FloatArray,
) -> None:
    """Fill `indices` and `distances`, shape (n_queries, depth), for rows of sparse matrices.

    Parameters
    ----------
    scores : float64 array of shape (n_queries, n_train)
        Squared distances less `offset`, up to rounding.
    offset, noise : float64 arrays of shape (n_queries,)
        As in `Shortlists`.
    growth : float
        As in `scan_tile`.
    starts, columns, entries : arrays
        The points, compressed by rows, columns ascending.
    query_starts, query_columns, query_entries : arrays
        The queries likewise.
    squared : bool
        Whether distances are left squared.
    scratch : SearchScratch
        With room for more than `depth`.
    indices, distances : arrays of shape (n_queries, depth)
        Output, overwritten.
    """
    depth = indices.shape[1]
    near_distances, near_indices = scratch.near_distances, scratch.near_indices
    room = near_distances.shape[0]
    for i in range(scores.shape[0]):
        own = slice(query_starts[i], query_starts[i + 1])
        pick_nearest(scores[i], depth, scratch)
        worst = near_distances[0]
        for c in range(1, depth):
            worst = max(worst, near_distances[c])
        cut = cut_at(worst + offset[i], growth, noise[i], offset[i])
        count = 0
        farthest = np.inf
        for c in range(scores.shape[1]):
            if scores[i, c] > cut:
                continue
            row = slice(starts[c], starts[c + 1])
            distance = measure_sparse(columns[row], entries[row], query_columns[own], query_entries[own], squared)
            if distance >= farthest:
                continue
            if count == room:
                farthest = keep_nearest(near_distances, near_indices, count, depth, scratch)
                count = depth
                if distance >= farthest:
                    continue
            near_distances[count] = distance
            near_indices[count] = c
            count += 1
        if count > depth:
            keep_nearest(near_distances, near_indices, count, depth, scratch)
        sort_nearest(near_distances, near_indices, depth, scratch)
        copy(near_indices, indices[i], depth)
        copy(near_distances, distances[i], depth)
