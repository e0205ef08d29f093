"""What a model's predictions are worth: scores that are sums over queries, and all others.

A sum over queries follows every change of a single prediction at once. For any other score scikit-learn's own scorer is
asked, about the predictions at the steps that are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names

from pivotal.core.labels import as_labels, as_responses
from pivotal.core.types import AnyArray, FloatArray

TaskName: TypeAlias = Literal["classification", "regression"]
Scoring: TypeAlias = str | Callable[..., float]

SUMS = ("accuracy", "balanced_accuracy", "r2", "neg_mean_squared_error", "neg_mean_absolute_error")
_OF_NUMBERS = frozenset(
    {
        "r2",
        "explained_variance",
        "neg_max_error",
        "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error",
        "neg_mean_gamma_deviance",
        "neg_mean_poisson_deviance",
        "neg_mean_squared_error",
        "neg_mean_squared_log_error",
        "neg_median_absolute_error",
        "neg_root_mean_squared_error",
        "neg_root_mean_squared_log_error",
        "d2_absolute_error_score",
    }
)


def as_scorer(scoring: Scoring) -> Callable[[Any, Any, Any], float]:
    """Return scikit-learn's scorer of this name, or the function given, taking a model, features and labels."""
    if callable(scoring):
        return scoring
    if scoring not in get_scorer_names():
        raise ValueError(
            f"scoring must be the name of a scorer of scikit-learn, such as {', '.join(SUMS[:3])}, or a function of "
            f"a model, features and labels; got {scoring!r}."
        )
    scorer: Callable[[Any, Any, Any], float] = get_scorer(scoring)
    return scorer


def name_of_scoring(scoring: Scoring) -> str:
    """What settings and messages say of a score."""
    return scoring if isinstance(scoring, str) else str(getattr(scoring, "__name__", "custom"))


def as_task(scoring: Scoring, model: Any, y: Any) -> TaskName:
    """Tell classes from numbers: by the model, by the name of the score, and for a function by the labels."""
    if model is not None:
        return "regression" if is_regressor(model) else "classification"
    if not callable(scoring) and scoring in _OF_NUMBERS:
        return "regression"
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and not np.all(labels == np.floor(labels)):
        if callable(scoring):
            return "regression"
        odd = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f'scoring="{scoring}" needs class labels; got fractions such as {odd}. '
            'Use scoring="r2" for numbers, or give the classes names.'
        )
    return "classification"


def read_labels(y: Any, name: str, task: TaskName) -> AnyArray:
    """Return labels of the task's kind."""
    return as_responses(y, name) if task == "regression" else as_labels(y, name)


@dataclass(frozen=True, eq=False)
class Sum:
    """A score that is the sum over the queries; one of `SUMS`."""

    name: str
    targets: FloatArray
    """True classes as codes, or true numbers; shape (n_queries,)."""

    shares: FloatArray
    """What a query counts; shape (n_queries,)."""

    @classmethod
    def of(cls, name: str, targets: AnyArray) -> Sum:
        """Weigh the queries for the score of this name."""
        truth = targets.astype(np.float64)
        shares = np.ones(len(truth))
        if name == "balanced_accuracy":
            _, codes, counts = np.unique(truth, return_inverse=True, return_counts=True)
            shares = 1.0 / counts[codes]
        if name == "r2" and len(truth) < 2:
            raise ValueError('scoring="r2" needs at least two test points; got 1. Use "neg_mean_squared_error".')
        return cls(name, truth, shares)

    def utility(self, predicted: FloatArray, queries: Any) -> FloatArray:
        """Return the scores of these queries with these predictions."""
        truth, shares = self.targets[queries], self.shares[queries]
        if self.name in ("accuracy", "balanced_accuracy"):
            return np.where(predicted == truth, shares, 0.0)
        gaps: FloatArray = predicted - truth
        return -np.abs(gaps) if self.name == "neg_mean_absolute_error" else -gaps * gaps

    def finish(self, totals: FloatArray) -> FloatArray:
        """Turn sums over all queries into scores."""
        if self.name == "balanced_accuracy":
            return totals / len(np.unique(self.targets))
        if self.name == "r2":
            gaps = self.targets - self.targets.mean()
            variation = float(gaps @ gaps)
            # Scikit-learn's rule for targets that are all the same.
            return 1.0 + totals / variation if variation > 0.0 else np.where(totals < 0.0, 0.0, 1.0)
        return totals / len(self.targets)


class _FixedPredictions(BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A fitted model whose predictions are known."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        """Return them."""
        return self.predictions


class FixedClassifier(ClassifierMixin, _FixedPredictions):  # type: ignore[misc]
    """Predicts a class for each query, of all classes that there are."""

    def __init__(self, predictions: Any = None, classes: Any = None) -> None:
        super().__init__(predictions)
        self.classes = self.classes_ = classes


class FixedRegressor(RegressorMixin, _FixedPredictions):  # type: ignore[misc]
    """Predicts a number for each query."""


def ask(scorer: Callable[[Any, Any, Any], float], model: Any, X_test: Any, y_test: Any, scoring: Scoring) -> float:
    """Return the score of a model whose predictions are known."""
    try:
        return float(scorer(model, X_test, y_test))
    except AttributeError as error:
        raise ValueError(
            f"scoring {name_of_scoring(scoring)} must be content with predictions, and it says: {error}. "
            "Use another, or a model that is no nearest-neighbour model."
        ) from error
