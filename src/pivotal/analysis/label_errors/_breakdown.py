"""Where the wrong labels are expected: per class, per annotator, and what was taken for what."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.types import AnyArray, FloatArray

__all__ = ["confusion_of", "counts_by_group"]


def counts_by_group(
    groups: Any, suspect: npt.NDArray[np.bool_], chances: tuple[FloatArray, FloatArray, FloatArray]
) -> pd.DataFrame:
    """Return how many labels of each group are expected to be wrong, most of them first.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Whose each row is; rows without one are a group of their own.
    suspect : bool array of shape (n_rows,)
    chances : three float64 arrays of shape (n_rows,)
        How likely each label is wrong, if as many are as is estimated, as few as may be, and as many as may be.
    """
    codes, names = _codes(groups)
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
