"""The estimator: training points fitted once, queries counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pivotal.core.conventions import Convention
from pivotal.core.games import Game, as_game, check_classes
from pivotal.core.indicators import as_indicators, is_indicators
from pivotal.core.labels import ClassCodes, as_labels, as_responses
from pivotal.core.metric_settings import record_metric
from pivotal.core.query_weights import ALIKE, QueryWeights
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_k, check_same_length, check_tol
from pivotal.core.version import __version__
from pivotal.core.weights import Weights, as_bits, as_weights, resolution
from pivotal.engine.build import check_votes, make_counter
from pivotal.engine.exact import QueryCounter, count_queries
from pivotal.engine.joblib_backend import Errand, can_be_sent, chosen_workers, say_here, why_here
from pivotal.engine.sampling.plan import as_plan
from pivotal.engine.truncation import Voters
from pivotal.engine.whole_orders import WholeOrders
from pivotal.neighbors import (
    ApproximateIndex,
    Balls,
    BruteIndex,
    Index,
    NeighborAudit,
    as_bytes,
    as_index,
    is_source,
    open_source,
)
from pivotal.neighbors.metrics import Metric
from pivotal.results.per_query import Keeper
from pivotal.results.values import Values, as_ids
from pivotal.valuation.editable import EditsPoints

__all__ = ["DEFAULT_TOL", "KNNValuation", "ids_of"]

DEFAULT_TOL = 1e-16
_BALL = 64  # points near a query, for the size of blocks; larger balls are found some queries at a time


class KNNValuation(EditsPoints, BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Value training points over any number of batches of queries.

    Parameters
    ----------
    k : int, default=5
        Number of neighbours that vote; not looked at where everyone within a radius does.
    utility : str, Game or Convention, default="hard"
        What a coalition earns: ``"hard"``, ``"plurality"``, ``"soft"``, ``"soft-k"``, ``"regression"``,
        ``"threshold(0.5)"`` with any radius, the name of a convention such as ``"jia2019"``, or an object such as
        ``pivotal.Hard(tie="win")``.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn: ``"banzhaf"``, ``"shapley"``, ``"loo"``, ``"beta(4,1)"``, or an object such as
        ``pivotal.Banzhaf(0.3)``.
    weights : str, Weights, callable or None, default="uniform"
        How votes fall with distance, as scikit-learn takes it: ``"uniform"``, ``"distance"``, and also ``"rbf"`` and
        ``"linear"``.
    bits : int, optional
        Quantisation bits: weights are rounded to integer votes of this size, 1 to 16; 7 by default. Unweighted votes
        are exact whatever it is.
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
    method : {"exact", "coalitions", "permutations"}, default="exact"
        Exact values, or estimates from random coalitions or from random orders in which the points join.
    n_samples : int, optional
        Samples per query, at most. 1000 where nothing else limits the sampling.
    target_se : float, optional
        Sampling ends when no standard error exceeds this, over the queries of one `update`.
    max_time : float, optional
        Seconds of sampling, for one `update`; a first pass over all queries is always finished. How many samples that
        is depends on the machine, so results cannot be reproduced.
    random_state : int, numpy.random.Generator or None, default=None
        Where random numbers start; None asks the system. Results depend neither on `n_jobs` nor on `block_size`.
    per_query : bool, default=False
        Whether to keep the values of every single query, for `Values.per_query` and `Values.explain`: exact games of
        the k nearest only. They may take `max_memory`, 1 GiB by default; where they do not fit, as with Shapley values
        of many points, the largest are kept of each query.
    editable : bool, default=False
        Whether `relabel`, `add`, `remove` and `drop_queries` may follow. Then the neighbours of every query are kept,
        20 bytes for each of them, and the queries themselves.
    n_jobs : int, default=-1
        Threads; -1 is one per processor. Or workers, of a backend such as "dask" that ``joblib.parallel_config`` names;
        -1 leaves their number to it. Results do not depend on it.
    block_size : int, optional
        Queries per block; chosen from `max_memory` by default. Results do not depend on it.
    max_memory : int or str, optional
        Memory for lists of neighbours, and for training points that stay in their file: bytes, or text such as
        ``"2GB"``.
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
        bits: int | None = None,
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        neighbors: Any = "auto",
        tol: float = DEFAULT_TOL,
        classes: npt.ArrayLike | None = None,
        method: str = "exact",
        n_samples: int | None = None,
        target_se: float | None = None,
        max_time: float | None = None,
        random_state: int | np.random.Generator | None = None,
        per_query: bool = False,
        editable: bool = False,
        n_jobs: int | None = -1,
        block_size: int | None = None,
        max_memory: int | str | None = None,
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
        self.method = method
        self.n_samples = n_samples
        self.target_se = target_se
        self.max_time = max_time
        self.random_state = random_state
        self.per_query = per_query
        self.editable = editable
        self.n_jobs = n_jobs
        self.block_size = block_size
        self.max_memory = max_memory
        self.progress = progress

    def fit(self, X: Any, y: Any, ids: npt.ArrayLike | None = None) -> Self:
        """Take the training points; forgets all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or path, of shape (n_train, n_features)
            Training points; a memmap, or a .npy or Parquet file, is read chunk by chunk and may exceed memory.
        y : array-like of shape (n_train,), or (n_train, n_labels)
            Labels of any type, or numbers for regression; or a table of 0 and 1, dense or sparse, for points that have
            many labels.
        ids : array-like of shape (n_train,), optional
            Names of the points, carried through to the result; a pandas index by default.
        """
        if y is None:
            raise ValueError("KNNValuation requires y to be passed, but the target y is None.")
        if is_source(X):
            features = open_source(X, "X")
            self.n_features_in_ = features.n_columns
        else:
            features = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=1, reset=True
            )
        return self._fit(features, y, ids_of(X, ids), "X", "y", None)

    def update(self, X: Any = None, y: Any = None, query_weights: npt.ArrayLike | None = None) -> Self:
        """Count a batch of queries; with neither X nor y, every training point once, against all the others.

        Interrupting it loses nothing that was finished: whole blocks stay counted, with the samples they have.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), optional
            Queries.
        y : array-like of shape (n_queries,), or (n_queries, n_labels), optional
            Their true labels.
        query_weights : array-like of shape (n_queries,), optional
            How much each query counts, at least 0; 1 each by default. Means are weighted over all batches.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("update needs both X and y, or neither for leave-one-out queries; got only one of them.")
        if X is not None:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return self._update(X, y, "X", "y", QueryWeights(query_weights))

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
        rounding = resolution(self._bits) if weighted else 0.0
        values = self._counted().result(ids=self._ids, vote_resolution=rounding, settings=self._settings())
        exact, recall = self._audit.verdict(self._k, weighted=weighted)
        return replace(values, neighbors_exact=exact, recall=recall)

    def _settings(self) -> dict[str, Any]:
        """What the result says of how it was computed."""
        return {
            "k": self._k,
            "utility": str(self._game),
            "semivalue": str(self._semivalue),
            "weights": str(self._weights),
            "bits": self._bits if self._weights.weighted else None,
            **record_metric(self.metric, self.metric_params),
            "neighbors": _told(self.neighbors),
            "tol": self._tol,
            "self_valuation": self._self_queries,
            "version": __version__,
        }

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
        self._read_settings()
        if self._game.task == "regression":
            labels: AnyArray = as_responses(y, y_name)
            self._codes, self._n_classes = None, 0
        elif is_indicators(y):
            labels = as_indicators(y, y_name)
            self._codes, self._n_classes = ClassCodes.of_indicators(self.classes), 2
        else:
            labels = as_labels(y, y_name)
            seen = (labels,) if y_test is None else (labels, y_test)
            self._codes = ClassCodes.of(*seen, classes=self.classes)
            self._n_classes = len(self._codes.classes)
        check_same_length(X, labels, x_name, y_name)
        self._labels = labels if self._codes is None or labels.ndim == 2 else self._codes.encode(labels, y_name)
        self._ids = as_ids(ids, len(labels))
        self._index: Index = as_index(
            self.neighbors,
            X,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
            max_memory=self.max_memory,
        )
        self._features = X
        self._audit = NeighborAudit(
            self.neighbors,
            self._index,
            X,
            metric=self.metric,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        )
        self._engine: QueryCounter | None = None
        self._self_queries = False
        self._prepare_edits(named=ids is not None)
        return self

    def _read_settings(self) -> None:
        """Take over the parameters, checked."""
        self._k, self._tol = check_k(self.k), check_tol(self.tol)
        self._game, self._semivalue = as_game(self.utility), as_semivalue(self.semivalue)
        self._weights = as_weights(self.weights)
        self._bits = as_bits(self.bits)
        check_classes(self._game, self.classes)
        self._plan = as_plan(self.method, self.n_samples, self.target_se, self.max_time, self.random_state)
        if self._weights.weighted:
            check_votes(self._game, self._plan)

    def _update(self, X: Any, y: Any, x_name: str, y_name: str, query_weights: QueryWeights = ALIKE) -> Self:
        """Count checked queries, or the training points themselves when X is None."""
        targets = self._targets(X, y, x_name, y_name)
        weights = query_weights.of(targets, self._codes)
        if self.editable:
            say_here(self.n_jobs, "points that may be edited are valued here")
            return self._count_editable(X, targets, weights)
        engine = self._engine_for(self_queries=X is None)
        if self._game.radius is not None:
            return self._count_balls(engine, X, targets, self._game.radius, weights)
        depth = self._depth(engine, X)
        if not (
            self._count_elsewhere(engine, X, targets, depth, weights)
            or self._count_whole_orders(engine, X, targets, weights)
        ):
            lists = self._lists(engine, targets, lambda queries, depth: self._search(X, queries, depth))
            count_queries(engine, targets, lists, self._block_size(depth), weights=weights, progress=self.progress)
        self._audit.check_lists(X, len(targets), depth, weighted=self._weights.weighted)
        return self

    def _count_elsewhere(
        self, engine: QueryCounter, X: Any, targets: AnyArray, depth: int, weights: FloatArray | None
    ) -> bool:
        """Count queries on the workers of the joblib backend that the user chose, if there is one and they can."""
        if (workers := chosen_workers(self.n_jobs)) is None:
            return False
        if not can_be_sent(engine, self._index):
            say_here(self.n_jobs, why_here(engine, self._index))
            return False
        small = engine.for_worker()
        errand = Errand(small, self._index.for_worker(len(targets), depth), self._voters(small))
        return workers.count(
            engine,
            errand,
            X,
            targets,
            depth=depth,
            block_size=self.block_size,
            max_memory=self._budget(),
            weights=weights,
            progress=self.progress,
        )

    def _count_whole_orders(self, engine: QueryCounter, X: Any, targets: AnyArray, weights: FloatArray | None) -> bool:
        """Count queries of a game in which every point matters, where that can be done without lists of all points."""
        index = self._index
        if not isinstance(index, BruteIndex) or (whole := WholeOrders.of(engine, index, self.n_jobs)) is None:
            return False

        def queries(part: slice) -> tuple[FloatArray, IndexArray]:
            own = np.arange(part.start, part.stop) if X is None else np.full(part.stop - part.start, -1)
            return index.rows((self._features if X is None else X)[part]), own

        whole.count(queries, targets, weights=weights, block_size=self.block_size, progress=self.progress)
        return True

    def _targets(self, X: Any, y: Any, x_name: str, y_name: str) -> AnyArray:
        """Return the true labels of checked queries, or of the training points when X is None."""
        if X is None:
            return self._labels
        if self._codes is None:
            targets: AnyArray = as_responses(y, y_name)
        elif self._labels.ndim == 2:
            targets = as_indicators(y, y_name, self._labels.shape[1])
        else:
            targets = self._codes.encode(as_labels(y, y_name), y_name)
        check_same_length(X, targets, x_name, y_name)
        return targets

    def _depth(self, engine: QueryCounter, X: Any) -> int:
        """Return how many neighbours to search for at first."""
        return max(engine.depth, min(len(self._labels) - (X is None), self._weights.depth(self._k)))

    def _lists(
        self, engine: QueryCounter, targets: AnyArray, search: Callable[[slice, int], tuple[IndexArray, FloatArray]]
    ) -> Callable[[slice], tuple[IndexArray, CodeArray | None]]:
        """Return what gives the neighbours of a slice of the queries, as many as the engine wants, and their votes."""
        voters = self._voters(engine)
        return lambda queries: voters.of(lambda depth: search(queries, depth), targets[queries], queries.start)

    def _voters(self, engine: QueryCounter) -> Voters:
        n_players = len(self._labels) - self._self_queries
        return Voters(engine, self._weights, k=self._k, bits=self._bits, n_players=n_players)

    def _count_balls(
        self, engine: QueryCounter, X: Any, targets: AnyArray, radius: float, weights: FloatArray | None
    ) -> Self:
        """Count queries of a game that everyone within a radius plays."""
        if isinstance(self._index, ApproximateIndex) and not self._index.exact:
            raise ValueError(
                f"{self._game} needs every point within the radius, and neighbors={_told(self.neighbors)!r} may miss "
                'some. Use neighbors="auto".'
            )

        say_here(self.n_jobs, why_here(engine, self._index))

        def balls(queries: slice) -> tuple[Iterator[Balls], None]:
            if X is None:
                return self._index.search_radius_self(queries.start, queries.stop, radius, self._budget()), None
            return self._index.search_radius(X[queries], radius, self._budget()), None

        count_queries(engine, targets, balls, self._block_size(_BALL), weights=weights, progress=self.progress)
        self._audit.check_balls(X, len(targets), radius)
        return self

    def _block_size(self, depth: int) -> int:
        if self.block_size is not None:
            return self.block_size
        return self._index.block_size(depth, self._budget())

    def _budget(self) -> int | None:
        return None if self.max_memory is None else as_bytes(self.max_memory)

    def _search(self, X: Any, queries: slice, depth: int) -> tuple[IndexArray, FloatArray]:
        if X is None:
            return self._index.search_self(queries.start, queries.stop, depth)
        return self._index.search(X[queries], depth)

    def _engine_for(self, *, self_queries: bool) -> QueryCounter:
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
        engine = make_counter(
            self._plan,
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
            keeper=self._keeper(),
        )
        self._engine, self._self_queries = engine, self_queries
        return engine

    def _keeper(self) -> Keeper | None:
        if not self.per_query:
            return None
        return Keeper(self._k, [] if self._codes is None else self._codes.classes, self._budget())

    def _counted(self) -> QueryCounter:
        check_is_fitted(self)
        if self._engine is None or self._engine.n_queries == 0:
            raise AttributeError("there are no values before the first query; call update with queries first.")
        return self._engine


def ids_of(rows: Any, ids: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """Names of the training points: those given, or the index of a pandas object, or none."""
    if ids is not None:
        return ids
    index = getattr(rows, "index", None)
    return np.asarray(index.to_numpy()) if isinstance(index, pd.Index) else None


def _told(choice: Any) -> str:
    """What the settings say of a choice that may be an object."""
    return choice if isinstance(choice, str) else str(getattr(choice, "__name__", type(choice).__name__))
