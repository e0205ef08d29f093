"""The game that a model plays: the utility of a coalition is the score of the model fitted on it.

Every coalition has a utility. The empty set has the utility of a guess, points of one class that of always naming that
class, and a neighbour model with fewer members than neighbours lets all of them vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from pivotal.core.labels import ClassCodes, as_labels, as_responses
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_same_length, is_integer, is_number, is_sparse

__all__ = ["ModelGame", "as_model_game"]

Scoring = str | Callable[[Any, Any, Any], float] | None


class Guess(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """A classifier that learned nothing but, perhaps, one class."""

    def __init__(self, classes: AnyArray, named: int, chances: FloatArray) -> None:
        self.classes, self.named, self.chances = classes, named, chances
        self.classes_ = classes  # it is born fitted

    def predict(self, X: Any) -> AnyArray:
        return np.repeat(self.classes[self.named : self.named + 1], X.shape[0])

    def predict_proba(self, X: Any) -> FloatArray:
        return np.tile(self.chances, (X.shape[0], 1))


class Widened(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that has not seen every class, with a column of chances for each of them nevertheless."""

    def __init__(self, model: Any, classes: AnyArray) -> None:
        self.model, self.classes = model, classes
        self.classes_ = classes

    def predict(self, X: Any) -> AnyArray:
        return cast(AnyArray, self.model.predict(X))

    def predict_proba(self, X: Any) -> FloatArray:
        chances = np.zeros((X.shape[0], len(self.classes)))
        chances[:, np.searchsorted(self.classes, self.model.classes_)] = self.model.predict_proba(X)
        return chances


@dataclass(frozen=True, eq=False)
class ModelGame:
    """Utilities of the coalitions of some training points."""

    model: Any  # cloned for every coalition, never changed
    scorer: Callable[[Any, Any, Any], float]  # called with the fitted model and the test set
    X_train: Any  # an array, sparse matrix or data frame, as X_test: rows are taken as scikit-learn takes them
    y_train: AnyArray
    X_test: Any
    y_test: AnyArray
    classes: AnyArray | None  # the sorted label set; None for regression
    widens: bool  # whether models that have not seen every class are scored with a column for each class
    on_failure: str  # "raise" or "empty": what becomes of coalitions on which the model cannot be fitted or scored
    empty_utility: float = math.nan  # NaN before it is known
    full_utility: float = math.nan  # likewise

    @property
    def n_players(self) -> int:
        """Number of training points."""
        return len(self.y_train)

    def utility(self, members: IndexArray) -> float:
        """Return the score of the model fitted on the training points `members`, in training order."""
        if len(members) == 0:
            return self.empty_utility
        if len(members) == self.n_players and not math.isnan(self.full_utility):
            return self.full_utility
        try:
            score = float(self.scorer(self._fit(members), self.X_test, self.y_test))
        except Exception as error:
            if self.on_failure == "empty":
                return self.empty_utility
            raise ValueError(
                f"the model must learn from every coalition; on one of {len(members)} of the {self.n_players} points "
                f"it raised {type(error).__name__}: {error} Fix the model, or give such coalitions the utility of "
                'the empty set: on_failure="empty".'
            ) from error
        if math.isfinite(score):
            return score
        if self.on_failure == "empty":
            return self.empty_utility
        raise ValueError(
            f"the score of every coalition must be finite; one of {len(members)} of the {self.n_players} points "
            f'scored {score}. Choose another scoring, or let it have the utility of the empty set: on_failure="empty".'
        )

    def _fit(self, members: IndexArray) -> Any:
        """Fit a copy of the model on some of the points."""
        labels = self.y_train[members]
        if self.classes is not None and (labels == labels[0]).all():
            named = int(np.flatnonzero(self.classes == labels[0])[0])
            return Guess(self.classes, named, np.eye(len(self.classes))[named])
        model = clone(self.model)
        crowded = {
            name: len(members)
            for name, value in model.get_params(deep=True).items()
            if name.rpartition("__")[2] == "n_neighbors" and is_integer(value, minimum=len(members) + 1)
        }
        if crowded:
            model.set_params(**crowded)
        model.fit(_safe_indexing(self.X_train, members), labels)
        if self.widens and self.classes is not None and hasattr(model, "predict_proba"):
            return model if len(model.classes_) == len(self.classes) else Widened(model, self.classes)
        return model


def as_model_game(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    scoring: Scoring = None,
    empty: float | None = None,
    on_failure: str = "raise",
) -> ModelGame:
    """Check what the user brought and make it a game that knows the utility of the empty and the full set.

    A model whose ``random_state`` is None gets 0, so that the utility of a coalition depends on the coalition alone.
    """
    if on_failure not in ("raise", "empty"):
        raise ValueError(f'on_failure must be "raise" or "empty"; got {on_failure!r}.')
    if empty is not None and not is_number(empty):
        raise ValueError(f"empty must be a finite number, or None for the utility of a guess; got {empty!r}.")
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise TypeError(
            f"estimator must be a scikit-learn estimator; got {estimator!r}. Use an object, such as GaussianNB()."
        )
    if X_train is None or y_train is None or X_test is None or y_test is None:
        raise ValueError(
            "retraining needs X_train, y_train, X_test and y_test; got None for some. Hold out a part as the test set."
        )
    classes = None
    if is_classifier(estimator):
        labels, targets = as_labels(y_train, "y_train"), as_labels(y_test, "y_test")
        classes = _sorted(np.asarray(ClassCodes.encoding(labels, targets)[0].classes))
    elif is_regressor(estimator):
        labels, targets = as_responses(y_train, "y_train"), as_responses(y_test, "y_test")
    else:
        raise TypeError(
            f"estimator must be a classifier or a regressor; got {estimator!r}, which says it is neither. "
            "Derive it from scikit-learn's ClassifierMixin or RegressorMixin."
        )
    train, test = _as_rows(X_train, "X_train"), _as_rows(X_test, "X_test")
    check_same_length(train, labels, "X_train", "y_train")
    check_same_length(test, targets, "X_test", "y_test")
    if train.shape[1:] != test.shape[1:]:
        raise ValueError(
            f"X_test must have as many columns as X_train; got shapes {tuple(test.shape)} and {tuple(train.shape)}."
        )
    model = clone(estimator)
    parameters = model.get_params(deep=True).items()
    model.set_params(**{name: 0 for name, value in parameters if name.endswith("random_state") and value is None})
    game = ModelGame(
        model=model,
        scorer=_as_scorer(model, scoring),
        X_train=train,
        y_train=labels,
        X_test=test,
        y_test=targets,
        classes=classes,
        widens=isinstance(scoring, str),
        on_failure=on_failure,
    )
    game = replace(game, empty_utility=_guess(game) if empty is None else float(empty))
    return replace(game, full_utility=game.utility(np.arange(game.n_players)))


def _sorted(classes: AnyArray) -> AnyArray:
    try:
        return np.sort(classes)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in classes.tolist()})
        raise ValueError(
            f"labels must be of one type for a scikit-learn model; got {' and '.join(kinds)}. Convert them to text."
        ) from None


def _as_scorer(model: Any, scoring: Scoring) -> Callable[[Any, Any, Any], float]:
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise TypeError(
            f"scoring must be a name, a callable (estimator, X, y) -> float, or None for the model's own score; "
            f"got {scoring!r}."
        )
    try:
        return cast(Callable[[Any, Any, Any], float], check_scoring(model, scoring))
    except ValueError:
        raise ValueError(
            f"scoring must name a scorer of scikit-learn; got {scoring!r}. "
            "sklearn.metrics.get_scorer_names() lists them all."
        ) from None


def _guess(game: ModelGame) -> float:
    """Return the utility of a guess: every class named in turn, its chances all alike; the answer 0 for regression."""
    if game.classes is None:
        guesses = [DummyRegressor(strategy="constant", constant=0.0).fit([[0.0]], [0.0])]
    else:
        n_classes = len(game.classes)
        alike = np.full(n_classes, 1.0 / n_classes)
        guesses = [Guess(game.classes, named, alike) for named in range(n_classes)]
    try:
        score = math.fsum(float(game.scorer(guess, game.X_test, game.y_test)) for guess in guesses) / len(guesses)
    except Exception as error:
        raise ValueError(
            f"the empty coalition must have a utility, and scoring a guess raised {type(error).__name__}: {error} "
            "Pass the utility of the empty set: empty=0.0, for example."
        ) from error
    if not math.isfinite(score):
        raise ValueError(f"the empty coalition must have a finite utility; a guess scored {score}. Pass empty=.")
    return score


def _as_rows(X: Any, name: str) -> Any:
    """Return something with a shape, from which scikit-learn can take rows."""
    if is_sparse(X):
        return X.tocsr()
    rows = X if hasattr(X, "iloc") or hasattr(X, "columns") else np.asarray(X)
    if len(rows.shape) < 2 or rows.shape[0] == 0:
        fix = f" Use {name}.reshape(-1, 1) for one feature." if len(rows.shape) == 1 else ""
        raise ValueError(f"{name} must be a table with a row per point; got shape {tuple(rows.shape)}.{fix}")
    return rows
