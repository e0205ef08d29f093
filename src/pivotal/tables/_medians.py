"""The median of a column in pieces, exactly: the number at a rank is closed in on by counting.

Numbers are mapped to integers in the same order. Every round counts how many lie in each part of an interval and goes
on with the part in which the rank lies, until one number is left: two to four rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, FloatArray

_BITS: Final = 16  # an interval is counted in at most this many parts, as a power of two
_FEW: Final = 1 << 16  # up to this many numbers are counted one by one


class RankInterval(NamedTuple):
    """Where the number at a rank of a column lies: keys from `low` to below `high`, and its rank among those."""

    column: str
    low: int
    high: int
    rank: int
    shift: int
    """Keys that differ in lower bits only are counted together."""


def find_medians(
    counts: Mapping[str, int], count: Callable[[Sequence[RankInterval]], Sequence[Counter[int]]]
) -> dict[str, float]:
    """Return the medians of columns with so many numbers, gaps aside; `count` adds up `count_in` over all pieces."""
    open_ = [
        RankInterval(column, 0, 1 << 64, rank, 64 - _BITS)
        for column, n in counts.items()
        for rank in sorted({(n - 1) // 2, n // 2})
    ]
    found: dict[str, list[float]] = {column: [] for column in counts}
    while open_:
        narrower = [_narrow(one, counted) for one, counted in zip(open_, count(open_), strict=True)]
        for one in narrower:
            if one.high - one.low == 1:
                found[one.column].append(_number(one.low))
        open_ = [one for one in narrower if one.high - one.low > 1]
    return {column: float(np.mean(numbers)) for column, numbers in found.items()}


def _narrow(interval: RankInterval, counted: Counter[int]) -> RankInterval:
    rank = interval.rank
    for part in sorted(counted):
        if rank < counted[part]:
            low = interval.low + (part << interval.shift)
            size = min(1 << interval.shift, interval.high - low)
            shift = 0 if counted[part] <= _FEW else max(0, size.bit_length() - 1 - _BITS)
            return RankInterval(interval.column, low, low + size, rank, shift)
        rank -= counted[part]
    raise AssertionError("a rank lies among the numbers that were counted")


def count_in(columns: Mapping[str, FloatArray], intervals: Sequence[RankInterval]) -> list[Counter[int]]:
    """Count the numbers of columns in each part of some intervals."""
    counted = []
    for interval in intervals:
        keys = _keys(columns[interval.column])
        inside = keys[(keys >= np.uint64(interval.low)) & (keys <= np.uint64(interval.high - 1))]
        parts, counts = np.unique((inside - np.uint64(interval.low)) >> np.uint64(interval.shift), return_counts=True)
        counted.append(Counter(dict(zip(parts.tolist(), counts.tolist(), strict=True))))
    return counted


def add_counts(several: Sequence[Sequence[Counter[int]]]) -> list[Counter[int]]:
    """Return the counts of all pieces."""
    return [reduce(Counter.__add__, counts) for counts in zip(*several, strict=True)]


_SIGN: Final = np.uint64(1 << 63)


def _keys(numbers: FloatArray) -> AnyArray:
    """Return the numbers that are no gaps as integers in the same order."""
    present = np.ascontiguousarray(numbers[~np.isnan(numbers)]) + 0.0  # which makes -0.0 the same as 0.0
    bits: Any = present.view(np.uint64)
    keys: AnyArray = np.where(bits >= _SIGN, ~bits, bits | _SIGN)
    return keys


def _number(key: int) -> float:
    bits = np.uint64(key)
    back = bits & ~_SIGN if bits >= _SIGN else ~bits
    return float(np.array([back]).view(np.float64)[0])
