"""The nearest rows of every row: all of them exactly, or in a very large table those among the nearest clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pivotal.neighbors import Index, KeptLists, as_index, as_index_of_many, audited_queries, recall_of
from pivotal.review._live import list_length

ReportProgress = Callable[[str, float], None]
"""Receives what is being done, and the share of it that is done."""

SEARCHING: Final = "Finding the neighbours of every row"
_LARGE: Final = 200_000  # rows up to which every row is compared with every other


def find_lists(
    X: Any, k: int, search: Mapping[str, Any], report_progress: ReportProgress, *, exact: bool = False
) -> tuple[KeptLists, float | None]:
    """Return the nearest rows of every row, and the share of the true ones among them where that is not all.

    k of the neighbours vote; `search` says how they are found: `metric`, `metric_params`, `neighbors`, `n_jobs`. If
    exact, `neighbors="auto"` finds the true ones however many rows there are.
    """
    report_progress(SEARCHING, 0.0)
    kept = KeptLists(index_of(X, search, exact=exact), list_length(k, X.shape[0]))
    kept.fill(on_progress=lambda share: report_progress(SEARCHING, share))
    if kept.exact:
        return kept, None
    how = {name: setting for name, setting in with_defaults(search).items() if name != "neighbors"}
    depth = min(k, kept.depth)
    try:
        brute = as_index("brute", X, **how)
        n_sampled = min(X.shape[0], audited_queries(X.shape, depth, how["metric"]))
        rows = np.sort(np.random.default_rng(0).choice(X.shape[0], n_sampled, replace=False))
        limits = brute.search_rows(rows, depth)[1]
    except (TypeError, ValueError):  # rows of an index of the user's cannot be compared by that metric
        return kept, None
    return kept, recall_of(kept.distances[rows, :depth], limits, depth)


def index_of(X: Any, search: Mapping[str, Any], *, exact: bool = False) -> Index:
    """Return an index of rows, as `as_index` does; in a very large table, one of clusters unless told otherwise."""
    how = with_defaults(search)
    neighbors = how.pop("neighbors")
    return as_index(neighbors, X, **how) if exact else as_index_of_many(neighbors, X, beyond=_LARGE, **how)


def with_defaults(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return how neighbours are found, all of it."""
    return {"metric": "euclidean", "metric_params": None, "neighbors": "auto", "n_jobs": -1, **search}
