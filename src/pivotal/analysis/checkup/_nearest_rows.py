"""What the lists of nearest rows are for in a check-up, and how they vote."""

from __future__ import annotations

from typing import Final

import numpy as np

from pivotal.analysis._linked_rows import count_classes
from pivotal.core.types import CodeArray
from pivotal.neighbors import blocks

KEPT: Final = 64  # neighbours of each row that are remembered
N_NEAR: Final = 10  # neighbours that distances are judged by
_CELLS: Final = 2**22  # votes counted at once


def vote(near: CodeArray, codes: CodeArray, n_classes: int) -> CodeArray:
    """Return the class that most rows of each list, nearest first, have; of several, that of the nearest."""
    n_rows, k = near.shape
    winner = np.empty(n_rows, np.int32)
    for rows in blocks(n_rows, max(1, _CELLS // (n_classes + k))):
        labels = codes[near[rows]]
        at = np.arange(len(labels))[:, np.newaxis]
        counts = count_classes(labels, n_classes)
        winner[rows] = labels[at[:, 0], counts[at, labels].argmax(axis=1)]  # the first of those with the most votes
    return winner
