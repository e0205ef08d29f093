"""The model whose score is followed: nearest neighbours step by step, or any other refitted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import _safe_indexing

from pivotal.analysis._ranked_inputs import check_estimator
from pivotal.analysis.curves._nearest_curves import NearestModel, is_nearest
from pivotal.analysis.curves._scoring import Scoring, TaskName, as_scorer, as_task, name_of_scoring, read_labels
from pivotal.core.labels import check_same_kind
from pivotal.core.progress import tqdm
from pivotal.core.spec import Spec
from pivotal.core.threads import count_workers
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_same_length

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


class RefittedModel:
    """Checked data and an estimator of scikit-learn, to be fitted on parts of them.

    Features go to the model as they are: a pipeline may want a data frame with text in it. Where only one class is
    left, any classifier predicts that class, so none is fitted. Without any point, no class is predicted and the score
    is 0; a regression then predicts 0. The estimator is cloned, not changed, and as many are fitted at once as there
    are jobs.
    """

    def __init__(
        self,
        model: Any,
        data: tuple[Any, Any, Any, Any],
        *,
        scoring: Scoring,
        task: TaskName,
        n_jobs: int | None,
    ) -> None:
        X_train, y_train, X_test, y_test = data
        self._model, self._X, self._X_test = model, _with_rows(X_train), _with_rows(X_test)
        self._task, self._n_jobs = task, count_workers(n_jobs)
        self._scorer, self._scoring = as_scorer(scoring), name_of_scoring(scoring)
        self.labels, self._truth = read_labels(y_train, "y_train", task), read_labels(y_test, "y_test", task)
        if task == "classification":
            check_same_kind(self.labels, self._truth)
        check_same_length(self._X, self.labels, "X_train", "y_train")
        check_same_length(self._X_test, self._truth, "X_test", "y_test")

    @property
    def n_train(self) -> int:
        """Number of training points."""
        return len(self.labels)

    @property
    def settings(self) -> dict[str, Any]:
        """What the settings of a curve say of it."""
        return {"model": type(self._model).__name__, "scoring": self._scoring, "n_test": len(self._truth)}

    def scores_while_joining(
        self, members: IndexArray, added: IndexArray, sizes: IndexArray, *, progress: bool
    ) -> FloatArray:
        """As in `NearestModel`."""
        sets = ((np.sort(np.concatenate([members, added[:size]])), self.labels) for size in sizes)
        return self._scores(sets, len(sizes), progress)

    def scores_while_relabelled(
        self, order: IndexArray, relabelled: AnyArray, counts: IndexArray, *, progress: bool
    ) -> FloatArray:
        """As in `NearestModel`."""
        all_points = np.arange(self.n_train)

        def labels_after(count: int) -> AnyArray:
            labels = self.labels.copy()
            labels[order[:count]] = relabelled[order[:count]]
            return labels

        return self._scores(((all_points, labels_after(count)) for count in counts), len(counts), progress)

    def _scores(self, sets: Iterable[tuple[IndexArray, AnyArray]], n_sets: int, progress: bool) -> FloatArray:
        """Return the score of the model fitted on each training set: indices, and all labels."""
        jobs = (delayed(self._score)(members, labels[members]) for members, labels in sets)
        fitted = Parallel(n_jobs=self._n_jobs, return_as="generator")(jobs)
        return np.array(list(tqdm(fitted, total=n_sets, disable=not progress, desc="fitting")))

    def _score(self, members: IndexArray, labels: AnyArray) -> float:
        if members.size == 0:
            if self._task == "classification":
                return 0.0
            model = DummyRegressor(strategy="constant", constant=0.0).fit(np.zeros((1, 1)), [0.0])
        elif self._task == "classification" and (labels == labels[0]).all():
            model = DummyClassifier(strategy="most_frequent").fit(np.zeros((len(labels), 1)), labels)
        else:
            model = clone(self._model).fit(_safe_indexing(self._X, members), labels)
        return float(self._scorer(model, self._X_test, self._truth))


def _with_rows(X: Any) -> Any:
    return X if hasattr(X, "shape") else np.asarray(X)
