"""From lists of neighbours to the values of owners: the sum over queries, exact or sampled, in threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pivotal.core.plan import Plan, batch_sizes
from pivotal.core.spec import Spec
from pivotal.core.threads import check_cancelled, count_threads, run_all, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.game_shape import GameShape
from pivotal.engine.owners.owner_game import OwnerGame
from pivotal.engine.running_sums import RunningSums, SummingEngine
from pivotal.engine.sampling import SamplingEngine
from pivotal.engine.sampling.laws import law_of, typical_square
from pivotal.engine.solver import Block
from pivotal.engine.totals import Utilities
from pivotal.kernels.owner_arrays import Owned, Rules
from pivotal.kernels.sample_arrays import Estimates, Streams
from pivotal.results.values import Values

_EPS = float(np.finfo(np.float64).eps)
_STEPS_AT_ONCE = 1_000_000  # some ten milliseconds


class ExactOwners(SummingEngine):
    """Adds up the exact values of owners over blocks of queries; `players` is the game that they play."""

    def __init__(self, spec: Spec, labels: AnyArray, players: OwnerGame, *, n_classes: int, n_jobs: int | None) -> None:
        self._labels, self._game, self._players = labels, spec.game, players
        self._k, self._n_classes = spec.k, n_classes
        self._n_threads = count_threads(n_jobs)
        self.depth = players.looked_at
        self._sums = RunningSums.nothing(players.n_owners)

    def add(
        self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None
    ) -> bool:
        """Count some queries; return whether more are wanted, which is always so."""
        players, indices = self._players, np.ascontiguousarray(indices)
        block = Block(self._labels[indices], None if votes is None else np.ascontiguousarray(votes), targets)
        values, dropped = np.zeros((len(targets), players.n_owners)), np.zeros(len(targets))
        for part in players.parts:
            found, lost = self._values_of(part, indices, block)
            values += found
            np.maximum(dropped, lost, out=dropped)
        utilities = Utilities.of(self._game, block, dropped, self._labels, self._n_classes, self._k)
        self._sums = self._sums.plus(_all_owners(*values.shape), values, utilities, weights)
        return True

    def _values_of(self, part: OwnerGame, indices: IndexArray, block: Block) -> tuple[FloatArray, FloatArray]:
        """Return the values of the owners in one game of a sum, and what truncation costs each query."""
        from pivotal.kernels.owner_branching import owner_values

        owned, rules, chances = part.own(indices, block), part.rules, part.chances
        found = np.empty((len(indices), part.n_owners))

        def work(queries: slice) -> None:
            owner_values(owned.part(queries), rules, chances, part.workspace(indices.shape[1]), found[queries])

        at_once = max(1, _STEPS_AT_ONCE // self._players.branches)
        run_all(work, slices(len(indices), at_once, self._n_threads), self._n_threads)
        return found, part.dropped(indices, owned)

    def result(self, **about: Any) -> Values:
        """Values so far, with their error bound."""
        n_owners, looked_at = self._players.n_owners, self._players.looked_at
        found = {"depth": looked_at, "n_players": n_owners, "n_classes": self._n_classes}
        # A branch is as many sums and factors deep as owners are looked at, and is met from two sides.
        return self._result(found, rounding=8.0 * looked_at * _EPS, **about)


class SampledOwners(SamplingEngine):
    """Adds up estimates of the values of owners over blocks of queries; parameters as in `ExactOwners`."""

    def __init__(
        self, spec: Spec, labels: AnyArray, players: OwnerGame, *, n_classes: int, n_jobs: int | None, plan: Plan
    ) -> None:
        n_owners = players.n_owners
        semivalue, whole = spec.semivalue, replace(spec, tol=0.0)  # all that is listed counts
        shape = GameShape(n_owners, n_classes, n_owners)
        super().__init__(whole, labels, shape, plan=plan, n_jobs=n_jobs, n_values=n_owners)
        self._game_of_owners = players
        self._law = law_of(semivalue, plan.method, n_owners)
        self._deepest, self._heaviest = players.looked_at, typical_square(self._law)

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough; there are no others."""
        return True

    def _players(self, indices: IndexArray) -> IndexArray:
        return _all_owners(len(indices), self._n_values)

    def _estimate(
        self, indices: IndexArray, block: Block, size: int, first_query: int, first_batch: int
    ) -> tuple[Estimates, FloatArray]:
        from pivotal.kernels.owner_sampling import owner_estimates

        players, law = self._game_of_owners, self._law
        n_queries, depth = indices.shape
        found = Estimates(
            np.zeros((n_queries, self._n_values)), np.zeros((n_queries, self._n_values)), np.zeros((n_queries, 2))
        )
        sizes, dropped = batch_sizes(size), np.zeros(n_queries)
        batches, numbers = first_batch + np.arange(len(sizes)), first_query + np.arange(n_queries)
        # Of an order all owners are visited; a coalition is walked through once for every owner who is near.
        steps = self._n_values + depth if law.permute else min(depth * (1 + self._n_values), 16 * self._k**2)
        at_once = max(1, _STEPS_AT_ONCE // (steps * int(sizes[0])))  # batches of some query
        for place, part in enumerate(players.parts):
            owned, rules = part.own(indices, block), part.rules

            def work(
                queries: slice, place: int = place, owned: Owned = owned, rules: Rules = rules, part: OwnerGame = part
            ) -> None:
                workspace, scratch = part.workspace(depth), part.scratch(self._n_values)
                mine = Estimates(*(array[queries] for array in found))
                for start in range(0, len(sizes), at_once):
                    check_cancelled()
                    some = slice(start, start + at_once)
                    streams = Streams(self._seed, numbers[queries], batches[some], sizes[some], size)
                    owner_estimates(owned.part(queries), rules, law, streams.of_part(place), workspace, scratch, mine)

            run_all(work, slices(n_queries, max(1, at_once // len(sizes)), self._n_threads), self._n_threads)
            np.maximum(dropped, part.dropped(indices, owned), out=dropped)
        return found, dropped


def _all_owners(n_queries: int, n_owners: int) -> IndexArray:
    """Return whose the values of each query are: every owner's."""
    return np.tile(np.arange(n_owners), (n_queries, 1))
