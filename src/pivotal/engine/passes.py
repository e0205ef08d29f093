"""Runs through a batch of queries: what an engine offers, and the loop that takes the blocks through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.neighbors import blocks
from pivotal.results.values import Values


class Pass(Protocol):
    """One run through a batch of queries, block by block."""

    title: str
    """What it does, for the progress bar."""

    def add(self, indices: Any, votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None) -> bool:
        """Take a block, as lists of neighbours or as balls; return whether the pass wants another."""


class QueryCounter(Protocol):
    """What counts queries: the exact engine, or a sampler."""

    depth: int

    @property
    def n_queries(self) -> int:
        """Queries added so far."""

    def passes(self, n_queries: int) -> Iterator[Pass]:
        """Yield the runs through a batch of this many queries, each when the one before has ended."""

    def suffices(self, indices: IndexArray, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_train,)."""

    def result(self, **about: Any) -> Values:
        """Values so far, with their errors, which take the lists of neighbours as right; `about` is for `Values`."""


def count_queries(
    counter: QueryCounter,
    targets: AnyArray,
    lists: Callable[[slice], tuple[Any, CodeArray | None]],
    block_size: int,
    *,
    weights: FloatArray | None = None,
    progress: bool,
) -> None:
    """Take a batch of queries through all the passes that a counter wants, with a bar for each.

    `lists` gives the neighbours, and their votes, of a slice of the queries. Each counts 1 where there are no weights.
    """
    for step in counter.passes(len(targets)):
        with tqdm(total=len(targets), unit="query", disable=not progress, desc=step.title) as bar:
            for queries in blocks(len(targets), block_size):
                indices, votes = lists(queries)
                wanted = step.add(indices, votes, targets[queries], None if weights is None else weights[queries])
                bar.update(queries.stop - queries.start)
                if not wanted:
                    break
