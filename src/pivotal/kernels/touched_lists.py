"""Finding the lists of neighbours that an edit changes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pivotal.kernels._compile import kernel


@kernel
def mark_lists(
    indices: npt.NDArray[np.int32], depth: int, chosen: npt.NDArray[np.bool_], marks: npt.NDArray[np.bool_]
) -> None:
    """Mark the lists that begin with some of the chosen training points among their first `depth`.

    Parameters
    ----------
    indices : int32 array of shape (n_queries, width)
        Training points, nearest first; -1 behind the last of a list.
    depth : int
        How many points of a list to look at, at most `width`.
    chosen : bool array of shape (n_train,)
        Which points to look for.
    marks : bool array of shape (n_queries,)
        Output, overwritten.
    """
    for q in range(indices.shape[0]):
        found = False
        for i in range(depth):
            point = indices[q, i]
            if point < 0:
                break
            if chosen[point]:
                found = True
                break
        marks[q] = found
