"""Rows that are far from all others."""

from __future__ import annotations

from typing import Final

import numpy as np

from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.analysis.checkup._nearest_rows import N_NEAR
from pivotal.core.types import AnyArray, FloatArray

_FENCE: Final = 3.0  # Tukey's: beyond three times the quartile range is far out
_ROUNDING: Final = 1e-9  # deviations below this part of the distances count as zero


def find_outliers(near: AnyArray, distances: FloatArray, ids: AnyArray, threshold: float | None) -> Finding:
    """Find rows whose ten nearest are unusually far away.

    The score is the median of the mean distance to the ten nearest over the row's own, at most 1: at 0.25 a row's
    neighbours are four times as far away as usual. Unless there is a threshold, a fence of logarithms decides, as
    distances are skewed.
    """
    mean = distances[:, :N_NEAR].mean(axis=1)
    usual = float(np.median(mean))
    positive = mean[mean > 0.0]
    if usual == 0.0 and len(positive):
        usual = float(np.median(positive))  # more than half of the rows are equal to ten others
    scores = np.ones(len(ids))
    scores[mean > 0.0] = np.minimum(1.0, usual / positive) if usual else 1.0
    if threshold is None:
        threshold = 0.0
        if len(positive):
            low, high = np.quantile(np.log(positive), [0.25, 0.75])
            fence = float(high + _FENCE * max(high - low, _ROUNDING))
            threshold = float(min(1.0, usual * np.exp(-fence)))
    n = int((scores < threshold).sum())
    times = f"{1.0 / threshold:.3g}" if threshold else "infinitely"
    sentence = (
        f"{count_of(n, 'row')} of {len(ids)} {'is' if n == 1 else 'are'} far from all others: more than {times} times "
        "the usual distance to the nearest ten."
    )
    details = {"nearest": ids[near[:, 0]], "distance": mean}
    return found_below("outliers", scores, threshold, ids, sentence, details=details)
