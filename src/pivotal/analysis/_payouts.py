"""A budget shared among the owners of training points, so that the sum is right to the last cent.

By either account: the sum of what their points are worth, and their worth as players.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis._ranked_inputs import ScoresLike, as_scores
from pivotal.core.types import FloatArray
from pivotal.core.validation import check_positive, is_integer
from pivotal.results.owner_codes import Owners
from pivotal.results.values import Values

_EPS = float(np.finfo(np.float64).eps)
_MOST_DECIMALS = 12
_MOST_DIGITS = 28  # of a sum in the decimal module's default context, beyond which it rounds


def payouts(
    values: ScoresLike,
    owners: npt.ArrayLike,
    *,
    budget: float = 1.0,
    non_negative: bool = False,
    decimals: int | None = None,
    level: float | None = None,
) -> pd.DataFrame:
    """Share a budget among owners, each in proportion to the sum of the values of their points.

    Parameters
    ----------
    values : Values or array-like of shape (n_train,)
        What the points are worth.
    owners : array-like of shape (n_train,)
        Owner of each training point, in training order.
    budget : float, default=1.0
        What there is to share, above 0.
    non_negative : bool, default=False
        Whether owners whose points do harm on balance get nothing. Otherwise they owe something, and what they owe goes
        to the others.
    decimals : int, optional
        Round to this many decimals, 2 for cents: each gets at least what is left after rounding down, and the cents
        that remain go to the largest remainders. The payouts are then of type `decimal.Decimal`, and so is their sum.
    level : float, optional
        Adds the columns low and high: where payouts lie when the queries are drawn again, with this chance (0.95 for
        95 %). Needs values of single queries, as `method=pivotal.Exact(per_query=True)` keeps them.

    Returns
    -------
    pandas DataFrame
        Indexed by owner, most valuable first: `points` (how many), `value` (sum of their values) and `payout`. The
        payouts add up to the budget: exactly with `decimals`, else as `math.fsum` adds them, or nearly so where some
        owe more than there is to share.

    Raises
    ------
    ValueError
        If the values add up to nothing, or to less, so that there is nothing to be in proportion to; or if the budget
        is so large that the payouts, to that many decimals, could not be added up exactly.

    Examples
    --------
    >>> from pivotal.analysis import payouts
    >>> payouts([0.2, 0.1, -0.1, 0.1], ["ann", "ann", "bob", "cat"], budget=100, non_negative=True, decimals=2)
           points  value payout
    owner
    ann         2    0.3  75.00
    cat         1    0.1  25.00
    bob         1   -0.1   0.00
    """
    scores = as_scores(values)
    by = Owners.of(owners, len(scores))
    sums = _sums(by, scores)
    budget = check_positive(budget, "budget")
    claims = [max(claim, Fraction(0)) for claim in sums] if non_negative else sums
    total = sum(claims, Fraction(0))
    blur = _blur(values, scores)
    if float(total) <= blur:
        said = f"which is 0 within the error bound of {blur:.3g}" if abs(total) <= blur else "which is below 0"
        fix = "No owner can be paid by these values." if non_negative else "Use non_negative=True, or other values."
        raise ValueError(f"payouts need values that add up to more than 0; got {float(total):.3g}, {said}. {fix}")
    fair = [Fraction(budget) * claim / total for claim in claims]
    frame = pd.DataFrame(
        {
            "points": by.points,
            "value": [float(claim) for claim in sums],
            "payout": _as_floats(fair, budget) if decimals is None else _round(fair, budget, decimals),
        },
        index=pd.Index(by.names, name="owner"),
    )
    if level is not None:
        frame["low"], frame["high"] = _interval(values, by, budget, level, non_negative=non_negative)
    return frame.sort_values("value", ascending=False, kind="stable")


def owner_table(
    values: ScoresLike,
    owner_values: Values,
    owners: npt.ArrayLike,
    *,
    budget: float = 1.0,
    non_negative: bool = False,
    decimals: int | None = None,
) -> pd.DataFrame:
    """Share a budget among owners by the values of their points and by their own values, side by side.

    Parameters
    ----------
    values : Values or array-like of shape (n_train,)
        What the points are worth, as `pivotal.value` says.
    owner_values : Values
        What the owners are worth, as ``pivotal.value(..., groups=owners)`` says; the ids are the owners.
    owners : array-like of shape (n_train,)
        Owner of each training point, in training order.
    budget, non_negative, decimals
        As in `payouts`.

    Returns
    -------
    pandas DataFrame
        Indexed by owner, most valuable player first: `points` (how many), `sum` (of the values of the points),
        `player` (the value of the owner), `payout_by_sum` and `payout_by_player`.

    Examples
    --------
    >>> import pivotal
    >>> from pivotal.analysis import owner_table
    >>> data, owners = ([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0]), ["ann", "ann", "bob"]
    >>> values, players = pivotal.value(*data, k=1), pivotal.value(*data, k=1, groups=owners)
    >>> owner_table(values, players, owners, budget=100, decimals=2)
           points  sum  player payout_by_sum payout_by_player
    owner
    ann         2  0.5     0.5         50.00            50.00
    bob         1  0.5     0.5         50.00            50.00
    """
    if not isinstance(owner_values, Values):
        raise TypeError(
            f"owner_values must be what pivotal.value(..., groups=owners) returns; got {type(owner_values).__name__}. "
            "Value the owners first."
        )
    how: dict[str, Any] = {"budget": budget, "non_negative": non_negative, "decimals": decimals}
    by_sum = payouts(values, owners, **how)
    if set(by_sum.index) != set(owner_values.ids.tolist()) or len(by_sum) != len(owner_values):
        raise ValueError(
            f"owner_values must have a value for each of the {len(by_sum)} owners; got {len(owner_values)} values "
            f"of others or not of all. Use the same owners in both."
        )
    by_player = payouts(owner_values, owner_values.ids, **how)
    by_sum = by_sum.loc[by_player.index]
    return pd.DataFrame(
        {
            "points": by_sum["points"],
            "sum": by_sum["value"],
            "player": by_player["value"],
            "payout_by_sum": by_sum["payout"],
            "payout_by_player": by_player["payout"],
        }
    )


def _interval(
    values: ScoresLike, by: Owners, budget: float, level: float, *, non_negative: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the payouts over draws of the queries, owners in the order of their first point."""
    if not isinstance(values, Values) or values.queries is None:
        raise ValueError(
            "intervals of payouts need the values of each query; got none. Use method=pivotal.Exact(per_query=True)."
        )
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, both excluded; got {level!r}. Use 0.95 for 95 %.")
    draws = []
    for drawn in values.resampled():
        claims = np.zeros((len(drawn), len(by.names)))
        np.add.at(claims.T, by.codes, drawn.T)
        claims = np.maximum(claims, 0.0) if non_negative else claims
        total = claims.sum(axis=1, keepdims=True)
        draws.append(np.where(total > 0.0, budget * claims / np.where(total > 0.0, total, 1.0), np.nan))
    shares = np.concatenate(draws)
    ends = np.nanquantile(shares, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return ends[0], ends[1]


def _sums(by: Owners, scores: FloatArray) -> list[Fraction]:
    """Return the sum of each owner's values."""
    together = scores[np.argsort(by.codes, kind="stable")]
    # Each sum is rounded once; from there on everything is a fraction.
    return [Fraction(math.fsum(part)) for part in np.split(together, np.cumsum(by.points)[:-1])]


def _blur(values: Any, scores: FloatArray) -> float:
    """Return how far the sum of the values can be off."""
    bound = (values.bound_given_neighbors or values.bias_bound) if isinstance(values, Values) else None
    return len(scores) * (bound or 0.0) + _EPS * math.fsum(np.abs(scores))


def _as_floats(fair: list[Fraction], budget: float) -> FloatArray:
    """Round to doubles that add up to the budget: one of the payouts takes the rounding error of all."""
    moved = sum(map(abs, fair), Fraction(0))
    if moved > Fraction(float(np.finfo(np.float64).max)) / 2:
        raise ValueError(f"budget must leave payouts that a double can hold; got {budget:.3g}. Use a smaller budget.")
    rounded = np.array([float(share) for share in fair])
    missing = Fraction(budget) - sum(map(Fraction, rounded.tolist()), Fraction(0))
    # The second largest is at most half of the budget, so it can take the error, unless others owe more than that.
    for place in np.argsort(-np.abs(rounded), kind="stable")[: np.count_nonzero(rounded)]:
        fixed = rounded.copy()
        fixed[place] = float(Fraction(rounded[place]) + missing)
        if math.fsum(fixed) == budget:
            return fixed
    return rounded


def _round(fair: list[Fraction], budget: float, decimals: Any) -> list[Decimal]:
    """Round to decimals, the largest remainders up."""
    if not is_integer(decimals, 0, _MOST_DECIMALS):
        raise ValueError(f"decimals must be an integer from 0 to {_MOST_DECIMALS}, or None; got {decimals!r}.")
    unit = Fraction(1, 10 ** int(decimals))
    exact = Fraction(repr(budget))  # as it is written, 0.1 and not the double next to it
    if exact % unit:
        raise ValueError(
            f"budget must be a multiple of {Decimal(1).scaleb(-int(decimals))} to be paid in that; got {budget}. Use "
            "more decimals."
        )
    units = [share * exact / Fraction(budget) / unit for share in fair]
    whole = [math.floor(share) for share in units]
    left = int(exact / unit) - sum(whole)
    remainders = sorted(range(len(units)), key=lambda place: whole[place] - units[place])
    for place in remainders[:left]:
        whole[place] += 1
    if sum(map(abs, whole)) >= 10**_MOST_DIGITS:
        raise ValueError(
            f"payouts of {decimals} decimals are exact up to {_MOST_DIGITS} digits in all; got budget={budget:.3g}. "
            "Use fewer decimals, or a smaller budget."
        )
    return [Decimal(count).scaleb(-int(decimals)) for count in whole]
