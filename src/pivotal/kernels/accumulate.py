"""Adding up the values of all queries, in the order of the queries."""

from __future__ import annotations

from pivotal.core.types import FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.draws import add_exactly


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
