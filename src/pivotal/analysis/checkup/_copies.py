"""Rows that occur more than once: equal, nearly equal, with other labels, or in the test set."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from pivotal.analysis._linked_rows import equal_rows, in_conflict, merge_components, number_groups
from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.analysis.checkup._nearest_rows import N_NEAR
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_sparse

__all__ = ["Copies", "find_conflicts", "find_copies", "find_leakage"]

_LARGEST: Final = 0.13  # nearly equal rows are at most this part of the usual distance apart
_CHANCE: Final = 0.05  # part of the rows found that chance alone may bring so close
_PLACES: Final = np.arange(N_NEAR)
_SKIPPED: Final = 2  # nearest rows that say nothing about the dimension, as they may be copies


class Copies(NamedTuple):
    """Which rows are copies of each other."""

    equal: IndexArray
    """Group of equal rows, by their first; -1 for a row without an equal."""

    linked: IndexArray
    """Group of equal and nearly equal rows; -1 likewise."""

    scale: FloatArray
    """What distances from a row are measured by: that to its tenth nearest that is not equal to it."""

    threshold: float
    """Part of that within which rows are nearly equal."""

    exact: Finding
    near: Finding


def find_copies(X: Any, near: AnyArray, distances: FloatArray, ids: AnyArray, threshold: float | None) -> Copies:
    """Find rows that are equal, and rows nearer to each other than chance would bring them.

    In data of dimension D, the nearest of k rows is at a part t of the distance of the k-th with chance
    1 - (1 - t^D)^(k-1). The threshold is the largest part at which chance explains at most a twentieth of the rows that
    are so close (Benjamini and Hochberg 1995), and at most 0.13; where no row is, chance would bring one so close in
    one table of twenty. D is estimated from the distances (Levina and Bickel 2004), without the two nearest of
    each row.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    near, distances : arrays of shape (n_rows, depth)
        Nearest rows of each row.
    ids : array of shape (n_rows,)
    threshold : float or None
        Instead of the one that chance decides.
    """
    n_rows = len(ids)
    first = equal_rows(X)
    equal = number_groups(first)
    unequal = distances > 0.0
    place = np.where(unequal.any(axis=1), unequal.argmax(axis=1), -1)
    start = np.maximum(place, 0)
    last = np.minimum(start + N_NEAR - 1, distances.shape[1] - 1)
    rows = np.arange(n_rows)
    closest = np.where(place >= 0, distances[rows, start], np.inf)
    scale = distances[rows, last]
    known = (place >= 0) & (scale > 0.0) & (last > start)
    ratio = np.ones(n_rows)
    ratio[known] = closest[known] / scale[known]
    if threshold is None:
        threshold = _by_chance(distances[known], start[known], ratio[known], n_rows)
    usual = float(np.median(scale[known])) if known.any() else 0.0
    if usual > 0.0:
        # A whole crowd of near copies is no farther from its tenth than from its nearest.
        ratio = np.minimum(ratio, np.where(known, np.sqrt(scale / usual), 1.0))
    flagged = ratio < threshold
    reach = np.where(known, np.maximum(scale, usual) if usual else scale, 0.0) * threshold
    pairs = (distances <= reach[:, np.newaxis]) & unequal & flagged[:, np.newaxis]
    ones, places = np.nonzero(pairs)
    linked = merge_components(first.astype(np.int64), ones, near[ones, places].astype(np.int64))
    details = {"nearest": ids[near[rows, start]], "distance": closest}
    return Copies(
        equal,
        number_groups(linked),
        scale,
        threshold,
        _exact(equal, ids),
        found_below(
            "near_duplicates",
            ratio,
            threshold,
            ids,
            f"{count_of(int(flagged.sum()), 'row')} of {n_rows} {'is' if flagged.sum() == 1 else 'are'} nearly equal "
            f"to another: nearer than {threshold:.2g} of the usual distance.",
            details=details,
        ),
    )


def _by_chance(distances: FloatArray, start: IndexArray, ratio: FloatArray, n_rows: int) -> float:
    """Return the part of the distance to the tenth below which chance explains few of the rows that are so close."""
    enough = start + N_NEAR <= distances.shape[1]
    if not enough.any():
        return 0.0  # too few rows to say what is usual
    lists = distances[enough][np.arange(int(enough.sum()))[:, np.newaxis], start[enough, np.newaxis] + _PLACES]
    logs = np.log(lists[:, -1:] / lists[:, _SKIPPED:-1]).mean(axis=0)
    # The j-th of k nearest is at exp(-H / D) of the distance of the k-th, with H the sum of 1/m for m from j to k - 1.
    expected = np.cumsum(1.0 / np.arange(N_NEAR - 1, _SKIPPED, -1))[::-1]
    dimension = expected.sum() / logs.sum() if logs.sum() > 0.0 else np.inf
    closest = np.sort(ratio)
    with np.errstate(divide="ignore"):
        chance = -np.expm1((N_NEAR - 1) * np.log1p(-(closest**dimension)))
    few = np.flatnonzero(chance * n_rows <= _CHANCE * np.arange(1, len(closest) + 1))
    if len(few):
        return float(min(_LARGEST, np.nextafter(closest[few[-1]], 1.0)))
    alone = -np.expm1(np.log1p(-_CHANCE / n_rows) / (N_NEAR - 1))
    return float(min(_LARGEST, alone ** (1.0 / dimension)))


def _exact(equal: IndexArray, ids: AnyArray) -> Finding:
    n_groups, n_rows = int(equal.max(initial=-1)) + 1, int((equal >= 0).sum())
    sentence = f"{count_of(n_rows, 'row')} of {len(ids)} occur more than once ({count_of(n_groups, 'group')})."
    if n_rows == 0:
        sentence = f"No two of {len(ids)} rows are equal."
    return found_below(
        "duplicates", np.where(equal >= 0, 0.0, 1.0), 0.5, ids, sentence, details={"group": equal.copy()}
    )


def find_conflicts(copies: Copies, y: AnyArray, ids: AnyArray, threshold: float, *, regression: bool) -> Finding:
    """Find equal and nearly equal rows whose labels differ."""
    group, scores = copies.linked, np.ones(len(y))
    grouped = group >= 0
    conflict = in_conflict(group, y)
    if regression:
        # Targets a whole usual difference apart score 0.
        usual = float(np.mean(np.abs(y - np.median(y)))) or 1.0
        if grouped.any():
            middle = pd.Series(y[grouped]).groupby(group[grouped]).transform("median").to_numpy()
            scores[grouped] = np.maximum(0.0, 1.0 - np.abs(y[grouped] - middle) / usual)
    elif grouped.any():
        codes = pd.factorize(pd.Series(y))[0]
        frame = pd.DataFrame({"group": group[grouped], "label": codes[grouped]})
        alike = frame.groupby(["group", "label"])["label"].transform("size")
        scores[grouped] = (alike / frame.groupby("group")["label"].transform("size")).to_numpy()
    scores[~conflict] = 1.0
    flagged = scores < threshold
    n_groups, n_exact = len(np.unique(group[flagged])), int((flagged & (copies.equal >= 0)).sum())
    what = "targets" if regression else "labels"
    sentence = f"No two equal or nearly equal rows have different {what}."
    if flagged.any():
        sentence = (
            f"{count_of(int(flagged.sum()), 'row')} in {count_of(n_groups, 'group')} of copies have different {what}; "
            f"{n_exact} of them are equal to another to the last digit."
        )
    return found_below(
        "conflicts", scores, threshold, ids, sentence, details={"group": group.copy(), "label": np.array(y)}
    )


def find_leakage(
    X: Any,
    X_test: Any,
    near: IndexArray,
    distances: FloatArray,
    ids: AnyArray,
    copies: Copies,
    threshold: float | None,
) -> Finding:
    """Find training rows that are equal or nearly equal to a test row.

    Parameters
    ----------
    X, X_test : arrays or sparse matrices
    near, distances : arrays of shape (n_test, depth)
        Nearest training rows of each test row.
    ids : array of shape (n_rows,)
    copies : Copies
    threshold : float or None
        As that of near duplicates where nothing is said.
    """
    limit = copies.threshold if threshold is None else threshold
    n_rows, n_test = len(ids), X_test.shape[0]
    ratio = np.ones(n_rows)
    scale = np.where(copies.scale > 0.0, copies.scale, np.inf)[near]
    np.minimum.at(ratio, near.ravel(), (distances / scale).ravel())
    twin = np.full(n_rows, -1)
    order = np.argsort(-distances, axis=None, kind="stable")  # the nearest is written last
    twin[near.ravel()[order]] = np.repeat(np.arange(n_test), near.shape[1])[order]
    # Equal rows are found one and all, however many there are of each.
    both = (
        sparse.vstack([X, X_test], format="csr") if is_sparse(X) else np.concatenate([X, np.asarray(X_test, X.dtype)])
    )
    group = equal_rows(both)
    here, there = group[:n_rows], group[n_rows:]
    shared: npt.NDArray[np.bool_] = np.isin(here, there)
    known, first = np.unique(there, return_index=True)
    ratio[shared] = 0.0
    twin[shared] = first[np.searchsorted(known, here[shared])]
    flagged = ratio < max(limit, np.nextafter(0.0, 1.0))
    n_seen = int(np.isin(there, here).sum())
    sentence = f"No training row is equal or nearly equal to one of the {n_test} test rows."
    if flagged.any():
        sentence = (
            f"{count_of(int(flagged.sum()), 'training row')} of {n_rows} are in the test set or nearly so; {n_seen} of "
            f"{n_test} test rows ({n_seen / n_test:.1%}) are equal to a training row."
        )
    return found_below("leakage", ratio, max(limit, np.nextafter(0.0, 1.0)), ids, sentence, details={"test_row": twin})
