"""Sums and means of the values: per bin, per class, per owner."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.report._words import number
from pivotal.report.encode import as_text

_BINS: Final = 48
_RANGES: Final = 10
_MOST: Final = 400  # groups listed
_NAME: Final = 200  # characters of a name


def histogram(values: FloatArray) -> dict[str, Any]:
    """Count values in bins of a round width, one of whose edges is zero.

    Examples
    --------
    >>> histogram(np.array([-1.0, 0.0, 0.5, 47.0]))["counts"][:3]
    [1, 2, 0]
    """
    low, high = float(values.min()), float(values.max())
    extent = high - low
    if not math.isfinite(extent) or extent <= 1e-9 * max(abs(low), abs(high)):  # as good as one number
        width = abs(high) / 2 or 1.0
        return {"edges": [low - width, low + width], "counts": [len(values)]}
    power = 10.0 ** math.floor(math.log10(extent / _BINS))
    width = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power * _BINS >= extent)
    first = math.floor(low / width)
    bins = np.floor(values / width).astype(np.int64) - first
    counts = np.bincount(bins)
    edges = (first + np.arange(len(counts) + 1)) * width
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def by_group(values: FloatArray, names: AnyArray) -> dict[str, Any]:
    """Sum up the values of each group, highest sum first; of very many groups both ends are listed.

    Examples
    --------
    >>> by_group(np.array([0.5, -0.25, 0.25]), np.array(["ann", "bob", "ann"]))["sum"]
    [0.75, -0.25]
    """
    codes, groups = pd.factorize(names)
    sums = np.bincount(codes, weights=values)
    order = np.argsort(-sums, kind="stable")
    if len(order) > _MOST:
        order = np.concatenate([order[: _MOST // 2], order[-_MOST // 2 :]])
    return _tabulate(values, codes, order, [as_text(groups[code], _NAME) for code in order], ordered=False)


def by_response(values: FloatArray, responses: FloatArray) -> dict[str, Any]:
    """Sum up the values of points with similar responses: ten ranges with about as many points each, lowest first."""
    edges = np.unique(np.quantile(responses, np.linspace(0, 1, _RANGES + 1)))
    codes = np.clip(np.searchsorted(edges, responses, side="right") - 1, 0, max(len(edges) - 2, 0))
    spans = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)] or [number(edges[0])]
    filled = np.unique(codes)  # quantiles may fall between points, and leave a range empty
    return _tabulate(values, codes, filled, [spans[code] for code in filled], ordered=True)


def _tabulate(
    values: FloatArray, codes: AnyArray, order: IndexArray, names: list[str], *, ordered: bool
) -> dict[str, Any]:
    """Return lists about the groups in order, `negative` as shares, their number, and whether they have an order."""
    points = np.bincount(codes)[order]
    sums = np.bincount(codes, weights=values)[order]
    return {
        "name": names,
        "points": points.tolist(),
        "mean": (sums / points).tolist(),
        "sum": sums.tolist(),
        "negative": (np.bincount(codes, weights=values < 0)[order] / points).tolist(),
        "total": len(np.unique(codes)),
        "ordered": ordered,
    }
