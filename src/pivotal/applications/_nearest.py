"""The nearest-neighbour model whose training set changes point by point, and its score after each step.

Predictions are those of scikit-learn: the class with most votes, the lowest of equals, or the mean. With fewer than k
points all of them vote. Without any, no class is predicted and the score is 0; a regression then predicts 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tqdm.auto import tqdm

from pivotal._labels import ClassCodes, as_labels, as_responses, check_same_kind
from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal._validation import check_features, check_k, check_same_length
from pivotal.applications._arrivals import AT_ONCE, Arrivals
from pivotal.applications._ledger import Ledger, SumLedger, TableLedger
from pivotal.applications._scoring import (
    SUMS,
    ForetoldClassifier,
    ForetoldRegressor,
    Scoring,
    Sum,
    Task,
    as_scorer,
    ask,
    name_of_scoring,
)
from pivotal.kernels.curves import Events, average, elect
from pivotal.weights import Weights, as_weights

Metric = str | Callable[..., float]

# Predictions made at once outside of events.
_ROWS = 4096


@dataclass(frozen=True)
class Neighbourhood:
    """What makes a nearest-neighbour model: k, weights, metric."""

    k: int
    weights: Weights
    metric: Metric
    metric_params: Mapping[str, Any] | None

    @classmethod
    def of(cls, model: Any, k: Any, weights: Any, metric: Metric, metric_params: Mapping[str, Any] | None) -> Any:
        """Check the settings, or take them from a model of scikit-learn."""
        if model is not None:
            if (k, weights, metric, metric_params) != (5, "uniform", "euclidean", None):
                raise ValueError(
                    "a model brings its own k, weights and metric; got some of them as well. Leave them out."
                )
            k, weights, metric = model.n_neighbors, model.weights, model.metric
            metric_params = model.metric_params
            if metric == "minkowski":
                metric_params = {"p": model.p, **(metric_params or {})}
        return cls(check_k(k), as_weights(weights), metric, metric_params)

    @property
    def depth(self) -> int:
        """How many of the nearest a prediction depends on."""
        return max(self.k, self.weights.depth(self.k))

    def describe(self) -> dict[str, Any]:
        """What the settings say of it."""
        name = self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "of your own")
        return {"k": self.k, "weights": str(self.weights), "metric": str(name)}


def is_nearest(model: Any) -> bool:
    """Whether this is scikit-learn's own nearest-neighbour model, which need not be refitted."""
    return type(model) in (KNeighborsClassifier, KNeighborsRegressor)


class NearestModel:
    """Checked data, and how predictions and scores come from the nearest members.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As the user brought them.
    neighbourhood : Neighbourhood
    scoring : str or callable
    task : "classification" or "regression"
    n_jobs : int or None
    also : array, optional
        Labels that may come to those of the data.
    """

    def __init__(
        self,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        neighbourhood: Neighbourhood,
        scoring: Scoring,
        task: Task,
        n_jobs: int | None,
        also: AnyArray | None = None,
    ) -> None:
        self.X = check_features(X_train, "X_train")
        like = None if neighbourhood.metric == "precomputed" else self.X
        self.queries = check_features(X_test, "X_test", like=like)
        self.neighbourhood, self._scoring, self._n_jobs = neighbourhood, scoring, n_jobs
        self._codes: ClassCodes | None = None
        if task == "regression":
            self.labels: AnyArray = as_responses(y_train, "y_train")
            self._truth: AnyArray = as_responses(y_test, "y_test")
            targets = self._truth
        else:
            train, self._truth = as_labels(y_train, "y_train"), as_labels(y_test, "y_test")
            check_same_kind(train, self._truth)
            shown = (train, self._truth) if also is None or also.size == 0 else (train, self._truth, also)
            self._codes = _in_order(ClassCodes.of(*shown))
            self.labels, targets = self.encode(train, "y_train"), self.encode(self._truth, "y_test")
        check_same_length(self.X, self.labels, "X_train", "y_train")
        check_same_length(self.queries, targets, "X_test", "y_test")
        self._scorer = as_scorer(scoring)
        self._sum = Sum.of(scoring, targets) if isinstance(scoring, str) and scoring in SUMS else None

    @property
    def n_train(self) -> int:
        """Number of training points."""
        return len(self.labels)

    @property
    def settings(self) -> dict[str, Any]:
        """What the settings of a curve say of it."""
        return {
            "model": "nearest neighbours",
            **self.neighbourhood.describe(),
            "scoring": name_of_scoring(self._scoring),
            "n_test": len(self._truth),
        }

    def encode(self, labels: AnyArray, name: str) -> AnyArray:
        """Return class codes, in the order of the classes, or numbers as they are."""
        return as_responses(labels, name) if self._codes is None else self._codes.encode(labels, name)

    def decode(self, answers: AnyArray) -> AnyArray:
        """Return labels for class codes, or numbers as they are."""
        if self._codes is None:
            return answers
        return np.asarray(self._codes.classes)[answers.astype(np.int64)]

    def arrivals(self) -> Arrivals:
        """Return empty boards for the queries."""
        return Arrivals(
            self.X,
            self.queries,
            self.neighbourhood.depth,
            metric=self.neighbourhood.metric,
            metric_params=self.neighbourhood.metric_params,
            n_jobs=self._n_jobs,
            x_name="X_train",
            queries_name="X_test",
        )

    def predict(self, answers: AnyArray, distances: FloatArray, counts: IndexArray) -> FloatArray:
        """Return class codes or numbers from the labels and distances of the nearest members, of which some exist."""
        k = self.neighbourhood.k
        weights = self._weigh(distances, counts)
        predicted = np.empty(len(counts))
        if self._codes is None:
            average(np.ascontiguousarray(answers[:, :k]), counts, weights, predicted)
        else:
            elect(np.ascontiguousarray(answers[:, :k]), counts, weights, np.empty(len(self._codes.classes)), predicted)
        return predicted

    def _weigh(self, distances: FloatArray, counts: IndexArray) -> FloatArray:
        weights, k = self.neighbourhood.weights, self.neighbourhood.k
        if not weights.weighted:
            return np.empty((0, 0))
        weighed = np.zeros((len(counts), k))
        for count in np.unique(counts):
            rows = counts == count
            found = weights(distances[rows, :count], k)[:, :k]
            weighed[rows, : found.shape[1]] = found
        return weighed

    def standing(self, arrivals: Arrivals) -> FloatArray:
        """Return the prediction of every query from its board; zeros where nobody has joined."""
        predicted = np.zeros(len(self._truth))
        board = arrivals.board
        if board.counts[0] > 0:  # all queries have as many
            for start in range(0, len(predicted), _ROWS):
                part = slice(start, start + _ROWS)
                predicted[part] = self.predict(
                    self.labels[board.indices[part]], board.distances[part], board.counts[part]
                )
        return predicted

    def ledger(self, predicted: FloatArray, *, empty: bool) -> Ledger:
        """Open the books on predictions as they stand."""
        nothing = empty and self._codes is not None
        if self._sum is None:
            return TableLedger(self.score, predicted, 0.0 if nothing else None)
        earned = self._sum.earns(predicted, slice(None))
        return SumLedger(self._sum, np.zeros_like(earned) if nothing else earned)

    def score(self, predicted: FloatArray) -> float:
        """Return the score of class codes or numbers."""
        answers = self.decode(predicted)
        if self._codes is None:
            return ask(self._scorer, ForetoldRegressor(answers), self.queries, self._truth, self._scoring)
        classes = np.asarray(self._codes.classes)
        return ask(self._scorer, ForetoldClassifier(answers, classes), self.queries, self._truth, self._scoring)

    def scores_while_joining(
        self, members: IndexArray, newcomers: IndexArray, sizes: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores once so many newcomers have joined.

        Parameters
        ----------
        members : int64 array
            Who is there from the start.
        newcomers : int64 array
            Who joins, in order.
        sizes : int64 array of shape (n_steps,)
            Ascending, from 0 to the number of newcomers.
        progress : bool
            Whether to show a bar.
        """
        arrivals = self.arrivals()
        arrivals.seat(members)
        ledger = self.ledger(self.standing(arrivals), empty=members.size == 0)
        scores = np.empty(len(sizes))
        if sizes[0] == 0:
            scores[0] = ledger.now()
        with tqdm(total=len(newcomers), unit="point", disable=not progress, desc="joining") as bar:
            for start in range(0, len(newcomers), AT_ONCE):
                block = newcomers[start : start + AT_ONCE]
                due = np.flatnonzero((sizes > start) & (sizes <= start + len(block)))
                ledger.open(arrivals.n_tasks, len(block), sizes[due] - start - 1)

                def witness(task: int, queries: slice, events: Events) -> None:
                    predicted = self.predict(self.labels[events.indices], events.distances, events.counts)
                    ledger.book(task, queries, events.queries, events.positions, predicted)

                arrivals.admit(block, witness)
                scores[due] = ledger.close()
                bar.update(len(block))
        return scores

    def scores_while_mended(
        self, order: IndexArray, mended: AnyArray, counts: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores once so many points have their new label.

        Who is near does not change: one search, and then a vote for each neighbour that gets a new label.

        Parameters
        ----------
        order : int64 array
            Training indices, in the order in which they are mended.
        mended : array of shape (n_train,)
            Their new labels; those of the others are not looked at.
        counts : int64 array of shape (n_steps,)
            Ascending, from 0 to len(order).
        progress : bool
            Whether to show a bar.
        """
        answers_after = self.encode(mended, "the new labels")
        arrivals = self.arrivals()
        arrivals.seat(np.arange(self.n_train))
        board = arrivals.board
        ledger = self.ledger(self.standing(arrivals), empty=False)
        scores = np.empty(len(counts))
        if counts[0] == 0:
            scores[0] = ledger.now()
        turn = np.full(self.n_train, len(order))
        turn[order] = np.arange(len(order))
        turns = np.where(board.indices >= 0, turn[board.indices], len(order))
        n_queries = len(turns)
        with tqdm(total=len(order), unit="point", disable=not progress, desc="mending") as bar:
            for start in range(0, len(order), AT_ONCE):
                stop = min(start + AT_ONCE, len(order))
                due = np.flatnonzero((counts > start) & (counts <= stop))
                ledger.open(1, stop - start, counts[due] - start - 1)
                for first in range(0, n_queries, _ROWS):
                    queries = slice(first, min(first + _ROWS, n_queries))
                    here = turns[queries]
                    rows, places = np.nonzero((here >= start) & (here < stop))
                    steps = here[rows, places]
                    by_step = np.lexsort((steps, rows))
                    rows, steps = rows[by_step].astype(np.int64), steps[by_step]
                    near = board.indices[queries][rows]
                    answers = np.where(here[rows] <= steps[:, np.newaxis], answers_after[near], self.labels[near])
                    predicted = self.predict(answers, board.distances[queries][rows], board.counts[queries][rows])
                    ledger.book(0, queries, rows, steps - start, predicted)
                scores[due] = ledger.close()
                bar.update(stop - start)
        return scores


def _in_order(codes: ClassCodes) -> ClassCodes:
    """Sort the classes, as scikit-learn does: the lowest of equals wins a vote."""
    try:
        return ClassCodes(codes.classes.sort_values())
    except TypeError:  # text beside numbers
        return ClassCodes(codes.classes[np.argsort([str(label) for label in codes.classes], kind="stable")])
