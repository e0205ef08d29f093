"""The voice of a classifier that has not seen the label it speaks about."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from pivotal.analysis._ranked_inputs import check_estimator
from pivotal.core.progress import tqdm
from pivotal.core.types import CodeArray, FloatArray

_N_FOLDS: Final = 5


def check_model(model: Any, task: str) -> None:
    """Raise unless it is an estimator for the task: with probabilities, unless numbers are to be predicted."""
    needed, what = ("predict", "regressor") if task == "regression" else ("predict_proba", "classifier")
    check_estimator(model, needed, f"a scikit-learn {what} with {needed}")


def ask_model(model: Any, X: Any, codes: CodeArray, n_classes: int, *, seed: int, progress: bool) -> FloatArray:
    """Return out-of-fold probabilities of each class, by clones of a classifier; shape (n_rows, n_classes)."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    n_folds = min(_N_FOLDS, int(np.bincount(codes).max()))
    if n_folds < 2:
        raise ValueError("a model needs a label that occurs at least twice; every row has its own. Omit model.")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class smaller than the number of folds is missing from some of them, which does no harm.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        parts = list(folds.split(np.zeros(len(codes)), codes))
    chances = np.zeros((len(codes), n_classes))
    for seen, unseen in tqdm(parts, unit="fold", disable=not progress, desc="asking the model"):
        fitted = clone(model).fit(X[seen], codes[seen])
        chances[unseen[:, np.newaxis], fitted.classes_] = fitted.predict_proba(X[unseen])
    return chances


def ask_model_for_numbers(model: Any, X: Any, y: FloatArray, *, seed: int, progress: bool) -> FloatArray:
    """Return out-of-fold predictions; shape (n_rows,). Arguments as in `ask_model`."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    parts = list(KFold(min(_N_FOLDS, len(y)), shuffle=True, random_state=seed).split(y))
    predicted = np.empty(len(y))
    for seen, unseen in tqdm(parts, unit="fold", disable=not progress, desc="asking the model"):
        predicted[unseen] = np.ravel(clone(model).fit(X[seen], y[seen]).predict(X[unseen]))
    return predicted
