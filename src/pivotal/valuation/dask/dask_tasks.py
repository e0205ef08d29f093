"""What workers run: each function is one task, and sees one shard and one block of queries at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.identity import token
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_features
from pivotal.engine.point_sums import PointSums
from pivotal.engine.solver import Block
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.neighbors import Index, as_index, audited_queries, recall_of
from pivotal.neighbors.lists import nearest_of
from pivotal.valuation.dask.recipe import TaskPlan

# Lists of more than this part of all points are laid out in the order of the points.
_SPARSE: Final = 4
_SAMPLED_BLOCKS: Final = 50  # in which recall is measured, at most

NOT_MEASURED: Final = -1.0
"""In place of a recall where there was no need to measure it, or no query was drawn."""


@dataclass(frozen=True)
class Part:
    """Which rows of a chunk: from a row to another, or the i-th of n equal parts where its length is not known."""

    first: int
    last: int
    of: int | None = None
    """Number of equal parts; None if `first` and `last` are rows."""

    def rows(self, n_rows: int) -> slice:
        """Return the rows, of this many."""
        if self.of is None:
            return slice(self.first, self.last)
        return slice(n_rows * self.first // self.of, n_rows * self.last // self.of)


@dataclass(frozen=True, eq=False)
class Shard:
    """Some training points, ready to be searched; no index where there are none."""

    number: int
    first: int
    index: Index | None
    labels: AnyArray


@dataclass(frozen=True, eq=False)
class Queries:
    """A block of queries; for training points that are queries, their shard and the first of their rows there."""

    points: Any
    shard: int | None = None
    row: int = 0


class Candidates(NamedTuple):
    """The nearest points of some queries, nearest first, equal distances in order of the training index."""

    distances: FloatArray
    points: IndexArray
    """Training indices."""

    labels: AnyArray
    """Class codes, or responses."""


class Account(NamedTuple):
    """What a block of queries counts besides the values."""

    full_utility: FloatArray
    empty_utility: FloatArray
    dropped: FloatArray
    weights: FloatArray | None
    utility_range: float
    depth: int
    error: float
    short: bool
    """Whether lists must be longer for the tolerance."""

    recall: float = NOT_MEASURED
    """Share of the true neighbours that the index found for some of the queries."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The values of a block's neighbours that are not 0, shard by shard, in the order of the queries within each."""

    points: IndexArray
    values: FloatArray
    starts: IndexArray
    """Where the entries of each shard begin; the last is their number."""

    queries: IndexArray
    """Query of each entry within the block, where queries have weights; else empty."""

    account: Account


class ShardValues(NamedTuple):
    """The values of a shard, and their standard errors over queries like these, where there are several."""

    values: FloatArray
    errors: FloatArray | None


def open_shard(plan: TaskPlan, number: int, points: Any, labels: Any) -> Shard:
    """Make a shard of a chunk of training points and their labels."""
    if points.shape[0] != len(labels):
        raise ValueError(
            f"X_train and y_train must have the same rows in each chunk; got {points.shape[0]} and {len(labels)} in "
            f"chunk {number}. Repartition one of them."
        )
    first, end = (int(start) for start in plan.starts[number : number + 2])
    index = None
    if len(labels):
        neighbors, metric = plan.recipe.spec.neighbors, plan.recipe.spec.metric
        features = check_features(points, f"X_train, rows {first} to {end - 1},")
        index = as_index(neighbors, features, metric=metric.name, metric_params=metric.parameters, n_jobs=1)
    return Shard(number, first, index, plan.encode(labels, "y_train"))


def content_of(plan: TaskPlan, points: Any, labels: Any) -> str:
    """Return a text that stands for what a chunk of training points and their labels hold."""
    return token(points, plan.encode(labels, "y_train") if len(labels) else None)


def take_queries(chunk: Any, part: Part, shard: int | None) -> Queries:
    """Return some rows of a chunk as queries."""
    rows = part.rows(chunk.shape[0])
    points = chunk[rows]
    if points.shape[0]:
        points = check_features(points, "X_train" if shard is not None else "X_test")
    return Queries(points, shard, rows.start)


def take_labels(plan: TaskPlan, chunk: Any, part: Part) -> AnyArray:
    """Return the codes of the labels of some rows of a chunk."""
    return plan.encode(chunk[part.rows(len(chunk))], "y_train" if plan.recipe.each_other else "y_test")


def search(plan: TaskPlan, shard: Shard, queries: Queries, rows: IndexArray | None = None) -> Candidates:
    """Return the nearest points of a shard for each query of a block, or for those in some of its rows."""
    n_queries, own = queries.points.shape[0] if rows is None else len(rows), queries.shard == shard.number
    depth = min(plan.length, len(shard.labels) - own)
    if shard.index is None or depth < 1 or n_queries == 0:
        nothing = np.empty((n_queries, 0))
        return Candidates(nothing, nothing.astype(np.int64), nothing.astype(shard.labels.dtype))
    if not own:
        near, far = shard.index.search(queries.points if rows is None else queries.points[rows], depth)
    elif rows is None:
        near, far = shard.index.search_self(queries.row, queries.row + n_queries, depth)
    else:
        near, far = shard.index.search_rows(queries.row + rows, depth)
    return Candidates(far, near + shard.first, shard.labels[near])


def sampled_blocks(n_blocks: int) -> frozenset[int]:
    """Return in which blocks the recall is measured: all of a few, some of many, evenly spread."""
    return frozenset(np.linspace(0, n_blocks - 1, min(n_blocks, _SAMPLED_BLOCKS)).round().astype(int).tolist())


def search_all(plan: TaskPlan, number: int, points: Any, queries: Queries, n_sampled: int) -> Candidates:
    """Return the nearest points of a shard for some queries of one of the sampled blocks; every point is compared."""
    rows, index = _drawn(plan, queries, n_sampled), None
    if len(rows) and points.shape[0]:
        metric = plan.recipe.spec.metric
        index = as_index("brute", points, metric=metric.name, metric_params=metric.parameters, n_jobs=1)
    return search(plan, Shard(number, int(plan.starts[number]), index, np.zeros(points.shape[0])), queries, rows)


def measure(plan: TaskPlan, found: Candidates, true: Candidates, queries: Queries, n_sampled: int) -> float:
    """Return the recall of a block on the queries that were drawn from it."""
    rows = _drawn(plan, queries, n_sampled)
    return recall_of(found.distances[rows], true.distances, plan.recipe.spec.k) if len(rows) else NOT_MEASURED


def _drawn(plan: TaskPlan, queries: Queries, n_sampled: int) -> IndexArray:
    """Return which rows of a block are looked at, evenly spread."""
    n_queries, shape = queries.points.shape[0], (plan.n_train, queries.points.shape[1])
    wanted = -(-audited_queries(shape, plan.length, plan.recipe.spec.metric.name) // n_sampled)
    return np.unique(np.linspace(0, n_queries - 1, min(n_queries, wanted)).round().astype(np.int64))


def merge(plan: TaskPlan, lists: Sequence[Candidates]) -> Candidates:
    """Return the nearest of several lists, which come in the order of their shards."""
    if len(lists) == 1:
        return lists[0]
    return Candidates(*nearest_of(plan.length, *(np.concatenate(part, axis=1) for part in zip(*lists, strict=True))))


def number_queries(plan: TaskPlan, chunk: int, part: Part) -> int:
    """Return the number of the first query of a block among all queries, for messages."""
    first, end = (int(row) for row in plan.asked[chunk : chunk + 2])
    return first + int(part.rows(end - first).start)


def solve(plan: TaskPlan, near: Candidates, targets: AnyArray, weights: FloatArray | None, first: int) -> Parts:
    """Return the values of the neighbours of a block of queries, the first of which has this number."""
    spec, n_queries = plan.recipe.spec, len(targets)
    if n_queries != near.points.shape[0]:
        raise ValueError(
            f"X_test and y_test must have the same rows in each chunk; got {near.points.shape[0]} and {n_queries} in "
            "one of them. Repartition one of them."
        )
    if n_queries == 0:
        nothing, none = np.empty(0), np.empty(0, np.int64)
        account = Account(nothing, nothing, nothing, weights, 0.0, plan.depth, 0.0, short=False)
        return Parts(none, nothing, np.zeros(len(plan.starts), np.int64), none, account)
    votes = spec.votes(near.distances, first)
    points, labels = near.points[:, : plan.depth], near.labels[:, : plan.depth]
    solved = plan.engine.solved_block(points, Block(labels, None if votes is None else votes[:, : plan.depth], targets))
    values = solved.values
    if weights is not None:
        values *= weights[:, np.newaxis]
    full, empty, dropped, utility_range = solved.utilities
    short = not spec.game.sees_only_top_k(plan.n_classes) and bool((dropped > spec.tol).any())
    account = Account(full, empty, dropped, weights, utility_range, *solved.precision, short=short)
    return _by_shard(plan, points, values, account)


def _by_shard(plan: TaskPlan, points: IndexArray, values: FloatArray, account: Account) -> Parts:
    if points.shape[1] * _SPARSE > plan.n_train:
        # Most points have a value: in the order of the points, which is that of the shards, none has to be looked for.
        table = np.zeros((len(points), plan.n_train))
        np.put_along_axis(table, points, values, axis=1)
        found = [_entries(table[:, first:last], first) for first, last in pairwise(plan.starts)]
        rows, points, values = (np.concatenate(part) for part in zip(*found, strict=True))
        starts = np.cumsum([0, *(len(entries[0]) for entries in found)])
    else:
        rows, columns = np.nonzero(values)  # query after query
        points, values = points[rows, columns], values[rows, columns]
        shards = np.searchsorted(plan.starts, points, side="right") - 1
        order = np.argsort(shards, kind="stable")
        starts = np.searchsorted(shards[order], np.arange(len(plan.starts)))
        rows, points, values = rows[order], points[order], values[order]
    queries = np.empty(0, np.int64) if account.weights is None else rows
    return Parts(points, values, starts, queries, account)


def _entries(table: FloatArray, first: int) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Return the queries, points and values of the entries of a shard that are not 0, query after query."""
    rows, columns = np.nonzero(table)
    return rows, columns + first, table[rows, columns]


def part_of(parts: Parts, shard: int) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """Return the points of a shard that occur in a block, their values, and what their queries weigh."""
    own, weights = slice(parts.starts[shard], parts.starts[shard + 1]), parts.account.weights
    # Copies, so that what moves, or is kept, is the part alone.
    heavy = None if weights is None else weights[parts.queries[own]]
    return parts.points[own].copy(), parts.values[own].copy(), heavy


def add_parts(
    plan: TaskPlan,
    shard: int,
    sums: PointSums | None,
    parts: Sequence[tuple[IndexArray, FloatArray, FloatArray | None]],
) -> PointSums:
    """Add the parts of some blocks, in the order of the queries, to the sums of a shard."""
    first, last = int(plan.starts[shard]), int(plan.starts[shard + 1])
    added = PointSums.nothing(last - first) if sums is None else sums.copy()
    for points, values, weights in parts:
        added.add((points - first)[:, np.newaxis], values[:, np.newaxis], weights)
    return added


class Count(NamedTuple):
    """What all blocks together count, and how exact they are."""

    totals: QueryTotals
    depth: int
    error: float
    short: bool
    recall: float | None


def combine(accounts: Sequence[Account]) -> Count:
    """Add up what the blocks count, in the order of the queries."""
    totals = QueryTotals()
    for account in accounts:
        if len(account.full_utility):
            known = Utilities(account.full_utility, account.empty_utility, account.dropped, account.utility_range)
            totals = totals.add(known, account.weights)
    return Count(
        totals,
        max(account.depth for account in accounts),
        max(account.error for account in accounts),
        any(account.short for account in accounts),
        _mean_recall(accounts),
    )


def _mean_recall(accounts: Sequence[Account]) -> float | None:
    """Return the recall of the blocks that were sampled, each counting as many times as it has queries."""
    sampled = [(account.recall, len(account.full_utility)) for account in accounts if account.recall != NOT_MEASURED]
    if not sampled:
        return None
    return min(1.0, sum(recall * size for recall, size in sampled) / sum(size for _, size in sampled))


def mean_of(sums: PointSums, count: Count) -> ShardValues:
    """Return the values of a shard: means over the queries."""
    totals = count.totals
    return ShardValues(sums.means(totals.divisor), sums.standard_errors(totals.divisor, totals.squared_weight))


class TooShort(ValueError):  # noqa: N818  # what happened says it better than what it is
    """Lists must be longer for the tolerance."""


SHORT: Final = (
    "lists must be longer for the tolerance, as third classes are omitted from the game; ask the lazy values "
    "themselves, which look farther, or raise tol."
)


def if_long_enough(shard: ShardValues, count: Count) -> FloatArray:
    """Return the values of a shard, for callers that cannot ask for longer lists."""
    if count.short:
        raise TooShort(SHORT)
    return shard.values
