"""What the caller asks of a selection: how many rows, which classes, who must be in and who must not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.core.validation import is_integer, is_number

ROUNDING: Final = 1e-9  # what sums of prices may be off by


@dataclass(frozen=True, eq=False)
class Wishes:
    """What a selection must be like.

    Parameters
    ----------
    n : int
        How many rows; with a budget, how many can be had for it at the mean price.
    include, exclude : bool arrays of shape (n_rows,)
        Rows that must be in, and rows that must not.
    quotas : None, "data", "balanced" or float64 array of shape (n_classes,)
        Shares of the classes; None starts from those of the data and lets exchanges change them.
    groups : int32 array of shape (n_rows,), optional
        Rows of one group are chosen all or none.
    prices : float64 array of shape (n_rows,), optional
        What each row costs.
    budget : float, optional
        What all of them may cost.
    """

    n: int
    include: npt.NDArray[np.bool_]
    exclude: npt.NDArray[np.bool_]
    quotas: str | FloatArray | None = None
    groups: CodeArray | None = None
    prices: FloatArray | None = None
    budget: float | None = None

    @classmethod
    def of(
        cls,
        data: SelectionData,
        size: Any,
        *,
        include: Any = None,
        exclude: Any = None,
        quotas: Any = None,
        groups: Any = None,
        prices: Any = None,
        budget: Any = None,
    ) -> Wishes:
        """Check what the user passed."""
        n_rows = data.n_rows
        must, never = as_mask(include, "include", n_rows), as_mask(exclude, "exclude", n_rows)
        both = np.flatnonzero(must & never)
        if both.size:
            raise ValueError(f"a row cannot be both in include and in exclude; row {both[0]} is. Take it out of one.")
        codes = None if groups is None else _as_groups(groups, n_rows)
        if codes is not None:
            must, never = _whole(codes, must), _whole(codes, never)
            both = np.flatnonzero(must & never)
            if both.size:
                raise ValueError(
                    f"a group is chosen whole; that of row {both[0]} has rows in include and in exclude. Take out one."
                )
        costs, limit = _as_prices(prices, budget, n_rows)
        if (size is None) == (limit is None):
            got = "neither" if size is None else "both"
            raise ValueError(f"say how much to select by size or by budget with prices; got {got}. Pass one of them.")
        if limit is not None:
            assert costs is not None
            n = max(1, min(n_rows, round(limit / float(costs.mean()))))
        else:
            n = as_number(size, n_rows)
        wishes = cls(n, must, never, _as_quotas(quotas, data), codes, costs, limit)
        wishes.check(n_rows)
        return wishes

    def check(self, n_rows: int) -> None:
        """Raise if nothing can fulfil the wishes."""
        if self.budget is not None:
            assert self.prices is not None
            needed = float(self.prices[self.include].sum())
            if needed > self.budget * (1 + ROUNDING):
                raise ValueError(
                    f"the rows of include cost {needed:g}, more than the budget of {self.budget:g}. Raise it, or "
                    "include fewer."
                )
            return
        if self.include.sum() > self.n:
            raise ValueError(
                f"include has {self.include.sum()} rows, more than the size of {self.n}. Raise it, or include fewer."
            )
        left = n_rows - int(self.exclude.sum())
        if self.n > left:
            raise ValueError(f"size must be at most {left}, the rows that are not in exclude; got {self.n}. Lower it.")

    @property
    def by_row(self) -> bool:
        """Whether single rows are chosen, by their number."""
        return self.groups is None and self.budget is None

    def part(self, rows: IndexArray) -> Wishes:
        """Return the same wishes for some of the rows: as large a share of them, or of the budget."""
        share = len(rows) / len(self.include)
        include, exclude = self.include[rows], self.exclude[rows]
        groups = None if self.groups is None else pd.factorize(self.groups[rows])[0].astype(np.int32)
        prices, budget = None if self.prices is None else self.prices[rows], self.budget
        fewer = replace(self, include=include, exclude=exclude, groups=groups, prices=prices)
        if budget is not None:
            assert self.prices is not None
            costs = self.prices[rows]
            budget = max(budget * float(costs.sum() / self.prices.sum()), float(costs[include].sum()), fewer.cheapest)
        at_least = int(fewer.cheapest) if budget is None else 1
        n = min(max(round(self.n * share), at_least, int(include.sum())), int((~exclude).sum()))
        return replace(fewer, n=n, budget=budget)

    def sized(self, n: int) -> Wishes:
        """Return the same wishes for another number of rows, or for a budget in proportion."""
        if self.budget is None:
            return replace(self, n=max(n, int(self.include.sum())))
        assert self.prices is not None
        budget = max(self.budget * n / self.n, float(self.prices[self.include].sum()))
        return replace(self, n=n, budget=budget)

    @property
    def limit(self) -> float:
        """What may be taken in all: the budget, or the number of rows."""
        return float(self.n) if self.budget is None else self.budget

    def units(self) -> tuple[IndexArray, FloatArray]:
        """Return what is chosen whole, a number for each row, and what each such unit takes of the size or budget."""
        n_rows = len(self.include)
        units = np.arange(n_rows) if self.groups is None else self.groups.astype(np.int64)
        costs = np.ones(n_rows) if self.budget is None or self.prices is None else self.prices
        return units, np.bincount(units, costs).astype(np.float64)

    @property
    def cheapest(self) -> float:
        """What the smallest group takes of the size, or the cheapest unit of the budget; 0 if nothing may be chosen."""
        units, costs = self.units()
        return float(costs[units[~self.exclude]].min(initial=np.inf)) if not self.exclude.all() else 0.0

    def draw(self, rng: np.random.Generator) -> IndexArray:
        """Return a random selection: rows that must be in, and others, groups or purchases while they fit."""
        free = np.flatnonzero(~self.exclude & ~self.include)
        must = np.flatnonzero(self.include)
        if self.by_row:
            return np.concatenate([must, rng.choice(free, self.n - len(must), replace=False)])
        units, costs = self.units()
        limit = self.limit * (1 + ROUNDING)
        taken = np.zeros(len(costs), np.bool_)
        taken[units[must]] = True
        spent = float(costs[taken].sum())
        for unit in rng.permutation(np.unique(units[free])).tolist():
            if spent + costs[unit] <= limit:
                taken[unit] = True
                spent += float(costs[unit])
        return np.flatnonzero(taken[units])


def as_number(size: object, n_rows: int) -> int:
    """Return a number of rows: an integer as it is, a fraction or a percentage as a share of the rows.

    Examples
    --------
    >>> as_number(3, 50), as_number(0.1, 50), as_number("10%", 50)
    (3, 5, 5)
    """
    share: float | None = None
    if isinstance(size, str) and size.strip().endswith("%"):
        try:
            share = float(size.strip()[:-1]) / 100.0
        except ValueError:
            share = math.nan
    elif is_integer(size):
        if 1 <= size <= n_rows:
            return int(size)
    elif is_number(size):
        share = float(size)
    if share is not None and 0.0 < share <= 1.0:
        return max(1, round(share * n_rows))
    raise ValueError(
        f"size must be an integer from 1 to {n_rows}, the number of rows, a share such as 0.1, or a percentage such as "
        f'"10%"; got {size!r}.'
    )


def class_quotas(shares: FloatArray, available: IndexArray, n: int) -> IndexArray:
    """Return how many rows to take from each class: in proportion to the shares, none more than it has.

    Every class with a share gets a row if there is room for all of them. At least n rows are available in all.
    """
    wished = shares / shares.sum() * n
    quotas: IndexArray = np.minimum(np.floor(wished), available).astype(np.int64)
    there = (shares > 0.0) & (available > 0)
    if there.sum() <= n:
        quotas[there] = np.maximum(quotas[there], 1)
    while quotas.sum() > n:
        quotas[np.argmax(np.where(quotas > 1, quotas - wished, -np.inf))] -= 1
    while quotas.sum() < n:
        quotas[np.argmax(np.where(quotas < available, wished - quotas, -np.inf))] += 1
    return quotas


def as_mask(rows: Any, name: str, n_rows: int) -> npt.NDArray[np.bool_]:
    """Return positions of rows, or a mask of them, as a mask; None is no row."""
    mask = np.zeros(n_rows, np.bool_)
    if rows is None:
        return mask
    given = np.asarray(rows)
    if given.dtype.kind == "b":
        if given.shape != (n_rows,):
            raise ValueError(f"{name}, as a mask, must have shape ({n_rows},); got shape {given.shape}.")
        return np.array(given)
    if given.size == 0:
        return mask
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be positions of rows or a mask; got dtype {given.dtype}, shape {given.shape}.")
    if given.min() < 0 or given.max() >= n_rows:
        wrong = given.min() if given.min() < 0 else given.max()
        raise ValueError(f"{name} must hold positions from 0 to {n_rows - 1}; got {wrong}.")
    mask[given] = True
    return mask


def _as_groups(groups: Any, n_rows: int) -> CodeArray:
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups must name the group of each of the {n_rows} rows; got shape {given.shape}.")
    codes, _ = pd.factorize(given)
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise ValueError(f"groups must name a group for every row; row {missing[0]} has none. Give it one of its own.")
    return codes.astype(np.int32)


def _whole(groups: CodeArray, mask: AnyArray) -> npt.NDArray[np.bool_]:
    """Return the rows of all groups that have a row in the mask."""
    return np.isin(groups, groups[mask])


def _as_prices(prices: Any, budget: Any, n_rows: int) -> tuple[FloatArray | None, float | None]:
    if (prices is None) != (budget is None):
        given, missing = ("budget", "prices") if prices is None else ("prices", "budget")
        raise ValueError(f"prices and a budget go together; got {given} without {missing}. Pass both or neither.")
    if prices is None:
        return None, None
    costs = np.asarray(prices)
    if costs.shape != (n_rows,) or costs.dtype.kind not in "fiu":
        raise ValueError(
            f"prices must be a number for each of the {n_rows} rows; got dtype {costs.dtype}, shape {costs.shape}."
        )
    costs = costs.astype(np.float64)
    bad = np.flatnonzero(~((costs > 0.0) & np.isfinite(costs)))
    if bad.size:
        raise ValueError(f"prices must be finite and above 0; got {costs[bad[0]]} at position {bad[0]}.")
    if not (is_number(budget) and budget > 0.0):
        raise ValueError(f"budget must be a finite number above 0; got {budget!r}.")
    if float(budget) < costs.min():
        raise ValueError(f"the budget of {float(budget):g} buys no row; the cheapest costs {costs.min():g}. Raise it.")
    return costs, float(budget)


def _as_quotas(quotas: Any, data: SelectionData) -> str | FloatArray | None:
    if quotas is None or (isinstance(quotas, str) and quotas in ("data", "balanced")):
        return quotas
    if not isinstance(quotas, Mapping):
        raise ValueError(f'quotas must be "data", "balanced", a mapping of classes to shares, or None; got {quotas!r}.')
    places = pd.Index(data.labels).get_indexer(pd.Index(list(quotas)))
    unknown = [label for label, place in zip(quotas, places, strict=True) if place < 0]
    if unknown:
        raise ValueError(f"quotas must name classes; got {unknown[0]!r}, which no row has. Omit it, or correct it.")
    shares = np.zeros(data.n_classes)
    try:
        shares[places] = np.array(list(quotas.values()), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"quotas must map classes to numbers; got {dict(quotas)!r}.") from None
    if not (np.isfinite(shares).all() and (shares >= 0.0).all() and shares.sum() > 0.0):
        raise ValueError(f"quotas must be finite, at least 0 and not all 0; got {dict(quotas)!r}.")
    return shares
