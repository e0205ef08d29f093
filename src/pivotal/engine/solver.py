"""What solvers are: queries with their neighbours go in, the values of the neighbours come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.games import Game
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray


class Block(NamedTuple):
    """Some queries with the first n of their neighbours, nearest first."""

    labels: AnyArray
    """int32 class codes, or float64 responses; shape (n_queries, n)."""

    votes: CodeArray | None
    """Integer votes of the same shape; None: one each."""

    targets: AnyArray
    """True label of each query, as class code or response; shape (n_queries,)."""

    @property
    def ballots(self) -> CodeArray:
        """The votes, also where they are one each."""
        return np.ones(self.labels.shape, dtype=np.int32) if self.votes is None else self.votes

    def part(self, queries: slice | IndexArray, depth: int | None = None) -> Block:
        """Some of the queries, with the first `depth` of their neighbours."""
        return Block(
            np.ascontiguousarray(self.labels[queries, :depth]),
            None if self.votes is None else np.ascontiguousarray(self.votes[queries, :depth]),
            self.targets[queries],
        )


class Ordering(NamedTuple):
    """Some queries whose points are not in order yet, and where values go."""

    scores: Any
    """A `pivotal.kernels.radix.Scores`."""

    words: Any
    """A `pivotal.kernels.radix.SortWords`."""

    sorter: Any
    """A `pivotal.kernels.radix.Sorter`."""

    targets: AnyArray
    """True label of each query; shape (n_queries,)."""

    room: Any
    """A `pivotal.kernels.ordered_values.List`."""

    nearest: AnyArray
    """Output: labels of the nearest points; shape (n_queries, n_seen)."""

    rows: FloatArray
    """Output: values, in the order of the points; shape (n_queries, n_train)."""


class Solver(ABC):
    """Computes the values of the neighbours of each query.

    Attributes
    ----------
    error : float
        Bound on the error of integrating over p, in units of the range of the utility.
    queries_at_once : int
        How many queries make a task of some milliseconds.
    solves_orders : bool
        Whether `solve_orders` can be called.
    """

    error = 0.0
    queries_at_once = 1
    solves_orders = False

    def __init__(self, game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int) -> None:
        self.game, self.semivalue, self.k, self.n, self.n_classes = game, semivalue, k, n, n_classes

    def scratch(self) -> tuple[Any, ...]:
        """Memory for one thread."""
        return ()

    @abstractmethod
    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        """Fill `out`, of shape (n_queries, n), with the value of each neighbour."""

    def solve_orders(self, ordering: Ordering, scratch: tuple[Any, ...]) -> None:
        """Put all points in order and fill the rows of an ordering; unweighted games can."""
        raise NotImplementedError
