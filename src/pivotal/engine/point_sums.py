"""What is added up for every point: its values over the queries, and what their spread over the queries is made of.

With a value e = w v of each query, where w is its weight and v the value of the point for it, three sums are kept, each
with what rounding lost of it (Knuth's two-sum):

    totals    sum of e        the value is their sum over W, the sum of the weights
    squares   sum of e^2
    crosses   sum of w e      the same as the totals while every query weighs 1, and only then not kept

    variance of the value = (squares - 2 value crosses + value^2 V) / W^2  *  m / (m - 1)

with V the sum of w^2 and m = W^2 / V, which is the sum of w^2 (v - value)^2 over W^2: the variance of a ratio of two
sums over queries drawn at random. With equal weights it is the sample variance over the number of queries. Terms are
added in the order of the queries, so blocks, threads and workers make no difference to a bit.
"""

from __future__ import annotations

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray

_EPS = float(np.finfo(np.float64).eps)
_UNWEIGHTED, _WEIGHTED = 4, 6
_NO_WEIGHTS = np.empty(0)


class PointSums:
    """Sums over queries for every point; adding returns nothing and changes them.

    `sums` has shape (4, n_points), or (6, n_points) once queries had weights: totals, squares and crosses, each
    followed by what rounding lost.
    """

    def __init__(self, sums: FloatArray) -> None:
        self.sums = sums

    @staticmethod
    def nothing(n_points: int) -> PointSums:
        """Return the sums over no query."""
        return PointSums(np.zeros((_UNWEIGHTED, n_points)))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.sums.shape[1])

    def copy(self) -> PointSums:
        """Return sums that can be added to while these stay as they are."""
        return PointSums(self.sums.copy())

    def ready(self, n_queries: int, weights: FloatArray | None) -> FloatArray:
        """Make room for queries with such weights; return the weights as kernels take them."""
        if weights is None:
            return _NO_WEIGHTS if len(self.sums) == _UNWEIGHTED else np.ones(n_queries)
        if len(self.sums) == _UNWEIGHTED:  # every query so far weighed 1
            self.sums = np.concatenate([self.sums, self.sums[:2]])
        return np.ascontiguousarray(weights)

    def add(self, indices: IndexArray, values: FloatArray, weights: FloatArray | None = None) -> None:
        """Add the values of some queries, times what they weigh, each 1 where there are no weights.

        `indices`, shape (n_queries, depth), names no point twice in a row.
        """
        from pivotal.kernels.accumulate import add_moments

        ready = self.ready(len(indices), weights)
        add_moments(indices, values, ready, self.sums)

    def take_back(self, indices: IndexArray, values: FloatArray, weights: FloatArray) -> None:
        """Undo `add` for some queries: the same terms with the other sign."""
        # Squares have no sign of their own, so what goes is added up apart.
        gone = PointSums(np.zeros_like(self.sums))
        gone.add(indices, values, weights)
        self.ready(len(indices), weights)
        self.sums = _minus(self.sums, gone.sums)

    def kept(self, stay: AnyArray, n_new: int) -> PointSums:
        """Return the sums of the points that stay, and of this many new ones behind them."""
        return PointSums(np.concatenate([self.sums[:, stay], np.zeros((len(self.sums), n_new))], axis=1))

    def means(self, divisor: float) -> FloatArray:
        """Return the values: sums over what the queries weigh."""
        means: FloatArray = (self.sums[0] + self.sums[1]) / divisor
        return means

    def standard_errors(self, divisor: float, squared_weight: float) -> FloatArray | None:
        """Return the standard error of each value over queries like these; None where there is one query or none.

        What divides is the sum of the weights; `squared_weight` is the sum of their squares.
        """
        effective = divisor**2 / squared_weight if squared_weight > 0.0 else 0.0
        if effective <= 1.0 + 1e-9:
            return None
        values, squares = self.means(divisor), self.sums[2] + self.sums[3]
        crosses = self.sums[4] + self.sums[5] if len(self.sums) == _WEIGHTED else self.sums[0] + self.sums[1]
        variances = squares - 2.0 * values * crosses + values**2 * squared_weight
        variances[variances < 8.0 * _EPS * np.abs(squares)] = 0.0  # rounding, not spread
        errors: FloatArray = np.sqrt(variances * (effective / (effective - 1.0))) / divisor
        return errors


def _minus(sums: FloatArray, gone: FloatArray) -> FloatArray:
    """Return one set of sums less another, without losing digits."""
    left = sums.copy()
    for row in range(0, len(sums), 2):
        new = sums[row] - gone[row]
        shadow = new - sums[row]
        lost = (sums[row] - (new - shadow)) + (-gone[row] - shadow)
        left[row], left[row + 1] = new, sums[row + 1] - gone[row + 1] + lost
    return left
