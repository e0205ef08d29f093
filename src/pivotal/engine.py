"""From lists of neighbours to the values of the training points: the sum over queries, in threads.

An engine is made for a training set and a game. Blocks of queries go in, in any number; what comes out at any time is
the mean over the queries so far, with a bound on its error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal._threads import count_threads, run_all, slices
from pivotal._types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.games import Game
from pivotal.results import Values
from pivotal.semivalues import Semivalue
from pivotal.solvers import Block, make_solver

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
        How many neighbours of each query take part.
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
        self._factor = game.truncation_factor(n_classes, votes_fall=votes_fall)
        self.depth = most
        if game.sees_only_top_k(n_classes):
            self.depth = min(most, max(min(k, n_players), semivalue.depth(k, tol, n_players, self._factor)))
        self._solver = make_solver(game, semivalue, k, self.depth, n_classes, largest_vote, tol)
        self._n_threads = count_threads(n_jobs)
        self._scratch = [self._solver.scratch() for _ in range(self._n_threads)]
        self._reach = semivalue.reach(k, self.depth + 1)
        self._tally = _Tally(np.zeros(labels.shape[0]), np.zeros(labels.shape[0]))

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return self._tally.n_queries

    def add(self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray) -> None:
        """Count some queries.

        Parameters
        ----------
        indices : int64 array of shape (n_queries, depth)
            Nearest training points, nearest first.
        votes : int32 array of shape (n_queries, depth) or None
            Their votes.
        targets : int32 or float64 array of shape (n_queries,)
            True label of each query.
        """
        from pivotal.kernels.ledger import add_queries

        # One memory layout, or numba would compile the kernels once more for every other.
        indices = np.ascontiguousarray(indices)
        votes = None if votes is None else np.ascontiguousarray(votes)
        block = Block(self._labels[indices], votes, targets)
        values = np.empty(indices.shape)
        parts = slices(len(targets), len(targets), self._n_threads)

        def work(part: int) -> None:
            queries = parts[part]
            self._solver.solve(block.slice(queries), self._scratch[part], values[queries])

        run_all(work, range(len(parts)), self._n_threads)
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
            tally.truncation + self._dropped(block),
            max(tally.spread, self._game.spread(self._n_classes, self._labels, targets)),
        )

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_train,)."""
        return (self._tally.totals + self._tally.rests) / self.n_queries

    def result(self, *, ids: AnyArray | None, vote_resolution: float, settings: Mapping[str, Any]) -> Values:
        """Values so far, with their error bound."""
        tally = self._tally
        error = tally.truncation / tally.n_queries + self._solver.error + _ROUNDING
        return Values(
            self.values(),
            n_queries=tally.n_queries,
            full_utility=tally.full / tally.n_queries,
            empty_utility=tally.empty / tally.n_queries,
            error_bound=tally.spread * error,
            ids=ids,
            vote_resolution=vote_resolution,
            settings={**settings, "depth": self.depth, "n_players": self._n_players, "n_classes": self._n_classes},
        )

    def _dropped(self, block: Block) -> float:
        """Bound, summed over the queries, on what the points beyond the lists could have changed."""
        n_queries = len(block.targets)
        if self.depth == self._n_players:
            return 0.0
        if self._game.sees_only_top_k(self._n_classes):
            return n_queries * self._factor * float(self._reach[self.depth - 1])
        return self._factor * self._dropped_by_class(block)

    def _dropped_by_class(self, block: Block) -> float:
        """Reach of each two-class game, which sees only its own two classes of the list."""
        n_classes, queries = self._n_classes, np.arange(len(block.targets))
        cells = block.labels + n_classes * queries[:, np.newaxis]
        listed = np.bincount(cells.ravel(), minlength=n_classes * len(queries)).reshape(-1, n_classes)
        members = np.bincount(self._labels, minlength=n_classes)
        seen = listed + listed[queries, block.targets][:, np.newaxis]
        all_there = members + members[block.targets][:, np.newaxis]
        reach = np.where(seen == all_there, 0.0, self._reach[np.clip(seen - 1, 0, self.depth)])
        reach[queries, block.targets] = 0.0
        return float(reach.sum()) / (n_classes - 1)


def _run_on(total: float, terms: FloatArray) -> float:
    """Add terms one after the other, so that the sum does not depend on the blocks they come in."""
    return float(np.cumsum(np.concatenate(([total], terms)))[-1])
