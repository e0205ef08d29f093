"""One search for all settings: each block of neighbours is handed to the engine of every setting in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.config import Resources
from pivotal.core.games import Convention, Game
from pivotal.core.progress import tqdm
from pivotal.core.query_weights import QueryWeights, as_query_weights
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import DEFAULT_TOL, Spec
from pivotal.core.types import FloatArray, IndexArray
from pivotal.core.weights import Weights
from pivotal.engine.joblib_backend import warn_backend_unused
from pivotal.neighbors import blocks
from pivotal.neighbors.metrics import MetricLike
from pivotal.results.ids import ids_of
from pivotal.valuation.point_valuation import PointValuation, read_points, read_queries
from pivotal.valuation.sweep._sweep_result import Sweep
from pivotal.valuation.sweep._sweep_settings import NAMED, combine, identity_of

_Utility = str | Game | Convention
_Weighting = str | Weights | Callable[..., Any] | None


def sweep(
    X_train: Any,
    y_train: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    k: int | Iterable[int] = range(1, 21),
    utility: _Utility | Iterable[_Utility] = "hard",
    semivalue: str | Semivalue | Iterable[str | Semivalue] = "banzhaf",
    weights: _Weighting | Iterable[_Weighting] = "uniform",
    bits: int | Iterable[int] | None = None,
    metric: MetricLike = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    tol: float = DEFAULT_TOL,
    classes: npt.ArrayLike | None = None,
    ids: npt.ArrayLike | None = None,
    query_weights: npt.ArrayLike | str | Mapping[Any, float] | QueryWeights | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Return exact values under all combinations of several settings, from one search for neighbours.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`.
    k, utility, semivalue, weights, bits
        One or several of each, as `pivotal.value` takes them. Where votes are unweighted, bits make no difference and
        are gone through once. Functions that differ are different choices, whatever they are called: two lambdas are
        labelled "<lambda> (1)" and "<lambda> (2)".
    metric, neighbors, tol, classes, ids, query_weights
        As in `pivotal.value`.
    metric_params : mapping, optional
        Parameters of the metric, where it is given by its name.
    n_jobs, progress
        As in `pivotal.value`. The memory of an engine, twice the number of training points and what its tables take,
        is needed for every setting.

    Returns
    -------
    Sweep
        A table of values, how alike the rankings are, and the `Values` of each setting: those of `pivotal.value`, to
        the last bit. Only an approximate index may find other neighbours when it is asked for more of them, and so may
        a tree with a metric other than the Euclidean among points at equal distances.

    Examples
    --------
    >>> import pivotal
    >>> X_train, y_train, X_test, y_test = [[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0]
    >>> swept = pivotal.sweep(X_train, y_train, X_test, y_test, k=[1, 2], semivalue=["banzhaf", "shapley"])
    >>> swept.values(k=2, semivalue="shapley").equals(
    ...     pivotal.value(X_train, y_train, X_test, y_test, k=2, semivalue="shapley")
    ... )
    True
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; got only one of them. Omit both for self-valuation.")
    shared = {"metric": metric, "metric_params": metric_params, "neighbors": neighbors, "tol": tol, "classes": classes}
    combined = combine(utility, semivalue, weights, bits, k)
    chosen = [(setting, Spec.of(**shared, **own), own) for setting, own in combined]
    for _, spec, _ in chosen:
        PointValuation.check(spec)  # what cannot be valued is said before anything is read
    resources = Resources.of(n_jobs=n_jobs, progress=progress)
    features = read_points(X_train)
    queries = read_queries(X_test, features)
    first = PointValuation(chosen[0][1], resources, features, y_train, y_test=y_test, ids=ids_of(X_train, ids))
    models = [first.with_spec(spec) for _, spec, _ in chosen]
    _count(first, models, queries, as_query_weights(query_weights))
    results = {setting: model.result() for (setting, _, _), model in zip(chosen, models, strict=True)}
    labels: dict[tuple[str, str | None], str] = {
        (name, identity): str(getattr(setting, name))
        for setting, _, own in chosen
        for name in NAMED
        if (identity := identity_of(own[name])) is not None
    }
    return Sweep(MappingProxyType(results), MappingProxyType(labels))


def _count(first: PointValuation, models: list[PointValuation], X: Any, query_weights: QueryWeights) -> None:
    """Take all queries through the engines of all models, block by block."""
    itself, resources = X is None, first.resources
    warn_backend_unused(resources.n_jobs, "a sweep shares one search among its settings")
    batch = first.batch(X, first.targets, query_weights)
    targets, weights = batch.targets, batch.weights
    engines = [model.engine_for(self_valuation=itself) for model in models]
    depth = max(model.depth(engine) for model, engine in zip(models, engines, strict=True))
    found = _Shared(batch.search, depth)
    members = [
        (next(iter(engine.passes(len(targets)))), model.voters(engine))
        for model, engine in zip(models, engines, strict=True)
    ]
    with tqdm(total=len(targets) * len(members), unit="game", disable=not resources.progress, desc="valuing") as bar:
        for queries in blocks(len(targets), batch.queries_at_once(depth)):
            weighing = None if weights is None else weights[queries]
            search = partial(found, queries)
            for step, voters in members:
                step.add(*voters.of(search, targets[queries], queries.start), targets[queries], weighing)
                bar.update(queries.stop - queries.start)
    # All models share one audit.
    weighted = any(model.spec.weights.weighted for model in models)
    first.audit.check_lists(X, len(targets), depth, weighted=weighted)


class _Shared:
    """Searches for the neighbours of a block of queries once, as deep as any setting wants them: at first so deep."""

    def __init__(self, search: Callable[[slice, int], tuple[IndexArray, FloatArray]], depth: int) -> None:
        self._search, self._depth = search, depth
        self._queries = slice(0, 0)
        self._indices, self._distances = np.empty((0, 0), np.int64), np.empty((0, 0))

    def __call__(self, queries: slice, depth: int) -> tuple[IndexArray, FloatArray]:
        if queries != self._queries or depth > self._indices.shape[1]:
            self._depth = max(self._depth, depth)
            self._indices, self._distances = self._search(queries, self._depth)
            self._queries = queries
        return self._indices[:, :depth], self._distances[:, :depth]
