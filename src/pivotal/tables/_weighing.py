"""Blocks of features side by side, weighed so that none drowns another.

Squared distances add up over blocks. A block has a say in who is near as far as its nearest rows are nearer than rows
at random: TF-IDF, in which all texts are about as far from each other, has almost none beside a few standardised
numbers, whatever its variance. Blocks are therefore given the same such advantage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import sparse

from pivotal.core.validation import is_sparse

_SAMPLE: Final = 1000  # rows between which distances are looked at
_NEAR: Final = 10  # the neighbour whose distance counts as near


def side_by_side(blocks: Sequence[Any]) -> Any:
    """Return blocks of the same rows as one array, or one CSR matrix where any of them is sparse."""
    if len(blocks) == 1:
        return blocks[0]
    if any(is_sparse(block) for block in blocks):
        return sparse.csr_array(sparse.hstack([sparse.csr_array(block) for block in blocks], format="csr"))
    return np.hstack(blocks)


def advantage(block: Any) -> float:
    """Return how much smaller the squared distance to a near row is than to a row at random, on a sample of rows."""
    from sklearn.metrics.pairwise import euclidean_distances

    n_rows = int(block.shape[0])
    if n_rows > _SAMPLE:
        block = block[np.sort(np.random.default_rng(0).choice(n_rows, _SAMPLE, replace=False))]
    squares = euclidean_distances(block, squared=True)
    n = len(squares)
    if n < 3:
        return 0.0
    at_random = squares.sum() / (n * (n - 1))
    np.fill_diagonal(squares, np.inf)
    near = min(_NEAR, n - 1) - 1
    return float(at_random - np.partition(squares, near, axis=1)[:, near].mean())


def weigh(blocks: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return blocks of which each has the advantage of the first: lists of rows for training, and those for testing."""
    first = advantage(blocks[0][0])
    weighed = [list(blocks[0])]
    for parts in blocks[1:]:
        own = advantage(parts[0])
        factor = float(np.sqrt(first / own)) if first > 0.0 and own > 0.0 else 1.0
        weighed.append([part * factor for part in parts])
    return weighed
