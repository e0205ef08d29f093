"""The nearest-neighbour model while its training set changes, and its score at every step.

Points join, or get other labels; a point that is removed joins in a curve that is read backwards. All points of a query
are sorted once, a block of queries at a time, and one pass over the list finds the nearest members at every step.

Predictions are those of scikit-learn: the class with most votes, the lowest of equals, or the mean. With fewer than k
points all of them vote. Without any, no class is predicted and the score is 0; a regression then predicts 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from pivotal.analysis.curves._scoring import (
    SUMS,
    FixedClassifier,
    FixedRegressor,
    Scoring,
    Sum,
    TaskName,
    as_scorer,
    ask,
    name_of_scoring,
    read_labels,
)
from pivotal.core.given import is_given
from pivotal.core.labels import ClassCodes, as_responses
from pivotal.core.progress import tqdm
from pivotal.core.spec import Spec
from pivotal.core.threads import count_threads, run_all, single_threaded_blas, slices
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_features, check_same_length
from pivotal.core.voting import weigh
from pivotal.kernels.join_curves import average, elect, nearest_at_steps
from pivotal.neighbors import BruteIndex
from pivotal.neighbors.metrics import OF_SQUARES, check_size, with_estimates

# Queries followed at once, and bytes for their lists. Sums over queries must not depend on the number of threads, so
# neither do these.
_QUERIES = 256
_BLOCK_BYTES = 2**26


def neighbours_of(model: Any, **given: Any) -> Spec:
    """Return k, weights and metric as they were given, or as scikit-learn's own nearest-neighbour model has them."""
    if is_nearest(model):
        if taken := [name for name, choice in given.items() if is_given(choice)]:
            raise ValueError(
                f"k, weights and metric are taken from the model; got {taken[0]}={given[taken[0]]!r} as well. Omit it."
            )
        power = {"p": model.p} if model.metric == "minkowski" else {}
        given = {"k": model.n_neighbors, "weights": model.weights, "metric": model.metric}
        given["metric_params"] = {**power, **(model.metric_params or {})}
    return Spec.of(**given)


def is_nearest(model: Any) -> bool:
    """Whether this is scikit-learn's own nearest-neighbour model, which need not be refitted."""
    return type(model) in (KNeighborsClassifier, KNeighborsRegressor)


class NearestModel:
    """Checked data, and how predictions and scores come from the nearest members.

    `data` is X_train, y_train, X_test and y_test, as the user passed them; `also` are labels that may come to theirs.
    """

    def __init__(
        self,
        data: tuple[Any, Any, Any, Any],
        *,
        neighbours: Spec,
        scoring: Scoring,
        task: TaskName,
        n_jobs: int | None,
        also: AnyArray | None = None,
    ) -> None:
        X_train, y_train, X_test, y_test = data
        self.X = check_features(X_train, "X_train")
        metric = neighbours.metric.name
        known = metric == "precomputed"
        self.queries = check_features(X_test, "X_test", like=None if known else self.X)
        if known and self.queries.shape[1] != self.X.shape[0]:
            raise ValueError(
                f"precomputed X_test must have a distance to each of the {self.X.shape[0]} training points; got "
                f"{self.queries.shape[1]} columns."
            )
        if metric in OF_SQUARES:
            check_size(self.X, "X_train")
            check_size(self.queries, "X_test")
        self._neighbours, self._scoring, self._n_threads = neighbours, scoring, count_threads(n_jobs)
        self._depth = max(neighbours.k, neighbours.weights.depth(neighbours.k))  # that a prediction depends on
        self._codes: ClassCodes | None = None
        self.labels, self._truth = read_labels(y_train, "y_train", task), read_labels(y_test, "y_test", task)
        targets = self._truth
        if task == "classification":
            codes = ClassCodes.encoding(self.labels, self._truth)[0]
            if also is not None and also.size:
                codes = ClassCodes.of(np.asarray(codes.classes), also)
            self._codes = codes.in_order()
            self.labels, targets = self.encode(self.labels, "y_train"), self.encode(self._truth, "y_test")
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
            **self._neighbours.settings("k", "weights", "metric"),
            "scoring": name_of_scoring(self._scoring),
            "n_test": len(self._truth),
        }

    def encode(self, labels: AnyArray, name: str) -> AnyArray:
        """Return class codes, in the order of the classes, or numbers as they are."""
        return as_responses(labels, name) if self._codes is None else self._codes.encode(labels, name)

    def predict(self, answers: AnyArray, distances: FloatArray, counts: IndexArray, queries: IndexArray) -> FloatArray:
        """Return class codes or numbers from the labels and distances of the nearest members of some queries.

        Lists have shape (n_predictions, depth), and `counts` says how many members of each there are.
        """
        k = self._neighbours.k
        weights = self._weigh(distances, counts, queries)
        predicted = np.empty(len(counts))
        if self._codes is None:
            average(np.ascontiguousarray(answers[:, :k]), counts, weights, predicted)
        else:
            elect(np.ascontiguousarray(answers[:, :k]), counts, weights, np.empty(len(self._codes.classes)), predicted)
        return predicted

    def _weigh(self, distances: FloatArray, counts: IndexArray, queries: IndexArray) -> FloatArray:
        weights, k = self._neighbours.weights, self._neighbours.k
        if not weights.weighted:
            return np.empty((0, 0))
        weighed = np.zeros((len(counts), k))
        for count in np.unique(counts[counts > 0]):
            rows = counts == count
            found = weigh(weights, distances[rows, :count], k, queries[rows])[:, :k]
            weighed[rows, : found.shape[1]] = found
        return weighed

    def score(self, predicted: FloatArray) -> float:
        """Return the score of class codes or numbers."""
        model: Any = FixedRegressor(predicted)
        if self._codes is not None:
            classes = np.asarray(self._codes.classes)
            model = FixedClassifier(classes[predicted.astype(np.int64)], classes)
        return ask(self._scorer, model, self.queries, self._truth, self._scoring)

    def scores_while_joining(
        self, members: IndexArray, added: IndexArray, sizes: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores of a training set that grows from its members by points that are added, in order.

        At each step, this many newcomers have joined, ascending; shape (n_steps,).
        """
        joins = np.full(self.n_train, len(sizes))
        joins[members] = 0
        joins[added] = np.searchsorted(sizes, np.arange(1, len(added) + 1))
        index = self._index()

        def predictions(queries: slice) -> FloatArray:
            ranked, distances = index.search(self.queries[queries], self.n_train)
            shape = (len(ranked), len(sizes))
            counts = np.empty(shape, np.int64)
            ranks = np.empty((*shape, min(self._depth, self.n_train)), np.int64)
            nearest_at_steps(joins[ranked], ranks, counts)
            rows = np.arange(len(ranked))[:, np.newaxis, np.newaxis]
            flat = (counts.size, ranks.shape[2])
            near = ranked[rows, ranks].reshape(flat)
            gaps = distances[rows, ranks].reshape(flat)
            asked = np.repeat(np.arange(queries.start, queries.stop), len(sizes))
            return self.predict(self.labels[near], gaps, counts.ravel(), asked).reshape(shape)

        bytes_per_query = 24 * self.n_train + 32 * len(sizes) * self._depth
        scores = self._follow(predictions, len(sizes), bytes_per_query, progress)
        if members.size == 0 and self._codes is not None:
            scores[sizes == 0] = 0.0  # no point, no class
        return scores

    def scores_while_relabelled(
        self, order: IndexArray, relabelled: AnyArray, counts: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores while points get new labels, in order; their neighbours stay, so one search serves all.

        Of all labels, shape (n_train,), those of the points in order are looked at. At each step, this many points have
        their new label, ascending; shape (n_steps,).
        """
        labels_after = self.encode(relabelled, "the new labels")
        changes = np.full(self.n_train, len(counts))
        changes[order] = np.searchsorted(counts, np.arange(1, len(order) + 1))
        index, depth = self._index(), min(self._depth, self.n_train)

        def predictions(queries: slice) -> FloatArray:
            near, gaps = index.search(self.queries[queries], depth)
            full, asked = np.full(len(near), depth), np.arange(queries.start, queries.stop)
            predicted = np.empty((len(near), len(counts)))
            for step in range(len(counts)):
                labels = np.where(changes[near] <= step, labels_after[near], self.labels[near])
                predicted[:, step] = self.predict(labels, gaps, full, asked)
            return predicted

        return self._follow(predictions, len(counts), 32 * depth + 8 * len(counts), progress)

    def _index(self) -> BruteIndex:
        metric, params = self._neighbours.metric.name, self._neighbours.metric.parameters
        if metric != "precomputed":
            params = with_estimates(self.X, metric, params)
        return BruteIndex(self.X, metric, metric_params=params, n_jobs=1)  # blocks of queries are in threads

    def _follow(
        self, predictions: Callable[[slice], FloatArray], n_steps: int, bytes_per_query: int, progress: bool
    ) -> FloatArray:
        """Return the score at every step, from the predictions of blocks of queries, shape (n_block, n_steps)."""
        n_queries = len(self._truth)
        blocks = slices(n_queries, max(1, min(_QUERIES, _BLOCK_BYTES // bytes_per_query)), 1)
        totals = np.zeros((len(blocks), n_steps))
        table = np.empty((n_steps, n_queries)) if self._sum is None else np.empty((0, 0))
        with tqdm(total=n_queries, unit="query", disable=not progress, desc="following") as bar:

            def work(task: tuple[int, slice]) -> None:
                number, queries = task
                predicted = predictions(queries)
                if self._sum is None:
                    table[:, queries] = predicted.T
                else:
                    truths = np.arange(queries.start, queries.stop)[:, np.newaxis]
                    totals[number] = self._sum.utility(predicted, truths).sum(axis=0)
                bar.update(len(predicted))

            with single_threaded_blas():
                run_all(work, list(enumerate(blocks)), self._n_threads)
        if self._sum is not None:
            return self._sum.finish(totals.sum(axis=0))
        return np.array([self.score(row) for row in table])
