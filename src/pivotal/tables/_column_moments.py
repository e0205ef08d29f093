"""Means and standard deviations of columns, from sums without any rounding.

Sums that are exact do not depend on the order of the rows, nor on how the rows are cut into pieces: one machine and a
cluster learn the same numbers, bit for bit. A chunk of rows is split into parts of 20 bits on a common grid. Sums of
4096 such parts, and of their products, fit into the 53 bits of a float64; Python's integers add them up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray

LARGEST: Final = 1e140  # whose square is still finite, and whose distances are
_SMALLEST: Final = 1e-140  # below it counts as 0: products of its parts would be rounded
_UNIT: Final = 1074  # integers count in units of 2**-1074, of which every float64 is a multiple
_PART: Final = 20  # bits of a part
_ROWS: Final = 1 << 12  # at a time: 2 * 20 + 12 bits are at most 53
_CELLS: Final = 1 << 16  # at a time, so that they stay in the processor's cache
_EPS: Final = float(np.finfo(np.float64).eps)


class Moments(NamedTuple):
    """Of each column: how many numbers there are, their sum and sum of squares, and the extremes; NaN is a gap."""

    counts: IndexArray
    totals: tuple[int, ...]  # exact, in units of 2**-1074, as are the squares
    squares: tuple[int, ...]
    low: FloatArray  # NaN where there is no number
    high: FloatArray

    @classmethod
    def of(cls, rows: AnyArray) -> Moments:
        """Return those of an array of shape (n_rows, n_columns), of numbers within `LARGEST`."""
        n_rows, n_columns = rows.shape
        totals, squares = [0] * n_columns, [0] * n_columns
        counts = np.zeros(n_columns, dtype=np.int64)
        low, high = np.full(n_columns, np.nan), np.full(n_columns, np.nan)
        width = max(1, _CELLS // max(1, min(n_rows, _ROWS)))
        for left in range(0, n_columns, width):
            some = slice(left, left + width)
            for first in range(0, n_rows, _ROWS):
                chunk = np.array(rows[first : first + _ROWS, some].T, dtype=np.float64, order="C")
                counts[some] += chunk.shape[1] - np.isnan(chunk).sum(axis=1)
                low[some] = np.fmin(low[some], np.fmin.reduce(chunk, axis=1))
                high[some] = np.fmax(high[some], np.fmax.reduce(chunk, axis=1))
                _add_chunk(chunk, totals, squares, left)
        return cls(counts, tuple(totals), tuple(squares), low, high)

    def joined(self, other: Moments) -> Moments:
        """Return those of the rows of both."""
        return Moments(
            self.counts + other.counts,
            tuple(one + two for one, two in zip(self.totals, other.totals, strict=True)),
            tuple(one + two for one, two in zip(self.squares, other.squares, strict=True)),
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )

    def only(self, places: Sequence[int]) -> Moments:
        """Return those of some of the columns."""
        some = list(places)
        totals, squares = (tuple(sums[place] for place in some) for sums in (self.totals, self.squares))
        return Moments(self.counts[some], totals, squares, self.low[some], self.high[some])

    def filled(self, numbers: FloatArray, n_rows: int) -> Moments:
        """Return those of `n_rows` rows whose gaps are filled with a number for each column, within the extremes."""
        totals, squares = list(self.totals), list(self.squares)
        for place in np.flatnonzero(self.counts < n_rows):
            n_gaps, unit = n_rows - int(self.counts[place]), _units(float(_rounded(numbers[place])))
            totals[place] += n_gaps * unit
            squares[place] += n_gaps * (unit * unit >> _UNIT)
        return self._replace(counts=np.full(len(totals), n_rows), totals=tuple(totals), squares=tuple(squares))

    @property
    def mean(self) -> FloatArray:
        """Means, each rounded once."""
        return np.array([total / (int(n) << _UNIT) for n, total in zip(self.counts, self.totals, strict=True)])

    @property
    def deviation(self) -> FloatArray:
        """Standard deviations, the rows being the population; 1 for a constant column, as in StandardScaler."""
        n = self.counts.astype(np.float64)
        exact = zip(self.counts.tolist(), self.totals, self.squares, strict=True)
        variance = np.array(
            [max(0, (m * squares << _UNIT) - total * total) / (m * m << 2 * _UNIT) for m, total, squares in exact]
        )
        blur = n * _EPS * variance + (n * self.mean * _EPS) ** 2  # what rounding makes of the same number
        return np.where(variance <= blur, 1.0, np.sqrt(variance))


def _rounded(numbers: AnyArray) -> FloatArray:
    """Return numbers, 0 for those that are too small to be squared and for gaps."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(numbers) >= _SMALLEST, numbers, 0.0)


def _add_chunk(chunk: FloatArray, totals: list[int], squares: list[int], left: int) -> None:
    """Add the rows of an array of shape (n_columns, n_rows) to sums, from a column on."""
    rest = _rounded(chunk)
    _, exponents = np.frexp(np.abs(rest).max(axis=1))
    parts: list[FloatArray] = []
    while rest.any():
        # Adding and taking away a number whose last bit is the grid's leaves what is a multiple of the grid.
        grid = np.ldexp(1.5, exponents + (52 - _PART))[:, np.newaxis]
        part = rest + grid
        part -= grid
        rest -= part
        exponents -= _PART + 1
        _add(part.sum(axis=1), 1, totals, left)
        for other in parts:
            _add(np.einsum("ij,ij->i", other, part), 2, squares, left)
        _add(np.einsum("ij,ij->i", part, part), 1, squares, left)
        parts.append(part)


def _add(sums: FloatArray, times: int, to: list[int], left: int) -> None:
    mantissas, exponents = np.frexp(sums)
    integers, shifts = np.ldexp(mantissas, 53).astype(np.int64), exponents + (_UNIT - 53)
    for place, (integer, shift) in enumerate(zip(integers.tolist(), shifts.tolist(), strict=True), start=left):
        if integer:
            to[place] += times * (integer << shift if shift >= 0 else integer >> -shift)


def _units(number: float) -> int:
    """Return a number in units of 2**-1074."""
    numerator, denominator = number.as_integer_ratio()
    return (numerator << _UNIT) // denominator
