"""Blocks of queries on the workers of a joblib backend that the user chose: processes here, or a cluster.

    blocks of queries ──► workers: search and solve, a block at a time ──► added up here, in the order of the queries

So the sums are, to the last bit, those of a run in threads. What all tasks have in common, the index and the engine, is
pickled once, its arrays apart from the rest and passed to joblib as arrays: processes map them into their memory, and
the workers of a cluster fetch each of them once.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

from pivotal.core.config import Resources
from pivotal.core.notices import notify
from pivotal.core.progress import tqdm
from pivotal.core.threads import chosen_backend
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine, Solved, SolvedRows
from pivotal.engine.multilabel import MultiLabelEngine
from pivotal.engine.passes import QueryCounter
from pivotal.engine.radius import RadiusEngine
from pivotal.engine.truncation import NeighborVotes
from pivotal.engine.whole_orders import WholeOrders
from pivotal.neighbors import BruteIndex, ChunkedIndex, Index, blocks

_BLOCKS_PER_WORKER = 4
_ENTRY_BYTES = 16  # of an answer: training index and value
_BUDGET = 2**30  # what lists may take in the workers, and answers that wait to be added up


@dataclass(frozen=True)
class WorkerTask:
    """What a worker needs to solve any block of the queries: what `for_worker` returns of an engine and of an index.

    `voters` says how many neighbours the engine wants; `lists` whether lists of neighbours are wanted back even where
    values of all points would do.
    """

    engine: Engine
    index: Index
    voters: NeighborVotes
    lists: bool = False

    def run(self, X: Any, first: int, targets: AnyArray) -> Solved | SolvedRows:
        """Solve a block of queries; X is None for the training points from `first` on, and otherwise the block."""
        whole = None if self.lists else WholeOrders.of(self.engine, self.index, self.voters, 1)
        if whole is not None:
            return self._solve_whole(whole, X, first, targets)

        def search(depth: int) -> Any:
            if X is None:
                return self.index.search_self(first, first + len(targets), depth)
            return self.index.search(X, depth)

        return self.engine.solved(*self.voters.of(search, targets, first), targets)

    def _solve_whole(self, whole: WholeOrders, X: Any, first: int, targets: AnyArray) -> SolvedRows:
        index = self.index
        assert isinstance(index, BruteIndex)  # no other has whole orders

        def queries(part: slice) -> tuple[Any, IndexArray]:
            if X is None:
                own = np.arange(first + part.start, first + part.stop)
                return index.own_rows(own[0], own[-1] + 1), own
            return index.rows(X[part]), np.full(part.stop - part.start, -1)

        return whole.solved(queries, targets, first)


@dataclass(frozen=True)
class Workers:
    """The workers of the backend that the user chose."""

    n_jobs: int  # how many are wanted, as joblib takes it
    n_workers: int  # how many there are
    streams_results: bool  # whether answers can be had one by one, as they come

    def count(
        self,
        engine: Engine,
        task: WorkerTask,
        X: Any,
        targets: AnyArray,
        *,
        depth: int,
        resources: Resources,
        weights: FloatArray | None = None,
    ) -> bool:
        """Take a batch of queries to the workers and back; return False, and say why, if that is not possible.

        It is not where something cannot be pickled, such as an index of the user's that is connected to a database.
        What goes wrong in a worker is raised here; blocks that came back before are counted.

        `X` is None for the training points. `depth` is the number of neighbours to search for at first. Of the
        resources, every worker gets a few blocks by default, and lists take at most 1 GiB in all workers together. Each
        query counts 1 where there are no weights.
        """
        try:
            parts = _pack(task)
        except Exception as error:  # noqa: BLE001  whatever an index of someone else's raises
            _say_unused(f"something cannot be pickled ({type(error).__name__}: {error})")
            return False
        budget = _BUDGET if resources.budget is None else resources.budget
        block_size = resources.block_size
        if block_size is None:
            few = -(-len(targets) // (_BLOCKS_PER_WORKER * self.n_workers))
            block_size = min(few, task.index.block_size(depth, budget // self.n_workers))
        tasks = list(blocks(len(targets), block_size))
        # What is added up here is not waited for, so what comes back might pile up: some of the tasks at a time.
        at_once = max(2 * self.n_workers, budget // (_ENTRY_BYTES * depth * block_size))
        if not self.streams_results:
            at_once = min(at_once, _BLOCKS_PER_WORKER * self.n_workers)
        how: dict[str, Any] = {
            "return_as": "generator" if self.streams_results else "list",
            "batch_size": 1,
            "mmap_mode": "c",  # the arrays are not written to, but for read-only ones numba would compile kernels again
        }
        for step in engine.passes(len(targets)):
            with (
                tqdm(total=len(targets), unit="query", disable=not resources.progress, desc=step.title) as bar,
                Parallel(self.n_jobs, **how) as parallel,
            ):
                for start in range(0, len(tasks), at_once):
                    some = tasks[start : start + at_once]
                    answers = parallel(
                        delayed(_run)(None if X is None else X[queries], queries.start, targets[queries], *parts)
                        for queries in some
                    )
                    try:
                        for queries, solved in zip(some, answers, strict=True):
                            engine.count(solved, targets[queries], None if weights is None else weights[queries])
                            bar.update(queries.stop - queries.start)
                    finally:
                        if self.streams_results:
                            with warnings.catch_warnings():
                                warnings.simplefilter("ignore")  # that an interruption leaves answers unused
                                answers.close()
        return True


def chosen_workers(n_jobs: int | None) -> Workers | None:
    """Return the workers of the joblib backend that the user chose; None if there are none but the threads here.

    How many is left to ``joblib.parallel_config`` where `n_jobs` is -1 or None.
    """
    backend = chosen_backend()
    if backend is None:
        return None
    _, configured = get_active_backend()
    if n_jobs in (None, -1) and configured is not None:
        n_jobs = configured
    wanted = backend.default_n_jobs if n_jobs is None else n_jobs
    n_workers = int(backend.effective_n_jobs(wanted))
    streams_results = bool(getattr(backend, "supports_return_generator", False))
    return Workers(wanted, n_workers, streams_results) if n_workers > 1 else None


def supports_backend(engine: QueryCounter, index: Index) -> TypeGuard[Engine]:
    """Return whether blocks of queries can be solved elsewhere.

    They are for exact games of the k nearest with one label per point. Samplers, games of points within a radius and
    many labels per point stay in threads here, and so do training points in a file, which is read once for all of a
    block.
    """
    exact = isinstance(engine, Engine) and not isinstance(engine, MultiLabelEngine)
    return exact and not isinstance(index, ChunkedIndex)


def why_backend_unused(engine: QueryCounter, index: Index) -> str:
    """Say why blocks of queries are not solved elsewhere, where `supports_backend` says that they are not."""
    if isinstance(index, ChunkedIndex):
        return "training points in a file are read once for all of a block"
    if isinstance(engine, MultiLabelEngine):
        return "many labels per point are valued here"
    return "points within a radius are counted here" if isinstance(engine, RadiusEngine) else "samples are drawn here"


def warn_backend_unused(n_jobs: int | None, reason: str) -> None:
    """Tell the user that the joblib backend that they chose is not used, if they chose one."""
    if chosen_workers(n_jobs) is not None:
        _say_unused(reason)


def _say_unused(reason: str) -> None:
    name = type(chosen_backend()).__name__
    notify(
        f"joblib's {name} was chosen and is not used: {reason}. The work is done in threads of this process; omit "
        "joblib.parallel_config to choose that."
    )


def _pack(task: WorkerTask) -> Sequence[AnyArray]:
    """Return a pickle and the arrays that it refers to, all as bytes."""
    import cloudpickle

    arrays: list[pickle.PickleBuffer] = []
    rest = cloudpickle.dumps(task, protocol=5, buffer_callback=arrays.append)
    return [np.frombuffer(part, np.uint8) for part in (rest, *(array.raw() for array in arrays))]


def _run(X: Any, first: int, targets: AnyArray, *parts: AnyArray) -> Solved | SolvedRows:
    """Unpack a task and run it, in a worker."""
    with parallel_config("sequential"):  # for code that calls joblib in there
        task: WorkerTask = pickle.loads(parts[0].data, buffers=parts[1:])
        return task.run(X, first, targets)
