"""Neighbours, values and predictions of all rows, under labels that change and rows that go and come back.

This is the one file of the room that knows how edits are made. The lists of neighbours are searched once and never
change: a row that is dropped stays on the lists and is passed over, so that taking a drop back restores every list to
the last digit. An edit of a row touches the queries that have it on their list, which the reversed lists name at once:
what they said is subtracted, the edit is made, and what they say now is added. Nothing else is looked at, so that an
edit takes as long with a million rows as with a thousand. (The editing engine of the package, which adds points too and
moves all others up where one is removed, writes its lists anew for that; the tests hold one against the other.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pivotal.core.games import Plurality, Soft
from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.neighbors import Index, KeptLists, blocks
from pivotal.review._ballots import RowVotes

_TOLERANCE: Final = 1e-12  # what neighbours that are not looked at can add to a value
_SHOWN: Final = 8  # neighbours that a page shows, at least
_SPARE: Final = 8  # ranks kept beyond those needed, for rows that are dropped; and an eighth of those needed
_BLOCK: Final = 20_000  # queries that are valued at a time


class LiveNeighbors:
    """The nearest rows of every row, and what follows from their labels.

    Values are soft-label Banzhaf values to the predictions of all other rows, as in `find_label_errors`. Votes are the
    shares of a row's nearest neighbours by label, each counted by its chance to be among the k nearest in a random half
    of the rows. Accuracy is that of leave-one-out predictions by plurality among the k nearest.

    The class codes are those at first; the attributes `codes` and `alive`, which names the `n_alive` rows that are not
    dropped, are those at present, not to be written to. `ballots` are the votes as `find_label_errors` counts them.
    Progress is told the share of the search that is done, from 0 to 1.
    """

    def __init__(
        self,
        index: Index,
        codes: CodeArray,
        n_classes: int,
        k: int,
        *,
        progress: Callable[[float], object] | None = None,
    ) -> None:
        self.codes: CodeArray = codes.copy()
        self.alive: npt.NDArray[np.bool_] = np.ones(len(codes), np.bool_)
        self._index, self._n_classes, self._k = index, n_classes, min(k, len(codes) - 1)
        self._count()
        self._needed = _needed(k, len(codes))
        width = list_length(k, len(codes))
        kept = index if isinstance(index, KeptLists) and index.depth >= width else KeptLists(index, width)
        kept.fill(on_progress=progress)
        kept.forget_distances()
        self._lists = kept.indices
        self._holders = _reversed(self._lists)
        self._passing = np.zeros(len(codes), np.bool_)  # lists with a row that is passed over
        self._longer: dict[int, IndexArray] = {}  # lists that were too short once many of their rows were dropped
        self._longer_holders: dict[int, set[int]] = {}
        self._value_all()

    @property
    def depth(self) -> int:
        """How many neighbours count."""
        return min(self._needed, self.n_alive - 1)

    @property
    def accuracy(self) -> float:
        """Share of the rows whose label their k nearest neighbours predict."""
        return self._n_right / self.n_alive

    def values(self, rows: IndexArray | None = None) -> FloatArray:
        """Return the values of some rows, or of all; 0 for those that are dropped."""
        chosen = slice(None) if rows is None else rows
        values: FloatArray = (self._totals[chosen] + self._rests[chosen]) / self.n_alive
        return np.where(self.alive[chosen], values, 0.0)

    def edit(self, rows: IndexArray, codes: CodeArray, alive: npt.NDArray[np.bool_], n_classes: int) -> IndexArray:
        """Give rows, each once, other class codes, drop them or take them back; there may be more classes than before.

        Returned are the rows whose ballots may have changed, ascending: the edited ones among them.
        """
        if self.n_alive + int(alive.sum()) - int(self.alive[rows].sum()) < 2:
            raise ValueError("at least two rows must stay, as they are each other's neighbours; keep some of them.")
        touched = self._touched_by(rows)
        before = self._game_size()
        moved = bool((alive != self.alive[rows]).any())
        gone = [self.neighbors(touched[self.alive[touched]]).ravel()] if moved else []  # those now at the end of lists
        self._add(touched[self.alive[touched]], -1.0)
        self.codes[rows] = codes
        self.alive[rows] = alive
        self._n_classes = n_classes
        self.ballots.widen(n_classes)
        self._count()
        self._passing[touched] = ~self.alive[self._lists[touched]].all(axis=1)
        if self._game_size() != before:  # every query plays another game now: tiny tables, a class that comes or goes
            self._value_all()
            if self.depth != before[0]:
                return np.arange(len(self.codes))
        else:
            self._add(touched[self.alive[touched]], 1.0)
        # Rows that are dropped move up all that follow on a list, on which other votes are cast then.
        casting = rows if not moved else touched
        return np.unique(np.concatenate([touched, self.neighbors(casting[self.alive[casting]]).ravel(), *gone]))

    def neighbors(self, rows: IndexArray, depth: int | None = None) -> IndexArray:
        """Return the nearest rows that are not dropped; shape (n_asked, depth)."""
        depth = self.depth if depth is None else min(depth, self.depth)
        nearest = self._lists[rows, :depth].astype(np.int64)
        for place in np.flatnonzero(self._passing[rows]):
            nearest[place] = self._list_of(int(rows[place]), depth)
        return nearest

    def votes(self, rows: IndexArray) -> FloatArray:
        """Return the share of the votes that each class receives from the neighbours; shape (n_asked, n_classes)."""
        nearest, weights = self.neighbors(rows), self._weights
        cells = self.codes[nearest] + self._n_classes * np.arange(len(rows))[:, None]
        counted = np.bincount(
            cells.ravel(), np.broadcast_to(weights, cells.shape).ravel(), minlength=self._n_classes * len(rows)
        )
        shares: FloatArray = counted.reshape(len(rows), self._n_classes) / weights.sum()
        return shares

    def harmed(self, row: int, max_rows: int) -> tuple[IndexArray, FloatArray]:
        """Return the rows whose prediction a row harms most, worst first, and its value to each of them."""
        queries = self._touched_by(np.array([row]))
        queries = queries[self.alive[queries] & (queries != row)]
        nearest, values = self._solve(queries)
        worth = np.where(nearest == row, values, 0.0).sum(axis=1)
        order = np.argsort(worth, kind="stable")[:max_rows]
        order = order[worth[order] < 0.0]
        return queries[order], worth[order]

    def predicted_all(self) -> npt.NDArray[np.bool_]:
        """Return whether the k nearest neighbours of each row predict its label; False for those that are dropped."""
        right = np.zeros(len(self.codes), np.bool_)
        rows = np.flatnonzero(self.alive)
        for part in blocks(len(rows), _BLOCK):
            right[rows[part]] = self._right(self.neighbors(rows[part], self._k), rows[part]) > 0.0
        return right

    def _count(self) -> None:
        """Count the rows that are there, and the classes they have."""
        there = self.codes[self.alive]
        self.n_alive = len(there)
        self._n_present = int(np.count_nonzero(np.bincount(there, minlength=self._n_classes)))

    def _game_size(self) -> tuple[int, int]:
        """Return how many neighbours count and how many classes there are."""
        return self.depth, self._n_present

    def _touched_by(self, rows: IndexArray) -> IndexArray:
        """Return the rows themselves and all that have one of them on their list."""
        starts, stops = self._holders.indptr[rows], self._holders.indptr[rows + 1]
        parts = [self._holders.indices[start:stop] for start, stop in zip(starts, stops, strict=True)]
        longer = [sorted(self._longer_holders.get(int(row), ())) for row in rows]
        return np.unique(np.concatenate([rows, *parts, *longer]).astype(np.int64))

    def _list_of(self, row: int, depth: int) -> IndexArray:
        """Return the nearest of one row that are not dropped, searching further where its list has run out."""
        known = self._longer.get(row, self._lists[row])
        there = known[self.alive[known]]
        while len(there) < depth:
            width = min(2 * len(known), len(self.codes) - 1)
            known = self._index.search_rows(np.array([row]), width)[0][0]
            there = known[self.alive[known]]
            self._longer[row] = known
            for other in known[self._lists.shape[1] :].tolist():
                self._longer_holders.setdefault(other, set()).add(row)
        nearest: IndexArray = there[:depth].astype(np.int64)
        return nearest

    def _value_all(self) -> None:
        """Value every query; where their game itself has changed, or at first."""
        self._solver = make_solver(Soft(), Banzhaf(), self._k, *self._game_size())
        self._weights = Banzhaf().reach(self._k, self.depth)
        n_rows = len(self.codes)
        self.ballots = RowVotes(n_rows, self._n_classes, self._k, self.depth)
        self._totals, self._rests, self._n_right = np.zeros(n_rows), np.zeros(n_rows), 0.0
        self._add(np.flatnonzero(self.alive), 1.0)

    def _add(self, queries: IndexArray, sign: float) -> None:
        """Add what queries say, or with -1 subtract it: to the last digit, as sums are compensated."""
        from pivotal.kernels.accumulate import add_queries

        for part in blocks(len(queries), _BLOCK):
            nearest, values = self._solve(queries[part])
            add_queries(nearest, sign * values, self._totals, self._rests)
            self.ballots.add(queries[part], nearest, self.codes, sign)
            self._n_right += sign * float(self._right(nearest[:, : self._k], queries[part]).sum())

    def _solve(self, queries: IndexArray) -> tuple[IndexArray, FloatArray]:
        """Return the neighbours of queries and their values to them."""
        nearest = np.ascontiguousarray(self.neighbors(queries))
        values = np.empty(nearest.shape)
        block = Block(self.codes[nearest], None, self.codes[queries])
        self._solver.solve(block, self._solver.scratch(), values)
        return nearest, values

    def _right(self, nearest: IndexArray, queries: IndexArray) -> FloatArray:
        return Plurality().full_utility(self.codes[nearest], None, self.codes[queries], self._n_classes, self._k)


def list_length(k: int, n_rows: int) -> int:
    """Return how many neighbours of each row are kept when k of them vote: those that count and some more."""
    needed = _needed(k, n_rows)
    return min(n_rows - 1, needed + _SPARE + needed // 8)


def _needed(k: int, n_rows: int) -> int:
    max_rows = n_rows - 1
    return max(min(_SHOWN, max_rows), Banzhaf().depth(min(k, max_rows), _TOLERANCE, max_rows))


def _reversed(lists: npt.NDArray[np.int32]) -> sparse.csr_array:
    """Return, for every row, the rows that have it on their list: as the pattern of a sparse matrix, by rows."""
    n_rows, width = lists.shape
    starts = np.arange(n_rows + 1, dtype=np.int64 if n_rows * width >= 2**31 else np.int32) * width
    pattern = sparse.csr_array((np.ones(lists.size, np.int8), lists.ravel(), starts), shape=(n_rows, n_rows))
    return sparse.csr_array(pattern.T)  # columns become rows in one pass
