"""One batch of queries on its way into the sums: where it is counted, and how many queries at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pivotal.core.config import Resources
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import Checked
from pivotal.engine.far_points import FarPoints
from pivotal.engine.joblib_backend import (
    WorkerTask,
    chosen_workers,
    supports_backend,
    warn_backend_unused,
    why_backend_unused,
)
from pivotal.engine.passes import QueryCounter, count_queries
from pivotal.engine.truncation import NeighborVotes
from pivotal.engine.whole_orders import WholeOrders
from pivotal.neighbors import Balls, BruteIndex, Index

_BALL = 64  # points near a query, for the size of blocks; larger balls are found some queries at a time


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries of one `update`, checked, with all that counting them takes."""

    index: Index
    features: Any
    """The training points: an array, a sparse matrix or a source of rows."""

    queries: Any
    """The queries; None where the training points are the queries."""

    targets: AnyArray
    weights: FloatArray | None
    """How much each query counts; 1 each when None."""

    resources: Resources

    def count(self, engine: QueryCounter, voters: NeighborVotes, depth: int) -> None:
        """Count the queries of a game of the k nearest: on workers, by whole orders, or list by list."""
        if self._count_on_backend(engine, voters, depth) or self._count_whole_orders(engine, voters):
            return

        def lists(part: slice) -> tuple[IndexArray, CodeArray | None]:
            return voters.of(lambda depth: self.search(part, depth), self.targets[part], part.start)

        self._count(engine, lists, depth)

    def count_balls(self, engine: QueryCounter, radius: float) -> None:
        """Count the queries of a game that all points within a radius play."""
        warn_backend_unused(self.resources.n_jobs, why_backend_unused(engine, self.index))

        def balls(part: slice) -> tuple[Iterator[Balls], None]:
            if self.queries is None:
                return self.index.search_radius_self(part.start, part.stop, radius, self.resources.budget), None
            return self.index.search_radius(Checked(self.queries[part]), radius, self.resources.budget), None

        self._count(engine, balls, _BALL)

    def search(self, part: slice, depth: int) -> tuple[IndexArray, FloatArray]:
        """Return the neighbours of a slice of the queries, and how far they are."""
        if self.queries is None:
            return self.index.search_self(part.start, part.stop, depth)
        return self.index.search(Checked(self.queries[part]), depth)

    def queries_at_once(self, depth: int) -> int:
        """Return how many queries make a block, with lists of this length."""
        return self.resources.block_size or self.index.block_size(depth, self.resources.budget)

    def _count(self, engine: QueryCounter, lists: Callable[[slice], tuple[Any, CodeArray | None]], depth: int) -> None:
        at_once = self.queries_at_once(depth)
        count_queries(engine, self.targets, lists, at_once, weights=self.weights, progress=self.resources.progress)

    def _count_on_backend(self, engine: QueryCounter, voters: NeighborVotes, depth: int) -> bool:
        """Count on the workers of the joblib backend that the user chose, if there is one and they can."""
        if (workers := chosen_workers(self.resources.n_jobs)) is None:
            return False
        if not supports_backend(engine, self.index):
            warn_backend_unused(self.resources.n_jobs, why_backend_unused(engine, self.index))
            return False
        small, index = engine.for_worker(), self.index.for_worker(len(self.targets), depth)
        task = WorkerTask(small, index, voters.for_counter(small), lists=engine.recorder is not None)
        how: dict[str, Any] = {"depth": depth, "resources": self.resources, "weights": self.weights}
        return workers.count(engine, task, self.queries, self.targets, **how)

    def _count_whole_orders(self, engine: QueryCounter, voters: NeighborVotes) -> bool:
        """Count a game in which every point matters, where that can be done without lists of all points."""
        index = self.index
        if not isinstance(index, BruteIndex):
            return False
        counter = FarPoints.of(engine, index, lambda: WholeOrders.of(engine, index, voters, self.resources.n_jobs))
        if counter is None:
            return False
        rows = self.features if self.queries is None else self.queries

        def queries(part: slice) -> tuple[Any, IndexArray]:
            own = np.arange(part.start, part.stop) if self.queries is None else np.full(part.stop - part.start, -1)
            return index.rows(Checked(rows[part])), own

        how = self.resources
        counter.count(queries, self.targets, weights=self.weights, block_size=how.block_size, progress=how.progress)
        return True
