"""Sums over queries of estimates and of their variances: what a sampler has counted so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.point_sums import PointSums
from pivotal.engine.totals import QueryTotals, sequential_sum
from pivotal.kernels.sample_arrays import Estimates

__all__ = ["SampleState", "SampleSums", "SampleTotals"]


@dataclass(frozen=True)
class SampleSums:
    """Sums over some queries, after this many samples of each."""

    n_samples: int
    totals: FloatArray
    rests: FloatArray
    variances: FloatArray
    variance_rests: FloatArray
    moments: FloatArray
    squares: FloatArray
    """Of the true values, as far as they are known: squared estimates less their variances, weighted twice."""

    crosses: FloatArray
    """Estimates, weighted twice."""

    n_queries: int = 0
    weight: float = 0.0

    @staticmethod
    def nothing(n_train: int, n_samples: int) -> SampleSums:
        totals, rests, variances, variance_rests, squares, crosses = np.zeros((6, n_train))
        return SampleSums(n_samples, totals, rests, variances, variance_rests, np.zeros(2), squares, crosses)

    def plus(self, indices: IndexArray, estimates: Estimates, weights: FloatArray) -> SampleSums:
        """Return the sums with some queries added, one after the other, so that blocks make no difference."""
        from pivotal.kernels.accumulate import add_queries

        column, squared = weights[:, np.newaxis], np.square(weights)[:, np.newaxis]
        with np.errstate(over="ignore", under="ignore"):
            powers = np.hstack((squared, np.square(squared)))  # of squares and of fourth powers
        totals, rests = self.totals.copy(), self.rests.copy()
        variances, variance_rests = self.variances.copy(), self.variance_rests.copy()
        add_queries(indices, estimates.means * column, totals, rests)
        add_queries(indices, estimates.variances * squared, variances, variance_rests)
        moments = np.cumsum(np.vstack((self.moments, estimates.moments * powers)), axis=0)[-1]
        squares, crosses = self.squares.copy(), self.crosses.copy()
        np.add.at(squares, indices, (np.square(estimates.means) - estimates.variances) * squared)
        np.add.at(crosses, indices, estimates.means * squared)
        return SampleSums(
            self.n_samples,
            totals,
            rests,
            variances,
            variance_rests,
            moments,
            squares,
            crosses,
            self.n_queries + len(indices),
            sequential_sum(self.weight, weights),
        )

    def refined(self, other: SampleSums) -> SampleSums:
        """Return the sums for other samples of the same queries as well."""
        n_samples = self.n_samples + other.n_samples
        mine, theirs = self.n_samples / n_samples, other.n_samples / n_samples
        return SampleSums(
            n_samples,
            mine * self.totals + theirs * other.totals,
            mine * self.rests + theirs * other.rests,
            mine**2 * self.variances + theirs**2 * other.variances,
            mine**2 * self.variance_rests + theirs**2 * other.variance_rests,
            self.moments + other.moments,
            mine * self.squares + theirs * other.squares,
            mine * self.crosses + theirs * other.crosses,
            self.n_queries,
            self.weight,
        )


@dataclass(frozen=True)
class SampleTotals:
    """Sums over all queries, whose numbers of samples may differ."""

    totals: FloatArray
    variances: FloatArray
    moments: FloatArray
    squares: FloatArray
    crosses: FloatArray
    fewest: int | None = None
    largest: int | None = None

    @staticmethod
    def nothing(n_train: int) -> SampleTotals:
        """Return the sums over no query."""
        totals, variances, squares, crosses = np.zeros((4, n_train))
        return SampleTotals(totals, variances, np.zeros(2), squares, crosses)

    def query_errors(self, totals: QueryTotals) -> FloatArray | None:
        """Return the standard error of each value over queries like these, without that of sampling."""
        nothing = np.zeros(len(self.totals))
        sums = PointSums(np.stack([self.totals, nothing, self.squares, nothing, self.crosses, nothing]))
        return sums.standard_errors(totals.divisor, totals.squared_weight)

    def plus(self, part: SampleSums) -> SampleTotals:
        """Return the sums with other queries added."""
        if part.n_queries == 0:
            return self
        return SampleTotals(
            self.totals + (part.totals + part.rests),
            self.variances + (part.variances + part.variance_rests),
            self.moments + part.moments,
            self.squares + part.squares,
            self.crosses + part.crosses,
            part.n_samples if self.fewest is None else min(self.fewest, part.n_samples),
            part.n_samples if self.largest is None else max(self.largest, part.n_samples),
        )


@dataclass(frozen=True)
class SampleState:
    """What has been counted: the queries of former batches and of the current one, and what is not sampled."""

    past: SampleTotals
    now: SampleSums
    listed: AnyArray
    totals: QueryTotals
