"""What a fitted nearest-neighbour model of scikit-learn brings: points, labels, settings, and the kind of its game."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal.core.games import as_game
from pivotal.core.given import is_given
from pivotal.core.identity import token
from pivotal.core.metric_settings import Metric, as_metric
from pivotal.core.weights import as_weights


@dataclass(frozen=True)
class FittedModel:
    """A fitted KNeighborsClassifier or KNeighborsRegressor, perhaps at the end of a pipeline."""

    neighbors: Any
    transform: Callable[[Any], Any]
    """What the steps before it do to features."""

    @staticmethod
    def of(model: Any) -> FittedModel:
        """Return what is known of a model, or say what it must be."""
        from sklearn.pipeline import Pipeline

        last, transform = model, _same
        if isinstance(model, Pipeline):
            last = model.steps[-1][1]
            transform = model[:-1].transform if len(model) > 1 else _same
        if hasattr(last, "radius_neighbors") and not hasattr(last, "kneighbors"):
            raise TypeError(
                f"model must be a fitted KNeighborsClassifier or KNeighborsRegressor; got {type(last).__name__}, which "
                f"lets points within a radius vote. Pass its training points with utility='threshold({last.radius})'."
            )
        if not all(hasattr(last, name) for name in ("n_neighbors", "kneighbors", "predict")):
            raise TypeError(
                "model must be a fitted KNeighborsClassifier or KNeighborsRegressor, or a pipeline that ends in one; "
                f"got {type(last).__name__}."
            )
        if not hasattr(last, "_y"):
            raise TypeError(
                f"model must be a fitted KNeighborsClassifier or KNeighborsRegressor; got {type(last).__name__}. "
                "Fit it first."
            )
        if last.effective_metric_ == "precomputed":
            raise ValueError(
                'model has metric="precomputed" and holds distances instead of points; pass its lists of neighbours to '
                "pivotal.value_from_neighbors."
            )
        return FittedModel(last, transform)

    def points(self) -> tuple[Any, Any]:
        """Return the training points and their labels."""
        model = self.neighbors
        names = getattr(model, "classes_", None)
        if isinstance(names, list):  # many labels per point
            return model._fit_X, np.column_stack([own[codes] for own, codes in zip(names, model._y.T, strict=True)])
        return model._fit_X, model._y if names is None else names[model._y]

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that the model brings, unless arguments of `pivotal.value` contradict them."""
        from sklearn.base import is_regressor

        model = self.neighbors
        parameters = {name: own for name, own in model.effective_metric_params_.items() if own is not None} or None
        metric = Metric(model.effective_metric_, **(parameters or {}))
        found = {"k": model.n_neighbors, "weights": model.weights, "metric": metric}
        # What the model was made with says the same as what it made of it.
        said = {**found, "metric": Metric(model.metric, **(model.metric_params or parameters or {}))}
        for name, own in found.items():
            if is_given(given[name]) and not any(_agree(name, given[name], one) for one in (own, said[name])):
                raise ValueError(
                    f"{name} is taken from the model, which has {name}={_shown(said[name])!r}; got "
                    f"{name}={given[name]!r} as well. Omit it."
                )
        regression = is_regressor(model)
        task, fitting = ("regression", "regression") if regression else ("classification", "hard")
        if not is_given(given["utility"]):
            return {**found, "utility": fitting} if regression else found
        game = as_game(given["utility"])
        if game.task != task:
            raise ValueError(
                f"utility={str(game)!r} is not for {task}; got a {type(model).__name__} as model. "
                f"Omit it, or use utility={fitting!r}."
            )
        return found


def _same(rows: Any) -> Any:
    return rows


def _shown(choice: Any) -> Any:
    return choice.name if isinstance(choice, Metric) and choice.parameters is None else choice


def _agree(name: str, given: Any, own: Any) -> bool:
    """Return whether two settings mean the same."""
    if name == "weights":
        given, own = as_weights(given), as_weights(own)
    if name == "metric":
        given, own = ((metric.name, metric.parameters) for metric in map(as_metric, (given, own)))
    try:
        return given is own or bool(given == own) or token(given) == token(own)
    except (TypeError, ValueError):  # arrays among the parameters, or objects that cannot be told by their content
        return False
