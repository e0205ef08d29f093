"""From lists of neighbours to values: where games meet semivalues.

A solver is made for one game, one semivalue and lists of one length. With unweighted votes it holds the chances that
the closed forms need; with integer votes, the rule that integrates the tables over p. It hands out scratch memory, one
piece per thread, and calls the kernel. Kernels are imported where they are used: none compiles, or even loads, that is
not needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from pivotal.core.games import Game, Hard, Mixture, Plurality, Regression, RetrievalGame, Soft, Threshold
from pivotal.core.quadrature import quadrature
from pivotal.core.semivalues import Semivalue
from pivotal.core.threads import check_cancelled
from pivotal.core.types import AnyArray, FloatArray
from pivotal.engine.ranking import coefficients
from pivotal.engine.solver import Block, Ordering, Solver

_MOST_BYTES = 2**32  # tables of one thread
_RANKS_AT_ONCE = 200_000  # a few milliseconds of closed forms; a rank of the tables counts for 32


class _UnweightedSolver(Solver):
    """Closed forms: all they need of the semivalue are the chances `push` and `sizes`."""

    solves_orders = True

    def __init__(self, game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int) -> None:
        super().__init__(game, semivalue, k, n, n_classes)
        self.push = semivalue.push(k, n)
        self.sizes = semivalue.sizes(k, n)
        self.queries_at_once = max(1, _RANKS_AT_ONCE // n)


class _HardSolver(_UnweightedSolver):
    game: Hard

    def __init__(self, game: Hard, semivalue: Semivalue, k: int, n: int, n_classes: int) -> None:
        super().__init__(game, semivalue, k, n, n_classes)
        self.absent = not game.sees_only_top_k(n_classes)
        if self.absent:  # a game of two classes may have any number of players
            others = np.maximum(np.arange(n + 1) - 1, 0)
            self.sizes = np.stack([semivalue.joined(others, s) for s in range(k)], axis=1)
        else:
            self.sizes = self.sizes[np.newaxis]

    def scratch(self) -> tuple[Any, ...]:
        from pivotal.kernels.many_classes import MOST_DRAWS, make_span

        return (
            np.full(self.n_classes, -1, dtype=np.int32),
            np.empty(self.n, dtype=np.int32),
            np.empty(self.n_classes + 1, dtype=np.int64),
            np.empty((5, self.n_classes + 1)),
            make_span(min(self.n_classes, self.n + 1), min(self.k, MOST_DRAWS + 1)),
            np.empty(self.n),
        )

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        from pivotal.kernels.hard import hard_values

        how = (*self._rules, *scratch, out)
        hard_values(block.labels, block.targets, *how)

    def solve_orders(self, ordering: Ordering, scratch: tuple[Any, ...]) -> None:
        from pivotal.kernels.ordered_hard import hard_orders

        hard_orders(*ordering, *self._rules, *scratch)

    @cached_property
    def _rules(self) -> tuple[Any, ...]:
        # A lead above the threshold wins: ties win when a lead of 0 is above it.
        threshold = -1 if self.game.tie == "win" else 0
        scale = _weight_of_a_class(self.game, self.n_classes)
        return self.n_classes, self.k, threshold, self.absent, scale, self.push, self.sizes


class _PluralitySolver(_UnweightedSolver):
    def scratch(self) -> tuple[Any, ...]:
        from pivotal.kernels.plurality import make_plurality_scratch

        return (
            np.full(self.n_classes, -1, dtype=np.int32),
            np.empty(self.n, dtype=np.int32),
            make_plurality_scratch(min(self.n_classes, self.n) + 1, self.k),
        )

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        from pivotal.kernels.plurality import plurality_values

        slot_of_class, slots, ballots = scratch
        chances = self.push, self.sizes
        plurality_values(block.labels, block.targets, self.k, *chances, slot_of_class, slots, ballots, out)

    def solve_orders(self, ordering: Ordering, scratch: tuple[Any, ...]) -> None:
        from pivotal.kernels.ordered_plurality import plurality_orders

        plurality_orders(*ordering, self.k, self.push, self.sizes, *scratch)


class _SoftSolver(_UnweightedSolver):
    game: Soft

    def __init__(self, game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int) -> None:
        from pivotal.kernels.averages import make_shares

        super().__init__(game, semivalue, k, n, n_classes)
        self.shares = make_shares(self.push, k)

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        from pivotal.kernels.averages import soft_values

        how = (*self._rules(block.targets), out)
        soft_values(_right(block), *how)

    def solve_orders(self, ordering: Ordering, scratch: tuple[Any, ...]) -> None:
        from pivotal.kernels.ordered_averages import soft_orders

        soft_orders(*ordering, *self._rules(ordering.targets))

    def _rules(self, targets: AnyArray) -> tuple[Any, ...]:
        empty = self.game.empty_utility(targets, self.n_classes)
        return empty, self.k, self.game.divide_by == "size", self.shares, self.sizes


class _RegressionSolver(_UnweightedSolver):
    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        from pivotal.kernels.averages import regression_values

        how = (*self._rules(block.targets), out)
        regression_values(_residuals(block), *how)

    def solve_orders(self, ordering: Ordering, scratch: tuple[Any, ...]) -> None:
        from pivotal.kernels.ordered_averages import regression_orders

        regression_orders(*ordering, *self._rules(ordering.targets))

    def _rules(self, targets: AnyArray) -> tuple[Any, ...]:
        return self.game.empty_utility(targets, self.n_classes), self.k, self.push, self.sizes


class _RetrievalSolver(Solver):
    """Closed forms of the games of retrieval: labels are grades, targets the grades of all judged documents."""

    game: RetrievalGame

    def __init__(self, game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int) -> None:
        super().__init__(game, semivalue, k, n, n_classes)
        self.queries_at_once = max(1, _RANKS_AT_ONCE // max(n, 1))

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        from pivotal.kernels.ranking_values import add_suffix_sums

        game, k = self.game, self.k
        found = coefficients(game, self.semivalue, k, game.gains(block.labels), game.scale(block.targets, k))
        out[...] = 0.0
        add_suffix_sums(*found, out)


class _MixtureSolver(Solver):
    """Values are linear in the game: those of the parts are added up."""

    def __init__(self, game: Game, solvers: list[tuple[float, Solver]]) -> None:
        first = solvers[0][1]
        super().__init__(game, first.semivalue, first.k, first.n, first.n_classes)
        self._solvers = solvers
        self.error = max(solver.error for _, solver in solvers)
        self.queries_at_once = min(solver.queries_at_once for _, solver in solvers)

    def scratch(self) -> tuple[Any, ...]:
        return tuple(solver.scratch() for _, solver in self._solvers)

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        total, part = np.zeros(out.shape), np.empty(out.shape)
        for (weight, solver), own in zip(self._solvers, scratch, strict=True):
            solver.solve(block, own, part)
            total += weight * part
        out[...] = total


class _Weighted(Solver):
    """Tables over the sums of integer votes, for one p at a time."""

    def __init__(
        self, game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int, largest_vote: int, tol: float
    ) -> None:
        super().__init__(game, semivalue, k, n, n_classes)
        self.largest_vote = largest_vote
        self.rule = quadrature(semivalue, k, n, tol)
        self.error = self.rule.error
        self.queries_at_once = max(1, _RANKS_AT_ONCE // (32 * int(self.rule.ranks.sum())))
        self._reals, self._integers = self._scratch_sizes(int(self.rule.ranks.max()))
        if 8 * self._reals > _MOST_BYTES:
            raise ValueError(
                f"k={k} and votes up to {largest_vote} need tables of {8 * self._reals / 2**30:.0f} GiB per thread, "
                f"more than the {_MOST_BYTES // 2**30} GiB allowed. Use fewer bits or a smaller k."
            )

    def scratch(self) -> tuple[Any, ...]:
        return np.empty(self._reals), np.empty(self._integers, dtype=np.int64)

    def solve(self, block: Block, scratch: tuple[Any, ...], out: FloatArray) -> None:
        out[...] = 0.0
        for p, weight, ranks in zip(self.rule.nodes, self.rule.weights, self.rule.ranks, strict=True):
            check_cancelled()
            self._add(block, float(p), float(weight), int(ranks), scratch, out)

    @abstractmethod
    def _scratch_sizes(self, ranks: int) -> tuple[int, int]:
        """Numbers of reals and of integers that one thread needs."""

    @abstractmethod
    def _add(
        self, block: Block, p: float, weight: float, ranks: int, scratch: tuple[Any, ...], out: FloatArray
    ) -> None:
        """Add weight times the values at p, among the first `ranks` neighbours, to `out`."""


class _WeightedHardSolver(_Weighted):
    game: Hard

    @cached_property
    def _rules(self) -> tuple[float, bool, bool]:
        scale = _weight_of_a_class(self.game, self.n_classes)
        return scale, self.game.tie == "win", not self.game.sees_only_top_k(self.n_classes)

    def _scratch_sizes(self, ranks: int) -> tuple[int, int]:
        from pivotal.kernels.weighted import hard_scratch

        return hard_scratch(self.k, self.largest_vote, ranks, self.n_classes)

    def _add(
        self, block: Block, p: float, weight: float, ranks: int, scratch: tuple[Any, ...], out: FloatArray
    ) -> None:
        from pivotal.kernels.weighted import hard_weighted

        labels, votes, targets = block
        assert votes is not None
        reals, integers = scratch
        scale, ties_win, absent = self._rules
        weight *= scale
        hard_weighted(
            labels, votes, targets, self.n_classes, self.k, p, weight, ranks, ties_win, absent, reals, integers, out
        )


class _WeightedAverageSolver(_Weighted):
    """Soft label and regression."""

    def _scratch_sizes(self, ranks: int) -> tuple[int, int]:
        from pivotal.kernels.moments import regression_scratch, soft_scratch

        sizes = regression_scratch if self.game.task == "regression" else soft_scratch
        return sizes(self.k, self.largest_vote, ranks)

    def _add(
        self, block: Block, p: float, weight: float, ranks: int, scratch: tuple[Any, ...], out: FloatArray
    ) -> None:
        from pivotal.kernels.moments import regression_weighted, soft_weighted

        assert block.votes is not None
        reals, integers = scratch
        add = regression_weighted if self.game.task == "regression" else soft_weighted
        terms = _residuals(block) if self.game.task == "regression" else _right(block)
        empty = self.game.empty_utility(block.targets, self.n_classes)
        add(terms, block.votes, empty, self.k, p, weight, ranks, reals, integers, out)


_CLOSED_FORMS: dict[type[Game], Callable[..., Solver]] = {
    Hard: _HardSolver,
    Plurality: _PluralitySolver,
    Soft: _SoftSolver,
    Regression: _RegressionSolver,
}
_TABLES: dict[type[Game], Callable[..., Solver]] = {
    Hard: _WeightedHardSolver,
    Soft: _WeightedAverageSolver,
    Regression: _WeightedAverageSolver,
}


def make_solver(
    game: Game, semivalue: Semivalue, k: int, n: int, n_classes: int, largest_vote: int | None = None, tol: float = 0.0
) -> Solver:
    """Return the solver for lists of n neighbours, of which k vote.

    `largest_vote` is None for unweighted votes; `tol` is the error of the integral over p that is good enough.
    """
    if isinstance(game, Mixture):
        how: tuple[Any, ...] = (semivalue, k, n, n_classes, largest_vote, tol)
        return _MixtureSolver(game, [(weight, make_solver(part, *how)) for weight, part in game.parts()])
    if isinstance(game, RetrievalGame):
        return _RetrievalSolver(game, semivalue, k, n, n_classes)
    weighted = largest_vote is not None
    if weighted:
        check_votes_allowed(game)
    solvers = _TABLES if weighted else _CLOSED_FORMS
    if type(game) not in solvers:
        raise TypeError(
            f"the engine has no solver for the game {game!r}. "
            'Use method="enumeration" for up to 20 training points, or add a solver to the package.'
        )
    return solvers[type(game)](game, semivalue, k, n, n_classes, *((largest_vote, tol) if weighted else ()))


def check_votes_allowed(game: Game) -> None:
    """Raise unless the game can be solved with votes that differ."""
    for _, part in game.parts():
        if isinstance(part, Threshold):
            raise ValueError(
                f"{part} takes unweighted votes within a radius; got weighted votes. "
                'Use weights="uniform", or utility="soft", whose k nearest may be weighted.'
            )
        if isinstance(part, Plurality):
            raise ValueError(
                'utility="plurality" takes unweighted votes; got weighted votes. '
                'Use weights="uniform", or utility="hard", whose multi-class game has weighted votes.'
            )
        if isinstance(part, Soft) and part.divide_by == "k":
            raise ValueError(
                'utility="soft-k" takes unweighted votes, as it divides by k; got weighted votes. '
                'Use weights="uniform", or utility="soft", which divides by the sum of the votes.'
            )


def _weight_of_a_class(game: Hard, n_classes: int) -> float:
    return 1.0 if game.scale == "sum" else 1.0 / max(1, n_classes - 1)


def _right(block: Block) -> AnyArray:
    right: AnyArray = block.labels == block.targets[:, np.newaxis]
    return right


def _residuals(block: Block) -> FloatArray:
    residuals: FloatArray = block.labels - block.targets[:, np.newaxis]
    return residuals
