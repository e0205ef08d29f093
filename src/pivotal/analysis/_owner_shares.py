"""What owners get by either account: the sum of what their points are worth, and their worth as players."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pandas as pd

from pivotal.analysis._payouts import payouts
from pivotal.analysis._ranked_inputs import ScoresLike
from pivotal.results.values import Values


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
