"""Many labels per point: the mean over labels of the game of each, all from the same neighbours.

Every label is a game of two classes, the points that have it and those that have not. The neighbours of a query are the
same in all of them, and so are their votes: a label costs no search and no sort, only another sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.exact import Engine
from pivotal.engine.game_shape import GameShape, GameSpec
from pivotal.engine.radius import RadiusEngine
from pivotal.engine.solver import Block, Solver
from pivotal.engine.totals import Utilities
from pivotal.neighbors import Balls
from pivotal.results.values import Values

__all__ = ["MultiLabelEngine", "MultiLabelRadius"]


class MultiLabelEngine(Engine):
    """Adds up the values of the training points over blocks of queries, as mean over their labels.

    Parameters
    ----------
    labels : int32 array of shape (n_train, n_labels)
        0 and 1.
    spec, shape, n_jobs
        As in `Engine`; there are two classes.
    """

    def __init__(self, spec: GameSpec, labels: CodeArray, shape: GameShape, *, n_jobs: int | None = -1) -> None:
        # With two classes the k nearest decide every game, so the lists do not depend on the label.
        super().__init__(spec, np.ascontiguousarray(labels[:, 0]), shape, n_jobs=n_jobs)
        self._columns = np.ascontiguousarray(labels.T)

        # Points with the same labels may change places where an order cannot tell them apart.
        rows, self._codes = np.unique(labels, axis=0, return_inverse=True)
        self._codes = self._codes.reshape(-1).astype(np.int32)
        self._labels_of_code = np.ascontiguousarray(rows.T)

    one_label = False

    def order_labels(self) -> tuple[AnyArray, int]:
        """Return codes of the points' labels, all of them together, and how many codes there are."""
        return self._codes, self._labels_of_code.shape[1]

    def solve_block(self, block: Block, solver: Solver, scratch: tuple[Any, ...], out: FloatArray) -> None:
        """Fill `out` with the mean over the labels."""
        out[...] = 0.0
        part = np.empty_like(out)
        for own in self._blocks(block):
            solver.solve(own, scratch, part)
            out += part * (1.0 / len(self._columns))

    def utilities(self, block: Block, depth: int) -> Utilities:
        """Return what else is known of queries, as mean over the labels."""
        found = [super(MultiLabelEngine, self).utilities(own, depth) for own in self._blocks(block)]
        full, empty, dropped = (
            np.stack(part).mean(axis=0) for part in zip(*(known[:3] for known in found), strict=True)
        )
        return Utilities(full, empty, dropped, self.game.utility_range(self.n_classes))

    def _blocks(self, block: Block) -> Iterator[Block]:
        """Yield the game of each label."""
        for column, truth in zip(self._labels_of_code, block.targets.T, strict=True):
            yield Block(column[block.labels], block.votes, np.ascontiguousarray(truth))

    def add(
        self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray, weights: FloatArray | None = None
    ) -> bool:
        """Count some queries; return whether more are wanted, which is always so.

        Parameters
        ----------
        indices, votes, weights
            As in `Engine`.
        targets : int32 array of shape (n_queries, n_labels)
            True labels of each query.
        """
        indices = np.ascontiguousarray(indices)
        votes = None if votes is None else np.ascontiguousarray(votes)
        game, n_classes, k = self.game, self.n_classes, self.k
        values = np.zeros(indices.shape)
        full_utility, empty_utility, dropped = np.empty((3, len(self._columns), len(targets)))
        for label, (column, truth) in enumerate(zip(self._columns, targets.T, strict=True)):
            block = Block(column[indices], votes, np.ascontiguousarray(truth))
            values += self._solve(block) * (1.0 / len(self._columns))
            full_utility[label] = game.full_utility(block.labels, votes, block.targets, n_classes, k)
            empty_utility[label] = game.empty_utility(block.targets, n_classes)
            dropped[label] = self._lists.dropped(block)
        means = full_utility.mean(axis=0), empty_utility.mean(axis=0), dropped.mean(axis=0)
        utilities = Utilities(*means, game.utility_range(n_classes))
        self._sums = self._sums.plus(indices, values, utilities, weights)
        return True

    def result(self, **about: Any) -> Values:
        """Values so far, with their error bound."""
        return super().result(**_with_labels(about, len(self._columns)))


class MultiLabelRadius(RadiusEngine):
    """The same for all points within a radius.

    Parameters
    ----------
    labels : int32 array of shape (n_train, n_labels)
        0 and 1.
    spec, shape
        As in `RadiusEngine`; there are two classes.
    """

    def __init__(self, spec: GameSpec, labels: CodeArray, shape: GameShape) -> None:
        super().__init__(spec, labels[:, 0], shape)
        self._columns = np.ascontiguousarray(labels.T)

    def result(self, **about: Any) -> Values:
        """Values so far; only rounding keeps them from being exact."""
        return super().result(**_with_labels(about, len(self._columns)))

    def _play(
        self, balls: Balls, targets: AnyArray, weights: FloatArray, values: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        n_labels = len(self._columns)
        full_utility, empty_utility = np.empty((2, n_labels, len(targets)))
        for label, (column, truth) in enumerate(zip(self._columns, targets.T, strict=True)):
            truth = np.ascontiguousarray(truth)
            utilities = self._play_for(column, balls, truth, weights / n_labels, values)
            full_utility[label], empty_utility[label] = utilities
        return full_utility.mean(axis=0), empty_utility.mean(axis=0)


def _with_labels(about: dict[str, Any], n_labels: int) -> dict[str, Any]:
    return {**about, "details": {**(about.get("details") or {}), "n_labels": n_labels}}
