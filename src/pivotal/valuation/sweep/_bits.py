"""How many bits votes need: values at every precision, against those at the finest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pivotal.core.validation import check_probability
from pivotal.core.weights import as_weights, check_bits
from pivotal.valuation.sweep._sweep_result import Sweep, bottom_overlap, spearman
from pivotal.valuation.sweep._sweep_run import sweep
from pivotal.valuation.sweep._sweep_settings import as_choices


@dataclass(frozen=True, eq=False)
class BitsDiagnostic:
    """How values of weighted votes move with the precision of the votes.

    Parameters
    ----------
    table : pandas DataFrame
        A row for each number of bits: `largest_change` and `mean_change` of any value against the finest votes,
        `relative_change`, the largest as share of the largest value, `spearman`, the rank correlation with the finest,
        and `overlap` of the least valuable 5 %.
    recommended : int or None
        The fewest bits from which on the ranking agrees with the finest and no value moves much; None if only the
        finest themselves do: then try more bits.
    sweep : Sweep
        The values of each number of bits.
    """

    table: pd.DataFrame
    recommended: int | None
    sweep: Sweep


def bits_diagnostic(
    X_train: Any,
    y_train: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    bits: Iterable[int] = range(1, 13),
    weights: Any = "distance",
    k: int = 5,
    agreement: float = 0.999,
    change: float = 0.01,
    **settings: Any,
) -> BitsDiagnostic:
    """Return how values move with the number of bits that votes are rounded to.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`.
    bits : iterable of int, default=range(1, 13)
        Precisions to compare; the finest is what the others are measured against. Time and memory double with every
        bit, so on large data use some of the queries.
    weights, k
        As in `pivotal.value`, one of each; votes must be weighted.
    agreement : float, default=0.999
        Rank correlation with the finest that is good enough to recommend.
    change : float, default=0.01
        Largest change of any value that is small enough, as share of the largest value.
    **settings
        Others of `pivotal.sweep`, such as utility or semivalue, one of each.

    Examples
    --------
    >>> import numpy as np
    >>> import pivotal
    >>> rng = np.random.default_rng(0)
    >>> X, y, queries = rng.normal(size=(40, 2)), rng.integers(0, 2, 40), rng.normal(size=(20, 2))
    >>> found = pivotal.bits_diagnostic(X, y, queries, rng.integers(0, 2, 20), bits=[1, 4, 10, 12], k=3)
    >>> found.table["largest_change"].is_monotonic_decreasing, found.recommended
    (True, 10)
    """
    if not as_weights(weights).weighted:
        raise ValueError('bits are for weighted votes; got weights="uniform". Use weights="distance" or another.')
    agreement, change = check_probability(agreement, "agreement"), check_probability(change, "change")
    precisions = sorted({check_bits(choice) for choice in as_choices("bits", bits)})
    if len(precisions) < 2:
        raise ValueError(f"bits must be at least two numbers to compare; got {precisions}. Use bits=range(1, 13).")
    swept = sweep(X_train, y_train, X_test, y_test, bits=precisions, weights=weights, k=k, **settings)
    if len(swept) != len(precisions):
        raise ValueError(
            f"only bits may vary; got {len(swept)} settings for {len(precisions)} numbers of bits. "
            "Use pivotal.sweep for several games, semivalues or k."
        )
    results = list(swept.results.values())
    finest = results[-1]
    scale = float(np.abs(finest.values).max())
    rows = []
    for result in results:
        moved = np.abs(result.values - finest.values)
        rows.append(
            {
                "largest_change": float(moved.max()),
                "mean_change": float(moved.mean()),
                "relative_change": float(moved.max()) / scale if scale > 0.0 else 0.0,
                "spearman": spearman(result.values, finest.values),
                "overlap": bottom_overlap(result, finest, 0.05),
            }
        )
    table = pd.DataFrame(rows, index=pd.Index(precisions, name="bits"))
    # Values that are all the same have no ranking that could be lost.
    good = (table["spearman"].isna() | (table["spearman"] >= agreement)) & (table["relative_change"] <= change)
    coarser = [b for b in precisions[:-1] if bool(good.loc[b:].all())]
    return BitsDiagnostic(table, coarser[0] if coarser else None, swept)
