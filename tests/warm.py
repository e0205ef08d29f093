"""Compiles the largest kernels once, before the workers of a test run start; else each worker compiles its own.

python tests/warm.py 0    the first share of the calls
python tests/warm.py 1    the second, of about the same length
"""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np

import pivotal
from pivotal.kernels._code_cache import folders

POINTS, LISTS, OWNERS, ROWS = "points of both precisions", "lists", "points with owners", "rows to be selected"
# Calls by what they are given, in two shares of about the same length. Both run at once: what both need, such as the
# search of points, comes early in one and late in the other, which then finds it compiled.
SHARES: tuple[tuple[tuple[str, dict[str, str]], ...], ...] = (
    (
        (POINTS, {}),
        (POINTS, {"utility": "soft", "semivalue": "shapley"}),
        (POINTS, {"utility": "regression", "semivalue": "shapley"}),
        (POINTS, {"utility": "plurality"}),
        (LISTS, {}),
        (LISTS, {"utility": "soft", "semivalue": "shapley"}),
        (POINTS, {"method": "coalitions"}),
        (ROWS, {}),
    ),
    (
        (LISTS, {"method": "coalitions"}),
        (LISTS, {"utility": "soft", "method": "permutations"}),
        (LISTS, {"utility": "plurality"}),
        (LISTS, {"utility": "regression", "semivalue": "shapley"}),
        (POINTS, {"weights": "distance"}),
        (POINTS, {"utility": "soft", "weights": "distance"}),
        (POINTS, {"utility": "regression", "weights": "distance"}),
        (POINTS, {"utility": "soft", "method": "permutations"}),
        (OWNERS, {}),
        (OWNERS, {"method": "coalitions"}),
        (OWNERS, {"method": "permutations"}),
    ),
)


def is_cold() -> bool:
    """Say whether nothing was ever compiled from these sources."""
    return not any(folder.is_dir() for folder in folders())


def compile_apart() -> None:
    """Compile in a process for each share, and wait for both."""
    running = [subprocess.Popen([sys.executable, __file__, str(share)]) for share in range(len(SHARES))]
    for process in running:
        process.wait()


def compile_share(share: int) -> None:
    """Make the calls of a share on points too few to take time."""
    gc.disable()  # a compiler makes very many objects, and the collector goes through all of them time after time
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    nearest = rng.permuted(np.tile(np.arange(30), (5, 1)), axis=1)
    for given, how in SHARES[share]:
        if given == LISTS:
            pivotal.value_from_neighbors(nearest, y, y[:5], k=3, **how)  # type: ignore[arg-type]
        elif given == OWNERS:
            pivotal.value(X, y, X[:5] + 0.1, y[:5], k=3, groups=np.arange(30) % 4, **how)  # type: ignore[arg-type]
        elif given == ROWS:
            pivotal.select(X, y, 9)
        else:
            pivotal.value(X, y, X[:5] + 0.1, y[:5], k=3, **how)  # type: ignore[arg-type]
            pivotal.value(X.astype(np.float32), y, k=3, **how)  # type: ignore[arg-type]


if __name__ == "__main__":
    compile_share(int(sys.argv[1]))
