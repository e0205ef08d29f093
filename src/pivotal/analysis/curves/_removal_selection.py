"""Point removal and data selection: the score of a model while its training set shrinks or grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.analysis._ranked_inputs import ScoresLike, as_count, as_counts, as_indices, as_order, describe, name_of
from pivotal.analysis.curves.curve import Curve
from pivotal.core.config import Resources
from pivotal.core.given import default
from pivotal.core.random import RandomState, as_generator


def removal_curve(
    values: ScoresLike | None,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    order: str | npt.ArrayLike = "lowest",
    model: Any = None,
    k: int = default(5),
    weights: Any = default("uniform"),
    metric: Any = default("euclidean"),
    metric_params: Mapping[str, Any] | None = None,
    scoring: Any = "accuracy",
    steps: int | npt.ArrayLike | None = None,
    label: str | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> Curve:
    """Return the score of a model while training points are removed one after the other.

    Good values make the score fall fast when the most valuable points go first, and rise, or last, when the least
    valuable ones do. A nearest-neighbour model is not searched again: the whole curve, however many steps it has,
    costs about as much as sorting the training points once for each test point.

    Parameters
    ----------
    values : Values, array-like of shape (n_train,), or None
        What the points are worth; None where `order` says it all.
    X_train, y_train : array-like of shape (n_train, n_features) and (n_train,)
        Training points with their labels; numbers for regression.
    X_test, y_test : array-like
        Where the score is measured. Take points that the values were not computed from, or the curve flatters.
    order : str or int array, default="lowest"
        Which go first: ``"lowest"`` or ``"highest"`` values, ``"random"``, or training indices, perhaps not all.
    model : estimator, optional
        Any classifier or regressor of scikit-learn, refitted at each step. Nearest neighbours by default, and where it
        is a KNeighborsClassifier or a KNeighborsRegressor, without refitting.
    k, weights, metric, metric_params
        The nearest-neighbour model, as in `value`. What a metric estimates, it estimates from all training points.
    scoring : str or callable, default="accuracy"
        A scorer of scikit-learn, by name or as a function of (model, X, y). Nearest neighbours are quickest with
        ``"accuracy"``, ``"balanced_accuracy"``, ``"r2"``, ``"neg_mean_squared_error"`` and
        ``"neg_mean_absolute_error"``; other scorers must be content with predictions.
    steps : None, int or array-like, optional
        Where to look: 50 times at equal distances (None; 20 times where a model is refitted), n times at equal
        distances, or at these counts (integers) or shares of the training points (fractions).
    label : str, optional
        Name of the curve.
    n_jobs : int, optional
        Threads, or models fitted at once; -1 is one per processor, and the default unless `pivotal.set_config` says
        otherwise. Results do not depend on it.
    random_state : int, Generator or None
        For the random order.
    progress : bool, optional
        Whether to show a progress bar; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Curve
        `counts` are the points removed. A set of fewer than k points votes as a whole; with no point left the score of
        a classifier is 0, and a regression predicts 0.

    Examples
    --------
    >>> from pivotal.analysis import removal_curve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["cat", "dog", "cat", "dog"]
    >>> curve = removal_curve([0.2, -0.1, 0.3, 0.1], X, y, [[0.2], [1.2], [3.2]], ["cat", "cat", "dog"], k=1)
    >>> curve.scores.round(2)
    array([0.67, 1.  , 0.67, 0.67, 0.  ])
    """
    from pivotal.analysis.curves._curve_models import default_steps, make_model
    from pivotal.analysis.curves._nearest_curves import neighbours_of

    data = (X_train, y_train, X_test, y_test)
    near = neighbours_of(model, k=k, weights=weights, metric=metric, metric_params=metric_params)
    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    run = make_model(data, model, near, scoring, resources.n_jobs)
    queue = as_order(order, values, run.n_train, as_generator(random_state))
    counts = as_counts(steps, len(queue), run.n_train, default=default_steps(model))
    gone = queue[: counts[-1]]
    rest = np.setdiff1d(np.arange(run.n_train), gone, assume_unique=True)
    # Removing, seen backwards, is adding.
    sizes = len(gone) - counts[::-1]
    scores = run.scores_while_joining(rest, gone[::-1].copy(), sizes, progress=resources.progress)[::-1]
    settings = {"kind": "removal", "order": describe(order), "n_train": run.n_train, **run.settings}
    return Curve(counts, scores, label=name_of(values, order) if label is None else label, settings=settings)


def selection_curve(
    values: ScoresLike | None,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    order: str | npt.ArrayLike = "highest",
    warm_start: int | float | npt.ArrayLike = 0,
    model: Any = None,
    k: int = default(5),
    weights: Any = default("uniform"),
    metric: Any = default("euclidean"),
    metric_params: Mapping[str, Any] | None = None,
    scoring: Any = "accuracy",
    steps: int | npt.ArrayLike | None = None,
    label: str | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    progress: bool | None = None,
) -> Curve:
    """Return the score of a model while training points are added, the most valuable first.

    Good values make the score rise fast.

    Parameters
    ----------
    values, X_train, y_train, X_test, y_test
        As in `removal_curve`.
    order : str or int array, default="highest"
        Which come first, as in `removal_curve`.
    warm_start : int, float or array-like, default=0
        Who is in from the start: a number of points drawn at random, a share of the points, or training indices. Two
        curves with the same `random_state` start from the same points.
    model, k, weights, metric, metric_params, scoring, steps, label, n_jobs, random_state, progress
        As in `removal_curve`.

    Returns
    -------
    Curve
        `counts` are the points added to the warm start, whose size is ``settings["warm_start"]``.

    Examples
    --------
    >>> from pivotal.analysis import selection_curve
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["cat", "dog", "cat", "dog"]
    >>> curve = selection_curve([0.2, -0.1, 0.3, 0.1], X, y, [[0.2], [1.2], [3.2]], ["cat", "cat", "dog"], k=1)
    >>> curve.scores.round(2)
    array([0.  , 0.67, 0.67, 1.  , 0.67])
    """
    from pivotal.analysis.curves._curve_models import default_steps, make_model
    from pivotal.analysis.curves._nearest_curves import neighbours_of

    data = (X_train, y_train, X_test, y_test)
    near = neighbours_of(model, k=k, weights=weights, metric=metric, metric_params=metric_params)
    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    run = make_model(data, model, near, scoring, resources.n_jobs)
    # Two streams, so that the warm start does not depend on whether the order is random too.
    first, second = as_generator(random_state).spawn(2)
    if np.ndim(warm_start) == 0:
        warm = first.permutation(run.n_train)[: as_count(warm_start, run.n_train, "warm_start")]
    else:
        warm = as_indices(warm_start, run.n_train, "warm_start")
    queue = as_order(order, values, run.n_train, second)
    queue = queue[~np.isin(queue, warm)]
    counts = as_counts(steps, len(queue), run.n_train, default=default_steps(model))
    scores = run.scores_while_joining(warm, queue[: counts[-1]], counts, progress=resources.progress)
    settings = {
        "kind": "selection",
        "order": describe(order),
        "warm_start": len(warm),
        "n_train": run.n_train,
        **run.settings,
    }
    return Curve(counts, scores, label=name_of(values, order) if label is None else label, settings=settings)
