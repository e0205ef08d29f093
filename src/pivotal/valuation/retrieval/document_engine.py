"""From rankings to the exact values of documents, or of groups of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.core.threads import check_cancelled, run_all, slices
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine, Solved
from pivotal.engine.solver import Block
from pivotal.engine.totals import Utilities
from pivotal.results.per_query import PerQueryRecorder
from pivotal.valuation.retrieval._judgements import Judgements
from pivotal.valuation.retrieval._source_players import Players
from pivotal.valuation.retrieval.retrieval_truncation import RankingTruncation, as_metric

_STEPS_AT_ONCE = 1_000_000  # some ten milliseconds
_EPS = float(np.finfo(np.float64).eps)


class DocumentEngine(Engine):
    """Adds up the exact values of documents over blocks of queries."""

    def __init__(
        self,
        players: Players,
        truncation: RankingTruncation,
        *,
        n_jobs: int | None = -1,
        recorder: PerQueryRecorder | None = None,
    ) -> None:
        self._of_query, self._truncation = players, truncation
        super().__init__(*truncation.engine_arguments(players.n_players), n_jobs=n_jobs, recorder=recorder)
        if players.grouped:
            self.depth = truncation.max_depth  # groups are fewer than documents, and all that is listed counts

    def solved(self, indices: IndexArray, votes: CodeArray | None, targets: Any) -> Solved:
        judgements: Judgements = targets
        indices = np.ascontiguousarray(indices, dtype=np.int64)
        graded = judgements.look_up(indices)
        block = Block(graded.grades, None, graded.best)
        players, values = self._values(block, indices)
        full = self.game.full_utility(block.labels, None, block.targets, 0, self.k)
        dropped = self._truncation.dropped(self._of_query, graded, indices)
        utilities = Utilities(full, np.zeros(len(indices)), dropped, self._truncation.utility_range)
        return Solved(players, values, utilities, self.precision())

    def _values(self, block: Block, indices: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Return whose the values of each query are, and the values."""
        return indices, self._solve(block)


class GroupEngine(DocumentEngine):
    """Adds up the exact values of groups of documents: sources, publishers, chunks of one text."""

    def precision(self) -> tuple[int, float]:
        # A branch is as many sums and factors deep as there are groups, and is met from two sides.
        return self.depth, 8.0 * self._of_query.width * _EPS

    def _values(self, block: Block, indices: IndexArray) -> tuple[IndexArray, FloatArray]:
        from pivotal.kernels.owner_branching import owner_values

        groups = self._of_query
        local, who = groups.of(indices)
        values = np.zeros(who.shape)
        chances, depth = groups.chances(self.semivalue, self.k), indices.shape[1]
        at_once = max(1, _STEPS_AT_ONCE // groups.branches(self.k))
        for weight, part in self.game.parts():
            owned, rules = groups.owned(as_metric(part), block, local, self.k, weight)
            found = np.empty(who.shape)

            def work(queries: slice, owned: Any = owned, rules: Any = rules, found: Any = found) -> None:
                check_cancelled()
                owner_values(owned.part(queries), rules, chances, groups.workspace(depth, self.k), found[queries])

            run_all(work, slices(len(indices), at_once, self._n_threads), self._n_threads)
            values += found
        return who, values
