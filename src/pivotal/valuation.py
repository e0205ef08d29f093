"""The public face: features and labels in, values out.

`value` answers in one call. `KNNValuation` is the same with the training side fitted once and queries counted batch by
batch. `value_from_neighbors` starts from lists of neighbours that were found elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm.auto import tqdm

from pivotal._conventions import Convention
from pivotal._labels import ClassCodes, as_labels, as_responses, check_same_kind
from pivotal._types import AnyArray, FloatArray
from pivotal._validation import check_features, check_k, check_lists, check_same_length, check_tol, check_votes
from pivotal._version import __version__
from pivotal.engine import Engine
from pivotal.games import Game, as_game
from pivotal.neighbors import Index, as_index, blocks
from pivotal.results import Values, as_ids
from pivotal.semivalues import Semivalue, as_semivalue
from pivotal.solvers import check_votes_allowed
from pivotal.weights import Weights, as_weights, check_bits, minimum_depth, resolution, to_votes

__all__ = ["KNNValuation", "value", "value_from_neighbors"]

_DEFAULT_TOL = 1e-16
_Metric = str | Callable[..., float]


class KNNValuation(BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Value training points over any number of batches of queries.

    Parameters
    ----------
    k : int, default=5
        Number of neighbours that vote.
    utility : str, Game or Convention, default="hard"
        What a coalition earns: ``"hard"``, ``"plurality"``, ``"soft"``, ``"soft-k"``, ``"regression"``, the name of a
        convention such as ``"jia2019"``, or an object such as ``pivotal.Hard(tie="win")``.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn: ``"banzhaf"``, ``"shapley"``, ``"loo"``, ``"beta(4,1)"``, or an object such as
        ``pivotal.Banzhaf(0.3)``.
    weights : str, Weights, callable or None, default="uniform"
        How votes fall with distance, as scikit-learn takes it: ``"uniform"``, ``"distance"``, and also ``"rbf"`` and
        ``"linear"``.
    bits : int, default=7
        Weights are rounded to integer votes of so many bits, 1 to 16.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn.
    metric_params : dict, optional
        Its parameters.
    neighbors : str or object, default="auto"
        How neighbours are found: a name, a fitted scikit-learn neighbours estimator, or an object with
        ``search(queries, depth)``.
    tol : float, default=1e-16
        Truncation: points that change no value by more than this, in units of the utility's range, are not looked at.
        0 uses every point. Shapley values are exact at the default, whatever the number of points.
    classes : array-like, optional
        The label set, when it is larger than what the training labels show.
    n_jobs : int, default=-1
        Threads; -1 is one per processor. Results do not depend on it.
    block_size : int, optional
        Queries per block; chosen from a memory budget by default. Results do not depend on it.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    values_ : float64 array of shape (n_train,)
        Mean over all queries so far.
    result_ : Values
        The same with error bound, ids and settings.
    n_queries_ : int
        Queries so far.

    Examples
    --------
    >>> import pivotal
    >>> model = pivotal.KNNValuation(k=1).fit([[0.0], [1.0], [2.0]], ["cat", "cat", "dog"])
    >>> model.update([[0.1]], ["cat"]).update([[1.9]], ["dog"]).values_
    array([0.25, 0.25, 0.5 ])
    """

    def __init__(
        self,
        k: int = 5,
        *,
        utility: str | Game | Convention = "hard",
        semivalue: str | Semivalue = "banzhaf",
        weights: str | Weights | Callable[..., Any] | None = "uniform",
        bits: int = 7,
        metric: _Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        neighbors: Any = "auto",
        tol: float = _DEFAULT_TOL,
        classes: npt.ArrayLike | None = None,
        n_jobs: int | None = -1,
        block_size: int | None = None,
        progress: bool = False,
    ) -> None:
        self.k = k
        self.utility = utility
        self.semivalue = semivalue
        self.weights = weights
        self.bits = bits
        self.metric = metric
        self.metric_params = metric_params
        self.neighbors = neighbors
        self.tol = tol
        self.classes = classes
        self.n_jobs = n_jobs
        self.block_size = block_size
        self.progress = progress

    def fit(self, X: Any, y: Any, ids: npt.ArrayLike | None = None) -> Self:
        """Take the training points; forgets all queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_train, n_features)
            Training points.
        y : array-like of shape (n_train,)
            Labels of any type, or numbers for regression.
        ids : array-like of shape (n_train,), optional
            Names of the points, carried through to the result; a pandas index by default.
        """
        features = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=1, reset=True
        )
        if y is None:
            raise ValueError("KNNValuation requires y to be passed, but the target y is None.")
        return self._fit(features, y, _ids(X, ids), "X", "y", None)

    def update(self, X: Any = None, y: Any = None) -> Self:
        """Count a batch of queries; with neither X nor y, every training point once, against all the others.

        Interrupting it loses nothing that was finished: whole blocks stay counted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), optional
            Queries.
        y : array-like of shape (n_queries,), optional
            Their true labels.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("update needs both X and y, or neither for leave-one-out queries; got only one of them.")
        if X is not None:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._update(X, y, "X", "y")

    @property
    def values_(self) -> FloatArray:
        """Mean over all queries so far."""
        return self._counted().values()

    @property
    def n_queries_(self) -> int:
        """Queries so far."""
        check_is_fitted(self)
        return 0 if self._engine is None else self._engine.n_queries

    @property
    def result_(self) -> Values:
        """The values with error bound, ids and settings."""
        weighted = self._weights.weighted
        settings = {
            "k": self._k,
            "utility": str(self._game),
            "semivalue": str(self._semivalue),
            "weights": str(self._weights),
            "bits": self._bits if weighted else None,
            "metric": self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "callable"),
            "tol": self._tol,
            "self_valuation": self._self_queries,
            "version": __version__,
        }
        rounding = resolution(self._bits) if weighted else 0.0
        return self._counted().result(ids=self._ids, vote_resolution=rounding, settings=settings)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_labels")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _fit(
        self, X: Any, y: Any, ids: npt.ArrayLike | None, x_name: str, y_name: str, y_test: AnyArray | None
    ) -> Self:
        """Fit checked features; `y_test` may bring labels that training does not show."""
        self._k, self._tol, self._bits = check_k(self.k), check_tol(self.tol), check_bits(self.bits)
        self._game, self._semivalue = as_game(self.utility), as_semivalue(self.semivalue)
        self._weights = as_weights(self.weights)
        if self._weights.weighted:
            check_votes_allowed(self._game)
        if self._game.task == "regression":
            labels: AnyArray = as_responses(y, y_name)
            self._codes, self._n_classes = None, 0
        else:
            labels = as_labels(y, y_name)
            seen = (labels,) if y_test is None else (labels, y_test)
            self._codes = ClassCodes.of(*seen, classes=self.classes)
            self._n_classes = len(self._codes.classes)
        check_same_length(X, labels, x_name, y_name)
        self._labels = labels if self._codes is None else self._codes.encode(labels, y_name)
        self._ids = as_ids(ids, len(labels))
        self._index: Index = as_index(
            self.neighbors, X, metric=self.metric, metric_params=self.metric_params, n_jobs=self.n_jobs
        )
        self._engine: Engine | None = None
        self._self_queries = False
        return self

    def _update(self, X: Any, y: Any, x_name: str, y_name: str) -> Self:
        """Count checked queries, or the training points themselves when X is None."""
        if X is None:
            targets: AnyArray = self._labels
        elif self._codes is None:
            targets = as_responses(y, y_name)
        else:
            targets = self._codes.encode(as_labels(y, y_name), y_name)
        if X is not None:
            check_same_length(X, targets, x_name, y_name)
        engine = self._engine_for(self_queries=X is None)
        n_players = len(self._labels) - (X is None)
        depth = min(n_players, max(engine.depth, minimum_depth(self._weights, self._k)))
        with tqdm(total=len(targets), unit="query", disable=not self.progress, desc="valuing") as bar:
            for queries in blocks(len(targets), depth, block_size=self.block_size):
                if X is None:
                    indices, distances = self._index.search_self(queries.start, queries.stop, depth)
                else:
                    indices, distances = self._index.search(X[queries], depth)
                votes = None
                if self._weights.weighted:
                    votes = to_votes(self._weights(distances, self._k), self._bits)[:, : engine.depth]
                engine.add(indices[:, : engine.depth], votes, targets[queries])
                bar.update(queries.stop - queries.start)
        return self

    def _engine_for(self, *, self_queries: bool) -> Engine:
        if self._engine is not None:
            if self._self_queries != self_queries:
                raise ValueError(
                    "queries of a test set and leave-one-out queries are different games and cannot be mixed; "
                    "fit anew, or use a second KNNValuation."
                )
            return self._engine
        n_players = len(self._labels) - self_queries
        if n_players < 1:
            raise ValueError("points that value each other must be at least two; got 1. Pass a test set.")
        engine = Engine(
            self._labels,
            self._game,
            self._semivalue,
            k=self._k,
            n_classes=self._n_classes,
            n_players=n_players,
            most=n_players,
            tol=self._tol,
            largest_vote=2**self._bits - 1 if self._weights.weighted else None,
            n_jobs=self.n_jobs,
        )
        self._engine, self._self_queries = engine, self_queries
        return engine

    def _counted(self) -> Engine:
        check_is_fitted(self)
        if self._engine is None or self._engine.n_queries == 0:
            raise AttributeError("there are no values before the first query; call update with queries first.")
        return self._engine


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
    metric: _Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    model: Any = None,
    tol: float = _DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    n_jobs: int | None = -1,
    block_size: int | None = None,
    progress: bool = False,
) -> Values:
    """Return what each training point is worth to a nearest-neighbour model.

    Parameters
    ----------
    X_train : array-like, data frame or sparse matrix of shape (n_train, n_features)
        Training points; those of `model` by default.
    y_train : array-like of shape (n_train,)
        Their labels, of any type; numbers for regression.
    X_test, y_test : as X_train and y_train, optional
        Queries with their true labels. Without them the training points value each other: each is a query against
        all the others.
    k, utility, semivalue, weights, bits, metric, metric_params, neighbors, tol, n_jobs, block_size, progress
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
        progress=progress,
    )
    features = check_features(X_train, "X_train")
    names = _ids(X_train, ids)
    if X_test is None:
        return valuation._fit(features, y_train, names, "X_train", "y_train", None)._update(None, None, "", "").result_
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
    tol: float = _DEFAULT_TOL,
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
    names = as_ids(_ids(y_train, ids), len(labels))
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
        for queries in blocks(len(targets), engine.depth, block_size=block_size):
            rows = None if ballots is None else ballots[queries, : engine.depth]
            engine.add(lists[queries, : engine.depth], rows, targets[queries])
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


def _ids(rows: Any, ids: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """Names of the training points: those given, or the index of a pandas object, or none."""
    if ids is not None:
        return ids
    index = getattr(rows, "index", None)
    return np.asarray(index.to_numpy()) if isinstance(index, pd.Index) else None


def _from_model(model: Any, X_train: Any, y_train: Any) -> tuple[Any, Any, int, Any, _Metric, Any]:
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
