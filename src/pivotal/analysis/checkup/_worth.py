"""Rows of no value, which no row has among its nearest, and rows that do harm."""

from __future__ import annotations

import numpy as np

from pivotal.analysis.checkup._finding import Finding, count_of, found_below, skipped
from pivotal.core.types import AnyArray, FloatArray
from pivotal.results.values import Values


def find_idle(near: AnyArray, ids: AnyArray, k: int, threshold: float | None, *, by_test: bool) -> Finding:
    """Find rows that are among the k nearest of no query.

    Without them every such prediction stays as it is, so they can all go at once. The threshold is of queries over k;
    by default a row with no query at all is found. Queries are the rows themselves, or test rows.
    """
    counts = np.bincount(near[:, :k].ravel(), minlength=len(ids))
    limit = 1.0 / k if threshold is None else threshold
    scores = np.minimum(1.0, counts / k)
    n = int((scores < limit).sum())
    whose = f"of the {len(near)} test rows" if by_test else "of the other rows"
    often = "none" if threshold is None else f"fewer than {limit * k:.3g}"
    is_ = "is" if n == 1 else "are"
    sentence = f"{count_of(n, 'row')} of {len(ids)} {is_} among the {k} nearest of {often} {whose}."
    return found_below("no_value", scores, limit, ids, sentence, details={"queries": counts})


def find_harmful(values: Values, ids: AnyArray, threshold: float) -> Finding:
    """Find rows whose value is negative beyond doubt, at a false discovery rate, the threshold."""
    if values.query_standard_error is None:
        return skipped("harmful", ids, "one query says nothing about others.")
    signs = values.sign(min(max(threshold, np.nextafter(0.0, 1.0)), 1.0 - 1e-9))
    scores: FloatArray = np.where(values.values < 0.0, signs.q_values, 1.0)
    n, n_open = int((scores < threshold).sum()), len(signs.unknown)
    sentence = (
        f"{count_of(n, 'row')} of {len(ids)} {'does' if n == 1 else 'do'} harm beyond doubt (at most {threshold:.1%} "
        f"of them by mistake); of {n_open} the sign cannot be told from {values.n_queries} queries."
    )
    details: dict[str, AnyArray] = {"value": values.values.copy(), "standard_error": values.query_standard_error.copy()}
    return found_below("harmful", scores, threshold, ids, sentence, details=details)
