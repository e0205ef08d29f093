"""Who is there and who is near whom, and how that is found out again when points come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import is_sparse
from pivotal.engine.editing.neighbor_lists import NeighborLists
from pivotal.engine.exact import Engine
from pivotal.neighbors import Index, blocks, fitting_queries

_SPARE, _SPARE_PART = 8, 8  # lists are longer than needed by this many points and by this part of what is needed


@dataclass(frozen=True)
class Search:
    """How neighbours are found among points that change.

    `index` makes an index of training points, and `alone` one of a few points whose distances are, to the last bit,
    those that any larger index would find; None where that cannot be promised, so that new points mean a new search.
    `votes` turns distances, and the numbers of the queries, into votes, which depend on `needed` neighbours.
    """

    index: Callable[[Any], Index]
    alone: Callable[[Any], Index] | None
    votes: Callable[[FloatArray, IndexArray], CodeArray | None]
    needed: int


@dataclass(frozen=True)
class EditState:
    """Who is there, and who is near whom."""

    points: Any
    labels: AnyArray
    classes: Sequence[Any]
    queries: Any  # None where the points are the queries
    targets: AnyArray
    weights: FloatArray
    near: NeighborLists
    engine: Engine

    @property
    def n_players(self) -> int:
        """Number of points in the game of one query."""
        return len(self.labels) - (self.queries is None)

    def rows(self, queries: AnyArray | slice) -> Any:
        """Features of some queries."""
        return self.points[queries] if self.queries is None else self.queries[queries]


class Finder:
    """Finds the neighbours of queries among points that change: those given at first, of which there is an index."""

    def __init__(self, search: Search, points: Any, index: Index) -> None:
        self._search, self._index, self._indexed = search, index, points

    def list_length(self, engine: Engine, depth: int | None = None) -> int:
        """Return how long lists should be: as long as the engine wants them or as is said, and some more."""
        needed = max(depth or engine.depth, self._search.needed)
        return needed + _SPARE + needed // _SPARE_PART

    def find(self, state: EditState, queries: IndexArray, depth: int) -> NeighborLists:
        """Search the lists of some queries of a scene."""
        if self._indexed is not state.points:  # the index is built when it is first needed
            self._index, self._indexed = self._search.index(state.points), state.points
        depth = min(depth, state.n_players)
        if state.queries is not None:
            return NeighborLists.of(*self._index.search(state.queries[queries], depth))
        return NeighborLists.of(*self._index.search_rows(queries, depth))

    def find_all(self, state: EditState, queries: IndexArray) -> NeighborLists:
        """Search the lists of any number of queries of a scene."""
        depth = self.list_length(state.engine)
        found = [self.find(state, queries[part], depth) for part in blocks(len(queries), fitting_queries(depth))]
        return NeighborLists.together(found) if found else state.near.only(queries)

    def merge_new_points(self, old: EditState, points: Any, width: int) -> NeighborLists:
        """Return the lists of the old queries with the new points on them."""
        assert self._search.alone is not None
        index, n_old, n_new = self._search.alone(points), len(old.labels), points.shape[0]
        met = []
        for part in blocks(len(old.targets), fitting_queries(n_new + old.near.width)):
            indices, distances = index.search(old.rows(part), n_new)
            room = min(width, old.n_players + n_new)
            met.append(old.near.only(part).joined_by(indices + n_old, distances, old.n_players, room))
        return NeighborLists.together(met) if met else old.near

    def lengthened(self, state: EditState, depth: int) -> EditState:
        """Search again where lists are shorter than needed."""
        depth = min(max(depth, self._search.needed), state.n_players)
        short = np.flatnonzero(state.near.lengths < depth)
        near = state.near
        for part in blocks(len(short), fitting_queries(depth)):
            found = self.find(state, short[part], self.list_length(state.engine, depth))
            near = near.replaced(short[part], found)
        return state if near is state.near else replace(state, near=near)


def as_kind(rows: Any, points: Any) -> Any:
    """Return features sparse if the training points are, and dense if they are."""
    if is_sparse(points):
        return rows.tocsr() if is_sparse(rows) else sparse.csr_array(rows)
    return rows.toarray() if is_sparse(rows) else np.asarray(rows)


def stacked(one: Any, other: Any) -> Any:
    """Return rows and then other rows of the same kind."""
    if is_sparse(one):
        return sparse.vstack([one, other], format="csr")
    return np.concatenate([one, other])
