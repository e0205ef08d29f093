"""Following a score while single predictions change: a running sum, or the predictions themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pivotal._types import FloatArray, IndexArray
from pivotal.applications._scoring import Sum
from pivotal.kernels.curves import lay_out, settle


class Ledger(Protocol):
    """Takes predictions block by block of steps, and gives the scores that are wanted."""

    def now(self) -> float:
        """Return the score before the first block."""

    def open(self, n_tasks: int, width: int, asked: IndexArray) -> None:
        """Begin a block of `width` steps; the score is wanted after each of the steps `asked`, ascending."""

    def book(self, task: int, queries: slice, rows: IndexArray, steps: IndexArray, predicted: FloatArray) -> None:
        """Note new predictions.

        Parameters
        ----------
        task : int
            From 0 to n_tasks - 1. Tasks may be booked in threads, and each in parts, one after the other.
        queries : slice
            All queries of this part; every query must be in a part of every block.
        rows : int64 array of shape (n_events,)
            Whose prediction is new, counted from the first query of the part; ascending.
        steps : int64 array of shape (n_events,)
            At which step of the block; ascending for each query.
        predicted : float64 array of shape (n_events,)
            The predictions.
        """

    def close(self) -> FloatArray:
        """End the block and return the scores."""


class SumLedger:
    """A score that is a sum over queries: a step changes it by what its queries earn more or less.

    Parameters
    ----------
    score : Sum
        What queries earn.
    earned : float64 array of shape (n_queries,)
        What they earn to begin with.
    """

    def __init__(self, score: Sum, earned: FloatArray) -> None:
        self._score = score
        self._earned = earned
        self._asked = np.empty(0, np.int64)
        self._changes = np.empty((0, 0))
        self._before = 0.0

    def now(self) -> float:
        return float(self._score.finish(self._earned.sum(keepdims=True))[0])

    def open(self, n_tasks: int, width: int, asked: IndexArray) -> None:
        # Summed up anew for each block, so that rounding errors do not pile up.
        self._before = float(self._earned.sum())
        self._changes = np.zeros((n_tasks, width))
        self._asked = asked

    def book(self, task: int, queries: slice, rows: IndexArray, steps: IndexArray, predicted: FloatArray) -> None:
        earned = self._score.earns(predicted, queries.start + rows)
        settle(rows, steps, earned, self._earned[queries], self._changes[task])

    def close(self) -> FloatArray:
        # Tasks in their order, so that the sum does not depend on which thread was first.
        totals = self._before + np.cumsum(self._changes.sum(axis=0))
        return self._score.finish(totals[self._asked])


class TableLedger:
    """Any other score: the predictions at the steps that are wanted are kept, for a scorer to look at.

    Parameters
    ----------
    score : callable
        Takes the predictions of all queries.
    predicted : float64 array of shape (n_queries,)
        Predictions to begin with.
    first : float, optional
        The score to begin with, where it cannot come from predictions.
    """

    def __init__(self, score: Callable[[FloatArray], float], predicted: FloatArray, first: float | None = None) -> None:
        self._score = score
        self._predicted = predicted
        self._first = first
        self._asked = np.empty(0, np.int64)
        self._table = np.empty((0, 0))

    def now(self) -> float:
        return self._score(self._predicted) if self._first is None else self._first

    def open(self, n_tasks: int, width: int, asked: IndexArray) -> None:
        self._asked = asked
        self._table = np.empty((len(asked), len(self._predicted)))

    def book(self, task: int, queries: slice, rows: IndexArray, steps: IndexArray, predicted: FloatArray) -> None:
        lay_out(rows, steps, predicted, self._asked, self._predicted[queries], self._table[:, queries])

    def close(self) -> FloatArray:
        return np.array([self._score(row) for row in self._table])
