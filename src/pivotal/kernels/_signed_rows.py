"""Which sums each row of a table of signed votes covers, and where; `weighted` has the picture."""

from __future__ import annotations

from typing import NamedTuple

from pivotal.core.types import IndexArray
from pivotal.kernels._compile import kernel


class SignedRows(NamedTuple):
    """Which sums each row of a table covers, and where."""

    k: int
    """Number of rows; row t is for t places left."""

    origin: IndexArray
    """Place of x = 0 in each of the rows 0 to k + 1, of which the first and the last are empty."""

    best: IndexArray
    """Largest vote for and against among the ranks >= i, of shape (n + 1, 2)."""


@kernel
def lay_out(signed: IndexArray, rows: SignedRows) -> int:
    """Fill `rows` for a list of signed votes; return the size of a table, zero when no sum is ever positive."""
    n = signed.shape[0]
    best = rows.best
    best[n] = 0
    for i in range(n - 1, -1, -1):
        best[i, 0] = max(best[i + 1, 0], signed[i])
        best[i, 1] = max(best[i + 1, 1], -signed[i])
    if best[0, 0] == 0:
        return 0
    size = 0
    rows.origin[:] = 0
    for t in range(1, rows.k + 1):
        low, high = span(rows, t, 0)
        rows.origin[t] = size - low
        size += high - low + 1
    return size


@kernel
def table_size(k: int, best_for: int, best_against: int) -> int:
    """Return the number of entries of a table, rows 1 to k, or 1 if that is 0."""
    size = 0
    for t in range(1, k + 1):
        size += min(t * best_against, (k - t) * best_for) + 1 + min(t * best_for - 1, (k - t) * best_against)
    return max(size, 1)


@kernel
def span(rows: SignedRows, t: int, i: int) -> tuple[int, int]:
    """Return the lowest and the highest x that row t covers at rank i; it is empty if the latter is less."""
    best = rows.best
    k = rows.k
    low = -min(t * best[i, 1], (k - t) * best[0, 0])
    high = min(t * best[i, 0] - 1, (k - t) * best[0, 1])
    return low, high


@kernel
def overlap(low: int, high: int, other: tuple[int, int], shift: int) -> tuple[int, int]:
    """Split low..high at another span moved by `shift`: return the first place inside it and the first beyond it."""
    inside = min(max(other[0] + shift, low), high + 1)
    beyond = max(min(other[1] + shift, high) + 1, inside)
    return inside, beyond
