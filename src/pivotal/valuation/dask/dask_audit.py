"""What workers find out about data and neighbours: what the data hold, and how many of the nearest an index missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pivotal.core.identity import token
from pivotal.core.types import AnyArray, IndexArray
from pivotal.neighbors import as_index, audited_queries, recall_of
from pivotal.valuation.dask.checkpoint import Checkpoint
from pivotal.valuation.dask.dask_tasks import NOT_MEASURED, Candidates, Queries
from pivotal.valuation.dask.recipe import TaskPlan

_BLOCKS: Final = 50  # that are sampled, at most


def content_of(plan: TaskPlan, points: Any, labels: Any) -> str:
    """Return a text that stands for what a chunk of training points and their labels hold."""
    return token(points, plan.encode(labels, "y_train") if len(labels) else None)


def of_content(checkpoint: Checkpoint, shards: Sequence[str], queries: Queries, targets: AnyArray) -> Checkpoint:
    """Return the checkpoint for a block of queries to training points, distinguished by what all of them hold."""
    return checkpoint.of_data(token(list(shards), queries.points, targets))


def sampled_blocks(n_blocks: int) -> frozenset[int]:
    """Return which blocks to look at: all of a few, some of many, evenly spread."""
    return frozenset(np.linspace(0, n_blocks - 1, min(n_blocks, _BLOCKS)).round().astype(int).tolist())


def search_all(plan: TaskPlan, shard: int, points: Any, queries: Queries, n_sampled: int) -> Candidates:
    """Return the nearest points of a shard for some queries of a block, each compared with every point.

    So many blocks are looked at, of which each has its share of the queries.
    """
    rows, own = _drawn(plan, queries, n_sampled), queries.shard == shard
    depth = min(plan.length, points.shape[0] - own)
    if depth < 1 or len(rows) == 0:
        nothing = np.empty((len(rows), 0))
        return Candidates(nothing, nothing.astype(np.int64), nothing)
    metric = plan.recipe.spec.metric
    index = as_index("brute", points, metric=metric.name, metric_params=metric.parameters, n_jobs=1)
    if own:
        near, far = index.search_rows(queries.row + rows, depth)
    else:
        near, far = index.search(queries.points[rows], depth)
    return Candidates(far, near + int(plan.starts[shard]), np.zeros(near.shape))


def measure(plan: TaskPlan, found: Candidates, true: Candidates, queries: Queries, n_sampled: int) -> float:
    """Return the recall of a block on the queries that were drawn from it."""
    rows = _drawn(plan, queries, n_sampled)
    return recall_of(found.distances[rows], true.distances, plan.recipe.spec.k) if len(rows) else NOT_MEASURED


def _drawn(plan: TaskPlan, queries: Queries, n_sampled: int) -> IndexArray:
    """Return which rows of a block are looked at, evenly spread."""
    n_queries, shape = queries.points.shape[0], (plan.n_train, queries.points.shape[1])
    wanted = -(-audited_queries(shape, plan.length, plan.recipe.spec.metric.name) // n_sampled)
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, wanted)).round().astype(np.int64))
