"""The model whose score is followed: nearest neighbours step by step, or any other refitted."""

from __future__ import annotations

from typing import Any, Protocol

from pivotal.analysis._ranked_inputs import check_estimator
from pivotal.analysis.curves._nearest_curves import NearestModel, is_nearest
from pivotal.analysis.curves._refits import RefittedModel
from pivotal.analysis.curves._scoring import Scoring, TaskName, as_scorer, as_task
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, FloatArray, IndexArray

# Steps of a curve when nothing else is said: fewer where every step means a fit.
_STEPS = 50
_FITS = 20


class Model(Protocol):
    """What both can do."""

    @property
    def n_train(self) -> int:
        """Number of training points."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the settings of a curve say of it."""

    def scores_while_joining(
        self, members: IndexArray, added: IndexArray, sizes: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores at some sizes of a training set that grows."""

    def scores_while_relabelled(
        self, order: IndexArray, relabelled: AnyArray, counts: IndexArray, *, progress: bool
    ) -> FloatArray:
        """Return the scores while points get new labels."""


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
) -> Model:
    """Return the model that is meant.

    Parameters
    ----------
    data : tuple
        X_train, y_train, X_test and y_test, to be checked.
    model, scoring, n_jobs
        As in `removal_curve`.
    neighbours : Spec
        The model, unless it is another.
    also : array, optional
        Labels that may come to those of the data.
    """
    task = task_of(scoring, model, data[1])
    if model is not None and not is_nearest(model):
        return RefittedModel(model, data, scoring=scoring, task=task, n_jobs=n_jobs)
    return NearestModel(data, neighbours=neighbours, scoring=scoring, task=task, n_jobs=n_jobs, also=also)
