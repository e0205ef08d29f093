"""Adding up the values of all queries, and their squares, in the order of the queries."""

from __future__ import annotations

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly

# Sums that stay in the first cache while rows are added to them.
_SUMS = 512


@kernel
def add_queries(indices: IndexArray, values: FloatArray, totals: FloatArray, rests: FloatArray) -> None:
    """Add each neighbour's value to its training point.

    Compensated, so that a million queries cost no digits; serial, so that the sum is the same for any number of
    threads and any size of block.

    Parameters
    ----------
    indices : int64 array of shape (n_queries, depth)
        Training points, no point twice in a row.
    values : float64 array of shape (n_queries, depth)
        Their values.
    totals, rests : float64 arrays of shape (n_train,)
        The sums so far, and what rounding lost of them; updated.
    """
    for q in range(indices.shape[0]):
        for i in range(indices.shape[1]):
            point = indices[q, i]
            totals[point], rests[point] = add_exactly(totals[point], rests[point], values[q, i])


@kernel
def add_moments(indices: IndexArray, values: FloatArray, weights: FloatArray, sums: FloatArray) -> None:
    """Do the same, and add up what the spread over the queries is made of.

    Parameters
    ----------
    indices : int64 array of shape (n_queries, depth)
        Training points, no point twice in a row.
    values : float64 array of shape (n_queries, depth)
        Their values, times the weight of the query.
    weights : float64 array of shape (n_queries,), or empty
        The weights; empty where every query weighs 1.
    sums : float64 array of shape (4 or 6, n_train)
        Sums of the values, of their squares and, with weights, of the values times the weight once more; behind each of
        them what rounding lost of it. Updated.
    """
    totals, rests, squares, square_rests = sums[0], sums[1], sums[2], sums[3]
    for q in range(indices.shape[0]):
        for i in range(indices.shape[1]):
            point, value = indices[q, i], values[q, i]
            totals[point], rests[point] = add_exactly(totals[point], rests[point], value)
            square = value * value
            squares[point], square_rests[point] = add_exactly(squares[point], square_rests[point], square)
        if weights.shape[0] > 0:
            crosses, cross_rests = sums[4], sums[5]
            for i in range(indices.shape[1]):
                point, cross = indices[q, i], values[q, i] * weights[q]
                crosses[point], cross_rests[point] = add_exactly(crosses[point], cross_rests[point], cross)


@kernel
def add_row(row: FloatArray, first: int, weight: float, sums: FloatArray) -> None:
    """Do the same for one query and the points first, first + 1, ...: `row` holds their values, times its weight.

    One sum after the other, so that each loop is over three contiguous arrays and is done several points at once.
    """
    last = first + row.shape[0]
    _add(row, 1.0, sums[0, first:last], sums[1, first:last])
    _add_squares(row, sums[2, first:last], sums[3, first:last])
    if sums.shape[0] > 4:
        _add(row, weight, sums[4, first:last], sums[5, first:last])


@kernel
def _add(row: FloatArray, weight: float, totals: FloatArray, rests: FloatArray) -> None:
    for i in range(row.shape[0]):
        value = row[i] * weight
        new = totals[i] + value
        shadow = new - totals[i]
        rests[i] += (totals[i] - (new - shadow)) + (value - shadow)
        totals[i] = new


@kernel
def _add_squares(row: FloatArray, totals: FloatArray, rests: FloatArray) -> None:
    for i in range(row.shape[0]):
        value = row[i] * row[i]
        new = totals[i] + value
        shadow = new - totals[i]
        rests[i] += (totals[i] - (new - shadow)) + (value - shadow)
        totals[i] = new


@kernel
def scatter_row(indices: CodeArray, values: FloatArray, row: FloatArray) -> None:
    """Fill row[i] with the value of point i, 0 for a point that is not among `indices`."""
    if indices.shape[0] < row.shape[0]:
        for i in range(row.shape[0]):
            row[i] = 0.0
    for c in range(indices.shape[0]):
        row[np.uint32(indices[c])] = values[c]  # not negative: nothing to look for from the end


@kernel
def scatter_rows(indices: CodeArray, values: FloatArray, rows: FloatArray) -> None:
    """Fill rows[q, i] with the value of point i in the order of query q, 0 for a point that is not in it.

    Parameters
    ----------
    indices : int32 array of shape (n_queries, n_players)
        Points, no point twice in a row.
    values : float64 array of shape (n_queries, n_players)
        Their values.
    rows : float64 array of shape (n_queries, n_train)
        Output, overwritten.
    """
    for q in range(indices.shape[0]):
        scatter_row(indices[q], values[q], rows[q])


@kernel
def add_rows(rows: FloatArray, start: int, stop: int, weights: FloatArray, sums: FloatArray) -> None:
    """Add the rows to the sums of the points start, ..., stop - 1, query after query, as `add_moments` does."""
    for first in range(start, stop, _SUMS):
        last = min(first + _SUMS, stop)
        for q in range(rows.shape[0]):
            add_row(rows[q, first:last], first, weights[q] if weights.shape[0] > 0 else 1.0, sums)
