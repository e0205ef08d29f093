"""The public face: features and labels in, values out.

`value` answers in one call. `value_from_neighbors` starts from lists of neighbours that were found elsewhere.
`pivotal.valuation.estimator` has the same with the training side fitted once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.conventions import Convention
from pivotal.core.games import Game, as_game, check_classes
from pivotal.core.given import default
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.query_weights import QueryWeights
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_features, check_k, check_lists, check_not_own, check_tol, check_votes, is_lazy
from pivotal.core.version import __version__
from pivotal.core.weights import Weights
from pivotal.engine.build import check_votes as check_votes_allowed
from pivotal.engine.build import make_counter
from pivotal.engine.passes import QueryCounter, count_queries
from pivotal.engine.sampling.plan import as_plan
from pivotal.neighbors import Balls, as_balls, check_no_own, fitting_queries, is_source, open_source
from pivotal.neighbors.metrics import Metric
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.per_query import Keeper
from pivotal.results.values import Values
from pivotal.valuation.dispatch import Call, named
from pivotal.valuation.estimator import DEFAULT_TOL, KNNValuation
from pivotal.valuation.fitted_models import FittedModel
from pivotal.valuation.methods import Method

__all__ = ["fit_points", "value", "value_from_neighbors"]


def value(
    X_train: Any = None,
    y_train: Any = None,
    X_test: Any = None,
    y_test: Any = None,
    *,
    k: int = default(5),
    utility: str | Game | Convention = default("hard"),
    semivalue: str | Semivalue = default("banzhaf"),
    weights: str | Weights | Callable[..., Any] | None = default("uniform"),
    bits: int | None = None,
    metric: Metric = default("euclidean"),
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = default("auto"),
    model: Any = None,
    tol: float = default(DEFAULT_TOL),
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    method: str | Method = "exact",
    n_samples: int | None = None,
    target_se: float | None = None,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    method_params: Mapping[str, Any] | None = None,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    per_query: bool = False,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    max_memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Values:
    """Return what each training point is worth to a nearest-neighbour model, or to another where `method` says so.

    Parameters
    ----------
    X_train : array-like, data frame, sparse matrix or path, of shape (n_train, n_features)
        Training points; those of `model` by default. A memmap, or a .npy or Parquet file, is read chunk by chunk and
        may be larger than memory. A Dask array or dataframe, here or for any of the next three, makes the result
        `pivotal.valuation.dask.LazyValues`, whose `compute` returns the values, from Dask's workers.
    y_train : array-like of shape (n_train,), or (n_train, n_labels)
        Their labels, of any type; numbers for regression; a table of 0 and 1, dense or sparse, where points have many
        labels: the values are then the means over the labels.
    X_test, y_test : as X_train and y_train, optional
        Queries with their true labels. Without them the training points value each other: each is a query against
        all the others.
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, tol
        As in `KNNValuation`.
    n_jobs, block_size, max_memory, progress
        As in `KNNValuation`.
    model : fitted KNeighborsClassifier or KNeighborsRegressor, or pipeline that ends in one, optional
        Takes the place of k, weights, metric and, where X_train is left out, of the training points; a regressor also
        of the utility. The other steps of a pipeline transform X_test, and X_train where it is given.
    classes : array-like, optional
        The label set, when it is larger than what y_train and y_test show.
    ids : array-like of shape (n_train,), optional
        Names of the training points; a pandas index by default.
    method : str or Method, default="exact"
        How to value: ``"exact"``, ``"coalitions"`` and ``"permutations"`` (both sampled), or any name that
        `pivotal.methods` lists. A name may bring settings, which then need not be given. What is given stands where
        the name only suggests a setting, and is an error where it contradicts what the name means.
    n_samples, target_se, max_time, random_state
        As in `KNNValuation`: when to stop sampling, and where random numbers start.
    method_params : mapping, optional
        Parameters of the method's own, where it has any.
    per_query : bool, default=False
        Whether to keep the values of every single query, as in `KNNValuation`.
    query_weights : array-like of shape (n_queries,), optional
        How much each query counts: finite, at least 0, not all 0. Values are the weighted means over the queries.
    class_weight : "balanced" or mapping of classes to numbers, optional
        How much the queries of each class count. ``"balanced"`` gives all classes of the queries the same weight, so
        that values are about the balanced accuracy; classes that a mapping does not name have 1. Multiplies
        `query_weights`.
    checkpoint : path-like or URL, optional
        Folder in which finished blocks of queries are kept, so that the same call goes on where an earlier one was cut
        short. It makes the result lazy, as Dask collections do, and needs the extra ``dask``.

    Returns
    -------
    Values
        `values.values` are the means over the queries, `values.error_bound` says how far any of them can be off, and
        `values.standard_error` how far by chance if they were sampled.

    Examples
    --------
    >>> import pivotal
    >>> values = pivotal.value([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1)
    >>> values.values
    array([0.25, 0.25, 0.5 ])
    >>> values.order()
    array([2, 0, 1])
    """
    settings = {
        "k": k,
        "utility": utility,
        "semivalue": semivalue,
        "weights": "uniform" if weights is None else weights,
        "bits": bits,
        "metric": metric,
        "metric_params": metric_params,
        "neighbors": neighbors,
        "tol": tol,
        "classes": classes,
        "n_samples": n_samples,
        "target_se": target_se,
        "max_time": max_time,
        "block_size": block_size,
        "max_memory": max_memory,
    }
    names = ids_of(X_train, ids)
    if model is not None:
        fitted = FittedModel.of(model)
        settings |= fitted.settings(settings)
        X_test = None if X_test is None else fitted.transform(X_test)
        X_train, y_train = fitted.points() if X_train is None else (fitted.transform(X_train), y_train)
    if X_train is None or y_train is None:
        raise ValueError("value needs training points and their labels; pass X_train and y_train, or a fitted model.")
    if (X_test is None) != (y_test is None):
        raise ValueError(
            "X_test and y_test go together; got only one of them. Leave out both to value the points by each other."
        )
    call = Call.of(method, settings)
    on_dask = checkpoint is not None or any(map(is_lazy, (X_train, y_train, X_test, y_test, ids, query_weights)))
    common: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "progress": progress}
    if call.method.is_function:
        if on_dask:
            raise ValueError(
                f"method={call.method.name!r} needs its data in memory; got Dask collections or a checkpoint. "
                'Use method="exact", or compute them first.'
            )
        if per_query:
            raise ValueError(
                f"values per query are kept of exact games of the k nearest; got method={call.method.name!r}. "
                "Leave out per_query."
            )
        call.refuse_query_weights(query_weights, class_weight)
        values = call.run(X_train, y_train, X_test, y_test, method_params=method_params, ids=names, **common)
        return named(values, call.method)
    call.refuse_parameters(method_params)
    valuation = KNNValuation(method=str(call.method.run), per_query=per_query, **call.settings, **common)
    counts = QueryWeights(query_weights, class_weight)
    if on_dask:
        from pivotal.valuation.dask import value_lazily

        lazy: Any = value_lazily(
            valuation,
            X_train,
            y_train,
            X_test,
            y_test,
            ids=names,
            query_weights=counts,
            checkpoint=checkpoint,
            method=call.method.name,
        )
        return lazy  # type: ignore[no-any-return]  # what stands for the values until they are computed
    return named(_value(valuation, X_train, y_train, X_test, y_test, names, counts), call.method)


def value_from_neighbors(
    indices: Any,
    y_train: Any,
    y_test: Any = None,
    *,
    k: int = 5,
    votes: npt.ArrayLike | None = None,
    utility: str | Game | Convention = default("hard"),
    semivalue: str | Semivalue = default("banzhaf"),
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    method: str | Method = "exact",
    n_samples: int | None = None,
    target_se: float | None = None,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    query_weights: npt.ArrayLike | None = None,
    class_weight: str | Mapping[Any, float] | None = None,
    per_query: bool = False,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    progress: bool = False,
) -> Values:
    """Value training points from lists of neighbours: a vector database, an index, a metric of your own.

    Parameters
    ----------
    indices : int array of shape (n_queries, depth)
        Training points, nearest first, none twice in a row. Lists shorter than the training set are a truncation;
        the error bound says what it costs. Where everyone within a radius votes, lists of any lengths and in any order:
        what scikit-learn's ``radius_neighbors`` or ``radius_neighbors_graph`` returns.
    y_train : array-like of shape (n_train,)
        Labels of the training points.
    y_test : array-like of shape (n_queries,), optional
        True labels of the queries. Without them the training points value each other: `indices` then has a row for
        each of them, in their order, and no point is in its own row.
    k : int, default=5
        Number of neighbours that vote.
    votes : int array of shape (n_queries, depth), optional
        Non-negative integer votes; one each when None.
    utility, semivalue, tol, classes, ids, per_query, query_weights, class_weight, n_jobs, block_size, progress
        As in `value`.
    method, n_samples, target_se, max_time, random_state
        As in `value`; of its methods, those that value a nearest-neighbour model.

    Examples
    --------
    >>> import pivotal
    >>> pivotal.value_from_neighbors([[0, 1, 2]], ["a", "b", "a"], ["a"], k=1).values
    array([ 0.75, -0.25,  0.25])
    """
    k, tol = check_k(k), check_tol(tol)
    call = Call.of(method, {"utility": utility, "semivalue": semivalue}).with_votes(given=votes is not None)
    game, measure = as_game(call.settings["utility"]), as_semivalue(call.settings["semivalue"])
    check_classes(game, classes)
    plan = as_plan(call.method.run, n_samples, target_se, max_time, random_state)
    each_other = y_test is None
    if each_other:
        y_test = y_train
    labels, encoding = LabelEncoding.of(game.task, y_train, y_test, classes=classes)
    targets = encoding.encode(y_test, "y_test")
    counts = QueryWeights(query_weights, class_weight).of(targets, encoding.codes)
    n_classes, keeper = encoding.n_classes, Keeper(k, encoding.classes) if per_query else None
    names = as_ids(ids_of(y_train, ids), len(labels))
    settings = {
        "k": k,
        "utility": str(game),
        "semivalue": str(measure),
        "weights": "uniform",
        "neighbors": "precomputed",
        "tol": tol,
        "self_valuation": each_other,
        "version": __version__,
    }
    if game.radius is not None:
        if votes is not None:
            check_votes_allowed(game, plan)
        how: dict[str, Any] = {"n_classes": n_classes, "n_players": len(labels) - each_other, "largest_vote": None}
        counter = make_counter(plan, labels, game, measure, keeper=keeper, **how)
        _count_balls(counter, as_balls(indices, len(labels), len(targets)), targets, counts, each_other=each_other)
        return named(counter.result(ids=names, vote_resolution=0.0, settings=settings), call.method)
    lists = check_lists(indices, len(labels), len(targets))
    if each_other:
        check_not_own(lists)
    ballots = None if votes is None else check_votes(votes, lists.shape)
    if ballots is not None and (ballots == 1).all():
        ballots = None  # one vote each, in other words
    if ballots is not None:
        check_votes_allowed(game, plan)
        settings["weights"] = "votes"
    depth = lists.shape[1]
    engine = make_counter(
        plan,
        labels,
        game,
        measure,
        k=k,
        n_classes=n_classes,
        n_players=len(labels) - each_other,
        most=depth,
        tol=tol,
        largest_vote=None if ballots is None else max(1, int(ballots.max())),
        votes_fall=ballots is None or bool((np.diff(ballots, axis=1) <= 0).all()),
        n_jobs=n_jobs,
        keeper=keeper,
    )

    def listed(queries: slice) -> tuple[IndexArray, CodeArray | None]:
        used = engine.depth if engine.suffices(lists[queries, : engine.depth], targets[queries]) else depth
        return lists[queries, :used], None if ballots is None else ballots[queries, :used]

    at_once = fitting_queries(depth) if block_size is None else block_size
    count_queries(engine, targets, listed, at_once, weights=counts, progress=progress)
    return named(engine.result(ids=names, vote_resolution=0.0, settings=settings), call.method)


def _count_balls(
    counter: QueryCounter, balls: Balls, targets: AnyArray, weights: FloatArray | None, *, each_other: bool
) -> None:
    """Count the queries of a game that everyone within a radius plays."""
    if each_other:
        check_no_own(balls)
    for step in counter.passes(len(targets)):
        step.add([balls], None, targets, weights)


def _value(
    valuation: KNNValuation,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    names: npt.ArrayLike | None,
    counts: QueryWeights,
) -> Values:
    """Value training points with a nearest-neighbour model that is set up."""
    queries, labels = fit_points(valuation, X_train, y_train, X_test, y_test, names)
    return valuation._update(queries, labels, "X_test", "y_test", counts).result_


def fit_points(
    valuation: KNNValuation, X_train: Any, y_train: Any, X_test: Any, y_test: Any, names: npt.ArrayLike | None
) -> tuple[Any, Any]:
    """Fit a nearest-neighbour model that is set up; return the queries and their labels, checked."""
    features = open_source(X_train, "X_train") if is_source(X_train) else check_features(X_train, "X_train")
    if X_test is None:
        valuation._fit(features, y_train, names, "X_train", "y_train", None)
        return None, None
    if isinstance(X_test, str | os.PathLike):
        X_test = open_source(X_test, "X_test")[:]
    queries = check_features(X_test, "X_test", like=features)
    valuation._fit(features, y_train, names, "X_train", "y_train", y_test)
    return queries, y_test
