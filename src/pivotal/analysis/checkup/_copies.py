"""Rows that occur more than once: equal, nearly equal, with other labels, or in the test set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from pivotal.analysis._linked_rows import equal_rows, in_conflict, merge_components, number_groups
from pivotal.analysis.checkup._close_pairs import Closeness, closeness_by_chance
from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.analysis.checkup._nearest_rows import N_NEAR
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_sparse


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

    A row's score is the distance to its nearest that is not equal, over the larger of the distance to its tenth and a
    floor. `closeness_by_chance` says what the threshold and the floor are; where a threshold is given, the floor is the
    usual distance to the nearest.
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
    if threshold is None:
        close = closeness_by_chance(distances[known], start[known], closest[known], scale[known], n_rows)
    else:
        close = Closeness(threshold, float(np.median(closest[known])) if known.any() else 0.0)
    ratio[known] = closest[known] / np.maximum(scale[known], close.floor)
    usual = float(np.median(scale[known])) if known.any() else 0.0
    # A whole crowd of near copies is no farther from its tenth than from its nearest.
    crowded = np.where(known, np.sqrt(scale / usual), 1.0) if usual > 0.0 else np.ones(n_rows)
    # Rows that only a floor finds may be close by chance: they are no copies whose labels could contradict each other.
    copied = np.minimum(crowded, np.divide(closest, scale, out=np.ones(n_rows), where=known)) < close.part
    ratio = np.minimum(ratio, crowded)
    flagged = ratio < close.part
    reach = np.where(known, np.maximum(scale, usual), 0.0) * close.part
    pairs = (distances <= reach[:, np.newaxis]) & unequal & copied[:, np.newaxis]
    ones, places = np.nonzero(pairs)
    linked = merge_components(first.astype(np.int64), ones, near[ones, places].astype(np.int64))
    sentence = (
        f"{count_of(int(flagged.sum()), 'row')} of {n_rows} {'is' if flagged.sum() == 1 else 'are'} nearly equal "
        f"to another: nearer than {close.part:.2g} of the usual distance."
    )
    details = {"nearest": ids[near[rows, start]], "distance": closest}
    found = found_below("near_duplicates", ratio, close.part, ids, sentence, details=details)
    return Copies(equal, number_groups(linked), scale, close.part, _exact(equal, ids), found)


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
    """Find training rows that are equal or nearly equal to a test row, by the nearest training rows of each test row.

    The threshold is that of near duplicates where nothing is said.
    """
    limit = max(copies.threshold if threshold is None else threshold, np.nextafter(0.0, 1.0))
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
    flagged = ratio < limit
    n_seen = int(np.isin(there, here).sum())
    sentence = f"No training row is equal or nearly equal to one of the {n_test} test rows."
    if flagged.any():
        sentence = (
            f"{count_of(int(flagged.sum()), 'training row')} of {n_rows} are in the test set or nearly so; {n_seen} of "
            f"{n_test} test rows ({n_seen / n_test:.1%}) are equal to a training row."
        )
    return found_below("leakage", ratio, limit, ids, sentence, details={"test_row": twin})
