"""The one result object of the library: the value of every training point, and how far it can be off."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from pivotal.core.providers import provided
from pivotal.core.types import AnyArray, IndexArray
from pivotal.results.bounds import scaled_bound
from pivotal.results.certainty import CertainValues
from pivotal.results.explain import Explanation, explain_query
from pivotal.results.owner_codes import Owners
from pivotal.results.value_record import as_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPS: Final = float(np.finfo(np.float64).eps)
_SHOWN: Final = ("method", "k", "utility", "semivalue")  # settings in the one-line summary
_NEGLIGIBLE: Final = 0.01  # a bias below this part of the standard error changes no digit that is shown

__all__ = ["Values"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Values(CertainValues):
    """Values of the training points, averaged over the queries.

    Immutable: the arrays are read-only copies and the settings a read-only mapping. `numpy.asarray(values)` gives the
    values themselves, so a result goes wherever an array does.

    Parameters
    ----------
    values : array-like of shape (n_train,)
        Value of each training point.
    n_queries : int
        Number of queries the values are the mean of.
    full_utility : float, optional
        Utility of the whole training set, v(D), mean over the queries; None where the values are not those of a game.
    empty_utility : float, optional
        Utility of the empty coalition, mean over the queries; None likewise.
    proved_bound : float, optional
        What truncation and integration change any value by, at most: proved. The chance of sampling is in
        `standard_error`, the rounding of real weights to votes in `vote_resolution`. None where no bound is known.
    rounding_allowance : float, default=0.0
        What rounding may add to that: an allowance that tests hold every computation to, not a proof.
    neighbors_exact : bool or None, default=True
        Whether the neighbours are the nearest ones. False for an approximate index, wherever `recall` is below 1, and
        where a sample of the queries showed it; None where nothing is known. True also where the lists of neighbours
        were given, and where there are none to find.
    error_bound : float or None, optional
        Short for `proved_bound` without an allowance for rounding, and stands in place of both.
    standard_error : array-like of shape (n_train,), optional
        Standard error of each value when it was sampled; None for exact methods.
    query_standard_error : array-like of shape (n_train,), optional
        Standard error of each value because the queries are a sample of all queries that might come: the root of the
        variance over the queries, over their number (weighted, where they are). None where it is not known, as with a
        single query.
    ids : array-like of shape (n_train,), optional
        Names of the training points; their indices when None.
    vote_resolution : float, default=0.0
        Largest rounding of a weight to an integer vote, relative to the query's largest weight; 0 for exact votes.
    recall : float, optional
        Share of the true neighbours that were found, measured on some of the queries: the smallest over the first
        k, k + 1, ... of the lists. None where it was not measured; `neighbors_exact` says whether there was a need to.
    settings : mapping of str to JSON values, optional
        What was asked for: k, utility, semivalue, and so on. It goes back in, as ``pivotal.value(..., **settings)``.
    details : mapping of str to JSON values, optional
        What the computation found: how long lists were, how many samples were drawn, the version of the package.
    queries : PerQuery, optional
        The values of each single query, where they were asked for; `per_query` is their matrix.

    Examples
    --------
    >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0, ids=["a", "b", "c"])
    >>> values.order()
    array([2, 0, 1])
    >>> values.rank()
    array([2, 3, 1])
    >>> values.top(2)
        value  rank
    id
    c    0.75     1
    a    0.25     2
    """

    @property
    def error_bound(self) -> float | None:
        """No value is off by more than this: truncation, integration and the allowance for rounding together.

        None where no bound is known, where the values were sampled (see `standard_error`), and where the neighbours
        are not known to be the nearest (see `bound_given_neighbors`).
        """
        return self.bound_given_neighbors if self.neighbors_exact else None

    @property
    def bound_given_neighbors(self) -> float | None:
        """No value is off by more than this *if the lists of neighbours are right*; None for sampled values."""
        return None if self.standard_error is not None else self._bound.total

    @property
    def bias_bound(self) -> float | None:
        """How far sampled values can be off besides chance, given the neighbours; None for values that are not sampled.

        It is part of their `interval`.
        """
        return None if self.standard_error is None else self._bound.total

    @property
    def neighbors_given(self) -> bool:
        """Whether the lists of neighbours were the input, so that bounds hold given these and nothing was searched."""
        return "precomputed" in (self.details.get("neighbors"), self.settings.get("neighbors"))

    @property
    def per_query(self) -> sparse.csr_array | None:
        """Value of each training point for each query, shape (n_queries, n_train); None unless asked for.

        The values are the mean of its rows, weighted as the queries are. Entries that are not there are 0, or were
        dropped for lack of memory: then `queries.largest_dropped` says how large such an entry can have been.
        """
        return None if self.queries is None else self.queries.matrix

    def explain(self, query: int | str, n: int = 5) -> Explanation:
        """Say which training points decide a query.

        Parameters
        ----------
        query : int or str
            Which query, from 0 on, in the order in which they were counted; or its name, where queries have names.
        n : int, default=5
            How many points for the true label, and how many against it, at most.

        Returns
        -------
        Explanation
            In words with `str`, as a table with `to_frame`, as a picture with `plot`.

        Raises
        ------
        ValueError
            If values of single queries were not kept, or if there is no such query.

        Examples
        --------
        >>> import pivotal
        >>> data = [[0.0], [1.0], [2.0]], ["cat", "dog", "cat"], [[0.2]], ["cat"]
        >>> values = pivotal.value(*data, k=1, method=pivotal.Exact(per_query=True))
        >>> print(values.explain(0))
        query 0 is labelled cat: 1 of its 1 nearest agrees. For: row 0 (cat) +0.75, row 2 (cat) +0.25.
        Against: row 1 (dog) -0.25.
        """
        if self.queries is None:
            raise ValueError(
                "explanations need the values of each query; got none. Ask for them with "
                "method=pivotal.Exact(per_query=True)."
            )
        number = self.queries.find(query)
        if number is None:
            last = len(self.queries.targets) - 1
            named = "" if self.queries.grades is None else ", or the name of a query"
            raise ValueError(f"query must be an integer from 0 to {last}, the last query{named}; got {query!r}.")
        return explain_query(self.queries, self.ids, number, as_count("n", n))

    def order(self) -> IndexArray:
        """Training indices, most valuable first; equal values in the order of their indices.

        Returns
        -------
        indices : int array of shape (n_train,)
        """
        return np.argsort(-self.values, kind="stable").astype(np.int64, copy=False)

    def rank(self) -> IndexArray:
        """Rank of each training point; 1 is the most valuable, equal values rank in the order of their indices.

        The same as ``values.to_frame()["value"].rank(method="first", ascending=False)``.

        Returns
        -------
        ranks : int array of shape (n_train,)
        """
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[self.order()] = np.arange(1, len(self) + 1)
        return ranks

    def to_frame(self, level: float | None = None, *, given_neighbors: bool = False) -> pd.DataFrame:
        """One row per training point, in training order.

        Parameters
        ----------
        level : float, optional
            Adds the columns low and high: the `interval` of this level.
        given_neighbors : bool, default=False
            As in `interval`.

        Returns
        -------
        frame : pandas DataFrame of n_train rows
            Columns value, rank (1 is the most valuable), for sampled values standard_error and, with a level,
            query_standard_error where it is known. The index is `ids`: that of the data frame of training points, so
            that the rows join it.
        """
        columns: dict[str, AnyArray] = {"value": self.values, "rank": self.rank()}
        if self.standard_error is not None:
            columns["standard_error"] = self.standard_error
        if level is not None:
            if self.query_standard_error is not None:
                columns["query_standard_error"] = self.query_standard_error
            columns["low"], columns["high"] = self.interval(level, given_neighbors=given_neighbors)
        return pd.DataFrame(columns, index=pd.Index(self.ids, name="id"))

    def top(self, n: int = 10) -> pd.DataFrame:
        """Return the n most valuable points, best first, as rows of `to_frame`.

        Where values of single queries were kept, the column stability says how often a point is among the first n when
        the queries are drawn again (see `stability`).
        """
        return self._extreme(n, best=True)

    def bottom(self, n: int = 10) -> pd.DataFrame:
        """Return the n least valuable points, worst first, as rows of `to_frame`; see `top`."""
        return self._extreme(n, best=False)

    def _extreme(self, n: int, *, best: bool) -> pd.DataFrame:
        order = self.order() if best else self.order()[::-1]
        frame = self.to_frame().iloc[order[: as_count("n", n)]]
        if self.queries is None or "effective_queries" in self.details:
            return frame
        return frame.assign(stability=self.stability(n, best=best).reindex(frame.index).to_numpy())

    def normalized(self) -> Values:
        """Scale the values so that they sum to `full_utility - empty_utility`.

        For Banzhaf values this is the normalised Banzhaf value. The order of the points does not change.

        Returns
        -------
        values : Values
            With the bounds and the standard errors carried over. The bounds also cover the error of the sum; the
            standard errors take the sum as known.

        Raises
        ------
        ValueError
            If the values are not those of a game, so that there is no utility to share out; if their sum cannot be
            distinguished from zero within the error bound; or if its sign differs from that of `full_utility -
            empty_utility`, so that scaling would turn the order of the points around.

        Examples
        --------
        >>> Values([1.0, 3.0], n_queries=1, full_utility=1.0, empty_utility=0.0).normalized().values
        array([0.25, 0.75])
        """
        if self.full_utility is None or self.empty_utility is None:
            raise ValueError(
                f"normalized values share the utility of the full training set; these values{self._of_method()} are "
                "not those of a game and know no such sum. Use the values as they are."
            )
        total = math.fsum(self.values)
        blur = len(self) * (self._bound.total or 0.0) + _EPS * math.fsum(np.abs(self.values))  # of the sum
        if abs(total) <= blur:
            raise ValueError(
                f"normalized values need a sum that differs from 0; got {total:.3g}, which is 0 within the error bound "
                f"of {blur:.3g}. Use the values as they are."
            )
        gain = self.full_utility - self.empty_utility
        if gain * total < 0:
            raise ValueError(
                f"normalized values need a sum with the sign of full_utility - empty_utility = {gain:.3g}; got "
                f"{total:.3g}, which would turn the order of the points around. Use the values as they are."
            )
        scale = gain / total
        proved, rounding = scaled_bound(self._bound, self.values, total=total, gain=gain)
        return replace(
            self,
            values=self.values * scale,
            proved_bound=proved,
            rounding_allowance=rounding,
            standard_error=None if self.standard_error is None else self.standard_error * abs(scale),
            query_standard_error=None if self.query_standard_error is None else self.query_standard_error * abs(scale),
            details={**self.details, "normalized": True},
            queries=None if self.queries is None else self.queries.scaled(scale),
        )

    def by_owner(self, owners: ArrayLike) -> pd.Series:
        """Sum the values of each owner's points.

        Parameters
        ----------
        owners : array-like of shape (n_train,)
            Owner of each training point, in training order.

        Returns
        -------
        sums : pandas Series
            Indexed by owner, most valuable first. This is the sum of the values of single points, not the value of
            the owner as one player that joins with all their points at once.

        Examples
        --------
        >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0)
        >>> values.by_owner(["ann", "bob", "ann"]).to_dict()
        {'ann': 1.0, 'bob': -0.5}
        """
        by = Owners.of(owners, len(self))
        sums = pd.Series(self.values, name="value").groupby(by.codes).sum()
        sums.index = pd.Index(by.names, name="owner")
        return sums.sort_values(ascending=False, kind="stable")

    def __repr__(self) -> str:
        shown = [f"n_train={len(self)}", f"n_queries={self.n_queries}"]
        shown_settings = {**self.settings}
        if shown_settings.get("method") == "exact":
            del shown_settings["method"]  # goes without saying
        shown += [f"{name}={shown_settings[name]}" for name in _SHOWN if name in shown_settings]
        if self.error_bound is not None:
            given = " given these neighbours" if self.neighbors_given else ""
            shown.append(f"error_bound={self.error_bound:.2g}{given}")
        elif self.bound_given_neighbors is not None:
            shown.append(f"bound_given_neighbors={self.bound_given_neighbors:.2g}")
        if self.recall is not None:
            shown.append(f"recall={self.recall:.3g}")
        elif not self.neighbors_exact:
            shown.append("recall=unknown")
        if self.bound_given_neighbors and self.rounding_allowance:
            shown.append(f"rounding_allowance={self.rounding_allowance:.2g}")
        if self.standard_error is not None:
            largest = float(self.standard_error.max())
            shown.append(f"standard_error<={largest:.2g}")
            if (self.bias_bound or 0.0) > _NEGLIGIBLE * largest:
                shown.append(f"bias_bound={self.bias_bound:.2g}")
        return f"Values({', '.join(shown)}, values in [{self.values.min():.4g}, {self.values.max():.4g}])"

    def plot(self, kind: str = "values", ax: Axes | None = None, **how: Any) -> Axes:
        """Draw the values; needs matplotlib.

        Parameters
        ----------
        kind : {"values", "intervals", "ranks", "histogram"}, default="values"
            The values by rank; the same with intervals, and whether their sign is known; which ranks the most valuable
            points may have; or how many points have which value.
        ax : matplotlib Axes, optional
            Where to draw; a new figure when None, to be had as `ax.figure`.
        **how
            As `pivotal.plots.plot_values`, `plot_intervals`, `plot_rank_intervals` and `plot_histogram` take it, such
            as `level` for the intervals.
        """
        kinds = {
            "values": "plot_values",
            "intervals": "plot_intervals",
            "ranks": "plot_rank_intervals",
            "histogram": "plot_histogram",
        }
        if kind not in kinds:
            raise ValueError(f"kind must be one of {', '.join(map(repr, kinds))}; got {kind!r}.")
        drawn: Axes = getattr(provided("plots"), kinds[kind])(self, ax, **how)
        return drawn

    def report(self, path: str | os.PathLike[str], **what: Any) -> Path | str:
        """Write one HTML page that shows the values; opens anywhere, without a network.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced only once the new one is complete.
        **what
            What else there is to show (X, y, X_test, y_test, owners, text, images, ...): see `pivotal.write_report`.
        """
        written: Path | str = provided("report").write_report(self, path, **what)
        return written

    def _repr_html_(self) -> str:
        return str(provided("report").compact_html(self))
