"""From lists of neighbours to the values of the training points: the sum over queries, in threads.

An engine is made for a training set and a game. Blocks of queries go in, in any number; what comes out at any time is
the mean over the queries so far, with a bound on its error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal._threads import count_threads, run_all, slices
from pivotal._types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.games import Game
from pivotal.results import Values
from pivotal.semivalues import Semivalue
from pivotal.solvers import Block, Solver, make_solver

__all__ = ["Engine"]

# Allowance for rounding in any value, in units of the range of the utility; tests hold every kernel to it.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class _Tally:
    """What has been counted so far: sums over queries, and the largest range of the utility."""

    totals: FloatArray
    rests: FloatArray
    n_queries: int = 0
    full: float = 0.0
    empty: float = 0.0
    truncation: float = 0.0
    spread: float = 0.0


class Engine:
    """Adds up the values of the training points over blocks of queries.

    Parameters
    ----------
    labels : int32 or float64 array of shape (n_train,)
        Class codes, or responses for regression.
    game, semivalue : Game, Semivalue
        What a coalition earns, and how coalitions are drawn.
    k, n_classes : int
        Number of neighbours that vote, and of classes.
    n_players : int
        Number of points in the game of one query: n_train, or one less when the points query each other.
    most : int
        Longest lists that can be had.
    tol : float
        Truncation error that is good enough, in units of the range of the utility; 0 uses the lists whole.
    largest_vote : int, optional
        Largest integer vote; None means one vote each.
    votes_fall : bool, default=True
        Whether votes never grow with distance.
    n_jobs : int or None, default=-1
        Threads, as scikit-learn counts them.

    Attributes
    ----------
    depth : int
        How long lists should be. Where third classes are left out of a game that is a start: `suffices` says whether
        they are long enough, and lists twice as long are the next to try.
    n_queries : int
        Queries added so far.
    """

    def __init__(
        self,
        labels: AnyArray,
        game: Game,
        semivalue: Semivalue,
        *,
        k: int,
        n_classes: int,
        n_players: int,
        most: int,
        tol: float,
        largest_vote: int | None = None,
        votes_fall: bool = True,
        n_jobs: int | None = -1,
    ) -> None:
        self._labels, self._game, self._semivalue = labels, game, semivalue
        self._k, self._n_classes, self._n_players = k, n_classes, n_players
        self._largest_vote, self._tol = largest_vote, tol
        self._factor = game.truncation_factor(n_classes, votes_fall=votes_fall)
        self._top_k = game.sees_only_top_k(n_classes)
        depth = max(min(k, n_players), semivalue.depth(k, tol, n_players, self._factor))
        self.depth = min(most, depth if self._top_k else 4 * depth)
        self._n_threads = count_threads(n_jobs)
        self._solvers: dict[int, tuple[Solver, list[tuple[AnyArray, ...]]]] = {}
        self._solver_for(self.depth)  # what cannot be solved is said before any search
        self._tally = _Tally(np.zeros(labels.shape[0]), np.zeros(labels.shape[0]))

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return self._tally.n_queries

    def add(self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray) -> None:
        """Count some queries.

        Parameters
        ----------
        indices : int64 array of shape (n_queries, length)
            Nearest training points, nearest first; `depth` of them, or more where `suffices` wants more.
        votes : int32 array of shape (n_queries, length) or None
            Their votes.
        targets : int32 or float64 array of shape (n_queries,)
            True label of each query.
        """
        from pivotal.kernels.ledger import add_queries

        # One memory layout, or numba would compile the kernels once more for every other.
        indices = np.ascontiguousarray(indices)
        votes = None if votes is None else np.ascontiguousarray(votes)
        block = Block(self._labels[indices], votes, targets)
        values = np.zeros(indices.shape)
        dropped = np.zeros(len(targets))
        for depth, queries in self._by_depth(block):
            part = block.part(queries, depth)
            values[queries, :depth] = self._solve(part)
            dropped[queries] = self._dropped(part)
        tally = self._tally
        totals, rests = tally.totals.copy(), tally.rests.copy()
        add_queries(indices, values, totals, rests)
        # One assignment: a block that is interrupted counts whole or not at all.
        self._tally = _Tally(
            totals,
            rests,
            tally.n_queries + len(targets),
            _run_on(tally.full, self._game.everyone(block.labels, votes, targets, self._n_classes, self._k)),
            _run_on(tally.empty, self._game.nobody(targets, self._n_classes)),
            _run_on(tally.truncation, dropped),
            max(tally.spread, self._game.spread(self._n_classes, self._labels, targets)),
        )

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_train,)."""
        return (self._tally.totals + self._tally.rests) / self.n_queries

    def result(
        self,
        *,
        ids: AnyArray | None,
        vote_resolution: float = 0.0,
        recall: float | None = None,
        settings: Mapping[str, Any],
    ) -> Values:
        """Values so far, with their error bound."""
        tally = self._tally
        integration = max(solver.error for solver, _ in self._solvers.values())
        error = tally.truncation / tally.n_queries + integration + _ROUNDING
        return Values(
            self.values(),
            n_queries=tally.n_queries,
            full_utility=tally.full / tally.n_queries,
            empty_utility=tally.empty / tally.n_queries,
            error_bound=tally.spread * error,
            ids=ids,
            vote_resolution=vote_resolution,
            recall=recall,
            settings={
                **settings,
                "depth": max(self._solvers),
                "n_players": self._n_players,
                "n_classes": self._n_classes,
            },
        )

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        if self._top_k or indices.shape[1] == self._n_players:
            return True
        return bool((self._dropped(Block(self._labels[indices], None, targets)) <= self._tol).all())

    def _solver_for(self, depth: int) -> tuple[Solver, list[tuple[AnyArray, ...]]]:
        if depth not in self._solvers:
            solver = make_solver(
                self._game, self._semivalue, self._k, depth, self._n_classes, self._largest_vote, self._tol
            )
            self._solvers[depth] = solver, [solver.scratch() for _ in range(self._n_threads)]
        return self._solvers[depth]

    def _solve(self, block: Block) -> FloatArray:
        """Values of each query's neighbours, in threads."""
        solver, scratch = self._solver_for(block.labels.shape[1])
        values = np.empty(block.labels.shape)
        idle = list(scratch)  # a thread takes one piece while it works

        def work(queries: slice) -> None:
            own = idle.pop()
            try:
                solver.solve(block.part(queries), own, values[queries])
            finally:
                idle.append(own)

        run_all(work, slices(len(block.targets), solver.queries_at_once, self._n_threads), self._n_threads)
        return values

    def _by_depth(self, block: Block) -> Iterator[tuple[int, slice | IndexArray]]:
        """Say how many neighbours each query needs: a matter of the query alone, so blocks make no difference."""
        width = block.labels.shape[1]
        if self._top_k:
            yield width, slice(None)
            return
        queries, depth = np.arange(len(block.targets)), min(self.depth, width)
        while depth < width:
            done = self._dropped(block.part(queries, depth)) <= self._tol
            if done.any():
                yield depth, queries[done]
            queries, depth = queries[~done], min(2 * depth, width)
        if queries.size:
            yield width, queries

    def _dropped(self, block: Block) -> FloatArray:
        """Bound, for each query, on what the points beyond its list could have changed."""
        n_queries, depth = block.labels.shape
        if depth == self._n_players:
            return np.zeros(n_queries)
        reach = self._semivalue.reach(self._k, depth + 1)
        if self._top_k:
            return np.full(n_queries, self._factor * reach[depth - 1])
        # Each two-class game sees only its own two classes of the list.
        n_classes, queries = self._n_classes, np.arange(n_queries)
        cells = block.labels + n_classes * queries[:, np.newaxis]
        listed = np.bincount(cells.ravel(), minlength=n_classes * n_queries).reshape(-1, n_classes)
        members = np.bincount(self._labels, minlength=n_classes)
        seen = listed + listed[queries, block.targets][:, np.newaxis]
        all_there = members + members[block.targets][:, np.newaxis]
        lost = np.where(seen == all_there, 0.0, reach[np.clip(seen - 1, 0, depth)])
        lost[queries, block.targets] = 0.0
        mean: FloatArray = lost.sum(axis=1) / (n_classes - 1)
        return self._factor * mean


def _run_on(total: float, terms: FloatArray) -> float:
    """Add terms one after the other, so that the sum does not depend on the blocks they come in."""
    return float(np.cumsum(np.concatenate(([total], terms)))[-1])
