"""Several voters' opinions as one: weights under which the given labels are likeliest, shrunk towards equal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pivotal.core.types import CodeArray, FloatArray

_FLOOR: Final = 0.01  # no voter holds a label for less likely, where classes are few
_SHRINKAGE: Final = 0.1  # rows that speak for equal weights, as a share of all
_ROUNDS: Final = 100
_CONVERGED: Final = 1e-7


def floor_of(n_classes: int) -> float:
    """Return the least chance that a voter gives a class."""
    return min(_FLOOR, 0.1 / n_classes)


def as_chances(votes: FloatArray, *, floor: float = 0.0) -> FloatArray:
    """Return votes as chances that sum to 1, none below a floor before that; equal ones where there are no votes."""
    votes = np.maximum(votes, floor)
    sums = votes.sum(axis=1, keepdims=True)
    result: FloatArray = np.where(sums > 0.0, votes / np.where(sums > 0.0, sums, 1.0), 1.0 / votes.shape[1])
    return result


def mixture_weights(likelihoods: FloatArray) -> FloatArray:
    """Return the weight of each voter, by expectation maximisation.

    The likelihoods, of shape (n_rows, n_voters) and more than 0, say how likely each voter holds what was given.
    """
    n_rows, n_voters = likelihoods.shape
    weights = np.full(n_voters, 1.0 / n_voters)
    for _ in range(_ROUNDS):
        shares = likelihoods * weights
        shares /= shares.sum(axis=1, keepdims=True)
        fresh = shares.sum(axis=0) + _SHRINKAGE * n_rows / n_voters
        fresh /= fresh.sum()
        moved = float(np.abs(fresh - weights).max())
        weights = fresh
        if moved < _CONVERGED:
            break
    return weights


def mix(voters: Sequence[FloatArray], codes: CodeArray) -> tuple[FloatArray, FloatArray]:
    """Return the mixture of voters' chances, each of shape (n_rows, n_classes), and their weights."""
    rows, n_classes = np.arange(len(codes)), voters[0].shape[1]
    own = np.column_stack([chances[rows, codes] for chances in voters]).astype(np.float64)
    weights = mixture_weights(np.maximum(own, floor_of(n_classes)))
    mixed = np.zeros(voters[0].shape)
    for weight, chances in zip(weights, voters, strict=True):
        mixed += weight * chances
    return mixed, weights


def margins(own: FloatArray, rival: FloatArray) -> FloatArray:
    """Return how well a label stands against its best rival, from 0 to 1; with two classes, its share of the votes.

    Of a plain difference, a row of which no voter is sure cannot be suspicious; of a plain ratio, it is too easily so.
    """
    both = own + rival
    return 0.5 + 0.5 * np.where(both > 0.0, (own - rival) / np.sqrt(np.where(both > 0.0, both, 1.0)), 0.0)
