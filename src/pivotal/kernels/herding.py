"""Kernel herding: rows chosen one after the other so that their mean follows the mean of the data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel
from pivotal.kernels.coalition_arrays import SmallFloats


@kernel
def herd_by_kernel(
    pairs: SmallFloats, pull: FloatArray, sums: FloatArray, taken: npt.NDArray[np.bool_], chosen: IndexArray
) -> None:
    """Fill `chosen` with rows, each the best next one.

    Parameters
    ----------
    pairs : float32 array of shape (n_rows, n_rows)
        Kernel of all pairs of rows.
    pull : float64 array of shape (n_rows,)
        Mean of the kernel with the data.
    sums : float64 array of shape (n_rows,)
        Sum of the kernel with the rows chosen so far; written in place.
    taken : bool array of shape (n_rows,)
        Rows that are chosen already; written in place.
    chosen : int64 array
        Output, at most as many as there are rows that are not taken.
    """
    n_before = taken.sum()
    for t in range(chosen.shape[0]):
        best, best_gain = -1, -1e300
        for row in range(pull.shape[0]):
            apart = pull[row] - sums[row] / (n_before + t + 1.0)
            if not taken[row] and apart > best_gain:
                best, best_gain = row, apart
        chosen[t] = best
        taken[best] = True
        for row in range(pull.shape[0]):
            sums[row] += pairs[best, row]


@kernel
def herd_by_features(
    features: SmallFloats,
    mean: FloatArray,
    total: FloatArray,
    taken: npt.NDArray[np.bool_],
    candidates: CodeArray,
    chosen: IndexArray,
) -> None:
    """Fill `chosen` with rows, each the best of some candidates.

    Parameters
    ----------
    features : float32 array of shape (n_rows, n_features)
        Features of the kernel.
    mean : float64 array of shape (n_features,)
        Mean of the features of the data.
    total : float64 array of shape (n_features,)
        Sum of the features of the rows chosen so far; written in place.
    taken : bool array of shape (n_rows,)
        Rows that are chosen already; written in place.
    candidates : int32 array of shape (n_chosen, n_candidates)
        Rows to look at each time. If all are taken, the first row that is not is chosen.
    chosen : int64 array
        Output, at most as many as there are rows that are not taken.
    """
    n_before, first = taken.sum(), 0
    for t in range(chosen.shape[0]):
        best, best_gain = -1, -1e300
        for c in range(candidates.shape[1]):
            row = candidates[t, c]
            if taken[row]:
                continue
            apart = 0.0
            for f in range(features.shape[1]):
                apart += features[row, f] * (mean[f] - total[f] / (n_before + t + 1.0))
            if apart > best_gain:
                best, best_gain = row, apart
        if best < 0:
            while taken[first]:
                first += 1
            best = first
        chosen[t] = best
        taken[best] = True
        for f in range(features.shape[1]):
            total[f] += features[best, f]
