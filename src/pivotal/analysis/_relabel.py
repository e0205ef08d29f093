"""Where new labels come from: the other class, the neighbours, a function that knows, or the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.analysis.curves._scoring import TaskName, read_labels
from pivotal.core.labels import ClassCodes
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_features, check_same_length
from pivotal.neighbors import BruteIndex, blocks

_NAMES = ("flip", "neighbors")
# Points whose neighbours are found at once.
_ROWS = 4096


def new_labels(
    how: Any, points: IndexArray, labels: AnyArray, X: Any, task: TaskName, near: Spec, n_jobs: int | None
) -> AnyArray:
    """Return a new label for each of these training points, by all labels as they are, or by `how`, as in `repair`."""
    if callable(how):
        new = read_labels(how(points), "what how returns", task)
        if new.shape != points.shape:
            raise ValueError(f"how must return a label for each of the {len(points)} points; got {len(new)}.")
        return new
    if not isinstance(how, str):
        truth = read_labels(how, "how", task)
        if truth.shape != labels.shape:
            raise ValueError(f"how must hold the true labels of all {len(labels)} training points; got {len(truth)}.")
        return truth[points]
    if how not in _NAMES:
        raise ValueError(f"how must be one of {', '.join(_NAMES)}, a function or the true labels; got {how!r}.")
    if how == "flip" and task == "regression":
        raise ValueError('how="flip" needs classes; got numbers. Use how="neighbors", a function or the true numbers.')
    X = check_features(X, "X_train")
    check_same_length(X, labels, "X_train", "y_train")
    index = BruteIndex(X, near.metric.name, metric_params=near.metric.parameters, n_jobs=n_jobs)
    if len(labels) == 1:
        raise ValueError(f'how="{how}" needs at least two training points; got 1.')
    k = min(near.k, len(labels) - 1)
    others = np.concatenate([index.search_rows(points[part], k)[0] for part in blocks(len(points), _ROWS)])
    if task == "regression":
        means: AnyArray = labels[others].mean(axis=1)
        return means
    known = ClassCodes.of(labels).in_order()
    classes, codes = np.asarray(known.classes), known.encode(labels, "y_train")
    if how == "flip" and len(classes) < 2:
        raise ValueError(f'how="flip" needs at least two classes; got {classes[0]!r} alone.')
    votes = np.zeros((len(points), len(classes)))
    np.add.at(votes, (np.arange(len(points))[:, np.newaxis], codes[others]), 1.0)
    if how == "flip":
        votes += np.bincount(codes) / (len(codes) + 1)  # less than a vote: it decides between equals
        votes[np.arange(len(points)), codes[points]] = -1.0
    chosen: AnyArray = classes[votes.argmax(axis=1)]
    return chosen
