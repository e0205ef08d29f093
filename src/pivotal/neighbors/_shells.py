"""Shells around queries: the nearest points in order, all others counted and valued by the shell they are in.

What it takes are two looks at all points, each a product that is never kept (see `pivotal.kernels.shell_counts`), where
an order of all points takes a sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.core.threads import run_all, slices
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels.measure import measure_rows
from pivotal.kernels.order import make_scratch, sort_nearest
from pivotal.kernels.radix import centre_in_double
from pivotal.kernels.shell_counts import SHELLS, Points, Tile, Walls, add_tile, count_tile, make_shell_scratch
from pivotal.neighbors.brute import DenseEuclidean

_TILE_POINTS = 2048
# Points by which walls are placed, at least; the same for every query.
_SAMPLE = 2**14
# Half of the shells are for the ranks up to four times those of shell 0, a quarter for those up to four times as many.
_STEPS = (1.0, 1.0 + SHELLS // 2, 1.0 + 3 * SHELLS // 4, 1.0 + SHELLS)
# Rounding may move a score by this part of a shell.
_SLACK = 0.125
_UNIT = 2.0**-53
# What may be lost to underflow, per feature, in units of the squared spread.
_UNDERFLOW = 2.0**-960


class ShellCounts(NamedTuple):
    """What was counted around some queries."""

    counts: npt.NDArray[np.int32]
    """Wrong and right points in each shell, shape (n_queries, SHELLS + 2, 2)."""
    near: list[CodeArray]
    """Points of shell 0 of each query, by index."""
    counted: npt.NDArray[np.bool_]
    """Whether shells can be had for a query, shape (n_queries,)."""


class Shells:
    """Counts and values all points around queries by shells.

    About `depth` points are to be in shell 0, and `enclosed` within the last wall. At most `room` points are in shell 0
    of a query that is counted.
    """

    def __init__(self, engine: DenseEuclidean, depth: int, enclosed: int, n_threads: int) -> None:
        self._X, self._squared, self._centre, self._scale = engine.geometry
        self.room, self._n_threads = 2 * depth, n_threads
        n_train, n_features = self._X.shape
        self._ranks = np.minimum(
            [depth, 4 * depth, 16 * depth, enclosed], [enclosed - 3, enclosed - 2, enclosed - 1, enclosed]
        )
        n_sample = min(n_train, max(_SAMPLE, 64 * n_train // depth))
        self._sample = np.unique(np.linspace(0, n_train - 1, n_sample).astype(np.int64))
        # As in `pivotal.neighbors._orders`: of the scores, and of the distances that decide.
        self._error = (2.5 * n_features + 16) * _UNIT

    def count(self, queries: FloatArray, labels: CodeArray, targets: CodeArray, own: IndexArray) -> ShellCounts:
        """Count the points around queries; `own` is a point to be omitted from each, -1: none."""
        factor, walls = self._walls(queries)
        room, parts = self.room, slices(self._X.shape[0], self._X.shape[0], self._n_threads)
        shape = len(queries), SHELLS + 2, 2
        found = [(np.zeros(shape, np.int32), np.empty((len(queries), room), np.int32)) for _ in parts]
        n_near = np.zeros((len(parts), len(queries)), np.int64)
        points = Points(self._X, queries, self._squared, self._scale**2)

        def work(part: int) -> None:
            scratch = make_shell_scratch(_TILE_POINTS)
            for tile in self._tiles(factor, parts[part]):
                count_tile(tile, walls, points, labels, targets, *found[part], n_near[part], scratch)

        run_all(work, range(len(parts)), self._n_threads)
        counts = sum((counts for counts, _ in found), np.zeros(shape, np.int32))
        counted = walls.usable & (n_near.sum(axis=0) <= room)
        near = []
        for q, itself in enumerate(own):
            listed = np.concatenate([found[p][1][q, : min(n_near[p, q], room)] for p in range(len(parts))])
            if itself >= 0 and counted[q]:
                counted[q] = bool((there := listed == itself).any())
                listed = listed[~there]
                counts[q, 0, int(labels[itself] == targets[q])] -= 1
            near.append(listed)
        return ShellCounts(counts, near, counted)

    def order(self, query: FloatArray, near: CodeArray) -> tuple[CodeArray, IndexArray]:
        """Return some points, given by index, nearest first; and the place of each in what was given."""
        listed, distances = near.astype(np.int64), np.empty(len(near))
        measure_rows(self._X, query, listed, 0, len(near), self._squared, distances)
        places = np.arange(len(near))
        sort_nearest(distances, places, len(near), make_scratch(len(near)))
        return near[places], places

    def add(
        self,
        queries: FloatArray,
        labels: CodeArray,
        targets: CodeArray,
        tables: FloatArray,
        near: list[tuple[CodeArray, FloatArray]],
        weights: FloatArray,
        sums: FloatArray,
    ) -> None:
        """Add the values of all points to their sums, query after query; only of queries that were counted.

        `tables`, shape (n_queries, SHELLS + 2, 2), hold the value of a wrong and of a right point in each shell; 0 in
        shell 0. `near` are, for each query, points that have values of their own, by index, and these. `weights` are
        empty where each query weighs 1. `sums` are those of `pivotal.kernels.accumulate.add_moments`; added to.
        """
        factor, walls = self._walls(queries)
        points = Points(self._X, queries, self._squared, self._scale**2)
        starts = np.cumsum([0, *(len(indices) for indices, _ in near)])
        indices, values = (np.concatenate(arrays) for arrays in zip(*near, strict=True))

        def work(part: slice) -> None:
            scratch = make_shell_scratch(_TILE_POINTS)
            at = np.array(
                [start + np.searchsorted(own, part.start) for start, (own, _) in zip(starts, near, strict=False)]
            )
            for tile in self._tiles(factor, part):
                add_tile(
                    tile, walls, points, labels, targets, tables, starts, indices, values, at, weights, sums, scratch
                )

        run_all(work, slices(self._X.shape[0], self._X.shape[0], self._n_threads), self._n_threads)

    def _walls(self, queries: FloatArray) -> tuple[FloatArray, Walls]:
        """Return what to multiply the points by, and the walls: a matter of each query alone."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            centred = (queries - self._centre) * self._scale
            offsets = np.einsum("ij,ij->i", centred, centred)
            knots = self._knots(queries)
            # The least of lines is a line from knot to knot where slopes fall.
            slopes = np.minimum.accumulate(np.diff(_STEPS) / np.diff(knots, axis=1), axis=1)
            heights = 1.0 + np.cumsum(slopes[:, :-1] * np.diff(knots[:, :-1], axis=1), axis=1)
            heights = np.column_stack((np.ones(len(queries)), heights))
            places = heights - slopes * knots[:, :-1]
            last = (SHELLS + 1.0 - places[:, -1]) / slopes[:, -1]
            # A point at distance r has |x| <= |q| + r, so (|x| + |q|)^2 <= 8 |q|^2 + 2 r^2; where r is beyond the
            # last wall by more than a little, its score is as well.
            off = self._error * (8 * offsets + 3 * last) + self._X.shape[1] * _UNDERFLOW
            slack = (off + 8 * _UNIT * last) * slopes[:, 0] + 2.0**-30
            usable = (
                (knots[:, 0] > 0.0) & np.isfinite(slopes).all(axis=1) & (slopes > 0.0).all(axis=1) & (last < np.inf)
            )
            usable &= np.isfinite(places).all(axis=1) & (slack <= _SLACK)
        for numbers in (centred, slopes, places, slack, offsets):
            numbers[~usable] = 0.0
        return -2.0 * centred, Walls(offsets, slopes, places, slack, usable)

    def _knots(self, queries: FloatArray) -> FloatArray:
        """Squared distances, in the units of scores, at which one line meets the next, by a sample of the points."""
        n_sample = len(self._sample)
        distances, knots = np.empty(n_sample), np.empty((len(queries), len(self._ranks)))
        places = (self._ranks * (n_sample - 1) // self._X.shape[0]).tolist()
        for q, query in enumerate(queries):
            measure_rows(self._X, query, self._sample, 0, n_sample, self._squared, distances)
            knots[q] = np.partition(distances, places)[places]
        return (knots if self._squared else knots**2) * self._scale**2

    def _tiles(self, factor: FloatArray, part: slice) -> Iterator[Tile]:
        """Yield scores of the queries with some of the points, a tile at a time."""
        room = np.empty(len(factor) * _TILE_POINTS)
        points, norms = np.empty((_TILE_POINTS, self._X.shape[1])), np.empty(_TILE_POINTS)
        for start in range(part.start, part.stop, _TILE_POINTS):
            rows = self._X[start : min(start + _TILE_POINTS, part.stop)]
            count = len(rows)
            centre_in_double(rows, self._centre, self._scale, points[:count], norms[:count])
            scores = room[: len(factor) * count].reshape(len(factor), count)  # no gaps: one kernel for every tile
            np.matmul(factor, points[:count].T, out=scores)
            yield Tile(scores, norms[:count], start)
