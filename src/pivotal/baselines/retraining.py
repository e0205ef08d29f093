"""Values of training points to any model: fit it on coalitions, score it, and see what each point changes.

`value_by_retraining` takes a scikit-learn estimator where `pivotal.value` knows neighbour models only. It has to fit a
model for every coalition it looks at, so it samples coalitions and says how far chance may have taken it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pivotal.baselines.retraining_game import as_model_game
from pivotal.baselines.retraining_play import UtilityTable, as_stop, enumerate_all, sample
from pivotal.baselines.retraining_samplers import SAMPLERS
from pivotal.baselines.retraining_store import open_store
from pivotal.core.random import as_generator, kept_seed
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.threads import count_threads
from pivotal.core.types import FloatArray
from pivotal.core.validation import is_number, is_sparse
from pivotal.core.version import __version__
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.values import Values

__all__ = ["retrain", "retrain_msr", "value_by_retraining"]

_MOST_ENUMERATED = 16
_DEFAULT_SAMPLES = {"permutations": 100, "coalitions": 100, "msr": 2000, "exact": 2}


def value_by_retraining(
    estimator: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    semivalue: str | Semivalue = "shapley",
    sampler: str = "permutations",
    scoring: str | Callable[[Any, Any, Any], float] | None = None,
    n_samples: int | None = None,
    target_se: float | None = None,
    max_time: float | None = None,
    truncation: float | None = None,
    empty: float | None = None,
    on_failure: str = "raise",
    cache: bool | str | os.PathLike[str] = True,
    ids: npt.ArrayLike | None = None,
    n_jobs: int | None = -1,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
) -> Values:
    """Return what each training point is worth to any model, by fitting it on coalitions of them.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor
        The model, a pipeline too; it is cloned, never changed. Where its ``random_state`` is None it gets 0, so that
        the utility of a coalition is always the same.
    X_train, X_test : array-like, sparse matrix or data frame
        Whatever the model takes.
    y_train, y_test : array-like
        Labels of any type; numbers for a regressor.
    semivalue : str or Semivalue, default="shapley"
        How coalitions are drawn: any semivalue that `pivotal.value` knows.
    sampler : {"permutations", "coalitions", "msr", "exact"}, default="permutations"
        Points that join in random order, n fits a sample; random coalitions that each point in turn leaves or joins,
        n + 1 fits a sample; maximum sample reuse, one fit a sample; or all coalitions of at most 16 points.
    scoring : str, callable or None
        The utility: a scorer of scikit-learn by name, or ``scoring(model, X_test, y_test)``, or the model's own score.
    n_samples : int, optional
        Samples to draw, at least 2; by default 100, and 2000 for "msr", if nothing else ends the sampling.
    target_se : float, optional
        Stop when no standard error is larger, after 32 samples at the earliest.
    max_time : float, optional
        Stop after this many seconds, with two samples at least. How many samples that makes depends on the machine.
    truncation : float, optional
        Leave a permutation when the coalition is closer to the full score than this share of the whole gain, and take
        all later gains in it for 0 ("permutations" only). Quicker, but biased by an unknown amount.
    empty : float, optional
        Utility of the empty coalition; by default the utility of a guess: 1 / number of classes in accuracy, and the
        score of the answer 0 for a regressor.
    on_failure : {"raise", "empty"}, default="raise"
        Whether a coalition from which the model cannot learn is an error, or has the utility of the empty one.
    cache : bool or path, default=True
        Where it is remembered what coalitions earned: in memory, nowhere, or in a file. A later call with that file,
        the same data and model, and more samples pays for the new ones only.
    ids : array-like of shape (n_train,), optional
        Names of the training points; a pandas index by default.
    n_jobs : int or None, default=-1
        Processes, -1 for one per processor; None leaves it to ``joblib.parallel_config``, which also chooses the
        backend. Results do not depend on it.
    random_state : int, Generator or None
        Seed; sample j is the same whatever the number of samples.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    Values
        With standard errors; none for "exact". The bound of the error is None when `truncation` is used.

    Notes
    -----
    The utility of points of one class is the score of always naming it, without a fit. A model with more
    ``n_neighbors`` than the coalition has members uses them all. Interrupting keeps the samples that were finished in
    the file `cache`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> values = value_by_retraining(LogisticRegression(), X, y, [[0.4], [2.6]], ["a", "b"], sampler="exact", n_jobs=1)
    >>> values.values.round(3)
    array([0.125, 0.125, 0.125, 0.125])
    >>> values.full_utility, values.empty_utility
    (1.0, 0.5)
    """
    measure = as_semivalue(semivalue)
    if sampler not in (*SAMPLERS, "exact"):
        raise ValueError(f"sampler must be one of {', '.join(SAMPLERS)} or exact; got {sampler!r}.")
    if sampler == "exact" and not (n_samples is None and target_se is None and max_time is None):
        raise ValueError('sampler="exact" draws no samples; omit n_samples, target_se and max_time.')
    stop = as_stop(n_samples, target_se, max_time, _DEFAULT_SAMPLES[sampler])
    share, entropy = _check_truncation(truncation, sampler), int(as_generator(random_state).integers(2**63))
    count_threads(n_jobs)
    game = as_model_game(
        estimator, X_train, y_train, X_test, y_test, scoring=scoring, empty=empty, on_failure=on_failure
    )
    if sampler == "exact" and game.n_players > _MOST_ENUMERATED:
        raise ValueError(
            f'sampler="exact" fits a model for every coalition of at most {_MOST_ENUMERATED} points; '
            f'got {game.n_players} points. Use sampler="permutations".'
        )
    names = as_ids(ids_of(X_train, ids), game.n_players)
    tolerance = None if share is None else share * abs(game.full_utility - game.empty_utility)
    rounding = 0.0
    errors: FloatArray | None = None
    drawn: int | None = None
    with closing(open_store(cache, game, scoring)) as store:
        table = UtilityTable(game, store, tolerance, n_jobs, one_task_each=max_time is not None)
        if sampler == "exact":
            values, rounding = enumerate_all(table, measure, progress=progress)
        else:
            estimate = SAMPLERS[sampler](measure, game.n_players)
            sample(table, estimate, stop, entropy, progress=progress)
            values, errors, drawn = estimate.values(), estimate.errors(), estimate.n_drawn
    return Values(
        values,
        n_queries=len(game.y_test),
        full_utility=game.full_utility,
        empty_utility=game.empty_utility,
        proved_bound=None if tolerance else 0.0,  # what is omitted from an order by truncation has no bound
        rounding_allowance=rounding,
        standard_error=errors,
        ids=names,
        settings={
            "method": "retraining",
            "model": " ".join(repr(estimator).split()),
            "scoring": getattr(scoring, "__name__", type(scoring).__name__) if callable(scoring) else scoring,
            "semivalue": str(measure),
            "sampler": sampler,
            "n_samples": drawn,
            "truncation": share,
            "random_state": kept_seed(random_state),
            "version": __version__,
        },
    )


def retrain(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    estimator: Any = None,
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,
    **options: Any,
) -> Values:
    """Value by retraining, with a model that need not be named: a logistic regression on scaled features.

    Parameters
    ----------
    X_train, y_train, X_test, y_test, ids, random_state, n_jobs, progress
        As in `value_by_retraining`.
    estimator : scikit-learn classifier or regressor, optional
        Another model.
    **options
        Any other keyword of `value_by_retraining`.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> retrain(X, y, X, y, n_samples=20, random_state=0, n_jobs=1).full_utility
    1.0
    """
    if estimator is None:
        estimator = make_pipeline(StandardScaler(with_mean=not is_sparse(X_train)), LogisticRegression(max_iter=1000))
    return value_by_retraining(
        estimator,
        X_train,
        y_train,
        X_test,
        y_test,
        ids=ids,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
        **options,
    )


def retrain_msr(X_train: Any, y_train: Any, X_test: Any, y_test: Any, **options: Any) -> Values:
    """Data Banzhaf: `retrain` with maximum sample reuse, Banzhaf values unless another semivalue is asked for.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> retrain_msr(X, y, X, y, n_samples=50, random_state=0, n_jobs=1).settings["semivalue"]
    'banzhaf'
    """
    return retrain(X_train, y_train, X_test, y_test, **{"semivalue": "banzhaf", "sampler": "msr", **options})


def _check_truncation(truncation: object, sampler: str) -> float | None:
    if truncation is None:
        return None
    if sampler != "permutations":
        raise ValueError(f'truncation needs sampler="permutations"; got sampler={sampler!r}. Omit it.')
    if not is_number(truncation, 0.0) or float(truncation) >= 1.0:
        raise ValueError(f"truncation must be a share of the gain, at least 0 and below 1; got {truncation!r}.")
    return float(truncation)
