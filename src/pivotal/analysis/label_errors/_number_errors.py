"""The result for numbers: those in doubt, what the others make of them, and how far off is usual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import pandas as pd
from scipy.special import logit

from pivotal.analysis.label_errors._counts import chances_that_sum
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.core.types import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class NumberErrors(LabelErrors):
    """Rows whose number is in doubt, and why. Made by `find_label_errors`; all arrays are read-only.

    What is said of labels in `LabelErrors` is said of numbers here. `scores` are chances that a number is right, if
    beforehand right and wrong were as likely; `rivals` holds what the others make of each number, and `suggested` that
    number where the given one is rather wrong than right; `confidence` is the chance that this is so. `n_wrong` counts
    numbers that are off by more than about three times the usual error: smaller ones cannot be told. They may be rare
    rather than wrong, so its interval starts at 0.

    Parameters
    ----------
    scale : float64 array of shape (n_rows,)
        How far off a right number of such a row is, as a standard deviation.
    """

    scale: FloatArray

    def explain(self, row: SupportsIndex) -> str:
        """Say in a sentence what speaks for or against the number of a row.

        Parameters
        ----------
        row : int
            Position of the row, suspect or not.
        """
        i = self._position(row)
        near = self.given[self.nearest[i]]
        lie = f"{near.min():.6g} to {near.max():.6g}"
        others = f"its nearest neighbour has {near[0]:.6g}" if len(near) == 1 else f"its {len(near)} nearest have {lie}"
        expected = f"{self.rivals[i]:.6g} is expected, give or take {self.scale[i]:.3g}"
        return f"row {self.ids[i]} has {self.given[i]:.6g}; {expected}; {others}; {self._harm(i)}"

    def confusion(self) -> pd.DataFrame:
        """Raise: there are no classes."""
        raise ValueError("numbers are not taken for each other as classes are; use to_frame, or by_group.")

    def by_class(self) -> pd.DataFrame:
        """Raise: there are no classes."""
        raise ValueError("numbers have no classes; use by_group with custom groups, such as annotators.")

    def _chances(self, count: float) -> FloatArray:
        tiny = np.finfo(np.float64).tiny
        return chances_that_sum(-logit(np.clip(self.scores, tiny, 1.0 - 1e-16)), count)
