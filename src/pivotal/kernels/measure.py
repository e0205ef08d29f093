"""Points made ready for a search, and exact distances.

The exact squared distance is the sum, feature by feature in their order, of squared differences in double precision.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.frozen import read_only
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.order import STRIDE


@kernel
def centre_rows(
    X: AnyArray, centre: FloatArray, scale: float, points: npt.NDArray[np.float32], norms: npt.NDArray[np.float32]
) -> None:
    """Fill `points` with (X - centre) * scale and `norms` with their squared lengths.

    Parameters
    ----------
    X : float32 or float64 array of shape (n_points, n_features)
        Points.
    centre : float64 array of shape (n_features,)
        Taken from each point.
    scale : float
        A power of two.
    points : float32 array of shape (n_points, n_features)
        Output, overwritten.
    norms : float32 array of shape (n_points,)
        Output, overwritten.
    """
    for i in range(X.shape[0]):
        square = 0.0
        for j in range(X.shape[1]):
            points[i, j] = (X[i, j] - centre[j]) * scale
            square += np.float64(points[i, j]) * np.float64(points[i, j])
        norms[i] = square


@kernel
def unit_rows(starts: AnyArray, entries: AnyArray, scaled: FloatArray, nowhere: npt.NDArray[np.bool_]) -> None:
    """Fill `scaled` with rows scaled to length 1, and `nowhere` with whether a row is zero and stays so.

    Parameters
    ----------
    starts : int array of shape (n_rows + 1,)
        Where rows start and end in `entries`.
    entries : float32 or float64 array
        The rows one after the other, whole or without their zeros: the result is the same.
    scaled : float64 array of the shape of `entries`
        Output, overwritten.
    nowhere : bool array of shape (n_rows,)
        Output, overwritten.
    """
    for i in range(nowhere.shape[0]):
        largest = 0.0
        for c in range(starts[i], starts[i + 1]):
            largest = max(largest, abs(np.float64(entries[c])))
        nowhere[i] = largest == 0.0
        square = 0.0
        for c in range(starts[i], starts[i + 1]):
            # Scaled by the largest entry first, as squares may underflow or overflow.
            scaled[c] = entries[c] / largest if largest > 0.0 else 0.0
            square += scaled[c] * scaled[c]
        length = math.sqrt(square)
        for c in range(starts[i], starts[i + 1]):
            scaled[c] = scaled[c] / length if length > 0.0 else 0.0


@kernel
def measure_rows(
    X: AnyArray, query: FloatArray, indices: IndexArray, start: int, stop: int, squared: bool, distances: FloatArray
) -> None:
    """Fill distances[start:stop] with the exact distances of the query to the rows X[indices[start:stop]].

    Four rows at a time: each sum waits for its own last addition only, so the processor adds to the others meanwhile.
    """
    c = start
    while c + 4 <= stop:
        first, second, third, fourth = X[indices[c]], X[indices[c + 1]], X[indices[c + 2]], X[indices[c + 3]]
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for j in range(query.shape[0]):
            here = query[j]
            one += (first[j] - here) * (first[j] - here)
            two += (second[j] - here) * (second[j] - here)
            three += (third[j] - here) * (third[j] - here)
            four += (fourth[j] - here) * (fourth[j] - here)
        distances[c], distances[c + 1], distances[c + 2], distances[c + 3] = one, two, three, four
        c += 4
    while c < stop:
        row = X[indices[c]]
        total = 0.0
        for j in range(query.shape[0]):
            gap = row[j] - query[j]
            total += gap * gap
        distances[c] = total
        c += 1
    if not squared:
        for c in range(start, stop):
            distances[c] = math.sqrt(distances[c])


class PointRows(NamedTuple):
    """Points in one of two precisions: kernels that take either are compiled once, for both."""

    double: FloatArray
    """Shape (n_points, n_features), or (0, 0) if they are in single precision."""
    single: npt.NDArray[np.float32]
    """Shape (n_points, n_features), or (0, 0) if they are in double precision."""

    @classmethod
    def of(cls, X: AnyArray) -> PointRows:
        """Points that are only read."""
        none = (0, 0)
        if X.dtype == np.float32:
            return cls(read_only(np.empty(none)), read_only(X))
        return cls(read_only(X), read_only(np.empty(none, np.float32)))


@kernel
def measure_points(
    points: PointRows,
    query: FloatArray,
    indices: IndexArray,
    start: int,
    stop: int,
    squared: bool,
    distances: FloatArray,
) -> None:
    """As `measure_rows`, of points in either precision."""
    if points.single.shape[0] > 0:
        measure_rows(points.single, query, indices, start, stop, squared, distances)
    else:
        measure_rows(points.double, query, indices, start, stop, squared, distances)


@kernel
def measure_all(X: AnyArray, queries: FloatArray, squared: bool, columns: FloatArray, distances: FloatArray) -> None:
    """Fill `distances`, shape (n_queries, n_train), with all exact distances.

    Points are taken `STRIDE` at a time and turned on their side, into `columns` of shape (n_features + 1, STRIDE), so
    that distances are summed side by side and each in the order of the features.
    """
    n_features = X.shape[1]
    totals = columns[n_features]
    for start in range(0, X.shape[0], STRIDE):
        width = min(STRIDE, X.shape[0] - start)
        for t in range(width):
            for j in range(n_features):
                columns[j, t] = X[start + t, j]
        for i in range(queries.shape[0]):
            for t in range(STRIDE):
                totals[t] = 0.0
            for j in range(n_features):
                column = columns[j]
                here = queries[i, j]
                for t in range(STRIDE):
                    gap = column[t] - here
                    totals[t] += gap * gap
            for t in range(width):
                distances[i, start + t] = totals[t] if squared else math.sqrt(totals[t])


@kernel
def measure_sparse(
    columns: AnyArray, entries: FloatArray, other_columns: AnyArray, other_entries: FloatArray, squared: bool
) -> float:
    """Exact distance of two sparse rows with ascending columns, to the last bit that of the same rows made dense."""
    total = 0.0
    a, b = 0, 0
    while a < columns.shape[0] or b < other_columns.shape[0]:
        if b == other_columns.shape[0] or (a < columns.shape[0] and columns[a] < other_columns[b]):
            gap = entries[a]
            a += 1
        elif a == columns.shape[0] or other_columns[b] < columns[a]:
            gap = -other_entries[b]
            b += 1
        else:
            gap = entries[a] - other_entries[b]
            a += 1
            b += 1
        total += gap * gap
    return total if squared else math.sqrt(total)


@kernel
def measure_all_sparse(
    starts: AnyArray,
    columns: AnyArray,
    entries: FloatArray,
    query_starts: AnyArray,
    query_columns: AnyArray,
    query_entries: FloatArray,
    squared: bool,
    distances: FloatArray,
) -> None:
    """Fill `distances`, shape (n_queries, n_train), with all exact distances of rows of sparse matrices.

    Parameters as in `pivotal.kernels.search.rank_sparse`.
    """
    for i in range(distances.shape[0]):
        own = slice(query_starts[i], query_starts[i + 1])
        for c in range(distances.shape[1]):
            row = slice(starts[c], starts[c + 1])
            distances[i, c] = measure_sparse(
                columns[row], entries[row], query_columns[own], query_entries[own], squared
            )
