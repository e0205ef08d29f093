"""Rivals from other packages: facility location from apricot, edited and condensed neighbours from imbalanced-learn."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.core.types import FloatArray, IndexArray

_NEIGHBORS: Final = 5


def facility_location(pairs: FloatArray, n: int) -> IndexArray:
    """Return n rows to one of which every row is alike: greedy on the sum of the best likenesses.

    Parameters
    ----------
    pairs : float64 array of shape (n_rows, n_rows)
        How alike rows are.
    n : int
        How many to choose.
    """
    try:
        from apricot import FacilityLocationSelection
    except ImportError as error:
        raise ImportError(
            'method="facility-location" needs apricot; install it with pip install "pivotal[selection]"'
        ) from error
    if n >= len(pairs):
        return np.arange(len(pairs))
    chosen: IndexArray = np.asarray(
        FacilityLocationSelection(n, metric="precomputed", optimizer="lazy", random_state=0).fit(pairs).ranking,
        dtype=np.int64,
    )
    return chosen


def edited(data: SelectionData) -> IndexArray:
    """Return the rows whose label the plurality of their 5 nearest others has: edited nearest neighbours."""
    rule = _of_imblearn("edited", "EditedNearestNeighbours")(
        sampling_strategy="all", n_neighbors=min(_NEIGHBORS + 1, data.n_rows), kind_sel="mode", n_jobs=data.n_jobs
    )
    return _kept(rule, data)


def condensed(data: SelectionData, seed: int) -> IndexArray:
    """Return rows whose nearest-neighbour rule predicts all others: condensed nearest neighbours."""
    rule = _of_imblearn("condensed", "CondensedNearestNeighbour")(
        sampling_strategy="all", n_neighbors=1, random_state=seed, n_jobs=data.n_jobs
    )
    return _kept(rule, data)


def _of_imblearn(method: str, name: str) -> Any:
    try:
        from imblearn import under_sampling
    except ImportError as error:
        raise ImportError(
            f'method="{method}" needs imbalanced-learn; install it with pip install "pivotal[selection]"'
        ) from error
    return getattr(under_sampling, name)


def _kept(rule: Any, data: SelectionData) -> IndexArray:
    if not data.has_features:
        raise ValueError("edited and condensed neighbours need features; got a precomputed metric. Pass features.")
    if data.n_classes < 2:
        return np.arange(data.n_rows)
    rule.fit_resample(data.X, data.codes)
    return np.sort(np.asarray(rule.sample_indices_, dtype=np.int64))
