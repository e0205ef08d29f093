"""Sums over queries of estimates and of their variances: what a sampler has counted so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.point_sums import PointSums
from pivotal.engine.totals import QueryTotals, sequential_sum
from pivotal.kernels.sample_arrays import Estimates


@dataclass(frozen=True)
class SampleSums:
    """Sums over some queries, after this many samples of each."""

    n_samples: int
    sums: FloatArray
    """Of every point, shape (6, n_train): of the estimates and of their variances, each followed by what rounding lost;
    of the squares of the true values, as far as they are known: squared estimates less their variances, weighted twice;
    and of the estimates, weighted twice."""

    moments: FloatArray
    n_queries: int = 0
    weight: float = 0.0

    @staticmethod
    def nothing(n_train: int, n_samples: int) -> SampleSums:
        """Return the sums over no query."""
        return SampleSums(n_samples, np.zeros((6, n_train)), np.zeros(2))

    def plus(self, indices: IndexArray, estimates: Estimates, weights: FloatArray) -> SampleSums:
        """Return the sums with some queries added, one after the other, so that blocks make no difference."""
        from pivotal.kernels.accumulate import add_queries

        column, squared = weights[:, np.newaxis], np.square(weights)[:, np.newaxis]
        with np.errstate(over="ignore", under="ignore"):
            powers = np.hstack((squared, np.square(squared)))  # of squares and of fourth powers
        sums = self.sums.copy()
        totals, rests, variances, variance_rests, squares, crosses = sums
        add_queries(indices, estimates.means * column, totals, rests)
        add_queries(indices, estimates.variances * squared, variances, variance_rests)
        moments = np.cumsum(np.vstack((self.moments, estimates.moments * powers)), axis=0)[-1]
        np.add.at(squares, indices, (np.square(estimates.means) - estimates.variances) * squared)
        np.add.at(crosses, indices, estimates.means * squared)
        weight = sequential_sum(self.weight, weights)
        return SampleSums(self.n_samples, sums, moments, self.n_queries + len(indices), weight)

    def refined(self, other: SampleSums) -> SampleSums:
        """Return the sums for other samples of the same queries as well."""
        n_samples = self.n_samples + other.n_samples
        mine, theirs = self.n_samples / n_samples, other.n_samples / n_samples
        sums = _shares(mine) * self.sums + _shares(theirs) * other.sums
        return SampleSums(n_samples, sums, self.moments + other.moments, self.n_queries, self.weight)


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
        totals, rests, variances, variance_rests, squares, crosses = part.sums
        return SampleTotals(
            self.totals + (totals + rests),
            self.variances + (variances + variance_rests),
            self.moments + part.moments,
            self.squares + squares,
            self.crosses + crosses,
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


def _shares(share: float) -> FloatArray:
    """Return what sums count that come from this share of the samples: variances, of means, count its square."""
    return np.array([share, share, share**2, share**2, share, share])[:, np.newaxis]
