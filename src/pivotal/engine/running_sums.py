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
from pivotal.results.per_query import QueryRows
from pivotal.results.values import Values


@dataclass(frozen=True)
class RunningSums:
    """Sums over the queries so far: of every player, and of everything else. Adding returns other sums."""

    points: PointSums
    totals: QueryTotals = field(default_factory=QueryTotals)
    rows: tuple[QueryRows, ...] = ()  # values of single queries, where they are kept

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
        """Return the sums with some queries added; `values`, shape (n_queries, length), are overwritten.

        Each query counts 1 where there are no weights; `more` is what else changes.
        """
        if weights is not None:
            values *= weights[:, np.newaxis]
        points = self.points.copy()
        points.add(indices, values, weights)
        return replace(self, points=points, totals=self.totals.add(utilities, weights), **more)


class SummingEngine:
    """What adds up values that are exact: the games of the k nearest, of a radius, of owners.

    Lists should be `depth` long.
    """

    title = "valuing"
    depth: int
    n_labels: int | None = None  # where points have many
    # Assigned as a whole: a block that is interrupted counts whole or not at all.
    _sums: RunningSums

    @property
    def n_queries(self) -> int:
        """Queries added so far."""
        return self._sums.totals.n_queries

    def passes(self, n_queries: int) -> Iterator[Pass]:
        """Yield what is to be done with a batch of queries: the blocks are added once."""
        self.reserve(n_queries)
        yield self  # type: ignore[misc]  # every engine has an `add` of its own

    def reserve(self, n_queries: int) -> None:
        """Share out memory for what is kept of n single queries."""

    def suffices(self, indices: Any, targets: AnyArray) -> bool:
        """Return whether these lists are long enough for the tolerance, or as long as can be."""
        return True

    def values(self) -> FloatArray:
        """Mean over the queries so far; shape (n_players,)."""
        return self._sums.points.means(self._sums.totals.divisor)

    def _result(self, found: Mapping[str, Any], **about: Any) -> Values:
        """Return the values so far with their error bound; parameters as in `QueryTotals.result`."""
        if self.n_labels is not None:
            about["details"] = {**(about.get("details") or {}), "n_labels": self.n_labels}
        points, totals = self._sums.points, self._sums.totals
        errors = points.standard_errors(totals.divisor, totals.squared_weight)
        return totals.result(self.values(), {"method": "exact", **found}, query_standard_error=errors, **about)
