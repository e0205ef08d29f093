"""From rankings to estimates of the values of documents, or of groups of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pivotal.core.plan import Plan, batch_sizes
from pivotal.core.threads import check_cancelled, run_all, slices
from pivotal.core.types import CodeArray, IndexArray
from pivotal.engine.passes import Pass
from pivotal.engine.sampling import SamplingEngine
from pivotal.engine.sampling.drawing import Drawing
from pivotal.engine.sampling.laws import law_of, typical_square
from pivotal.engine.sampling.sampled import Drawn
from pivotal.engine.solver import Block
from pivotal.engine.totals import Utilities
from pivotal.kernels.sample_arrays import Estimates, Streams
from pivotal.results.per_query import PerQuery, PerQueryRecorder, QueryRows
from pivotal.valuation.retrieval._judgements import Judgements
from pivotal.valuation.retrieval._source_players import Players
from pivotal.valuation.retrieval.retrieval_truncation import RankingTruncation, as_metric

_STEPS_AT_ONCE = 1_000_000  # some ten milliseconds


class RetrievalSampler(SamplingEngine):
    """Adds up estimates of the values of documents, or of groups of them, over blocks of queries.

    A recorder keeps the estimates of single queries, for plans whose number of samples is known beforehand.
    """

    def __init__(
        self,
        players: Players,
        truncation: RankingTruncation,
        *,
        plan: Plan,
        n_jobs: int | None,
        recorder: PerQueryRecorder | None = None,
    ) -> None:
        super().__init__(*truncation.engine_arguments(players.n_players), plan=plan, n_jobs=n_jobs)
        if players.grouped:
            self.depth = truncation.max_depth  # groups are fewer than documents, and all that is listed counts
        players.limit(self.depth)
        self._of_query, self._truncation = players, truncation
        self._law = law_of(truncation.semivalue, plan.method, players.width)
        self._deepest, self._heaviest = self.depth, typical_square(self._law)
        self._recorder = recorder
        self._rows: tuple[QueryRows, ...] = ()

    def passes(self, n_queries: int) -> Iterator[Pass]:
        if self._recorder is not None:
            self._recorder.reserve(n_queries, self._of_query.width, self._rows)
        return super().passes(n_queries)

    def _counted(self, drawn: Drawn) -> None:
        if self._recorder is not None:
            targets = np.zeros(len(drawn.players))
            self._rows += (self._recorder.record(drawn.players, drawn.estimates.means, targets),)

    def _kept(self) -> PerQuery | None:
        return None if self._recorder is None else self._recorder.finish(self._rows, self._labels)

    def _make_drawing(self) -> Drawing:
        return _PlayerDrawing(self._k)

    def drawn(
        self,
        indices: IndexArray,
        votes: CodeArray | None,
        targets: Any,
        size: int,
        first_query: int,
        first_batch: int,
    ) -> Drawn:
        judgements: Judgements = targets
        players, indices = self._of_query, np.ascontiguousarray(indices, dtype=np.int64)
        graded, (local, who) = judgements.look_up(indices), players.of(indices)
        block = Block(graded.grades, None, graded.best)
        sizes = batch_sizes(size)
        streams = Streams(
            self._seed, first_query + np.arange(len(indices)), first_batch + np.arange(len(sizes)), sizes, size
        )
        full, truncation = self._game.full_utility(block.labels, None, block.targets, 0, self._k), self._truncation
        dropped = truncation.dropped(players, graded, indices)
        utilities = Utilities(full, np.zeros(len(indices)), dropped, truncation.utility_range)
        return Drawn(who, self._sampled(block, local, who.shape, streams), utilities, self.depth)

    def _sampled(self, block: Block, local: CodeArray, shape: tuple[int, ...], streams: Streams) -> Estimates:
        """Sample the games of some queries, every part of a mixture by itself."""
        from pivotal.kernels.owner_sampling import owner_estimates

        players, law, k = self._of_query, self._law, self._k
        found = Estimates(np.zeros(shape), np.zeros(shape), np.zeros((len(local), 2)))
        depth, n_batches = local.shape[1], len(streams.sizes)
        steps = players.width + depth if law.permute else min(depth * (1 + players.width), 16 * k**2)
        at_once = max(1, _STEPS_AT_ONCE // (steps * int(streams.sizes[0])))  # batches of some query
        for number, (weight, part) in enumerate(self._game.parts()):
            owned, rules = players.owned(as_metric(part), block, local, k, weight)

            def work(queries: slice, number: int = number, owned: Any = owned, rules: Any = rules) -> None:
                workspace, scratch = players.workspace(depth, k), self._drawing.scratch(players.width)
                mine = Estimates(*(array[queries] for array in found))
                for start in range(0, n_batches, at_once):
                    check_cancelled()
                    some = slice(start, start + at_once)
                    own = streams._replace(
                        queries=streams.queries[queries], batches=streams.batches[some], sizes=streams.sizes[some]
                    )
                    owner_estimates(owned.part(queries), rules, law, own.of_part(number), workspace, scratch, mine)

            run_all(work, slices(len(local), max(1, at_once // n_batches), self._n_threads), self._n_threads)
        return found


class _PlayerDrawing(Drawing):
    """Memory for samples of the games of retrieval."""

    def __init__(self, k: int) -> None:
        self._k, self._n_classes = k, 0
