"""Totals over queries besides the values: utility of the full and of the empty set, truncation, query weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.games import Game
from pivotal.core.types import AnyArray, FloatArray
from pivotal.engine.solver import Block
from pivotal.results.values import Values

# Allowance for rounding in any value, in units of the range of the utility; tests hold every kernel to it.
_ROUNDING = 1e-14


class Utilities(NamedTuple):
    """What is known of some queries besides the values."""

    full: FloatArray
    """Utility of all players together; shape (n_queries,)."""

    empty: FloatArray
    """Utility of no player."""

    dropped: FloatArray
    """Bound on what truncation costs any value, in units of the range."""

    utility_range: float
    """Largest range of the utility."""

    @staticmethod
    def of(game: Game, block: Block, dropped: FloatArray, labels: AnyArray, n_classes: int, k: int) -> Utilities:
        """Return them for a block of queries of a game, among training points with these labels."""
        return Utilities(
            game.full_utility(block.labels, block.votes, block.targets, n_classes, k),
            game.empty_utility(block.targets, n_classes),
            dropped,
            game.utility_range(n_classes, labels, block.targets),
        )


@dataclass(frozen=True)
class QueryTotals:
    """What has been counted so far besides the values: weighted sums over queries, and largest values over them.

    `truncation` sums the bounds on what truncation costs. Every query weighs 1 unless something else is said.
    """

    n_queries: int = 0
    full: float = 0.0
    empty: float = 0.0
    truncation: float = 0.0
    utility_range: float = 0.0
    weight: float = 0.0
    heaviest: float = 0.0
    squared_weight: float = 0.0

    @property
    def divisor(self) -> float:
        """What turns sums over the queries into means: their weight, or 1 while none of them weighs anything."""
        return self.weight or 1.0

    def add(self, utilities: Utilities, weights: FloatArray | None = None) -> QueryTotals:
        """Return the totals with some queries added, each counting as much as its weight says, or 1."""
        full, empty, dropped, utility_range = utilities
        if weights is None:
            weights = np.ones(len(full))  # multiplying by 1 changes no bit
        return QueryTotals(
            self.n_queries + len(full),
            sequential_sum(self.full, full * weights),
            sequential_sum(self.empty, empty * weights),
            sequential_sum(self.truncation, dropped * weights),
            max(self.utility_range, utility_range),
            sequential_sum(self.weight, weights),
            max(self.heaviest, float(weights.max(initial=0.0))),
            sequential_sum(self.squared_weight, np.square(weights)),
        )

    def result(
        self,
        values: FloatArray,
        found: Mapping[str, Any],
        *,
        details: Mapping[str, Any] | None = None,
        error: float = 0.0,
        rounding: float = 0.0,
        **more: Any,
    ) -> Values:
        """Return values, means over the queries, with their error bound.

        `found` is what the computation found, such as how long lists were, `details` what else is known of it. `error`
        is what integration adds to what truncation costs, at most: proved; `rounding` what rounding may come to beyond
        what every kernel is allowed; both in units of the range of the utility. `more` is what else `Values` takes.
        """
        if self.weight != self.n_queries or self.heaviest != 1.0:  # queries had weights, which readers should know
            effective = self.divisor**2 / self.squared_weight if self.squared_weight > 0.0 else 0.0
            found = {**found, "query_weight": self.weight, "effective_queries": effective}
        return Values(
            values,
            n_queries=self.n_queries,
            full_utility=self.full / self.divisor,
            empty_utility=self.empty / self.divisor,
            proved_bound=self.utility_range * (self.truncation / self.divisor + error),
            rounding_allowance=self.utility_range * (_ROUNDING + rounding),
            details={**(details or {}), **found},
            **more,
        )


def sequential_sum(total: float, terms: FloatArray) -> float:
    """Add terms one after the other, so that the sum does not depend on the blocks they come in."""
    return float(np.cumsum(np.concatenate(([total], terms)))[-1])
