"""Shapley values to a tolerance where points are very many: the nearest in order, the others by shells.

A point far away enters a value only through a smooth function of its rank. So only the nearest points are put in order;
all others are counted by shells around the query, and points of a shell get the value of its middle, with a bound that
is computed from the counts (`pivotal.kernels.shell_values`, docs/theory.md). Points are looked at twice, and nothing is
sorted but the nearest. A query for which the bound exceeds the tolerance, or around which distances are too much alike
for shells, goes by the order of all points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

import numpy as np

from pivotal.core.games import Game, Hard, Soft
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Shapley
from pivotal.core.threads import single_threaded_blas
from pivotal.core.types import AnyArray, CodeArray, FloatArray
from pivotal.engine.exact import Engine
from pivotal.engine.solver import Block
from pivotal.engine.solvers import make_solver
from pivotal.engine.totals import Utilities
from pivotal.engine.whole_orders import Queries, WholeOrders
from pivotal.neighbors import Index, Shells, blocks, shells_of

# Queries looked at together.
_QUERIES_AT_ONCE = 24
# At least this many points are put in order; and at most this part of all, or sorting all is the better way.
_FEWEST_NEAR = 1024
_PART_NEAR = 8


class FarPoints:
    """Counts queries of a game of two kinds of points, right and wrong, to a tolerance.

    `make_whole` makes what counts queries that need the order of all points.
    """

    def __init__(self, engine: Engine, shells: Shells, make_whole: Callable[[], WholeOrders]) -> None:
        self._engine, self._shells, self._make_whole = engine, shells, make_whole
        self._whole: WholeOrders | None = None
        self._two_kinds = _TwoKinds(engine, shells.room)

    @staticmethod
    def of(engine: Any, index: Index, make_whole: Callable[[], WholeOrders | None]) -> FarPoints | WholeOrders | None:
        """Return what counts queries of this engine and index: this, if they call for it, or what is made otherwise."""
        if not isinstance(engine, Engine) or type(engine.semivalue) is not Shapley or engine.whole_solver() is None:
            return make_whole()
        if engine.weighted or engine.recorder is not None:
            return make_whole()
        depth = _near(engine.game, engine.n_classes, engine.k, engine.tol)
        if depth is None or depth * _PART_NEAR > engine.n_players or 2 * depth > engine.depth:
            return make_whole()
        # All beyond the last wall are one shell, whose part in the bound is k^2 share^2 / 2n for so large a share.
        share = min(0.5, math.sqrt(engine.tol * engine.n_players / 5.0) / engine.k)
        shells = shells_of(index, depth, int((1.0 - share) * engine.n_players))
        return make_whole() if shells is None else FarPoints(engine, shells, cast(Any, make_whole))

    def count(
        self,
        queries: Queries,
        targets: AnyArray,
        *,
        weights: FloatArray | None = None,
        block_size: int | None = None,
        progress: bool = False,
    ) -> None:
        """Count queries; parameters as in `WholeOrders.count`."""
        at_once = min(_QUERIES_AT_ONCE, block_size or _QUERIES_AT_ONCE)
        with tqdm(total=len(targets), unit="query", disable=not progress, desc=self._engine.title) as bar:
            for block in blocks(len(targets), at_once):
                self._count_block(queries, targets, weights, block)
                bar.update(block.stop - block.start)

    def _count_block(self, queries: Queries, targets: AnyArray, weights: FloatArray | None, block: slice) -> None:
        engine, own_targets = self._engine, targets[block]
        X, own = queries(block)
        with single_threaded_blas():
            found = self._shells.count(X, engine.labels, own_targets, own)
        tables, dropped = np.zeros(found.counts.shape), np.full(len(own), np.inf)
        near: list[tuple[CodeArray, FloatArray]] = []
        nearest = np.zeros((len(own), engine.k), engine.labels.dtype)
        for q, listed in enumerate(found.near):
            values = np.zeros(len(listed))
            if found.counted[q] and len(listed) > engine.k + 1:
                ordered, places = self._shells.order(X[q], listed)
                labels = engine.labels[ordered][np.newaxis]
                values[places], dropped[q] = self._two_kinds.solve(
                    labels, own_targets[q : q + 1], found.counts[q], tables[q]
                )
                nearest[q] = labels[0, : engine.k]
            near.append((listed, values))
        good = dropped <= engine.tol
        # Every point's sum is made in the order of the queries, whichever way they go.
        edges = [0, *(np.flatnonzero(np.diff(good)) + 1), len(good)]
        for start, stop in pairwise(edges):
            part, here = slice(start, stop), slice(block.start + start, block.start + stop)
            own_weights = None if weights is None else weights[here]
            if not good[start]:
                self._whole = self._whole or self._make_whole()
                self._whole.count(_from(queries, here.start), targets[here], weights=own_weights)
                continue
            if own_weights is not None:
                tables[part] *= own_weights[:, np.newaxis, np.newaxis]
                for (_, values), weight in zip(near[part], own_weights, strict=True):
                    values *= weight
            points, totals = engine.sums()
            heavy = points.ready(stop - start, own_weights)
            with single_threaded_blas():
                self._shells.add(X[part], engine.labels, targets[here], tables[part], near[part], heavy, points.sums)
            block_of = Block(nearest[part], None, targets[here])
            known = Utilities.of(engine.game, block_of, dropped[part], engine.labels, engine.n_classes, engine.k)
            engine.hold(points, totals.add(known, own_weights))


class _TwoKinds:
    """Values of right and of wrong points: the nearest by their rank, the others by their shell."""

    def __init__(self, engine: Engine, room: int) -> None:
        self._game, self._k, self._n_classes = engine.game, engine.k, engine.n_classes
        n, semivalue = engine.n_players, engine.semivalue
        self._push, self._sizes = semivalue.push(self._k, n), semivalue.sizes(self._k, n)
        self._beyond = np.append(np.cumsum(self._push[:0:-1])[::-1], 0.0)
        # Solves lists of any length up to `room`, with chances that do not depend on it and sizes that cancel.
        self._solver = make_solver(self._game, semivalue, self._k, room, self._n_classes)
        self._solver_sizes, self._scratch = semivalue.sizes(self._k, room), self._solver.scratch()

    def solve(
        self, labels: AnyArray, targets: AnyArray, counts: CodeArray, table: FloatArray
    ) -> tuple[FloatArray, float]:
        """Fill the table of a query; return the values of its nearest points and a bound on the error of all values.

        `labels`, shape (1, n_near), are the classes of the points of shell 0, nearest first; `targets`, shape (1,), is
        that of the query. `counts` are the wrong and right points in each shell, and `table` the value of one of them,
        both of shape (n_shells, 2).
        """
        from pivotal.kernels.shell_values import shell_values

        n_near = labels.shape[1]
        wrong, right = map(int, counts.sum(axis=0))
        small = self._small(right, wrong, targets, self._sizes)
        balance = (self._k + _threshold(self._game)) // 2 if isinstance(self._game, Hard) else -1
        *far, error = shell_values(counts, self._k, balance, self._push, self._beyond, *small, table)
        values = np.empty((1, n_near))
        self._solver.solve(Block(labels, None, targets), self._scratch, values)
        # The solver knows of no others: small coalitions are those of more points, and more may be pushed out.
        alone = self._small(int(counts[0, 1]), int(counts[0, 0]), targets, self._solver_sizes)
        is_right = labels[0] == targets[0]
        more = np.where(is_right, small[0] - alone[0] + far[0], small[1] - alone[1] - far[1])
        return values[0] + more, float(error)

    def _small(self, right: int, wrong: int, targets: AnyArray, sizes: FloatArray) -> tuple[float, float]:
        """What a right and a wrong point get from coalitions of fewer than k of the others."""
        if isinstance(self._game, Hard):
            from pivotal.kernels.hard_small import small_coalitions

            threshold = _threshold(self._game)
            return (
                small_coalitions(right - 1, wrong, 0, 1, self._k, threshold, sizes) if right else 0.0,
                small_coalitions(right, wrong - 1, 0, -1, self._k, threshold, sizes) if wrong else 0.0,
            )
        from pivotal.kernels.averages import small_soft

        assert isinstance(self._game, Soft)
        empty = float(self._game.empty_utility(targets, self._n_classes)[0])
        small: tuple[float, float] = small_soft(
            right + wrong, right, empty, self._k, self._game.divide_by == "size", sizes
        )
        return small


def _near(game: Game, n_classes: int, k: int, tol: float) -> int | None:
    """About how many points have to be in order; None for games of more than two kinds of points."""
    if tol <= 0.0:
        return None
    from pivotal.kernels.shell_counts import SHELLS

    # The bound is mostly this over the number of near points, where distances are those of points in a dozen or more
    # dimensions; what it is, is computed.
    if isinstance(game, Soft):
        factor = 64.0
    elif isinstance(game, Hard) and n_classes == 2:
        factor = 48.0 * k
    else:
        return None
    wanted = factor / (SHELLS * tol)
    return max(_FEWEST_NEAR, 8 * k, int(wanted)) if wanted < 2.0**31 else None


def _threshold(game: Hard) -> int:
    return -1 if game.tie == "win" else 0


def _from(queries: Queries, first: int) -> Queries:
    """Return the same queries, counted from a later one."""
    return lambda part: queries(slice(first + part.start, first + part.stop))
