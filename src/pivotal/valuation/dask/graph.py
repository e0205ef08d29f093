"""Which task needs which: the graph of a valuation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, getitem
from typing import Any, Final

from pivotal.core.identity import token
from pivotal.core.query_weights import QueryWeights
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.version import __version__
from pivotal.neighbors import fitting_queries, is_exact
from pivotal.valuation.dask.blocks import FORMAT, Expected
from pivotal.valuation.dask.checkpoint import Checkpoint, Identity
from pivotal.valuation.dask.dask_inputs import RowChunks
from pivotal.valuation.dask.dask_tasks import (
    NOT_MEASURED,
    Part,
    Parts,
    Queries,
    add_parts,
    combine,
    content_of,
    mean_of,
    measure,
    merge,
    number_queries,
    open_shard,
    part_of,
    sampled_blocks,
    search,
    search_all,
    solve,
    take_labels,
    take_queries,
)
from pivotal.valuation.dask.recipe import Recipe, TaskPlan, make_plan, summarise, weigh

Key = Callable[..., Any]
"""From a name and numbers to the key of a task."""

_MERGED_AT_ONCE: Final = 8
_BLOCKS_AT_ONCE: Final = 64  # whose parts are added to the sums of a shard by one task
_PARTS: Final = 8  # blocks of a chunk of queries whose length is not known
_QUERIES_OF_UNKNOWN: Final = 4096  # in a block where the number of points is not known


@dataclass(frozen=True, eq=False)
class DaskProblem:
    """A valuation as it was asked for: points and queries, each with their labels, which are cut alike."""

    recipe: Recipe
    points: RowChunks
    labels: RowChunks
    queries: RowChunks | None
    """None if the training points are the queries; likewise their labels."""

    targets: RowChunks | None
    query_weights: QueryWeights
    own_weights: RowChunks | None
    """The weights of single queries, where they are a Dask collection."""

    block_size: int | None
    checkpoint: Checkpoint | None
    names: RowChunks | None
    names_given: bool
    """Whether the user gave the names of the points; an index that does not tell points apart names none."""

    @property
    def weighted(self) -> bool:
        """Whether anything was said about how much queries count."""
        return any(said is not None for said in (*self.query_weights, self.own_weights))

    @property
    def by_content(self) -> bool:
        """Whether the names of all data stand for what they hold."""
        rows = (self.points, self.labels, self.queries, self.targets)
        return all(one is None or one.by_content for one in rows)

    def identity(self) -> Identity:
        """Return what tells a valuation from any other: data, settings, how it is cut, and what computes it.

        Data are distinguished by the names that Dask gives them, everything else by its content: a weight function that
        was edited, a metric of the user's, a semivalue of a class of the user's is another one, whatever it is called.
        """
        own = self.own_weights
        return {
            "version of pivotal": __version__,
            "format of blocks": str(FORMAT),
            "X_train": self.points.array.name,
            "y_train": self.labels.array.name,
            "X_test": "" if self.queries is None else self.queries.array.name,
            "y_test": "" if self.targets is None else self.targets.array.name,
            "settings": {**self.recipe.spec.tokens(), "each_other": token(self.recipe.each_other)},
            "weights of the queries": token(tuple(self.query_weights), None if own is None else own.array.name),
            "blocks": token([(chunk, part.first, part.last, part.of) for chunk, part in self.blocks()]),
        }

    def sources(self) -> list[Any]:
        """Return the collections that its tasks read."""
        rows = (self.points, self.labels, self.queries, self.targets, self.own_weights, self.names)
        return [one.array for one in rows if one is not None]

    def blocks(self) -> Iterator[tuple[int, Part]]:
        """Cut the queries: the chunk, and which of its rows."""
        rows = self.points if self.queries is None else self.queries
        if rows.lengths is None:
            for chunk in range(rows.n_chunks):
                yield from ((chunk, Part(part, part + 1, _PARTS)) for part in range(_PARTS))
            return
        size = self.block_size or self._fitting()
        for chunk, length in enumerate(rows.lengths):
            n_blocks = -(-length // size)
            for block in range(n_blocks):
                yield chunk, Part(length * block // n_blocks, length * (block + 1) // n_blocks)

    def _fitting(self) -> int:
        """Return how many queries a block may have: their lists from a few shards are held by one task."""
        if self.points.lengths is None:
            return _QUERIES_OF_UNKNOWN
        return fitting_queries(self.recipe.max_depth(sum(self.points.lengths)), self.recipe.max_memory)


@dataclass(frozen=True, eq=False)
class Graph:
    """Tasks by their keys, and the keys of what is wanted in the end."""

    tasks: dict[Any, Any]
    plan: str
    count: str
    values: list[Any]
    n_blocks: int


def build(problem: DaskProblem, mark: str, finished: frozenset[int] | set[int] = frozenset()) -> Graph:
    """Return the graph of a valuation, whose keys have a mark of their own; the checkpoint has the finished blocks."""

    def key(name: str, *place: int) -> Any:
        return (f"pivotal-{name}-{mark}", *place) if place else f"pivotal-{name}-{mark}"

    recipe, plan, count = key("recipe"), key("plan"), key("count")
    tasks: dict[Any, Any] = {recipe: problem.recipe}
    points, shards = problem.points.keys, range(problem.points.n_chunks)
    for shard, labels in enumerate(problem.labels.keys):
        tasks[key("labels", shard)] = (summarise, recipe, labels, "y_train")
        tasks[key("shard", shard)] = (open_shard, plan, shard, points[shard], labels)
    targets = [] if problem.targets is None else problem.targets.keys
    for chunk, labels in enumerate(targets):
        tasks[key("targets", chunk)] = (summarise, recipe, labels, "y_test")
    asked = [key("targets", chunk) for chunk in range(len(targets))]
    tasks[plan] = (make_plan, recipe, [key("labels", shard) for shard in shards], asked)
    blocks = list(problem.blocks())
    stamped = problem.checkpoint is not None and not problem.by_content
    if stamped:
        for shard, labels in enumerate(problem.labels.keys):
            tasks[key("content", shard)] = (content_of, plan, points[shard], labels)
        tasks[key("contents")] = (list, [key("content", shard) for shard in shards])
    audited = frozenset[int]() if is_exact(problem.recipe.spec.neighbors) else sampled_blocks(len(blocks))
    if problem.weighted:
        own_weights = None if problem.own_weights is None else problem.own_weights.keys
        codes = [key("codes", block) for block in range(len(blocks))]
        tasks[key("weights")] = (partial(weigh, problem.query_weights), plan, codes, own_weights)
    for block, (chunk, part) in enumerate(blocks):
        labelled = problem.labels if problem.targets is None else problem.targets
        tasks[key("codes", block)] = (take_labels, plan, labelled.keys[chunk], part)
        solved = key("solved", block)
        share = (getitem, key("weights"), block) if problem.weighted else None
        source, own = (problem.points, chunk) if problem.queries is None else (problem.queries, None)
        tasks[key("queries", block)] = (take_queries, source.keys[chunk], part, own)
        checkpoint: Any = problem.checkpoint
        if stamped:
            checkpoint = (_of_content, checkpoint, key("contents"), key("queries", block), key("codes", block))
        if block in finished:
            tasks[solved] = (_load, plan, key("codes", block), share, checkpoint, block)
        else:
            queries = key("queries", block)
            searches: list[Any] = [(search, plan, key("shard", shard), queries) for shard in shards]
            near = _merge(tasks, key, ("near", "merged"), block, searches)
            recall: Any = NOT_MEASURED
            if block in audited:  # every point is looked at for some of its queries
                searches = [(search_all, plan, shard, points[shard], queries, len(audited)) for shard in shards]
                true = _merge(tasks, key, ("true", "truly"), block, searches)
                recall = (measure, plan, near, true, queries, len(audited))
            number = (number_queries, plan, chunk, part)
            tasks[solved] = (_keep, (solve, plan, near, key("codes", block), share, number), recall, checkpoint, block)
        tasks[key("account", block)] = (attrgetter("account"), solved)
        tasks.update({key("part", block, shard): (part_of, solved, shard) for shard in shards})
    tasks[count] = (combine, [key("account", block) for block in range(len(blocks))])
    for shard in shards:
        sums: Any = None
        for step, first in enumerate(range(0, len(blocks), _BLOCKS_AT_ONCE)):
            group = range(first, min(first + _BLOCKS_AT_ONCE, len(blocks)))
            parts = [key("part", block, shard) for block in group]
            tasks[key("sums", shard, step)] = (add_parts, plan, shard, sums, parts)
            sums = key("sums", shard, step)
        tasks[key("values", shard)] = (mean_of, sums, count)
    return Graph(tasks, plan, count, [key("values", shard) for shard in shards], len(blocks))


def _merge(tasks: dict[Any, Any], key: Key, names: tuple[str, str], block: int, searches: list[Any]) -> Any:
    """Add the searches of a block in all shards, and the tree that merges what they find; return its root's key."""
    leaf, name = names
    near, level = [key(leaf, block, shard) for shard in range(len(searches))], 0
    tasks.update(zip(near, searches, strict=True))
    while len(near) > 1:
        level += 1
        groups = [near[first : first + _MERGED_AT_ONCE] for first in range(0, len(near), _MERGED_AT_ONCE)]
        near = [key(name, block, level, number) for number in range(len(groups))]
        tasks.update({one: (merge, key("plan"), group) for one, group in zip(near, groups, strict=True)})
    return near[0]


def _of_content(checkpoint: Checkpoint, shards: Sequence[str], queries: Queries, targets: AnyArray) -> Checkpoint:
    """Return the checkpoint for a block of queries to training points, distinguished by what all of them hold."""
    return checkpoint.of_data(token(list(shards), queries.points, targets))


def _keep(parts: Parts, recall: float, checkpoint: Checkpoint | None, block: int) -> Parts:
    parts = replace(parts, account=parts.account._replace(recall=recall))
    if checkpoint is not None and not parts.account.short:
        checkpoint.save(block, parts)
    return parts


def _load(plan: TaskPlan, targets: AnyArray, weights: FloatArray | None, checkpoint: Checkpoint, block: int) -> Parts:
    return checkpoint.load(block, Expected(checkpoint.identity, plan, targets, weights))
