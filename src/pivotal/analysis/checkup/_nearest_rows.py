"""What the lists of nearest rows are for in a check-up, and how they vote."""

from __future__ import annotations

from typing import Final

import numpy as np

from pivotal.core.types import CodeArray
from pivotal.neighbors import blocks

KEPT: Final = 64  # neighbours of each row that are remembered
N_NEAR: Final = 10  # neighbours that distances are judged by
_CELLS: Final = 2**22  # votes counted at once


def vote(near: CodeArray, codes: CodeArray, n_classes: int) -> CodeArray:
    """Return the class that most of the rows named in each list have; of several, that of the nearest.

    Parameters
    ----------
    near : int array of shape (n_rows, k)
        Lists of rows, nearest first.
    codes : int array
        Class codes of the rows.
    n_classes : int
    """
    n_rows, k = near.shape
    winner = np.empty(n_rows, np.int32)
    for rows in blocks(n_rows, max(1, _CELLS // (n_classes + k))):
        labels = codes[near[rows]]
        at = np.arange(len(labels))[:, np.newaxis]
        counts = np.zeros((len(labels), n_classes), np.int32)
        np.add.at(counts, (at, labels), 1)
        winner[rows] = labels[at[:, 0], counts[at, labels].argmax(axis=1)]  # the first of those with the most votes
    return winner
