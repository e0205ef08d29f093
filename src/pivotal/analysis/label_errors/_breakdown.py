"""Where the wrong labels are expected: per class, per annotator, and what was taken for what."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import logit

from pivotal.analysis.label_errors._counts import chances_that_sum
from pivotal.core.types import AnyArray, FloatArray

_USUAL_ROWS: Final = 20.0
_ROUNDS: Final = 50
_CONVERGED: Final = 1e-6
_TINY: Final = 1e-12


def counts_by_group(
    groups: Any,
    suspect: npt.NDArray[np.bool_],
    chances: tuple[FloatArray, FloatArray, FloatArray],
    *,
    careless: bool = False,
) -> pd.DataFrame:
    """Return how many labels of each group are expected to be wrong, most first; rows without a group are one, too.

    The chances say how likely each label is wrong, if as many are as is estimated, as few as may be, and as many as may
    be. Of groups that may be `careless`, some are wrong more often than others, as annotators are.
    """
    codes, names = _codes(groups)
    if careless:
        chances = tuple(_with_habits(each, codes, len(names)) for each in chances)  # type: ignore[assignment]
    rows = np.bincount(codes, minlength=len(names))
    wrong, low, high = (np.bincount(codes, weights=each, minlength=len(names)) for each in chances)
    # The total may be off, and chance decides which of the doubtful ones are wrong.
    doubt = 1.645 * np.sqrt(np.bincount(codes, weights=chances[0] * (1.0 - chances[0]), minlength=len(names)))
    frame = pd.DataFrame(
        {
            "rows": rows,
            "suspects": np.bincount(codes, weights=suspect, minlength=len(names)).astype(np.int64),
            "wrong": wrong,
            "low": np.maximum(wrong - np.hypot(wrong - low, doubt), 0.0),
            "high": np.minimum(wrong + np.hypot(high - wrong, doubt), rows),
            "share": wrong / rows,
        },
        index=names,
    )
    return frame.sort_values("wrong", ascending=False, kind="stable")


def _with_habits(chances: FloatArray, codes: npt.NDArray[np.int64], n_groups: int) -> FloatArray:
    """Return chances with the same sum that allow for groups of which more, or fewer, labels are wrong.

    By expectation maximisation: the share of wrong labels of a group moves the odds of all its labels. Some rows of the
    usual share are added to each group, so that small ones are not made sure of.
    """
    total = float(chances.sum())
    share = total / len(chances)
    if not 0.0 < share < 1.0 or n_groups < 2:
        return chances
    doubt, moved = logit(np.clip(chances, _TINY, 1.0 - _TINY)), chances
    rows = np.bincount(codes, minlength=n_groups)
    for _ in range(_ROUNDS):
        shares = (np.bincount(codes, weights=moved, minlength=n_groups) + _USUAL_ROWS * share) / (rows + _USUAL_ROWS)
        fresh = chances_that_sum(doubt + (logit(shares) - logit(share))[codes], total)
        done = float(np.abs(fresh - moved).max()) < _CONVERGED
        moved = fresh
        if done:
            break
    return moved


def confusion_of(given: AnyArray, rivals: AnyArray, chances: FloatArray) -> pd.DataFrame:
    """Return how many labels are expected to be wrong, by the label given (rows) and the one suggested (columns)."""
    given_codes, given_names = _codes(given)
    rival_codes, rival_names = _codes(rivals)
    names = given_names.append(rival_names[~rival_names.isin(given_names)])
    table = np.zeros((len(names), len(names)))
    np.add.at(table, (given_codes, names.get_indexer(rival_names)[rival_codes]), chances)
    return pd.DataFrame(table, index=names.rename("given"), columns=names.rename("suggested"))


def _codes(labels: Any) -> tuple[npt.NDArray[np.int64], pd.Index[Any]]:
    """Return codes and names, sorted where they can be."""
    values = pd.Series(np.asarray(labels))
    try:
        codes, names = pd.factorize(values, sort=True, use_na_sentinel=False)
    except TypeError:  # of several types
        codes, names = pd.factorize(values, use_na_sentinel=False)
    return codes.astype(np.int64), pd.Index(names)
