"""Order that is not random: rows that are alike stand beside each other."""

from __future__ import annotations

from statistics import NormalDist
from typing import Final

import numpy as np
import pandas as pd

from pivotal.analysis.checkup._finding import Finding
from pivotal.analysis.checkup._nearest_rows import N_NEAR
from pivotal.core.types import AnyArray, FloatArray

_ROWS: Final = 20_000  # whose neighbours are asked
_SHUFFLES: Final = 99
_TINY: Final = 1e-12
_BESIDE: Final = 0.05  # a row whose nearest stand on average in this nearest part of the table


def find_order(
    near: AnyArray,
    distances: FloatArray,
    y: AnyArray | None,
    ids: AnyArray,
    threshold: float,
    rng: np.random.Generator,
) -> Finding:
    """Test whether nearest rows, and equal labels, stand closer together in the table than in a shuffled one.

    A row's score is the mean, over its ten nearest that are not equal to it, of the share of the other rows that stand
    no farther from it in the table. Its mean over the rows is compared with that of shuffled tables. Labels are
    compared by the number of rows with the label of the row before. The threshold is for the p-value.
    """
    n_rows = len(ids)
    nearest, unequal = near[:, :N_NEAR], distances[:, :N_NEAR] > 0.0
    if not unequal.any():
        unequal = np.ones_like(unequal)
    scores = _closeness(np.arange(n_rows), np.arange(n_rows), nearest, unequal)
    some = np.arange(n_rows) if n_rows <= _ROWS else np.sort(rng.choice(n_rows, _ROWS, replace=False))
    asked, counted = nearest[some], unequal[some]
    observed = float(np.nanmean(_closeness(np.arange(n_rows), some, asked, counted)))
    shuffled = [float(np.nanmean(_closeness(rng.permutation(n_rows), some, asked, counted))) for _ in range(_SHUFFLES)]
    tests = {"rows": (observed, float(np.mean(shuffled)), _tail(observed, shuffled))}
    if y is not None:
        codes = pd.factorize(pd.Series(y))[0]
        after = float((codes[1:] == codes[:-1]).mean())
        mixed = [float((c[1:] == c[:-1]).mean()) for c in (rng.permutation(codes) for _ in range(_SHUFFLES))]
        tests["labels"] = (after, float(np.mean(mixed)), _tail(-after, [-share for share in mixed]))
    table = pd.DataFrame(tests, index=["observed", "shuffled", "p_value"]).T.rename_axis("of").reset_index()
    p_value = min(1.0, len(tests) * min(p for _, _, p in tests.values()))  # of the smallest of several
    ordered = p_value < threshold
    scores = np.where(np.isnan(scores), 0.5, scores)
    words = []
    if len(tests) * tests["rows"][2] < threshold:
        words.append(f"rows that are alike stand closer together than by chance ({observed:.3f}, 0.5 if shuffled)")
    if y is not None and len(tests) * tests["labels"][2] < threshold:
        after, mean, _ = tests["labels"]
        words.append(f"{after:.1%} of the rows have the label of the row before, {mean:.1%} if shuffled")
    chance = f"p = {p_value:.2g}" if p_value > _TINY else f"p < {_TINY:.0e}"
    sentence = f"The order of the rows looks random ({chance})."
    if ordered:
        sentence = f"The order of the rows is not random ({chance}): {'; '.join(words)}."
    flagged = (scores < _BESIDE) & ordered
    return Finding("order", scores, flagged, ids.view(), threshold, sentence, table=table, present=ordered)


def _closeness(place: AnyArray, rows: AnyArray, near: AnyArray, counted: AnyArray) -> FloatArray:
    """Return, for each row, the mean share of the others that stand no farther from it than its nearest do.

    Half of those that stand equally far count, so that the mean over a shuffled table is one half.
    """
    n = len(place)
    own, theirs = place[rows][:, np.newaxis], place[near]
    gap = np.abs(own - theirs)
    within = np.minimum(gap, own) + np.minimum(gap, n - 1 - own)
    tied = (own - gap >= 0).astype(np.int64) + (own + gap <= n - 1)
    share = (within - 0.5 * (tied - 1) - 0.5) / (n - 1)
    n_counted = counted.sum(axis=1)
    total = np.where(counted, share, 0.0).sum(axis=1)
    return np.where(n_counted > 0, total / np.maximum(n_counted, 1), np.nan)


def _tail(observed: float, shuffled: list[float]) -> float:
    """Return the chance of a statistic so small, by a normal curve through those of the shuffled tables."""
    std = float(np.std(shuffled, ddof=1))
    if std == 0.0:
        return 1.0
    return NormalDist().cdf((observed - float(np.mean(shuffled))) / std)
