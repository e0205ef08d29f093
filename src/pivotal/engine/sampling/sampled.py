"""From lists of neighbours to estimates of the values: the sum over queries, in threads.

A batch of queries is sampled in one or more passes. The first one counts the queries, block by block. If what limits
the sampling is a standard error or the time, further passes draw more samples of the same queries; each is added when
it is complete. All queries of a batch therefore have the same number of samples, and nothing depends on the blocks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.plan import Plan, batch_sizes, seed_words
from pivotal.core.threads import check_cancelled, count_threads, run_all, slices
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.game_shape import GameShape, GameSpec
from pivotal.engine.passes import Pass
from pivotal.engine.sampling.drawing import Drawing, make_drawing
from pivotal.engine.sampling.laws import check_drawable, is_certain, law_of, typical_square
from pivotal.engine.sampling.sample_sums import SampleState, SampleSums, SampleTotals
from pivotal.engine.solver import Block
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.engine.truncation import Truncation
from pivotal.kernels.sample_arrays import Estimates, Law, SampleScratch, Streams
from pivotal.results.per_query import PerQuery
from pivotal.results.values import Values

_RANKS_AT_ONCE = 500_000  # some milliseconds of sampling


class Drawn(NamedTuple):
    """A block of queries with estimates: all that the sums need to know of it."""

    players: IndexArray
    """Whose the estimates are, -1 where a query has fewer players than others; shape (n_queries, length)."""

    estimates: Estimates
    """Estimated values with their variances."""

    utilities: Utilities
    """What else is known of the queries."""

    depth: int
    """How long the lists were that were sampled."""


class SamplingEngine:
    """Adds up estimates of the values of the training points over blocks of queries.

    Parameters are as in `pivotal.engine.exact.Engine`; there are `n_values` values where the players are not the
    training points. Lists should be `depth` long; a start, as in `Engine`.
    """

    def __init__(
        self,
        spec: GameSpec,
        labels: AnyArray,
        shape: GameShape,
        *,
        plan: Plan,
        n_jobs: int | None = -1,
        n_values: int | None = None,
    ) -> None:
        check_drawable(spec.semivalue, plan.method)
        self._labels, self._game, self._semivalue = labels, spec.game, spec.semivalue
        self._k, self._n_classes, self._n_players = spec.k, shape.n_classes, shape.n_players
        self._plan = plan
        self._certain = is_certain(spec.semivalue, plan.method)
        self._lists = Truncation(spec, labels, shape)
        self.depth = self._lists.depth
        self._n_threads = count_threads(n_jobs)
        self._drawing = self._make_drawing()
        self._tools: dict[int, tuple[Law, list[SampleScratch]]] = {}
        self._deepest, self._heaviest = 0, 0.0
        self._seed = seed_words(plan.random_state)
        self._n_values = labels.shape[0] if n_values is None else n_values
        self._nothing = SampleTotals.nothing(self._n_values)
        now = SampleSums.nothing(self._n_values, plan.first)
        self._state = SampleState(self._nothing, now, np.zeros(self._n_values, dtype=np.bool_), QueryTotals())

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return self._state.totals.n_queries

    def passes(self, n_queries: int) -> Iterator[Pass]:
        """Yield the runs through a batch of queries: one that counts them, then those that refine the estimates."""
        start = time.perf_counter()
        size, first_query, first_batch = self._plan.first, self.n_queries, 0
        if not self._plan.fixed:
            # The number of samples of these queries will be their own.
            state, nothing = self._state, SampleSums.nothing(self._n_values, size)
            self._state = SampleState(state.past.plus(state.now), nothing, state.listed, state.totals)
        step: _Pass = _FirstPass(self, size, first_query, first_batch)
        while True:
            began = time.perf_counter()
            yield step
            ended = time.perf_counter()
            if isinstance(step, _LaterPass):
                if step.n_added < n_queries:  # out of time
                    return
                state = self._state
                self._state = SampleState(state.past, state.now.refined(step.sums), state.listed, state.totals)
            # The samples of these queries decide; those of former batches cannot be had again.
            now = self._state.now
            error = float(np.sqrt(self._variances(self._nothing.plus(now)).max()) / (now.weight or 1.0))
            pace, overhead = step.seconds / size, ended - began - step.seconds
            first_batch += len(batch_sizes(size))
            size = self._plan.next(self._state.now.n_samples, error, pace, overhead, ended - start)
            if size == 0:
                return
            deadline = None if self._plan.max_time is None else start + self._plan.max_time
            step = _LaterPass(self, size, first_query, first_batch, deadline)

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        return self._lists.suffice(indices, targets)

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_train,)."""
        return self._state.past.plus(self._state.now).totals / self._state.totals.divisor

    def standard_errors(self) -> FloatArray:
        """Return the standard errors of `values`."""
        whole, divisor = self._state.past.plus(self._state.now), self._state.totals.divisor
        errors: FloatArray = np.sqrt(self._variances(whole)) / divisor
        return errors

    def result(self, **about: Any) -> Values:
        """Values so far, with their standard errors and the bound on what is not due to chance."""
        whole = self._state.past.plus(self._state.now)
        found = {
            "method": self._plan.method,
            "n_samples": [whole.fewest, whole.largest],
            "target_se": self._plan.target_se,
            "max_time": self._plan.max_time,
            "random_state": self._plan.random_state if isinstance(self._plan.random_state, int) else None,
            "depth": self._deepest,
            "n_players": self._n_players,
            "n_classes": self._n_classes,
        }
        return self._state.totals.result(
            self.values(),
            found,
            standard_error=self.standard_errors(),
            query_standard_error=whole.query_errors(self._state.totals),
            **about,
            queries=self._kept(),
        )

    def _counted(self, drawn: Drawn) -> None:
        """Take note of queries that are about to be counted."""

    def _kept(self) -> PerQuery | None:
        """Return the estimates of single queries, where they are kept."""
        return None

    def drawn(
        self,
        indices: IndexArray,
        votes: CodeArray | None,
        targets: AnyArray,
        size: int,
        first_query: int,
        first_batch: int,
    ) -> Drawn:
        """Sample some queries without counting them: what can be done elsewhere.

        Each gets `size` samples. The numbers of the first query and of its first batch of samples say from which
        streams to draw.
        """
        indices = np.ascontiguousarray(indices)
        block = Block(self._labels[indices], None if votes is None else np.ascontiguousarray(votes), targets)
        estimates, dropped = self._estimate(indices, block, size, first_query, first_batch)
        utilities = Utilities.of(self._game, block, dropped, self._labels, self._n_classes, self._k)
        return Drawn(self._players(indices), estimates, utilities, self._deepest)

    def for_worker(self) -> SamplingEngine:
        """Return an engine that samples the same in one thread, and has nothing to count: small enough to be sent."""
        other = copy(self)
        other._nothing = SampleTotals.nothing(0)
        other._state = SampleState(other._nothing, SampleSums.nothing(0, 0), np.zeros(0, dtype=np.bool_), QueryTotals())
        other._n_threads, other._tools = 1, {}
        return other

    def _variances(self, whole: SampleTotals) -> FloatArray:
        """Variances of the sums over queries, by chance.

        Every point may have contributed once more than was seen. With that added, an interval of two standard errors
        covers the truth about as often as it should also for points that were rarely or never seen to contribute.
        """
        if self._certain or whole.fewest is None:
            return whole.variances
        # The size of what may have gone unseen, squared, as variances see sizes: the large ones count most.
        squares, fourths = whole.moments
        known = squares > 0.0 and 0.0 < fourths < np.inf
        totals = self._state.totals
        size = fourths / squares if known else (totals.heaviest * totals.utility_range) ** 2
        unseen = self._heaviest * size / whole.fewest**2
        return np.where(self._state.listed, whole.variances + unseen, whole.variances)

    def _make_drawing(self) -> Drawing:
        """Return what a sample is worth."""
        return make_drawing(self._game, self._k, self._n_classes)

    def _players(self, indices: IndexArray) -> IndexArray:
        """Whose estimates those of each query are."""
        return indices

    def _estimate(
        self, indices: IndexArray, block: Block, size: int, first_query: int, first_batch: int
    ) -> tuple[Estimates, FloatArray]:
        """Sample the games of a block; also return the bound on what the points beyond the lists could change."""
        n_queries, width = block.labels.shape
        found = Estimates(np.zeros((n_queries, width)), np.zeros((n_queries, width)), np.zeros((n_queries, 2)))
        dropped = np.zeros(n_queries)
        numbers = first_query + np.arange(n_queries)
        for depth, queries in self._lists.by_depth(block):
            part = block.part(queries, depth)
            sampled = self._sample(part, size, numbers[queries], first_batch)
            found.means[queries, :depth], found.variances[queries, :depth] = sampled.means, sampled.variances
            found.moments[queries] = sampled.moments
            dropped[queries] = self._lists.dropped(part)
        return found, dropped

    def _sample(self, block: Block, n_samples: int, numbers: IndexArray, first_batch: int) -> Estimates:
        """Sample games with lists of one length, in threads."""
        n_queries, depth = block.labels.shape
        self._deepest = max(self._deepest, depth)
        if depth not in self._tools:
            scratch = [self._drawing.scratch(depth) for _ in range(self._n_threads)]
            law = law_of(self._semivalue, self._plan.method, depth)
            self._tools[depth] = law, scratch
            self._heaviest = max(self._heaviest, typical_square(law))
        # They come back when the work is done: threads that are interrupted may go on for a moment.
        law, scratch = self._tools.pop(depth)
        found = Estimates(np.zeros((n_queries, depth)), np.zeros((n_queries, depth)), np.zeros((n_queries, 2)))
        sizes = batch_sizes(n_samples)
        batches = first_batch + np.arange(len(sizes))
        # Of an order all points are visited, of a coalition those up to its k-th member.
        ranks = depth if law.permute else min(depth, 8 * self._k)
        at_once = max(1, _RANKS_AT_ONCE // (ranks * int(sizes[0])))  # batches of some query
        idle = list(scratch)  # a thread takes one piece while it works

        def work(queries: slice) -> None:
            own = idle.pop()
            part, mine = block.part(queries), Estimates(*(array[queries] for array in found))
            try:
                for start in range(0, len(sizes), at_once):
                    check_cancelled()
                    some = slice(start, start + at_once)
                    streams = Streams(self._seed, numbers[queries], batches[some], sizes[some], n_samples)
                    self._drawing.draw(part, law, streams, own, mine)
            finally:
                idle.append(own)

        run_all(work, slices(n_queries, max(1, at_once // len(sizes)), self._n_threads), self._n_threads)
        self._tools[depth] = law, scratch
        return found


class _Pass:
    """One run through a batch of queries."""

    title = "sampling"
    deadline: float | None = None

    def __init__(self, engine: SamplingEngine, size: int, first_query: int, first_batch: int) -> None:
        self.engine, self.size, self.first_query, self.first_batch = engine, size, first_query, first_batch
        self.n_added = 0
        self.seconds = 0.0

    def add(
        self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None
    ) -> bool:
        """Sample a block; return whether another is wanted."""
        start = time.perf_counter()
        where = self.size, self.first_query + self.n_added, self.first_batch
        wanted = self.take(self.engine.drawn(indices, votes, targets, *where), weights)
        self.seconds += time.perf_counter() - start
        return wanted

    def take(self, drawn: Drawn, weights: FloatArray | None = None) -> bool:
        """Count a block that was sampled; return whether another is wanted."""
        if weights is None:
            weights = np.ones(len(drawn.players))  # multiplying by 1 changes no bit
        self.count(drawn, weights)
        self.n_added += len(drawn.players)
        return self.deadline is None or time.perf_counter() < self.deadline

    def count(self, drawn: Drawn, weights: FloatArray) -> None:
        raise AssertionError  # pragma: no cover


class _FirstPass(_Pass):
    """Counts the queries: what is added stays, also when the pass is interrupted."""

    def count(self, drawn: Drawn, weights: FloatArray) -> None:
        engine, state, players = self.engine, self.engine._state, drawn.players
        listed = state.listed.copy()
        listed[players[players >= 0]] = True
        totals = state.totals.add(drawn.utilities, weights)
        engine._deepest = max(engine._deepest, drawn.depth)
        engine._counted(drawn)
        # One assignment: a block that is interrupted counts whole or not at all.
        engine._state = SampleState(state.past, state.now.plus(players, drawn.estimates, weights), listed, totals)


class _LaterPass(_Pass):
    """Draws more samples of queries that are counted already; they are worth something only when it is complete."""

    title = "refining"

    def __init__(
        self, engine: SamplingEngine, size: int, first_query: int, first_batch: int, deadline: float | None
    ) -> None:
        super().__init__(engine, size, first_query, first_batch)
        self.sums = SampleSums.nothing(engine._n_values, size)
        self.deadline = deadline

    def count(self, drawn: Drawn, weights: FloatArray) -> None:
        self.sums = self.sums.plus(drawn.players, drawn.estimates, weights)
