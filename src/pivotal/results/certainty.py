"""How sure values are: what the queries, sampling and rounding leave open, and what can be said in spite of it.

Values are means over queries, and the queries are a sample of those that might come. `query_standard_error` is what
that leaves open. A point that mattered to few queries, or to none, may matter to the next one: half a contribution of
usual size is added to what was seen, so that intervals of points that no query asked for are not of width 0. The usual
size of a contribution is the sum of squares over the sum of the totals, over all points. `tests/test_certainty.py`
holds intervals to their level by drawing test sets from a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, SupportsFloat

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtr, stdtrit  # as scipy.stats calls them, which takes long to be loaded

from pivotal.core.random import as_generator
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.results.bounds import Bound
from pivotal.results.value_record import ValueRecord, as_count

_UNSEEN: Final = 0.5  # of a usual contribution, which a point may make beyond what was seen
_RESAMPLES, _AT_ONCE = 200, 20


class Interval(tuple[FloatArray, FloatArray]):
    """Two arrays, low and high, and what they cover.

    Examples
    --------
    >>> interval = Interval.of(np.zeros(1), np.ones(1), "rounding")
    >>> low, high = interval
    >>> interval.covers
    'rounding'
    """

    covers: str

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray, covers: str) -> Interval:
        """Return an interval that says what it covers."""
        both = cls((low, high))
        both.covers = covers
        return both

    @property
    def low(self) -> FloatArray:
        """Lower ends."""
        return self[0]

    @property
    def high(self) -> FloatArray:
        """Upper ends."""
        return self[1]


@dataclass(frozen=True, eq=False, repr=False)
class Signs:
    """Which points surely help, which surely harm, and of which it cannot be told.

    Parameters
    ----------
    signs : int8 array of shape (n_train,)
        1 for a point that helps, -1 for one that harms, 0 where the sign cannot be told.
    q_values : float64 array of shape (n_train,)
        Smallest false discovery rate at which the sign of a point is told.
    rate : float
        The rate asked for: the share of wrong signs to be expected among those told.
    n_queries : int
        Queries that the values are the mean of.
    needed : float64 array of shape (n_train,)
        About how many queries it would take to tell the sign, if the value stays as it is; `inf` for a value of 0.
    """

    signs: AnyArray
    q_values: FloatArray
    rate: float
    n_queries: int
    needed: FloatArray

    @property
    def helpful(self) -> IndexArray:
        """Points that surely help."""
        return np.flatnonzero(self.signs > 0)

    @property
    def harmful(self) -> IndexArray:
        """Points that surely harm."""
        return np.flatnonzero(self.signs < 0)

    @property
    def unknown(self) -> IndexArray:
        """Points whose sign cannot be told."""
        return np.flatnonzero(self.signs == 0)

    def queries_needed(self, share: float = 0.5) -> float:
        """Return about how many queries would settle this share of the points whose sign cannot be told.

        An estimate that takes the present values and their spread for the true ones; `inf` where too many values are 0.
        """
        if not isinstance(share, SupportsFloat) or not 0.0 < float(share) <= 1.0:
            raise ValueError(f"share must be more than 0 and at most 1; got {share!r}.")
        open_ = np.sort(self.needed[self.unknown])
        if not len(open_):
            return float(self.n_queries)
        return float(np.ceil(open_[int(np.ceil(float(share) * len(open_))) - 1]))

    def __array__(self, dtype: object = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.signs, dtype=dtype, copy=copy)  # type: ignore[call-overload, no-any-return]

    def __str__(self) -> str:
        n_harm, n_help, n_open = len(self.harmful), len(self.helpful), len(self.unknown)
        harm = f"{n_harm} {'point harms' if n_harm == 1 else 'points harm'} beyond doubt"
        decided = f"{harm} and {n_help} {'helps' if n_help == 1 else 'help'}"
        queries = "1 query" if self.n_queries == 1 else f"{self.n_queries} queries"
        decided += f" (false discovery rate {self.rate:.0%}); of {n_open} the sign cannot be told from {queries}"
        enough = self.queries_needed() if n_open else np.inf
        if np.isfinite(enough):
            decided += f". About {float(f'{enough:.2g}'):.0f} queries would settle half of them" if enough < 1e6 else ""
        return decided + "."

    def __repr__(self) -> str:
        return f"Signs({self})"


class CertainValues(ValueRecord):
    """What can be said of values in spite of what is left open."""

    @property
    def _bound(self) -> Bound:
        return Bound(self.proved_bound, self.rounding_allowance)

    @property
    def effective_queries(self) -> float:
        """Number of queries that count alike and would say as much: all of them, unless they have weights."""
        return float(self.details.get("effective_queries", self.n_queries))

    def interval(self, level: float = 0.95, *, queries: bool | None = None, given_neighbors: bool = False) -> Interval:
        """Return where the true values lie: those over all queries that might come, of which these are a sample.

        Three things leave values open, and each is covered where it is known: that the queries are a sample
        (`query_standard_error`), that the values were sampled (`standard_error`), and `error_bound`, or `bias_bound`.

        Parameters
        ----------
        level : float, default=0.95
            Chance that the interval of a value holds the true one; above 0 and below 1.
        queries : bool, optional
            Whether to cover that the queries are a sample; False is about the mean over these very queries. By default
            it is covered where the standard error over queries is known.
        given_neighbors : bool, default=False
            Whether to take the lists of neighbours as right where they are not known to be. What an index missed is in
            no interval.

        Returns
        -------
        Interval
            A pair of float arrays of shape (n_train,), low and high; `covers` says what they cover.

        Raises
        ------
        ValueError
            If the level is not a chance, if nothing is known about the error of the values, or if it is known only
            for the neighbours that were found and `given_neighbors` does not say that this is what is wanted.

        Examples
        --------
        >>> from pivotal import Values
        >>> low, high = Values([0.5, 0.25], n_queries=1, standard_error=[0.1, 0.0], error_bound=0.01).interval()
        >>> low.round(3), high.round(3)
        (array([0.294, 0.24 ]), array([0.706, 0.26 ]))
        """
        level = _chance(level, "level", "Use 0.95 for 95 %.")
        over_queries = self.query_standard_error is not None if queries is None else queries
        if over_queries and self.query_standard_error is None:
            raise ValueError(
                "an interval over queries needs the spread of the values over at least two queries; these values"
                f"{self._of_method()} have none. Use more queries, or queries=False."
            )
        if not over_queries and self.standard_error is None and self.proved_bound is None:
            raise ValueError(
                f"an interval needs a standard error or an error bound; these values{self._of_method()} have neither. "
                "Use the values as they are."
            )
        if not self.neighbors_exact and not given_neighbors:
            missed = self.neighbors_exact is False and self.recall is not None and self.recall < 1.0
            why = "are not all" if missed else "are not known to be"
            raise ValueError(
                f"an interval needs exact neighbours; the neighbours of these values {why} the nearest. Use "
                'neighbors="auto", or given_neighbors=True for the interval of the values given these neighbours.'
            )
        variance, covers = np.zeros(len(self)), []
        quantile = float(ndtri((1.0 + level) / 2.0))
        if over_queries:
            covers.append("the choice of the queries")
            variance += self._query_variance()
            quantile = float(stdtrit(max(self.effective_queries - 1.0, 1.0), (1.0 + level) / 2.0))
        if self.standard_error is not None:
            covers.append("sampling")
            variance += self.standard_error**2
        if self.proved_bound is not None:
            covers.append("truncation, integration and rounding")
        width = quantile * np.sqrt(variance) + (self._bound.total or 0.0)
        return Interval.of(self.values - width, self.values + width, ", ".join(covers))

    def sign(self, rate: float = 0.05) -> Signs:
        """Say which points surely help, which surely harm, and of which it cannot be told.

        Each value is compared with 0 by Student's test over the queries, and the share of wrong signs among those told
        is kept to `rate` on average (Benjamini and Hochberg 1995), however many points there are.

        Parameters
        ----------
        rate : float, default=0.05
            False discovery rate; above 0 and below 1.

        Raises
        ------
        ValueError
            If nothing is known about the spread over queries.

        Examples
        --------
        >>> from pivotal import Values
        >>> values = Values([0.5, -0.4, 0.01], n_queries=100, query_standard_error=[0.02, 0.02, 0.02])
        >>> values.sign().signs.tolist()
        [1, -1, 0]
        """
        rate = _chance(rate, "rate", "Use 0.05 for 5 %.")
        error, freedom = np.sqrt(self._variance()), max(self.effective_queries - 1.0, 1.0)
        distance = np.maximum(np.abs(self.values) - (self._bound.total or 0.0), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.where(distance > 0.0, distance / error, 0.0)
        p_values = np.asarray(2.0 * stdtr(freedom, -statistic), np.float64)
        q_values = _adjusted(p_values)
        decided = q_values <= rate
        # The test that a point must pass is that of the last one told, or that of the very first.
        last = float(p_values[decided].max()) if decided.any() else rate / len(self)
        needed_statistic = -float(ndtri(last / 2.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(distance > 0.0, self.n_queries * (needed_statistic * error / distance) ** 2, np.inf)
        signs = np.where(decided, np.sign(self.values), 0.0).astype(np.int8)
        return Signs(signs, q_values, rate, self.n_queries, np.maximum(needed, self.n_queries))

    def rank_interval(self, level: float = 0.95, *, given_neighbors: bool = False) -> tuple[IndexArray, IndexArray]:
        """Return the best and the worst rank that each point may have, as far as `interval` leaves them open.

        A point ranks behind all whose interval lies above its own, and before all whose interval lies below it.

        Examples
        --------
        >>> from pivotal import Values
        >>> values = Values([0.5, 0.48, -0.4], n_queries=100, query_standard_error=[0.02, 0.02, 0.02])
        >>> [ranks.tolist() for ranks in values.rank_interval()]
        [[1, 1, 3], [2, 2, 3]]
        """
        low, high = self.interval(level, given_neighbors=given_neighbors)
        above = len(self) - np.searchsorted(np.sort(low), high, side="right")
        below = np.searchsorted(np.sort(high), low, side="left")
        return (1 + above).astype(np.int64), (len(self) - below).astype(np.int64)

    def stability(self, n: int = 10, *, best: bool = True, random_state: int = 0) -> pd.Series[float]:
        """Return how often each of the n most valuable points is among them when the queries are drawn again.

        Parameters
        ----------
        n : int, default=10
            How many points are at the top.
        best : bool, default=True
            Whether to look at the most valuable; False looks at the least valuable.
        random_state : int, default=0
            Seed of the draws: 200 of as many queries, with replacement.

        Returns
        -------
        pandas Series
            Share of the draws, by id, in the order of the values.

        Raises
        ------
        ValueError
            If values of single queries were not kept, or if queries have weights.
        """
        n = min(as_count("n", n), len(self))
        sign = -1.0 if best else 1.0
        first = np.argsort(sign * self.values, kind="stable")[:n]
        counts = np.zeros(len(self))
        for drawn in self.resampled(random_state):
            top = np.argsort(sign * drawn, axis=1, kind="stable")[:, :n]
            counts += np.bincount(top.ravel(), minlength=len(self))
        return pd.Series(counts[first] / _RESAMPLES, index=pd.Index(self.ids[first], name="id"), name="stability")

    def resampled(self, random_state: int = 0) -> Iterator[FloatArray]:
        """Yield values with the queries drawn again, some draws at a time; shape (some, n_train), 200 in all.

        Raises
        ------
        ValueError
            If values of single queries were not kept, or if queries have weights.
        """
        if self.queries is None:
            raise ValueError(
                "to draw queries again, values of each query are needed; got none. Ask for them with "
                "method=pivotal.Exact(per_query=True)."
            )
        if "effective_queries" in self.details:
            raise ValueError("queries that are drawn again count alike; these have weights. Omit query_weights.")
        matrix, rng = self.queries.matrix, as_generator(random_state)
        n_queries = matrix.shape[0]
        for _ in range(0, _RESAMPLES, _AT_ONCE):
            times = rng.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries), size=_AT_ONCE)
            yield np.asarray((matrix.T @ times.T).T / n_queries)

    def _variance(self) -> FloatArray:
        """Variance of each value, over queries and by sampling."""
        if self.query_standard_error is None:
            raise ValueError(
                "signs need the spread of the values over at least two queries; these values"
                f"{self._of_method()} have none. Use more queries, or an exact method."
            )
        sampled = 0.0 if self.standard_error is None else self.standard_error**2
        return np.asarray(self._query_variance() + sampled)

    def _query_variance(self) -> FloatArray:
        """Variance over the queries, with what a point may contribute beyond what was seen."""
        assert self.query_standard_error is not None
        n, variance = self.effective_queries, self.query_standard_error**2
        squares = variance * (n - 1.0) / n + self.values**2 / n  # over the square of what the queries weigh
        total = float(np.abs(self.values).sum())
        usual = float(squares.sum()) / total if total > 0.0 else 0.0
        return np.asarray(variance + (_UNSEEN * usual) ** 2)

    def _of_method(self) -> str:
        return f" of method {self.settings['method']!r}" if "method" in self.settings else ""


def _adjusted(p_values: FloatArray) -> FloatArray:
    """Return the smallest false discovery rate at which each hypothesis is rejected."""
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    scaled = p_values[order] * n / np.arange(1, n + 1)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted


def _chance(number: object, name: str, fix: str) -> float:
    if isinstance(number, SupportsFloat) and not isinstance(number, str | bytes) and 0.0 < float(number) < 1.0:
        return float(number)
    raise ValueError(f"{name} must lie between 0 and 1, both excluded; got {number!r}. {fix}")
