"""Training sets that grow step by step: the nearest members of each query at every step, and what they predict.

Every point has a step at which it joins. With all points of a query sorted by distance, the nearest members at a step
are the first ones of the list that have joined by then. A later step has all members of an earlier one, so the steps
that still lack members are always the first few, and one pass over the list serves all steps.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel


@kernel
def nearest_at_steps(joined: IndexArray, ranks: IndexArray, counts: IndexArray) -> None:
    """Fill `ranks` with the ranks of the nearest members of each query at each step.

    Parameters
    ----------
    joined : int64 array of shape (n_queries, n_points)
        Step at which each point joins, nearest point first; n_steps or more if it never does.
    ranks : int64 array of shape (n_queries, n_steps, depth)
        Output: ranks of the nearest members, ascending, as many as there are; 0 where there are fewer.
    counts : int64 array of shape (n_queries, n_steps)
        Output: how many there are.
    """
    depth = ranks.shape[2]
    for i in range(joined.shape[0]):
        ranks[i] = 0
        counts[i] = 0
        lacking = ranks.shape[1]  # steps before this one lack members
        for rank in range(joined.shape[1]):
            for step in range(joined[i, rank], lacking):
                ranks[i, step, counts[i, step]] = rank
                counts[i, step] += 1
            while lacking > 0 and counts[i, lacking - 1] == depth:
                lacking -= 1
            if lacking == 0:
                break


@kernel
def elect(codes: CodeArray, counts: IndexArray, weights: FloatArray, votes: FloatArray, predicted: FloatArray) -> None:
    """Fill `predicted` with the class that has most votes, the lowest of equals.

    Parameters
    ----------
    codes : int32 array of shape (n_predictions, k)
        Classes of the nearest members, nearest first.
    counts : int64 array of shape (n_predictions,)
        How many of them there are; 0 is predicted where there are none.
    weights : float64 array of shape (n_predictions, k)
        Their weights; without rows, unweighted.
    votes : float64 array of shape (n_classes,)
        Scratch.
    predicted : float64 array of shape (n_predictions,)
        Output, overwritten.
    """
    weighted = weights.shape[0] > 0
    for e in range(codes.shape[0]):
        count = min(counts[e], codes.shape[1])
        for c in range(count):
            votes[codes[e, c]] = 0.0
        for c in range(count):
            votes[codes[e, c]] += weights[e, c] if weighted else 1.0
        best = codes[e, 0] if count > 0 else 0
        for c in range(1, count):
            code = codes[e, c]
            if votes[code] > votes[best] or (votes[code] == votes[best] and code < best):
                best = code
        predicted[e] = best


@kernel
def average(responses: FloatArray, counts: IndexArray, weights: FloatArray, predicted: FloatArray) -> None:
    """Fill `predicted` with the mean response of the nearest members; 0 where none has any weight.

    Arguments as in `elect`, with responses of shape (n_predictions, k) in place of classes.
    """
    weighted = weights.shape[0] > 0
    for e in range(responses.shape[0]):
        total, weight = 0.0, 0.0
        for c in range(min(counts[e], responses.shape[1])):
            share = weights[e, c] if weighted else 1.0
            total += share * responses[e, c]
            weight += share
        predicted[e] = total / weight if weight > 0.0 else 0.0
