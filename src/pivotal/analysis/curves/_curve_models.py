"""The model whose score is followed: nearest neighbours step by step, or any other refitted."""

from __future__ import annotations

from typing import Any

from pivotal.analysis._ranked_inputs import check_estimator
from pivotal.analysis.curves._nearest_curves import NearestModel, is_nearest
from pivotal.analysis.curves._refits import RefittedModel
from pivotal.analysis.curves._scoring import Scoring, TaskName, as_scorer, as_task
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray

# Steps of a curve when nothing else is said: fewer where every step means a fit.
_STEPS = 50
_FITS = 20


def task_of(scoring: Scoring, model: Any, y_train: Any) -> TaskName:
    """Check the scoring and the model, and tell classification from regression."""
    as_scorer(scoring)
    if model is not None:
        check_estimator(model, "predict", "an estimator of scikit-learn's kind, with fit and predict")
    return as_task(scoring, model, y_train)


def default_steps(model: Any) -> int:
    """Return the number of steps of a curve of this model when nothing else is said."""
    return _STEPS if model is None or is_nearest(model) else _FITS


def make_model(
    data: tuple[Any, Any, Any, Any],
    model: Any,
    neighbours: Spec,
    scoring: Scoring,
    n_jobs: int | None,
    *,
    also: AnyArray | None = None,
) -> NearestModel | RefittedModel:
    """Return the model that is meant: another one, or the neighbours; `also` are labels that may come to the data's."""
    task = task_of(scoring, model, data[1])
    if model is not None and not is_nearest(model):
        return RefittedModel(model, data, scoring=scoring, task=task, n_jobs=n_jobs)
    return NearestModel(data, neighbours=neighbours, scoring=scoring, task=task, n_jobs=n_jobs, also=also)
