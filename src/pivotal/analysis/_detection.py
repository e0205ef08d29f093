"""How well low values find wrong labels, where it is known which ones are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.analysis._ranked_inputs import ScoresLike, as_count, as_indices, as_scores, lowest_first
from pivotal.core.frozen import freeze_arrays
from pivotal.core.types import FloatArray, IndexArray


@dataclass(frozen=True)
class Found:
    """What inspecting the least valuable points brings.

    Parameters
    ----------
    inspected : int
        Points looked at.
    found : int
        Wrong labels among them.
    precision : float
        found / inspected, 0 where nothing is inspected.
    recall : float
        found / all wrong labels.
    f1 : float
        Harmonic mean of the two.
    """

    inspected: int
    found: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False, repr=False)
class Detection:
    """Wrong labels found by looking at the least valuable points first.

    Parameters
    ----------
    order : int array of shape (n_train,)
        Training indices, least valuable first.
    found : int array of shape (n_train + 1,)
        Wrong labels among the first 0, 1, 2, ... of them.
    inspected : int
        How many points `precision`, `recall` and `f1` look at.
    roc_auc : float
        Chance that a wrong label is worth less than a right one, ties count half; 0.5 is chance.
    average_precision : float
        Mean precision over the wrong labels; their share is chance.

    Examples
    --------
    >>> from pivotal.analysis import detection
    >>> result = detection([0.3, -0.2, 0.1, -0.1], mislabelled=[1, 2])
    >>> result
    Detection(1 of 2 wrong labels in 2 of 4 points, precision 0.5, recall 0.5, f1 0.5, roc_auc 0.75, ...)
    >>> result.found
    array([0, 1, 1, 2, 2])
    """

    order: IndexArray
    found: IndexArray
    inspected: int
    roc_auc: float
    average_precision: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_train(self) -> int:
        """Number of training points."""
        return len(self.order)

    @property
    def n_mislabelled(self) -> int:
        """Number of wrong labels."""
        return int(self.found[-1])

    @property
    def precision(self) -> float:
        """Share of wrong labels among the points inspected."""
        return self._at(self.inspected).precision

    @property
    def recall(self) -> float:
        """Share of the wrong labels that are among the points inspected."""
        return self._at(self.inspected).recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self._at(self.inspected).f1

    def at(self, share: int | float) -> Found:
        """Return what inspecting this many points brings: a count, or a share of the training points.

        Examples
        --------
        >>> from pivotal.analysis import detection
        >>> detection([0.3, -0.2, 0.1, -0.1], mislabelled=[1, 2]).at(3)
        Found(inspected=3, found=2, precision=0.6666666666666666, recall=1.0, f1=0.8)
        """
        return self._at(as_count(share, self.n_train, "share"))

    def to_frame(self) -> pd.DataFrame:
        """One row for each number of points inspected, from 1: inspected, found, precision, recall, f1."""
        inspected = np.arange(1, self.n_train + 1)
        found = self.found[1:]
        return pd.DataFrame(
            {
                "inspected": inspected,
                "found": found,
                "precision": found / inspected,
                "recall": found / self.n_mislabelled,
                "f1": 2 * found / (inspected + self.n_mislabelled),
            }
        )

    def to_dict(self) -> dict[str, float | int]:
        """All figures under their names, those of twice as many points inspected with ``_at_twice``."""
        twice = self._at(min(2 * self.inspected, self.n_train))
        return {
            "n_train": self.n_train,
            "n_mislabelled": self.n_mislabelled,
            **vars(self._at(self.inspected)),
            **{f"{name}_at_twice": figure for name, figure in vars(twice).items()},
            "roc_auc": self.roc_auc,
            "average_precision": self.average_precision,
        }

    def _at(self, inspected: int) -> Found:
        found = int(self.found[inspected])
        return Found(
            inspected,
            found,
            found / inspected if inspected else 0.0,
            found / self.n_mislabelled,
            2 * found / (inspected + self.n_mislabelled),
        )

    def __repr__(self) -> str:
        return (
            f"Detection({int(self.found[self.inspected])} of {self.n_mislabelled} wrong labels in {self.inspected} of "
            f"{self.n_train} points, precision {self.precision:.3g}, recall {self.recall:.3g}, f1 {self.f1:.3g}, "
            f"roc_auc {self.roc_auc:.3g}, average_precision {self.average_precision:.3g})"
        )


def detection(values: ScoresLike, mislabelled: npt.ArrayLike, *, share: int | float | None = None) -> Detection:
    """Measure how well low values find labels that are known to be wrong.

    Parameters
    ----------
    values : Values or array-like of shape (n_train,)
        What the points are worth; of equal values the higher index is looked at first, as in `Values.bottom`.
    mislabelled : array-like
        Which labels are wrong: training indices, or a boolean mask of shape (n_train,). Some, but not all.
    share : int or float, optional
        How many points to inspect for precision, recall and F1: a count, or a share of the training points. By default
        as many as are wrong, so that the three are one number. `Detection.at` has the figures for any other count, and
        `Detection.to_dict` those for twice as many, which is the reading that fits the printed tables of the paper.

    Returns
    -------
    Detection
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    scores: FloatArray = as_scores(values)
    wrong = np.zeros(len(scores), np.bool_)
    wrong[as_indices(mislabelled, len(scores), "mislabelled")] = True
    n_wrong = int(wrong.sum())
    if not 0 < n_wrong < len(scores):
        raise ValueError(
            f"mislabelled must name some of the {len(scores)} training points, and not all; got {n_wrong}."
        )
    inspected = n_wrong if share is None else as_count(share, len(scores), "share")
    if inspected == 0:
        raise ValueError(f"share must make at least one point to inspect; got {share!r} of {len(scores)} points.")
    order = lowest_first(scores)
    found: Any = np.concatenate([[0], np.cumsum(wrong[order])]).astype(np.int64)
    return Detection(
        order,
        found,
        inspected,
        float(roc_auc_score(wrong, -scores)),
        float(average_precision_score(wrong, -scores)),
    )
