"""Training points that join one after the other: who enters the nearest of each query, and what that changes.

A point matters to a query only in the moment it enters the query's nearest few. So the work goes in two steps: look
through the newcomers and write down every entry with the nearest as they are then (an event), and afterwards count
the votes of the events alone.

    newcomers  ->  enter_tile, enter_rows  ->  elect, average  ->  settle, lay_out
                   events                      predictions         sums of scores, predictions at some steps
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal._types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.order import STRIDE
from pivotal.kernels.search import Shortlists, lower_cut, mark_strides, measure_rows


class Board(NamedTuple):
    """The nearest members of some queries so far, nearest first, equal distances in order of training index."""

    distances: FloatArray
    """Shape (n_queries, depth); infinite where there is nobody."""
    indices: IndexArray
    """Training indices, shape (n_queries, depth); -1 where there is nobody."""
    counts: IndexArray
    """How many there are, at most `depth`, shape (n_queries,)."""


class Events(NamedTuple):
    """Entries, by query and then in the order in which they happened, with the board of the query after each."""

    queries: IndexArray
    """Row of the board, shape (room,)."""
    positions: IndexArray
    """Which newcomer entered, shape (room,)."""
    counts: IndexArray
    """Members on the board, shape (room,)."""
    distances: FloatArray
    """Their distances, shape (room, depth)."""
    indices: IndexArray
    """Their training indices, shape (room, depth)."""


@kernel
def enter(i: int, distance: float, index: int, board: Board) -> bool:
    """Put a point on the board of query i, in its place; False if it is farther than all and there is no room."""
    distances, indices = board.distances[i], board.indices[i]
    count = board.counts[i]
    place = count
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and indices[place - 1] > index)
    ):
        place -= 1
    if place == distances.shape[0]:
        return False
    last = min(count, distances.shape[0] - 1)
    for c in range(last, place, -1):
        distances[c] = distances[c - 1]
        indices[c] = indices[c - 1]
    distances[place] = distance
    indices[place] = index
    board.counts[i] = last + 1
    return True


@kernel
def write_down(i: int, position: int, board: Board, events: Events, count: int) -> None:
    """Write the board of query i into the event of number `count`."""
    events.queries[count] = i
    events.positions[count] = position
    events.counts[count] = board.counts[i]
    for c in range(board.distances.shape[1]):
        events.distances[count, c] = board.distances[i, c]
        events.indices[count, c] = board.indices[i, c]


@kernel
def enter_tile(
    tile: npt.NDArray[np.float32],
    norms: npt.NDArray[np.float32],
    X: AnyArray,
    newcomers: IndexArray,
    queries: FloatArray,
    squared: bool,
    growth: float,
    unit: float,
    lists: Shortlists,
    first: int,
    marks: npt.NDArray[np.bool_],
    near: IndexArray,
    gaps: FloatArray,
    board: Board,
    events: Events,
) -> int:
    """Let newcomers enter the boards of some queries, found by rough scores and placed by exact distances.

    Parameters
    ----------
    tile : float32 array of shape (n_queries, >= width)
        Products of queries and newcomers.
    norms : float32 array of shape (width,)
        To be added to the products; infinite where there is no point. The width is a multiple of `STRIDE`.
    X : float32 or float64 array of shape (n_newcomers, n_features)
        The newcomers, in the order in which they come.
    newcomers : int64 array of shape (n_newcomers,)
        Their training indices.
    queries : float64 array of shape (n_queries, n_features)
        The queries as they are.
    squared, growth, unit
        As in `scan_tile`.
    lists : Shortlists
        What tells candidates from the rest; its rows `first` and after belong to the queries.
    first : int
        See `lists`.
    marks : bool array of shape (>= width / STRIDE,)
        Scratch.
    near, gaps : int64 and float64 arrays of shape (STRIDE,)
        Scratch.
    board : Board
        One row per query, updated in place.
    events : Events
        Output, with room for n_queries * n_newcomers.

    Returns
    -------
    int
        Number of events.
    """
    depth = board.distances.shape[1]
    n_events = 0
    for i in range(queries.shape[0]):
        if board.counts[i] == depth:
            farthest = board.distances[i, depth - 1]
            lower_cut(first + i, (farthest if squared else farthest * farthest) * unit, growth, lists)
        mark_strides(tile[i], norms, lists.cuts[first + i], marks)
        for b in range(norms.shape[0] // STRIDE):
            if not marks[b]:
                continue
            cut = lists.cuts[first + i]
            count = 0
            for t in range(b * STRIDE, (b + 1) * STRIDE):
                near[count] = t
                count += tile[i, t] + norms[t] <= cut
            measure_rows(X, queries[i], near, 0, count, squared, gaps)
            for c in range(count):
                if enter(i, gaps[c], newcomers[near[c]], board):
                    write_down(i, near[c], board, events, n_events)
                    n_events += 1
            if board.counts[i] == depth:
                farthest = board.distances[i, depth - 1]
                lower_cut(first + i, (farthest if squared else farthest * farthest) * unit, growth, lists)
    return n_events


@kernel
def enter_rows(rows: FloatArray, newcomers: IndexArray, board: Board, events: Events) -> int:
    """As `enter_tile`, from rows of exact distances, shape (n_queries, n_newcomers)."""
    depth = board.distances.shape[1]
    n_events = 0
    for i in range(rows.shape[0]):
        for t in range(rows.shape[1]):
            if board.counts[i] == depth and rows[i, t] > board.distances[i, depth - 1]:
                continue
            if enter(i, rows[i, t], newcomers[t], board):
                write_down(i, t, board, events, n_events)
                n_events += 1
    return n_events


@kernel
def elect(codes: CodeArray, counts: IndexArray, weights: FloatArray, votes: FloatArray, predicted: FloatArray) -> None:
    """Fill `predicted` with the class that has most votes, the lowest of equals.

    Parameters
    ----------
    codes : int32 array of shape (n_events, k)
        Classes of the nearest members, nearest first.
    counts : int64 array of shape (n_events,)
        How many of them there are, at least 1.
    weights : float64 array of shape (n_events, k)
        Their weights; without rows, one vote each.
    votes : float64 array of shape (n_classes,)
        Scratch.
    predicted : float64 array of shape (n_events,)
        Output, overwritten.
    """
    weighted = weights.shape[0] > 0
    for e in range(codes.shape[0]):
        count = min(counts[e], codes.shape[1])
        for c in range(count):
            votes[codes[e, c]] = 0.0
        for c in range(count):
            votes[codes[e, c]] += weights[e, c] if weighted else 1.0
        best = codes[e, 0]
        for c in range(1, count):
            code = codes[e, c]
            if votes[code] > votes[best] or (votes[code] == votes[best] and code < best):
                best = code
        predicted[e] = best


@kernel
def average(responses: FloatArray, counts: IndexArray, weights: FloatArray, predicted: FloatArray) -> None:
    """Fill `predicted` with the mean response of the nearest members; 0 where none has any weight.

    Arguments as in `elect`, with responses of shape (n_events, k) in place of classes.
    """
    weighted = weights.shape[0] > 0
    for e in range(responses.shape[0]):
        total, weight = 0.0, 0.0
        for c in range(min(counts[e], responses.shape[1])):
            share = weights[e, c] if weighted else 1.0
            total += share * responses[e, c]
            weight += share
        predicted[e] = total / weight if weight > 0.0 else 0.0


@kernel
def settle(
    queries: IndexArray, positions: IndexArray, earned: FloatArray, standing: FloatArray, changes: FloatArray
) -> None:
    """Add to `changes` what each position changes in the sum of what the queries earn.

    Parameters
    ----------
    queries, positions : int64 arrays of shape (n_events,)
        As in `Events`.
    earned : float64 array of shape (n_events,)
        What the query earns after the event.
    standing : float64 array of shape (n_queries,)
        What each query earned before; updated in place.
    changes : float64 array of shape (n_positions,)
        Updated in place.
    """
    for e in range(queries.shape[0]):
        i = queries[e]
        changes[positions[e]] += earned[e] - standing[i]
        standing[i] = earned[e]


@kernel
def lay_out(
    queries: IndexArray,
    positions: IndexArray,
    predicted: FloatArray,
    asked: IndexArray,
    standing: FloatArray,
    table: FloatArray,
) -> None:
    """Fill `table` with the prediction of each query once the positions up to each of `asked` have joined.

    Parameters
    ----------
    queries, positions : int64 arrays of shape (n_events,)
        As in `Events`.
    predicted : float64 array of shape (n_events,)
        Prediction after the event.
    asked : int64 array of shape (n_asked,)
        Ascending.
    standing : float64 array of shape (n_queries,)
        What was predicted before; updated in place.
    table : float64 array of shape (n_asked, n_queries)
        Output, overwritten.
    """
    e = 0
    for i in range(standing.shape[0]):
        j = 0
        while e < queries.shape[0] and queries[e] == i:
            while j < asked.shape[0] and asked[j] < positions[e]:
                table[j, i] = standing[i]
                j += 1
            standing[i] = predicted[e]
            e += 1
        while j < asked.shape[0]:
            table[j, i] = standing[i]
            j += 1
