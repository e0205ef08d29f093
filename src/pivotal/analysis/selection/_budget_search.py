"""Selections of whole groups, or of rows that have prices: greedy by gain over price, then exchanges that fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal.analysis.selection._exchange_search import Chosen, ExchangeSearch, enter_all, wished_shares
from pivotal.analysis.selection._wishes import ROUNDING, Wishes
from pivotal.core.progress import tqdm
from pivotal.core.types import FloatArray, IndexArray
from pivotal.engine.editing.coalition import Coalition
from pivotal.kernels.coalition_arrays import Likeness

_TRIED: Final = 8  # groups whose exact gain is computed, of those that look best
_LOOKED_AT: Final = 4096  # units that are looked at for each place, where there are more


@dataclass(eq=False)
class _Budget:
    """Units that are chosen whole, what they cost, and the coalition of their rows."""

    unit_of: IndexArray
    prices: FloatArray
    limit: float
    coalition: Coalition
    like: Likeness
    together: FloatArray
    spent: float = 0.0

    def __post_init__(self) -> None:
        order = np.argsort(self.unit_of, kind="stable")
        self._starts = np.searchsorted(self.unit_of, np.arange(len(self.prices) + 1), sorter=order)
        self._order = order
        self.inside = np.zeros(len(self.prices), np.bool_)

    def rows(self, unit: int) -> IndexArray:
        return self._order[self._starts[unit] : self._starts[unit + 1]]

    @cached_property
    def single(self) -> bool:
        """Whether every unit is one row, so that gains need no trial."""
        return len(self.prices) == len(self.unit_of)

    def enter(self, unit: int) -> None:
        enter_all(self.coalition, self.like, self.rows(unit))
        self.inside[unit] = True
        self.spent += float(self.prices[unit])

    def leave(self, unit: int) -> None:
        from pivotal.kernels.exchange import count_in

        for row in self.rows(unit).tolist():
            self.coalition.leave(row)
            count_in(self.like, self.coalition.lists.codes, row, -1.0)
        self.inside[unit] = False
        self.spent -= float(self.prices[unit])

    def affordable(self, units: IndexArray) -> IndexArray:
        fits = self.prices[units] <= self.limit * (1 + ROUNDING) - self.spent
        return units[fits & ~self.inside[units]]

    def best(self, units: IndexArray, *, per_price: bool) -> tuple[int, float]:
        """Return which of some units outside adds most, or most for its price, and how much."""
        units = self.affordable(units)
        if units.size == 0:
            return -1, -np.inf
        worth = self._guess(units) / (self.prices[units] if per_price else 1.0)
        if not self.single:
            units = units[np.argsort(-worth, kind="stable")[:_TRIED]]
            exact = np.array([self._try(int(unit)) for unit in units])
            worth = exact / (self.prices[units] if per_price else 1.0)
        top = int(np.argmax(worth))
        return int(units[top]), float(worth[top])

    def gain(self, unit: int) -> float:
        """Return what a unit outside adds."""
        return float(self._guess(np.array([unit]))[0]) if self.single else self._try(unit)

    def _guess(self, units: IndexArray) -> FloatArray:
        """Return what units add if their rows had nothing to do with each other: exact for single rows."""
        if self.single:
            rows = self._order[self._starts[units]]
        else:
            rows = np.concatenate([self.rows(int(unit)) for unit in units])
        sums: FloatArray = self.coalition.now.gains[rows] + self._alike(rows)
        if not self.single:
            sizes = self._starts[units + 1] - self._starts[units]
            sums = np.add.reduceat(sums, np.cumsum(sizes) - sizes)
        return sums - self._own(units)

    def _alike(self, rows: IndexArray) -> FloatArray:
        like = self.like
        if like.kernel.shape[0]:
            apart = like.pull[rows] - like.sums[rows] / like.size
        else:
            codes = self.coalition.lists.codes[rows]
            apart = np.einsum("ij,ij->i", like.features[rows], like.rest[codes])
        alike: FloatArray = like.scale * 2.0 / like.size * apart
        return alike

    def _own(self, units: IndexArray) -> FloatArray:
        return self.like.scale * self.together[units] / self.like.size**2

    def _try(self, unit: int) -> float:
        """Return what a group adds, by letting it enter and leave."""
        rows = self.rows(unit)
        total = float(self._alike(rows).sum() - self._own(np.array([unit]))[0])
        for row in rows.tolist():
            total += float(self.coalition.now.gains[row])
            self.coalition.enter(row)
        self.coalition.leave(*rows[::-1].tolist())
        return total


def search_budget(search: ExchangeSearch, wishes: Wishes) -> Chosen:
    """Choose groups, or rows with prices, or groups of these, within a number of rows or a budget."""
    if wishes.quotas is not None:
        raise ValueError("quotas go with single rows and a size; got them with groups or prices. Omit one of them.")
    rng = np.random.default_rng(search.seed)
    around, data = search.around, search.around.data
    budget = _make_budget(search, wishes)
    allowed = ~wishes.exclude
    if budget.single:  # rows that their neighbours reject are not bought; of a group, they come with the others
        allowed = around.pool(allowed, min(wishes.n, int(allowed.sum()))) | wishes.include
    units = np.unique(budget.unit_of[allowed & ~wishes.include]).astype(np.int64)
    for unit in np.unique(budget.unit_of[wishes.include]).tolist():
        budget.enter(unit)
    facts: dict[str, Any] = {"exchanges": 0, "passes": 0, "converged": False, "interrupted": False}
    try:
        _fill(budget, units, rng)
        if not budget.inside.any():
            raise ValueError(
                f"nothing fits into {budget.limit:g}; the smallest that may be chosen takes "
                f"{budget.prices[units].min():g}. Raise it."
            )
        _exchange(budget, units, search.passes, rng, facts, progress=around.progress)
    except KeyboardInterrupt:
        if not budget.inside.any():
            raise
        facts["interrupted"] = True
    rows, coalition = budget.coalition.members, budget.coalition
    return Chosen(
        rows,
        {
            "utility": coalition.utility / float(coalition.lists.weights.sum()),
            "spent": budget.spent,
            "n_groups": int(budget.inside.sum()) if wishes.groups is not None else None,
            "n_confirmed": int(around.confirmation.confirmed.sum()),
            "kernel": "all pairs" if search.means.of_pairs else "random features",
            "n_rows": data.n_rows,
            **facts,
        },
    )


def _make_budget(search: ExchangeSearch, wishes: Wishes) -> _Budget:
    data, around = search.around.data, search.around
    unit_of, prices = wishes.units()
    coalition = around.coalition(wishes.n)
    shares = wished_shares(wishes, data.class_counts()) / data.n_rows
    pool = around.pool(~wishes.exclude, 1) | wishes.include
    like = search.begin(pool, shares, coalition, wishes.n)
    together = np.ones(len(prices)) if len(prices) == data.n_rows else _together(search, unit_of, len(prices))
    return _Budget(unit_of, prices, wishes.limit, coalition, like, together)


def _together(search: ExchangeSearch, unit_of: IndexArray, n_units: int) -> FloatArray:
    """Return the sum of the kernel over all pairs of rows of each unit."""
    codes = search.around.data.codes
    total = np.zeros(n_units)
    for unit in range(n_units):
        rows = np.flatnonzero(unit_of == unit)
        if search.means.of_pairs:
            total[unit] = search.means.pairs[np.ix_(rows, rows)].sum()
        else:
            for code in np.unique(codes[rows]):
                features = search.means.features[rows[codes[rows] == code]]
                total[unit] += float(np.square(features.sum(axis=0, dtype=np.float64)).sum())
    return total


def _fill(budget: _Budget, units: IndexArray, rng: np.random.Generator) -> None:
    """Add units while they fit and help, those first that add most for their price."""
    while True:
        best, gain = budget.best(_some(units, rng), per_price=True)
        if best < 0 or (gain <= 0.0 and budget.inside.any()):
            return
        budget.enter(best)


def _exchange(
    budget: _Budget, units: IndexArray, passes: int, rng: np.random.Generator, facts: dict[str, Any], *, progress: bool
) -> None:
    """Exchange units for others that fit, until nothing changes."""
    free = np.zeros(len(budget.prices), np.bool_)
    free[units] = True
    for _ in range(passes):
        before = facts["exchanges"]
        members = rng.permutation(np.flatnonzero(budget.inside & free))
        for unit in tqdm(members.tolist(), unit="unit", disable=not progress, desc="exchanging"):
            budget.leave(unit)
            back = unit
            try:
                own = budget.gain(unit)
                best, gain = budget.best(_some(units, rng), per_price=False)
                if gain > own + 1e-9 and best != unit:
                    back = best
            finally:
                budget.enter(back)  # also if interrupted
            facts["exchanges"] += int(back != unit)
        _fill(budget, units, rng)
        facts["passes"] += 1
        if facts["exchanges"] == before:
            facts["converged"] = True
            return


def _some(units: IndexArray, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    if len(units) <= _LOOKED_AT:
        return units
    return rng.choice(units, _LOOKED_AT, replace=False)
