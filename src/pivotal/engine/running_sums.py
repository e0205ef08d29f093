"""The one accumulator: sums over the queries so far, and what every engine that holds them offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.engine.passes import Pass
from pivotal.engine.point_sums import PointSums
from pivotal.engine.totals import QueryTotals, Utilities
from pivotal.results.values import Values


@dataclass(frozen=True)
class RunningSums:
    """Sums over the queries so far: of every player, and of everything else. Adding returns other sums.

    Parameters
    ----------
    points : PointSums
        Of the values of every player.
    totals : QueryTotals
        Of all else that is known of the queries.
    """

    points: PointSums
    totals: QueryTotals = field(default_factory=QueryTotals)

    @classmethod
    def nothing(cls, n_players: int) -> Self:
        """Return the sums over no query."""
        return cls(PointSums.nothing(n_players))

    def plus(
        self,
        indices: IndexArray,
        values: FloatArray,
        utilities: Utilities,
        weights: FloatArray | None = None,
        **more: Any,
    ) -> Self:
        """Return the sums with some queries added.

        Parameters
        ----------
        indices, values : arrays of shape (n_queries, length)
            Players, and their values, which are overwritten.
        utilities : Utilities
            What else is known of the queries.
        weights : float64 array of shape (n_queries,), optional
            How much each query counts; 1 each when None.
        **more
            What else changes.
        """
        if weights is not None:
            values *= weights[:, np.newaxis]
        points = self.points.copy()
        points.add(indices, values, weights)
        return replace(self, points=points, totals=self.totals.add(utilities, weights), **more)

    def means(self) -> FloatArray:
        """Return the values: means over the queries."""
        return self.points.means(self.totals.divisor)

    def standard_errors(self) -> FloatArray | None:
        """Return the standard errors of the values over queries like these; None where there is one query or none."""
        return self.points.standard_errors(self.totals.divisor, self.totals.squared_weight)


class SummingEngine:
    """What adds up values that are exact: the games of the k nearest, of a radius, of owners.

    Attributes
    ----------
    depth : int
        How long lists should be.
    """

    title = "valuing"
    depth: int
    n_labels: int | None = None  # where points have many
    # Assigned as a whole: a block that is interrupted counts whole or not at all.
    _sums: Any

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return int(self._sums.totals.n_queries)

    def passes(self, n_queries: int) -> Iterator[Pass]:
        """Yield what is to be done with a batch of queries: the blocks are added once."""
        yield self  # type: ignore[misc]  # every engine has an `add` of its own

    def suffices(self, indices: Any, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        return True

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_players,)."""
        means: FloatArray = self._sums.means()
        return means

    def _result(self, found: Mapping[str, Any], **about: Any) -> Values:
        """Return the values so far with their error bound; parameters as in `QueryTotals.result`."""
        if self.n_labels is not None:
            about["details"] = {**(about.get("details") or {}), "n_labels": self.n_labels}
        values: Values = self._sums.totals.result(
            self.values(),
            {"method": "exact", **found},
            query_standard_error=self._sums.standard_errors(),
            **about,
        )
        return values
