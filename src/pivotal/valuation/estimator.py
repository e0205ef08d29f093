"""The estimator: training points fitted once, queries counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pivotal.core.conventions import Convention
from pivotal.core.games import Game, as_game, check_classes
from pivotal.core.label_encoding import LabelEncoding
from pivotal.core.metric_settings import describe_choice, record_metric
from pivotal.core.query_weights import ALIKE, QueryWeights
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_k, check_same_length, check_tol
from pivotal.core.version import __version__
from pivotal.core.weights import Weights, as_bits, as_weights, resolution
from pivotal.engine.build import check_votes, make_counter
from pivotal.engine.joblib_backend import say_here
from pivotal.engine.passes import QueryCounter
from pivotal.engine.sampling.plan import as_plan
from pivotal.engine.truncation import Voters
from pivotal.neighbors import (
    ApproximateIndex,
    Index,
    NeighborAudit,
    as_bytes,
    as_index,
    is_source,
    open_source,
)
from pivotal.neighbors.metrics import Metric
from pivotal.results.ids import as_ids, ids_of
from pivotal.results.per_query import Keeper
from pivotal.results.values import Values
from pivotal.valuation.batch import Batch
from pivotal.valuation.editable import EditsPoints

__all__ = ["DEFAULT_TOL", "KNNValuation"]

DEFAULT_TOL = 1e-16


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
            "neighbors": describe_choice(self.neighbors),
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

    def _fit(self, X: Any, y: Any, ids: Any, x_name: str, y_name: str, y_test: Any) -> Self:
        """Fit checked features; `y_test` may bring labels that training does not show."""
        self._read_settings()
        labels, encoding = LabelEncoding.of(self._game.task, y, y_test, classes=self.classes, name=y_name)
        check_same_length(X, labels, x_name, y_name)
        self._labels, self._encoding = labels, encoding
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
        weights = query_weights.of(targets, self._encoding.codes)
        if self.editable:
            say_here(self.n_jobs, "points that may be edited are valued here")
            return self._count_editable(X, targets, weights)
        engine = self._engine_for(self_queries=X is None)
        batch = self._batch(X, targets, weights)
        if (radius := self._game.radius) is not None:
            self._check_finds_all()
            batch.count_balls(engine, radius)
            self._audit.check_balls(X, len(targets), radius)
            return self
        depth = self._depth(engine, X)
        batch.count(engine, self._voters(engine), depth)
        self._audit.check_lists(X, len(targets), depth, weighted=self._weights.weighted)
        return self

    def _batch(self, X: Any, targets: AnyArray, weights: FloatArray | None) -> Batch:
        budget = self._budget()
        return Batch(
            self._index, self._features, X, targets, weights, self.n_jobs, self.block_size, budget, self.progress
        )

    def _check_finds_all(self) -> None:
        """Raise unless the index finds all points within a radius."""
        if isinstance(self._index, ApproximateIndex) and not self._index.exact:
            raise ValueError(
                f"{self._game} needs every point within the radius, and neighbors={describe_choice(self.neighbors)!r} "
                'may miss some. Use neighbors="auto".'
            )

    def _targets(self, X: Any, y: Any, x_name: str, y_name: str) -> AnyArray:
        """Return the true labels of checked queries, or of the training points when X is None."""
        if X is None:
            return self._labels
        targets = self._encoding.encode(y, y_name)
        check_same_length(X, targets, x_name, y_name)
        return targets

    def _depth(self, engine: QueryCounter, X: Any) -> int:
        """Return how many neighbours to search for at first."""
        return max(engine.depth, min(len(self._labels) - (X is None), self._weights.depth(self._k)))

    def _voters(self, engine: QueryCounter) -> Voters:
        n_players = len(self._labels) - self._self_queries
        return Voters(engine, self._weights, k=self._k, bits=self._bits, n_players=n_players)

    def _block_size(self, depth: int) -> int:
        if self.block_size is not None:
            return self.block_size
        return self._index.block_size(depth, self._budget())

    def _budget(self) -> int | None:
        return None if self.max_memory is None else as_bytes(self.max_memory)

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
            n_classes=self._encoding.n_classes,
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
        return Keeper(self._k, self._encoding.classes, self._budget())

    def _counted(self) -> QueryCounter:
        check_is_fitted(self)
        if self._engine is None or self._engine.n_queries == 0:
            raise AttributeError("there are no values before the first query; call update with queries first.")
        return self._engine
