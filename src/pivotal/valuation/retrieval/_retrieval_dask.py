"""Rankings that Dask holds: blocks of queries are solved by the workers, and added up here in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.valuation.dask.dask_inputs import need_dask
from pivotal.valuation.retrieval._judgements import Judgements
from pivotal.valuation.retrieval.document_engine import DocumentEngine
from pivotal.valuation.retrieval.document_sampler import RetrievalSampler
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem, check_lists, judged_first

_ENTRY_BYTES = 32  # of an answer: document, value, and variance where it is sampled
_BUDGET = 2**30  # what answers may take that wait to be added up

Work = Callable[[IndexArray, Judgements, int], Any]
"""Of lists, judgements and the number of the first query."""


def each_block(problem: RetrievalProblem, work: Work) -> Iterator[tuple[slice, Any]]:
    """Yield the slice of each block of queries and what its work, done by the workers, returns, in their order."""
    need_dask()
    import dask

    rows = problem.indices.rechunk({1: -1})
    bounds = np.concatenate(([0], np.cumsum(rows.chunks[0])))
    shared, tasks = dask.delayed(work, pure=True), []
    for number, block in enumerate(rows.to_delayed().ravel()):
        part = slice(int(bounds[number]), int(bounds[number + 1]))
        judgements, size = problem.judgements[part], len(problem.documents)
        tasks.append((part, dask.delayed(_run)(shared, block, judgements, size, part.start)))
    at_once = max(1, _BUDGET // (_ENTRY_BYTES * max(1, *rows.chunks[0]) * max(1, rows.shape[1])))
    for start in range(0, len(tasks), at_once):
        some = tasks[start : start + at_once]
        yield from zip((part for part, _ in some), dask.compute(*(task for _, task in some)), strict=True)


def count_on_dask(
    counter: DocumentEngine | RetrievalSampler,
    problem: RetrievalProblem,
    weights: FloatArray | None,
    *,
    ignore: bool,
    k: int,
    progress: bool,
) -> float:
    """Count all queries; sums are, to the last bit, those of a run in this process.

    Return which share of the k documents that are retrieved has a judgement; those without one are taken out of the
    lists where they are to be ignored.
    """
    judged, listed, n_queries = 0, 0, len(problem.judgements)
    for step in counter.passes(n_queries):
        began, wanted = time.perf_counter(), True
        judged, listed = 0, 0
        sampling = cast(Any, step)
        if isinstance(counter, DocumentEngine):
            own_work: Work = partial(_solve, counter.for_worker())
        else:
            where = sampling.size, sampling.first_query, sampling.first_batch
            own_work = partial(_draw, counter.for_worker(), *where)
        work = partial(_answer, own_work, counter.depth, k, ignore)
        with tqdm(total=n_queries, unit="query", disable=not progress, desc=step.title) as bar:
            for part, (counts, answer) in each_block(problem, work):
                judged, listed = judged + counts[0], listed + counts[1]
                own = None if weights is None else weights[part]
                if isinstance(counter, DocumentEngine):
                    counter.count(answer, cast(Any, problem.judgements[part]), own)
                else:
                    wanted = sampling.take(answer, own)
                    sampling.seconds = time.perf_counter() - began
                bar.update(part.stop - part.start)
                if not wanted:
                    break
    return judged / listed if listed else 0.0


def _run(work: Work, block: AnyArray, judgements: Judgements, n_documents: int, first: int) -> Any:
    """Check a block and do its work, in a worker."""
    lists = np.ascontiguousarray(np.asarray(block), dtype=np.int64)
    check_lists(lists, n_documents, first)
    return work(lists, judgements, first)


def _answer(work: Work, depth: int, k: int, ignore: bool, lists: IndexArray, judgements: Judgements, first: int) -> Any:
    """Return how many of the first k are judged and listed, and what the work says of the lists."""
    top = np.ascontiguousarray(lists[:, :k])
    counts = int(judgements.look_up(top).judged.sum()), int((top >= 0).sum())
    if ignore:
        lists = judged_first(lists, judgements)
    return counts, work(np.ascontiguousarray(lists[:, :depth]), judgements, first)


def _solve(engine: Any, lists: IndexArray, judgements: Judgements, _first: int) -> Any:
    return engine.solved(lists, None, judgements)


def _draw(
    engine: Any, size: int, first_query: int, first_batch: int, lists: IndexArray, judgements: Judgements, first: int
) -> Any:
    return engine.drawn(lists, None, judgements, size, first_query + first, first_batch)
