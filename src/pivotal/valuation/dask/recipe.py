"""What is decided once, from the labels alone: the classes, the number of points, how long lists must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.labels import ClassCodes, as_labels, as_responses, check_classes, check_same_kind
from pivotal.core.query_weights import QueryWeights
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine
from pivotal.engine.game_shape import GameShape
from pivotal.engine.truncation import Truncation

ENTRY_BYTES: Final = 20
"""What an entry of a list takes when it moves: distance, training index, class code."""

_LIST_BYTES: Final = 2**28  # what the lists of a block may take where nothing else is said


@dataclass(frozen=True, eq=False)
class Recipe:
    """What is to be computed on Dask."""

    spec: Spec
    each_other: bool
    """Whether the training points are the queries."""

    max_memory: int | None
    """Bytes that the lists of a block may take."""

    stretch: int = 1
    """How many times longer lists are than they should be at first.

    Where third classes are omitted from a game, how long is long enough is only seen in the lists themselves.
    """

    def max_depth(self, n_train: int) -> int:
        """Return how long lists are at most before they are stretched, whatever the number of classes."""
        spec = self.spec
        deepest = spec.semivalue.depth(spec.k, spec.tol, n_train, 2.0)
        if not spec.game.sees_only_top_k(3):
            deepest *= 4
        return min(n_train, max(spec.k, spec.weights.depth(spec.k), deepest))


class Summary(NamedTuple):
    """What a shard's labels say."""

    n_rows: int
    labels: AnyArray
    """Those that occur, in the order in which they do; the smallest and the largest for regression."""

    counts: IndexArray
    """How often each of them occurs."""


@dataclass(frozen=True, eq=False)
class TaskPlan:
    """What every task goes by."""

    recipe: Recipe
    codes: ClassCodes | None
    """The label set; None for regression."""

    starts: IndexArray
    """Training index of the first point of each shard, and the number of points; shape (n_shards + 1,)."""

    members: IndexArray
    """How many points each class has; shape (n_classes,)."""

    extremes: FloatArray
    """The smallest and the largest response, for regression."""

    depth: int
    """How many neighbours the engine wants."""

    needed: int
    """How many neighbours the weights need to see."""

    asked: IndexArray
    """Number of the first query of each chunk of queries, and the number of queries; shape (n_chunks + 1,)."""

    @property
    def n_train(self) -> int:
        """Number of training points."""
        return int(self.starts[-1])

    @property
    def n_players(self) -> int:
        """Number of points in the game of one query."""
        return self.n_train - self.recipe.each_other

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return 0 if self.codes is None else len(self.codes.classes)

    @cached_property
    def engine(self) -> Engine:
        """What solves a block: made once by every worker, which has one plan for all its tasks."""
        spec = self.recipe.spec
        shape = GameShape(self.n_players, self.n_classes, self.n_players, spec.largest_vote, members=self.members)
        return Engine(spec, self.extremes, shape, n_jobs=1)  # it is handed the labels of the neighbours it meets

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without the engine

    @property
    def length(self) -> int:
        """How many neighbours to look for."""
        return max(self.depth, self.needed)

    def encode(self, labels: AnyArray, name: str) -> AnyArray:
        """Return labels, of which there may be none, as class codes, or responses as they are."""
        if len(labels) == 0:
            return np.empty(0, np.float64 if self.codes is None else np.int32)
        return as_responses(labels, name) if self.codes is None else self.codes.encode(as_labels(labels, name), name)


def summarise(recipe: Recipe, chunk: Any, name: str) -> Summary:
    """Return what the plan must know of the labels of a chunk, which may be empty."""
    none = np.empty(0, np.int64)
    if len(chunk) == 0:
        return Summary(0, none, none)
    if recipe.spec.game.task == "regression":
        responses = as_responses(chunk, name)
        return Summary(len(chunk), np.array([responses.min(), responses.max()]), none)
    codes, seen = pd.factorize(as_labels(chunk, name))
    return Summary(len(chunk), np.asarray(seen), np.bincount(codes, minlength=len(seen)))


def make_plan(recipe: Recipe, shards: Sequence[Summary], blocks: Sequence[Summary]) -> TaskPlan:
    """Put together what all training labels say, and those of the queries unless the points are the queries."""
    starts = _starts(shards)
    n_train = int(starts[-1])
    if n_train == 0:
        raise ValueError("X_train must have at least one row; got none in any of its chunks.")
    if recipe.each_other and n_train < 2:
        raise ValueError("self-valuation needs at least two points; got 1. Pass a test set.")
    if not recipe.each_other and not any(block.n_rows for block in blocks):
        raise ValueError("X_test must have at least one row; got none in any of its chunks.")
    codes, members, extremes = None, np.empty(0, np.int64), np.empty(0)
    if recipe.spec.game.task == "regression":
        extremes = np.array([min(_labels(shards)), max(_labels(shards))])
    else:
        codes, members = _classes(recipe, shards, blocks)
    n_classes, n_players = (0 if codes is None else len(codes.classes)), n_train - recipe.each_other
    spec, shape = recipe.spec, GameShape(n_players, n_classes, n_players, members=members)
    depth = min(n_players, Truncation(spec, np.empty(0, np.int32), shape).depth * recipe.stretch)
    needed = min(n_players, spec.weights.depth(spec.k)) if spec.weights.weighted else 0
    asked = starts if recipe.each_other else _starts(blocks)
    plan = TaskPlan(recipe, codes, starts, members, extremes, depth, needed, asked)
    _check_room(plan)
    return plan


def _starts(summaries: Sequence[Summary]) -> IndexArray:
    """Return the number of the first row of each chunk, and the number of rows."""
    return np.cumsum([0, *(summary.n_rows for summary in summaries)], dtype=np.int64)


def _labels(summaries: Sequence[Summary]) -> AnyArray:
    return np.concatenate([summary.labels for summary in summaries if summary.n_rows])


def _classes(recipe: Recipe, shards: Sequence[Summary], blocks: Sequence[Summary]) -> tuple[ClassCodes, IndexArray]:
    """Return the label set in the order in which labels occur, and how many training points have each."""
    seen = [summary.labels for summary in (*shards, *blocks) if summary.n_rows]
    if any(block.n_rows for block in blocks):
        check_same_kind(_labels(shards), _labels(blocks))
    codes = ClassCodes.of(*seen, classes=recipe.spec.classes)
    members = np.zeros(len(codes.classes), np.int64)
    for shard in shards:
        if shard.n_rows:
            members[codes.encode(shard.labels, "y_train")] += shard.counts
    if recipe.spec.classes is None:
        check_classes(np.asarray(codes.classes)[members > 0], members[members > 0])
    return codes, members


def _check_room(plan: TaskPlan) -> None:
    """Raise where the list of a single query is more than a worker should hold."""
    spec, room = plan.recipe.spec, _LIST_BYTES if plan.recipe.max_memory is None else plan.recipe.max_memory
    most = room // (2 * ENTRY_BYTES)
    if plan.length <= most:
        return
    tols = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
    enough = next((tol for tol in tols if spec.semivalue.depth(spec.k, tol, plan.n_players, 2.0) <= most), 0.1)
    raise ValueError(
        f"{spec.semivalue} values at tol={spec.tol:g} look at {plan.length} points for every query, "
        f"{plan.length * 2 * ENTRY_BYTES} bytes of lists, more than the {room} bytes allowed. Pass "
        f"tol={enough:g}, which the error bound covers, or raise max_memory."
    )


def weigh(
    query_weights: QueryWeights, plan: TaskPlan, targets: Sequence[AnyArray], own: Sequence[AnyArray] | None
) -> list[FloatArray]:
    """Return the weights of the queries, block by block, given their class codes, or responses, in each block.

    The weights of single queries, where they come in chunks, are `own`; the rest is in `query_weights`.
    """
    said = query_weights if own is None else QueryWeights(np.concatenate(own), query_weights.by_class)
    weights = said.of(np.concatenate(targets), plan.codes)
    assert weights is not None  # asked for only where something was said
    return np.split(weights, np.cumsum([len(block) for block in targets])[:-1])
