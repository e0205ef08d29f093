"""From distances to integer votes, by way of weights that are checked.

Whatever a weight function of the user's returns that no vote can be made of is an error that names the query: values
would otherwise be those of another game, and nothing would show it.
"""

from __future__ import annotations

import math

import numpy as np

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.core.weights import Weights, to_votes

__all__ = ["as_votes", "weigh"]

_NOISE = 1e-12  # weights that grow by less, as a part of the nearest neighbour's, grow by rounding
_ALIKE = 1e-9  # weights of a shorter list that differ by less, likewise, differ by rounding
_FAINTEST = float(np.finfo(np.float64).tiny)  # ratios to a smaller weight have lost digits


def weigh(weights: Weights, distances: FloatArray, k: int, first: int | IndexArray = 0) -> FloatArray:
    """Return the weights of each query's neighbours, shape (n_queries, depth), checked.

    They are finite, at least 0, and never grow with distance; the nearest neighbour's is above 0. `first` is the number
    of the first query, or of each, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.core.weights import Linear
    >>> weigh(Linear(2.0), np.array([[0.5, 1.0], [2.5, 3.0]]), k=1)
    Traceback (most recent call last):
        ...
    ValueError: linear(2.0) must give the nearest neighbour of every query some weight; got 0.0 at distance 2.5 for
    query 1. Use weights that reach that far, such as a larger bandwidth or RBF, or omit the query.
    """
    found = _ask(weights, distances, k)
    if found.size == 0:
        return found

    def query(row: int) -> int:
        return first + row if isinstance(first, int) else int(first[row])

    if not (found.min() >= 0.0 and found.max() < math.inf):
        row, place = np.argwhere(~((found >= 0.0) & (found < math.inf)))[0]
        raise ValueError(
            f"{weights} must return finite weights of at least 0; got {found[row, place]} at distance "
            f"{distances[row, place]} for query {query(row)}. Return 0 for a neighbour that has no vote."
        )
    # A vote is a share of the largest weight, which must be known however short the list is.
    falling = np.minimum.accumulate(found, axis=1)
    grown = found - falling > _NOISE * found[:, :1]
    if grown.any():
        row, place = np.argwhere(grown)[0]
        raise ValueError(
            f"{weights} must return weights that never grow with distance; got {falling[row, place]} and then, at "
            f"distance {distances[row, place]}, {found[row, place]} for query {query(row)}. "
            "Pass votes to value_from_neighbors."
        )
    faint = falling[:, 0] < _FAINTEST
    if faint.any():
        row = int(faint.argmax())
        raise ValueError(
            f"{weights} must give the nearest neighbour of every query some weight; got {falling[row, 0]} at distance "
            f"{distances[row, 0]} for query {query(row)}. Use weights that reach that far, such as a larger bandwidth "
            "or RBF, or omit the query."
        )
    _check_alone(weights, distances, k, falling, query(0))
    return falling


def _ask(weights: Weights, distances: FloatArray, k: int) -> FloatArray:
    """Return one number for each distance."""
    answer = np.asarray(weights(distances, k))
    if answer.shape != distances.shape:
        raise ValueError(
            f"{weights} must return weights of the shape of its distances, {distances.shape}; got {answer.shape}. "
            "Return one weight for each distance."
        )
    if answer.dtype.kind not in "fiub":
        raise TypeError(f"{weights} must return numbers; got dtype {answer.dtype}. Return an array of floats.")
    return answer.astype(np.float64, copy=False)


def _check_alone(weights: Weights, distances: FloatArray, k: int, found: FloatArray, query: int) -> None:
    """Raise if the first query's weights change when it comes alone and its list is shorter."""
    depth = distances.shape[1]
    fewer = min(depth, max(weights.depth(k), (depth + 1) // 2))
    if (fewer, len(distances)) == (depth, 1):
        return
    alone = _ask(weights, distances[:1, :fewer], k)
    before, after = found[0, :fewer] / found[0, 0], alone[0] / alone[0, 0]
    if not (np.abs(after - before) <= _ALIKE).all():
        place = int((~(np.abs(after - before) <= _ALIKE)).argmax())
        raise ValueError(
            f"{weights} must return weights whose ratios depend on neither the length of the list nor other queries; "
            f"got {before[place]:.6g} of the nearest neighbour's at distance {distances[0, place]} for query {query}, "
            f"and {after[place]:.6g} once it is alone with {fewer} of its {depth} neighbours. Return a function of "
            "each distance and of the nearest one, distances[:, :1]."
        )


def as_votes(
    weights: Weights, distances: FloatArray, k: int, bits: int, first: int | IndexArray = 0
) -> CodeArray | None:
    """Return the integer votes of each query's neighbours, from what `weigh` takes; None where they are unweighted."""
    return to_votes(weigh(weights, distances, k, first), bits) if weights.weighted else None
