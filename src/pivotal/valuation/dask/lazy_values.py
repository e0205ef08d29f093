"""Values that are computed when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from copy import copy
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike

from pivotal.core.config import Resources
from pivotal.core.identity import token
from pivotal.core.query_weights import QueryWeights
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray
from pivotal.core.validation import is_lazy
from pivotal.core.version import __version__
from pivotal.neighbors import Settings, is_exact
from pivotal.neighbors.chunks import check_metric
from pivotal.results.values import Values
from pivotal.valuation.dask.checkpoint import Checkpoint
from pivotal.valuation.dask.dask_inputs import as_rows, need_dask, row_names, together
from pivotal.valuation.dask.dask_tasks import SHORT, TooShort, if_long_enough
from pivotal.valuation.dask.folder import Folder
from pivotal.valuation.dask.graph import DaskProblem, build
from pivotal.valuation.dask.recipe import Recipe
from pivotal.valuation.point_valuation import PointValuation


def value_lazily(
    spec: Spec,
    resources: Resources,
    data: tuple[Any, Any, Any, Any],
    *,
    ids: Any = None,
    query_weights: QueryWeights,
) -> LazyValues:
    """Return the values of training points that Dask holds; nothing is computed yet.

    The data are X_train, y_train, X_test and y_test as in `pivotal.value`; at least one of them is a collection of
    Dask's, or there is a checkpoint.
    """
    need_dask()
    X_train, y_train, X_test, y_test = data
    _check(spec)
    points, labels = together(X_train, y_train, "X_train", "y_train")
    queries = targets = None
    if X_test is not None:
        queries, targets = together(X_test, y_test, "X_test", "y_test")
        if queries.array.shape[1] != points.array.shape[1]:
            raise ValueError(
                f"X_test must have as many columns as the training points, {points.array.shape[1]}; got "
                f"{queries.array.shape[1]}."
            )
    own_weights = None
    if is_lazy(query_weights.weights):
        own_weights = as_rows(query_weights.weights, "query_weights")
        query_weights = QueryWeights(None, query_weights.by_class)
    names = row_names(X_train) if ids is None else ids
    problem = DaskProblem(
        Recipe(spec, X_test is None, resources.budget),
        points,
        labels,
        queries,
        targets,
        query_weights,
        own_weights,
        resources.block_size,
        None if resources.checkpoint is None else Checkpoint(Folder.at(resources.checkpoint)),
        None if names is None else as_rows(names, "ids"),
        names_given=ids is not None,
    )
    return LazyValues(problem, progress=resources.progress)


def _check(spec: Spec) -> None:
    """Raise unless this can be done on Dask."""
    PointValuation.check(spec)
    game, neighbors = spec.game, spec.neighbors
    if spec.plan.method != "exact":
        raise ValueError(
            f"values are exact on Dask; got method={spec.method.name!r}. Omit it: exact values cost no more than "
            "finding the neighbours."
        )
    if game.radius is not None:
        raise ValueError(
            f"{game} counts all points within the radius, lists without a bound that would have to move between "
            'workers; use a game of the k nearest on Dask, such as utility="soft", or arrays in memory.'
        )
    if spec.method.per_query:
        raise ValueError(
            "values per query are kept on one machine; omit per_query on Dask, or value some of the queries with "
            "arrays in memory."
        )
    if not isinstance(neighbors, str | Settings):
        raise ValueError(
            f"neighbors must be a name, or settings such as FaissIVF(), on Dask, where each chunk has an index of its "
            f'own; got {type(neighbors).__name__}. Use neighbors="auto".'
        )
    check_metric(spec.metric.name, spec.metric.parameters)


class LazyValues:
    """Values of training points that Dask holds, computed when `compute` is called and not before.

    It is a collection of Dask's, so that `dask.compute`, `client.compute` and `persist` take it as well. Looking at it
    (printing, comparing, copying, pickling, asking what attributes it has) computes nothing; `numpy.asarray` asks for
    numbers, and does. What `compute` returned is kept.

    Attributes
    ----------
    array : dask Array of shape (n_train,)
        The values where they are, in the chunks of the training points: for billions, which are best written from the
        workers.
    """

    __array_ufunc__ = None  # an array that is compared with this, or added to it, leaves it alone

    def __init__(self, problem: DaskProblem, *, progress: bool = False) -> None:
        from dask.highlevelgraph import HighLevelGraph

        finished = frozenset[int]()
        if problem.checkpoint is not None:
            checkpoint, finished = problem.checkpoint.open(problem.identity())
            problem = replace(problem, checkpoint=checkpoint)
        self._problem, self._progress = problem, progress
        self._token = _key(problem, finished)
        self._graph = build(problem, self._token, finished)
        self._layers = HighLevelGraph.from_collections(
            f"pivotal-{self._token}", self._graph.tasks, dependencies=problem.sources()
        )
        self._values: Values | None = None

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there; most often something that the values have.
        hint = "" if name.startswith("_") else f"; compute the values first: .compute().{name}"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return self.compute().__array__(dtype, copy)

    def compute(self, **how: Any) -> Values:
        """Compute the values, or return them if that is done.

        Parameters
        ----------
        **how
            What `dask.compute` takes, such as ``scheduler="processes"``.
        """
        if self._values is None:
            try:
                values = self._run(how)
            except TooShort:
                problem, recipe = self._problem, self._problem.recipe
                longer = replace(problem, recipe=replace(recipe, stretch=2 * recipe.stretch))
                values = LazyValues(longer, progress=self._progress).compute(**how)
            self._values = values
        return self._values

    def _run(self, how: Mapping[str, Any]) -> Values:
        """Compute the values with the lists as long as they are; show how far that is."""
        import dask

        values: Values
        if not self._progress:
            (values,) = dask.compute(self, **how)
            return values
        client = None if how else getattr(dask.base.get_scheduler(), "__self__", None)
        if client is None:
            from tqdm.dask import TqdmCallback

            with TqdmCallback(desc="valuing", unit="task"):
                (values,) = dask.compute(self, **how)
            return values
        from distributed import progress

        future = client.compute(self)
        with redirect_stdout(sys.stderr):  # results may go to the other
            progress(future, notebook=False)
        values = future.result()
        return values

    def persist(self, **how: Any) -> LazyValues:
        """Compute on the workers and leave the values there; return at once what stands for them."""
        import dask

        persisted: LazyValues
        (persisted,) = dask.persist(self, **how)
        return persisted

    @property
    def array(self) -> Any:
        """The values where they are, as a Dask array in the chunks of the training points."""
        import dask.array as da
        from dask.highlevelgraph import HighLevelGraph

        name = f"pivotal-array-{self._token}"
        tasks = {
            (name, shard): (if_long_enough, values, self._graph.count)
            for shard, values in enumerate(self._graph.values)
        }
        layers = HighLevelGraph.from_collections(name, tasks, dependencies=[self])
        return da.Array(layers, name, (self._problem.points.array.chunks[0],), dtype=np.float64)

    def __repr__(self) -> str:
        shown = self._problem.recipe.spec.settings("k", "utility", "semivalue")
        return (
            f"LazyValues({self._problem.points.n_chunks} shards, {self._graph.n_blocks} blocks of queries, "
            f"{', '.join(f'{name}={own}' for name, own in shown.items())}; "
            f"{'not computed yet' if self._values is None else 'computed'})"
        )

    # What makes a collection of Dask's.

    def __dask_graph__(self) -> Any:
        return self._layers

    def __dask_layers__(self) -> tuple[str, ...]:
        return (f"pivotal-{self._token}",)

    def __dask_keys__(self) -> list[Any]:
        names = [] if self._problem.names is None else self._problem.names.keys
        return [self._graph.plan, self._graph.count, list(self._graph.values), names]

    def __dask_tokenize__(self) -> str:
        return str(self._token)

    @property
    def __dask_scheduler__(self) -> Callable[..., Any]:
        from dask import threaded

        get: Callable[..., Any] = threaded.get
        return get

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **how: Any) -> Any:
        # As arrays do it, so that the values and their array are one graph where both are asked for.
        from dask.array.optimization import optimize

        return optimize(graph, keys, **how)

    def __dask_postcompute__(self) -> tuple[Callable[..., Values], tuple[Any, ...]]:
        return _finish, (self._problem.recipe.spec.settings(), self._problem.names_given)

    def __dask_postpersist__(self) -> tuple[Callable[..., LazyValues], tuple[()]]:
        return self._rebuilt, ()

    def _rebuilt(self, tasks: Mapping[Any, Any], **_: Any) -> LazyValues:
        """Return the same with its keys computed."""
        from dask.highlevelgraph import HighLevelGraph

        layer = f"pivotal-{self._token}"
        other = copy(self)
        other._layers = HighLevelGraph({layer: tasks}, {layer: set()})
        return other


def _finish(results: Sequence[Any], settings: Mapping[str, Any], given: bool) -> Values:
    """Put the shards together: the plan, the count, the values of each shard, and the names of its points."""
    plan, count, shards, names = results
    if count.short:
        raise TooShort(SHORT)
    ids: AnyArray | None = np.concatenate(names) if names else None
    if ids is not None and not given and not pd.Index(ids).is_unique:
        ids = None
    recipe = plan.recipe
    found = {
        "method": "exact",
        "depth": count.depth,
        "n_players": plan.n_players,
        "n_classes": plan.n_classes,
        "n_shards": len(shards),
    }
    errors = [shard.errors for shard in shards if shard.errors is not None]
    values: Values = count.totals.result(
        np.concatenate([shard.values for shard in shards]),
        found,
        settings=settings,
        details={"self_valuation": recipe.each_other, "version": __version__},
        query_standard_error=np.concatenate(errors) if len(errors) == len(shards) else None,
        error=count.error,
        ids=ids,
        vote_resolution=recipe.spec.vote_resolution,
        neighbors_exact=is_exact(recipe.spec.neighbors),
        recall=count.recall,
    )
    return values


def _key(problem: DaskProblem, finished: frozenset[int]) -> str:
    """Return what tells the tasks of a valuation from those of any other, which may run on the same cluster."""
    try:
        return token(problem.identity(), problem.recipe.stretch, sorted(finished))
    except TypeError:  # something that is like nothing else, such as a metric that holds a connection
        return uuid4().hex
