"""The estimator: training points fitted once, queries counted batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pivotal.core.config import Resources
from pivotal.core.games import Convention, Game
from pivotal.core.method_choice import MethodChoice, as_choice
from pivotal.core.metric_settings import Metric
from pivotal.core.plan import METHODS, as_plan
from pivotal.core.query_weights import as_query_weights
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import DEFAULT_TOL, DEFAULTS, Spec
from pivotal.core.types import FloatArray
from pivotal.core.weights import Weights
from pivotal.neighbors import is_source, open_source
from pivotal.results.ids import ids_of
from pivotal.results.values import Values
from pivotal.valuation.point_valuation import PointValuation

__all__ = ["KNNValuation"]


class KNNValuation(BaseEstimator):  # type: ignore[misc]  # scikit-learn is not typed
    """Value training points over any number of batches of queries.

    Parameters
    ----------
    k : int, default=5
        Number of neighbours that vote; ignored where all points within a radius do.
    utility : str, Game or Convention, default="hard"
        The utility of a coalition: ``"hard"``, ``"plurality"``, ``"soft"``, ``"soft-k"``, ``"regression"``,
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
        Any metric of scikit-learn, or ``pivotal.Metric("minkowski", p=3)``.
    metric_params : dict, optional
        Parameters of the metric, where it is given by its name.
    neighbors : str or object, default="auto"
        How neighbours are found: a name, a fitted scikit-learn neighbours estimator, or an object with
        ``search(queries, depth)``.
    tol : float, default=1e-16
        Truncation: points that change no value by more than this, in units of the utility's range, are not looked at.
        0 uses every point. Shapley values are exact at the default, whatever the number of points.
    classes : array-like, optional
        The label set, when it is larger than what the training labels show.
    method : str or method object, default="exact"
        ``"exact"``, or ``"coalitions"`` and ``"permutations"``, which estimate from random coalitions and from random
        orders in which the points join. An object says more: ``pivotal.Exact(per_query=True)``,
        ``pivotal.Coalitions(n_samples=500, random_state=0)``, ``pivotal.Permutations(target_se=0.01)``.
    n_jobs : int, optional
        Threads; -1 is one per processor. Or workers, of a backend such as "dask" that ``joblib.parallel_config`` names;
        -1 leaves their number to it. Results do not depend on it. Here and in the next three, what `pivotal.get_config`
        says is the default.
    block_size : int, optional
        Queries per block; chosen from `max_memory` by default. Results do not depend on it.
    max_memory : int or str, optional
        Memory for lists of neighbours, and for training points that stay in their file: bytes, or text such as
        ``"2GB"``.
    progress : bool, optional
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
        metric: str | Callable[..., float] | Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        neighbors: Any = "auto",
        tol: float = DEFAULT_TOL,
        classes: npt.ArrayLike | None = None,
        method: str | MethodChoice = "exact",
        n_jobs: int | None = None,
        block_size: int | None = None,
        max_memory: int | str | None = None,
        progress: bool | None = None,
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
            raise ValueError("KNNValuation requires y to be passed, but the target y is None; pass labels.")
        if is_source(X):
            features = open_source(X, "X")
            self.n_features_in_ = features.n_columns
        else:
            features = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=1, reset=True
            )
        self._points = self._value_points(self._spec(), self._resources(), features, y, ids_of(X, ids))
        return self

    def update(self, X: Any = None, y: Any = None, query_weights: Any = None) -> Self:
        """Count a batch of queries; with neither X nor y, every training point once, against all the others.

        Interrupting it loses nothing that was finished: whole blocks stay counted, with the samples they have.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_queries, n_features), optional
            Queries.
        y : array-like of shape (n_queries,), or (n_queries, n_labels), optional
            Their true labels.
        query_weights : array-like of shape (n_queries,), "balanced" or mapping, optional
            How much each query counts, as in `pivotal.value`; 1 each by default. Means are weighted over all batches.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("update needs both X and y, or neither for leave-one-out queries; got only one of them.")
        if X is not None:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        self._points.use(self._resources())
        self._points.update(X, y, as_query_weights(query_weights), ("X", "y"))
        return self

    @property
    def values_(self) -> FloatArray:
        """Mean over all queries so far."""
        check_is_fitted(self)
        return self._points.values()

    @property
    def n_queries_(self) -> int:
        """Queries so far."""
        check_is_fitted(self)
        return self._points.n_queries

    @property
    def result_(self) -> Values:
        """The values with error bound, ids and settings."""
        check_is_fitted(self)
        return self._points.result()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_points")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _spec(self) -> Spec:
        """Return what the parameters ask for, checked."""
        method = self.method
        if not isinstance(method, MethodChoice) and str(method).partition("(")[0] not in METHODS:
            as_plan(method)  # which says what it must be
        given = {name: getattr(self, name) for name in (*DEFAULTS, "metric_params")}
        return Spec.of(**given, method=as_choice(method))

    def _resources(self) -> Resources:
        return Resources.of(
            n_jobs=self.n_jobs, block_size=self.block_size, max_memory=self.max_memory, progress=self.progress
        )

    def _value_points(self, spec: Spec, resources: Resources, X: Any, y: Any, ids: Any) -> PointValuation:
        return PointValuation(spec, resources, X, y, ids=ids, names=("X", "y"))
