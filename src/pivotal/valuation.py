"""The public face: features and labels in, values out.

`value` answers in one call. `value_from_neighbors` starts from lists of neighbours that were found elsewhere.
`pivotal.estimator` has the same with the training side fitted once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm.auto import tqdm

from pivotal._conventions import Convention
from pivotal._labels import ClassCodes, as_labels, as_responses, check_same_kind
from pivotal._types import AnyArray
from pivotal._validation import check_features, check_k, check_lists, check_tol, check_votes
from pivotal._version import __version__
from pivotal.engine import Engine
from pivotal.estimator import DEFAULT_TOL, KNNValuation, Metric, ids_of
from pivotal.games import Game, as_game
from pivotal.neighbors import blocks, fitting_queries, is_source, open_source
from pivotal.results import Values, as_ids
from pivotal.semivalues import Semivalue, as_semivalue
from pivotal.solvers import check_votes_allowed
from pivotal.weights import Weights

__all__ = ["value", "value_from_neighbors"]


def value(
    X_train: Any = None,
    y_train: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    k: int = 5,
    utility: str | Game | Convention = "hard",
    semivalue: str | Semivalue = "banzhaf",
    weights: str | Weights | Callable[..., Any] | None = "uniform",
    bits: int = 7,
    metric: Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    model: Any = None,
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    max_memory: int | str | None = None,
    progress: bool = False,
) -> Values:
    """Return what each training point is worth to a nearest-neighbour model.

    Parameters
    ----------
    X_train : array-like, data frame, sparse matrix or path, of shape (n_train, n_features)
        Training points; those of `model` by default. A memmap, or a .npy or Parquet file, is read chunk by chunk and
        may be larger than memory.
    y_train : array-like of shape (n_train,)
        Their labels, of any type; numbers for regression.
    X_test, y_test : as X_train and y_train, optional
        Queries with their true labels. Without them the training points value each other: each is a query against
        all the others.
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, tol
        As in `KNNValuation`.
    n_jobs, block_size, max_memory, progress
        As in `KNNValuation`.
    model : fitted KNeighborsClassifier or KNeighborsRegressor, optional
        Takes the place of k, weights, metric and, where X_train is left out, of the training points.
    classes : array-like, optional
        The label set, when it is larger than what y_train and y_test show.
    ids : array-like of shape (n_train,), optional
        Names of the training points; a pandas index by default.

    Returns
    -------
    Values
        `values.values` are the means over the queries, `values.error_bound` says how far any of them can be off.

    Examples
    --------
    >>> import pivotal
    >>> values = pivotal.value([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1)
    >>> values.values
    array([0.25, 0.25, 0.5 ])
    >>> values.rank()
    array([2, 0, 1])
    """
    if model is not None:
        if (k, weights, metric, metric_params) != (5, "uniform", "euclidean", None):
            raise ValueError("a model brings its own k, weights and metric; got some of them as well. Leave them out.")
        X_train, y_train, k, weights, metric, metric_params = _from_model(model, X_train, y_train)
    if X_train is None or y_train is None:
        raise ValueError("value needs training points and their labels; pass X_train and y_train, or a fitted model.")
    if (X_test is None) != (y_test is None):
        raise ValueError(
            "X_test and y_test go together; got only one of them. Leave out both to value the points by each other."
        )
    valuation = KNNValuation(
        k,
        utility=utility,
        semivalue=semivalue,
        weights=weights,
        bits=bits,
        metric=metric,
        metric_params=metric_params,
        neighbors=neighbors,
        tol=tol,
        classes=classes,
        n_jobs=n_jobs,
        block_size=block_size,
        max_memory=max_memory,
        progress=progress,
    )
    features = open_source(X_train, "X_train") if is_source(X_train) else check_features(X_train, "X_train")
    names = ids_of(X_train, ids)
    if X_test is None:
        return valuation._fit(features, y_train, names, "X_train", "y_train", None)._update(None, None, "", "").result_
    if isinstance(X_test, str | os.PathLike):
        X_test = open_source(X_test, "X_test")[:]
    queries = check_features(X_test, "X_test", like=features)
    labels = y_test
    if as_game(utility).task == "classification":
        labels = as_labels(y_test, "y_test")
        check_same_kind(as_labels(y_train, "y_train"), labels)
    valuation._fit(features, y_train, names, "X_train", "y_train", labels)
    return valuation._update(queries, labels, "X_test", "y_test").result_


def value_from_neighbors(
    indices: npt.ArrayLike,
    y_train: Any,
    y_test: Any,
    *,
    k: int = 5,
    votes: npt.ArrayLike | None = None,
    utility: str | Game | Convention = "hard",
    semivalue: str | Semivalue = "banzhaf",
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    progress: bool = False,
) -> Values:
    """Value training points from lists of neighbours: a vector database, an index, a metric of your own.

    Parameters
    ----------
    indices : int array of shape (n_queries, depth)
        Training points, nearest first, none twice in a row. Lists shorter than the training set are a truncation;
        the error bound says what it costs.
    y_train : array-like of shape (n_train,)
        Labels of the training points.
    y_test : array-like of shape (n_queries,)
        True labels of the queries.
    k : int, default=5
        Number of neighbours that vote.
    votes : int array of shape (n_queries, depth), optional
        Non-negative integer votes; one each when None.
    utility, semivalue, tol, classes, ids, n_jobs, block_size, progress
        As in `value`.

    Examples
    --------
    >>> import pivotal
    >>> pivotal.value_from_neighbors([[0, 1, 2]], ["a", "b", "a"], ["a"], k=1).values
    array([ 0.75, -0.25,  0.25])
    """
    k, tol = check_k(k), check_tol(tol)
    game, measure = as_game(utility), as_semivalue(semivalue)
    if game.task == "regression":
        labels: AnyArray = as_responses(y_train, "y_train")
        targets: AnyArray = as_responses(y_test, "y_test")
        n_classes = 0
    else:
        train, test = as_labels(y_train, "y_train"), as_labels(y_test, "y_test")
        check_same_kind(train, test)
        codes = ClassCodes.of(train, test, classes=classes)
        labels, targets, n_classes = codes.encode(train, "y_train"), codes.encode(test, "y_test"), len(codes.classes)
    lists = check_lists(indices, len(labels), len(targets))
    names = as_ids(ids_of(y_train, ids), len(labels))
    ballots = None if votes is None else check_votes(votes, lists.shape)
    if ballots is not None and (ballots == 1).all():
        ballots = None  # one vote each, in other words
    if ballots is not None:
        check_votes_allowed(game)
    depth = lists.shape[1]
    engine = Engine(
        labels,
        game,
        measure,
        k=k,
        n_classes=n_classes,
        n_players=len(labels),
        most=depth,
        tol=tol,
        largest_vote=None if ballots is None else max(1, int(ballots.max())),
        votes_fall=ballots is None or bool((np.diff(ballots, axis=1) <= 0).all()),
        n_jobs=n_jobs,
    )
    with tqdm(total=len(targets), unit="query", disable=not progress, desc="valuing") as bar:
        for queries in blocks(len(targets), fitting_queries(depth) if block_size is None else block_size):
            used = engine.depth if engine.suffices(lists[queries, : engine.depth], targets[queries]) else depth
            rows = None if ballots is None else ballots[queries, :used]
            engine.add(lists[queries, :used], rows, targets[queries])
            bar.update(queries.stop - queries.start)
    settings = {
        "k": k,
        "utility": str(game),
        "semivalue": str(measure),
        "weights": "uniform" if ballots is None else "votes",
        "neighbors": "precomputed",
        "tol": tol,
        "version": __version__,
    }
    return engine.result(ids=names, vote_resolution=0.0, settings=settings)


def _from_model(model: Any, X_train: Any, y_train: Any) -> tuple[Any, Any, int, Any, Metric, Any]:
    """Read the settings and, where none are given, the training points of a fitted scikit-learn model."""
    if not hasattr(model, "n_neighbors") or not hasattr(model, "kneighbors") or not hasattr(model, "_y"):
        raise TypeError(
            f"model must be a fitted KNeighborsClassifier or KNeighborsRegressor; got {type(model).__name__}. "
            "Fit it first."
        )
    if X_train is None:
        X_train = model._fit_X
        y_train = model.classes_[model._y] if hasattr(model, "classes_") else model._y
    parameters = dict(model.effective_metric_params_) or None
    return X_train, y_train, model.n_neighbors, model.weights, model.effective_metric_, parameters
