"""The public face: features and labels in, values out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy.typing as npt

from pivotal.core.config import Resources
from pivotal.core.games import Convention, Game
from pivotal.core.given import default, is_default
from pivotal.core.method_choice import MethodChoice
from pivotal.core.methods import Method
from pivotal.core.metric_settings import Metric
from pivotal.core.query_weights import QueryWeights, as_query_weights
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import DEFAULT_TOL, Spec
from pivotal.core.validation import is_lazy
from pivotal.core.weights import Weights
from pivotal.results.ids import ids_of
from pivotal.results.values import Values
from pivotal.valuation.dispatch import run_function
from pivotal.valuation.fitted_models import FittedModel
from pivotal.valuation.group_valuation import value_groups
from pivotal.valuation.point_valuation import PointValuation, read_points, read_queries

if TYPE_CHECKING:
    from pivotal.valuation.dask import LazyValues

__all__ = ["value"]


class DaskCollection(Protocol):
    """An array, a dataframe or the like that Dask holds."""

    def __dask_graph__(self) -> Any:
        """Return the tasks that compute it."""


@overload
def value(
    X_train: DaskCollection, y_train: Any, X_test: Any = None, y_test: Any = None, **settings: Any
) -> LazyValues: ...
@overload
def value(X_train: Any, y_train: Any, X_test: DaskCollection, y_test: Any, **settings: Any) -> LazyValues: ...
@overload
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
    metric: str | Callable[..., float] | Metric = default("euclidean"),
    neighbors: Any = default("auto"),
    tol: float = default(DEFAULT_TOL),
    classes: npt.ArrayLike | None = None,
    model: Any = None,
    groups: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | str | Mapping[Any, float] | QueryWeights | None = None,
    method: str | Method | MethodChoice = default("exact"),
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Values: ...
def value(  # type: ignore[misc]  # the settings of lazy values are the keyword arguments here
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
    metric: str | Callable[..., float] | Metric = default("euclidean"),
    neighbors: Any = default("auto"),
    tol: float = default(DEFAULT_TOL),
    classes: npt.ArrayLike | None = None,
    model: Any = None,
    groups: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | str | Mapping[Any, float] | QueryWeights | None = None,
    method: str | Method | MethodChoice = default("exact"),
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Values | LazyValues:
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
        Test points (queries) with their true labels. Without them this is self-valuation: each training point is a
        query against all the others.

    k : int, default=5
        Number of neighbours that vote; ignored where all points within a radius do.
    utility : str, Game or Convention, default="hard"
        The utility of a coalition of training points, for a query: ``"hard"`` (1 if the vote is right), ``"plurality"``
        (the same with many classes), ``"soft"`` (share of the k nearest that are right), ``"soft-k"`` (the same over
        k), ``"regression"`` (negative squared error), ``"threshold(0.5)"`` (share of right points within a radius), the
        name of a convention such as ``"jia2019"``, or an object such as ``pivotal.Hard(tie="win")``.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn: ``"banzhaf"``, ``"shapley"``, ``"loo"`` (leave-one-out), ``"beta(4,1)"``, or an object
        such as ``pivotal.Banzhaf(0.3)``.
    weights : str, Weights, callable or None, default="uniform"
        How votes fall with distance: ``"uniform"`` (unweighted), ``"distance"``, ``"rbf"``, ``"linear"``, an object
        such as ``pivotal.RBF(0.5)``, or a function from distances to weights.
    bits : int, optional
        Quantisation bits: weights are rounded to integer votes of this size, 1 to 16; 7 by default. Unweighted votes
        are exact whatever it is.
    metric : str, callable or Metric, default="euclidean"
        Any metric of scikit-learn, or one with parameters, such as ``pivotal.Metric("minkowski", p=3)``.
    neighbors : str or object, default="auto"
        How neighbours are found: ``"auto"`` and ``"brute"`` (exact), ``"kd_tree"``, ``"faiss-ivf"``, ``"hnswlib"`` and
        others of `pivotal.neighbors`, a fitted scikit-learn neighbours estimator, or an object with
        ``search(queries, depth)``. The values are exact given these neighbours; recall is measured where needed.
    tol : float, default=1e-16
        Truncation: points that change no value by more than this, in units of the utility's range, are not looked at.
        0 uses every point.
    classes : array-like, optional
        The label set, when it is larger than what y_train and y_test show.
    model : fitted KNeighborsClassifier or KNeighborsRegressor, or pipeline that ends in one, optional
        Takes the place of k, weights, metric and, where X_train is omitted, of the training points; a regressor also of
        the utility. The other steps of a pipeline transform X_test, and X_train where it is given.

    groups : array-like of shape (n_train,), optional
        Group of each training point, such as its owner: text, numbers, anything that can be compared. The groups are
        then the players, each joining with all its points at once, and have one value each. By default they are valued
        exactly up to 20 groups, and beyond while no query has more than 2^20 cases to tell apart; otherwise by
        ``"coalitions"``. `Values.by_owner` is another number: the sum of the values of single points.
    ids : array-like of shape (n_train,), optional
        Names of the training points; a pandas index by default.
    query_weights : array-like of shape (n_queries,), "balanced", or mapping of classes to numbers, optional
        How much each query counts: finite, at least 0, not all 0. Values are the weighted means over the queries.
        ``"balanced"`` gives all classes of the queries the same weight, so that values are about the balanced accuracy;
        classes that a mapping does not name have 1. ``pivotal.QueryWeights(numbers, "balanced")`` multiplies both.

    method : str or method object, default="exact"
        How to value: ``"exact"``, ``"coalitions"`` and ``"permutations"`` (both sampled), or any name that
        `pivotal.methods` lists, such as ``"knn-shapley"``, ``"data-shapley"`` or ``"influence"``. Parameters of a
        method are on its object: ``pivotal.Exact(per_query=True)`` keeps the values of every query,
        ``pivotal.Coalitions(n_samples=500, target_se=0.01, random_state=0)`` says when to stop sampling, and
        ``pivotal.method("lava", random_state=0)`` sets those of any other. A name may bring settings, which then need
        not be given; what contradicts the name is an error.
    n_jobs : int, optional
        Threads; -1 is one per processor, and the default unless `pivotal.set_config` says otherwise. Or workers of the
        backend that ``joblib.parallel_config`` names.
    progress : bool, optional
        Whether to show a progress bar; not by default, unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Values, or LazyValues for Dask collections and with a checkpoint
        Of lazy values, `compute` returns the values; a checkpoint is set by `pivotal.config_context`, which type
        checkers do not see. `values.values` are the means over the queries, `values.error_bound` says how far any of
        them can be off, and `values.standard_error` how far by chance if they were sampled. `values.settings` go back
        in:
        ``pivotal.value(X_train, y_train, X_test, y_test, **values.settings)`` makes the same call.

    See Also
    --------
    value_from_neighbors : The same from lists of neighbours that were found elsewhere.
    KNNValuation : The same with the training side fitted once, and queries batch by batch.
    config_context : Threads, memory, progress bars and checkpoints for all calls.

    Examples
    --------
    >>> import pivotal
    >>> values = pivotal.value([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1)
    >>> values.values
    array([0.25, 0.25, 0.5 ])
    >>> values.order()
    array([2, 0, 1])
    >>> owned = pivotal.value([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1, groups=["a", "a", "b"])
    >>> owned.ids, owned.values
    (array(['a', 'b'], dtype='<U1'), array([0.5, 0.5]))
    """
    given: dict[str, Any] = {
        "k": k,
        "utility": utility,
        "semivalue": semivalue,
        "weights": weights,
        "bits": bits,
        "metric": metric,
        "neighbors": neighbors,
        "tol": tol,
        "classes": classes,
    }
    names = ids_of(X_train, ids)
    if model is not None:
        fitted = FittedModel.of(model)
        given |= fitted.settings(given)
        X_test = None if X_test is None else fitted.transform(X_test)
        X_train, y_train = fitted.points() if X_train is None else (fitted.transform(X_train), y_train)
    if X_train is None or y_train is None:
        raise ValueError("value needs training points and their labels; pass X_train and y_train, or a fitted model.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; got only one of them. Omit both for self-valuation.")
    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    counts = as_query_weights(query_weights)
    data = X_train, y_train, X_test, y_test
    lazy = resources.checkpoint is not None or any(map(is_lazy, (*data, ids, counts.weights)))
    if groups is not None:
        if lazy or ids is not None:
            got = "ids, which name points" if ids is not None else "Dask collections or a checkpoint"
            raise ValueError(f"groups are valued in memory and have names of their own; got {got}. Omit one of them.")
        spec = Spec.of(**given, method="auto" if is_default(method) else method)
        return value_groups(spec, resources, data, groups, counts)
    spec = Spec.of(**given, method=method)
    if spec.method.method.is_function:
        if lazy:
            raise ValueError(
                f"method={spec.method.name!r} needs its data in memory; got Dask collections or a checkpoint. "
                'Use method="exact", or compute them first.'
            )
        return run_function(spec, given, resources, data, ids=names, query_weights=counts)
    if lazy:
        from pivotal.valuation.dask import value_lazily

        return value_lazily(spec, resources, data, ids=names, query_weights=counts)
    features = read_points(X_train)
    queries = read_queries(X_test, features)
    points = PointValuation(spec, resources, features, y_train, y_test=y_test, ids=names)
    return points.count(queries, points.targets, counts).result()
