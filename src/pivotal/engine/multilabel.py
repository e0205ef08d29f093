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
from pivotal.engine.solver import Block, Solver
from pivotal.engine.totals import Utilities


class MultiLabelEngine(Engine):
    """Adds up the values of the training points over blocks of queries, as mean over their labels.

    Parameters
    ----------
    labels : int32 array of shape (n_train, n_labels)
        0 and 1.
    spec, shape, n_jobs
        As in `Engine`; there are two classes.
    """

    one_label = False
    n_labels: int

    def __init__(self, spec: GameSpec, labels: CodeArray, shape: GameShape, *, n_jobs: int | None = -1) -> None:
        # With two classes the k nearest decide every game, so the lists do not depend on the label.
        super().__init__(spec, np.ascontiguousarray(labels[:, 0]), shape, n_jobs=n_jobs)
        self.n_labels = labels.shape[1]
        # Points with the same labels may change places where an order cannot tell them apart.
        rows, self._codes = np.unique(labels, axis=0, return_inverse=True)
        self._codes = self._codes.reshape(-1).astype(np.int32)
        self._labels_of_code = np.ascontiguousarray(rows.T)

    def order_labels(self) -> tuple[AnyArray, int]:
        """Return codes of the points' labels, all of them together, and how many codes there are."""
        return self._codes, self._labels_of_code.shape[1]

    def solve_block(self, block: Block, solver: Solver, scratch: tuple[Any, ...], out: FloatArray) -> None:
        """Fill `out` with the mean over the labels."""
        out[...] = 0.0
        part = np.empty_like(out)
        for own in self._blocks(block):
            solver.solve(own, scratch, part)
            out += part * (1.0 / self.n_labels)

    def block(self, indices: IndexArray, votes: CodeArray | None, targets: AnyArray) -> Block:
        """Return some queries with codes of the labels of their neighbours, and the true labels of each."""
        return Block(self._codes[indices], votes, targets)

    def _solve(self, block: Block) -> FloatArray:
        values = np.zeros(block.labels.shape)
        for own in self._blocks(block):
            values += super()._solve(own) * (1.0 / self.n_labels)
        return values

    def _utilities(self, block: Block, dropped: FloatArray) -> Utilities:
        found = [super(MultiLabelEngine, self)._utilities(own, dropped) for own in self._blocks(block)]
        full, empty, lost = (np.stack(part).mean(axis=0) for part in zip(*(known[:3] for known in found), strict=True))
        return Utilities(full, empty, lost, self.game.utility_range(self.n_classes))

    def _blocks(self, block: Block) -> Iterator[Block]:
        """Yield the game of each label."""
        for column, truth in zip(self._labels_of_code, block.targets.T, strict=True):
            yield Block(column[block.labels], block.votes, np.ascontiguousarray(truth))
