"""Rows of no value: nobody has them among the nearest."""

from __future__ import annotations

import numpy as np

from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.core.types import AnyArray

__all__ = ["find_idle"]


def find_idle(near: AnyArray, ids: AnyArray, k: int, threshold: float | None, *, by_test: bool) -> Finding:
    """Find rows that are among the k nearest of no query.

    Without them every such prediction stays as it is, so they can all go at once.

    Parameters
    ----------
    near : int array of shape (n_queries, at least k)
        Nearest rows of each query.
    ids : array of shape (n_rows,)
    k : int
        Number of neighbours that vote.
    threshold : float or None
        Queries over k; by default a row with no query at all is found.
    by_test : bool
        Whether the queries are test rows, rather than the rows themselves.
    """
    counts = np.bincount(near[:, :k].ravel(), minlength=len(ids))
    limit = 1.0 / k if threshold is None else threshold
    scores = np.minimum(1.0, counts / k)
    n = int((scores < limit).sum())
    whose = f"of the {len(near)} test rows" if by_test else "of the other rows"
    often = "none" if threshold is None else f"fewer than {limit * k:.3g}"
    sentence = (
        f"{count_of(n, 'row')} of {len(ids)} {'is' if n == 1 else 'are'} among the {k} nearest of {often} {whose}."
    )
    return found_below("no_value", scores, limit, ids, sentence, details={"queries": counts})
