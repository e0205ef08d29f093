"""How a score changes while training points are removed, added or repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.frozen import freeze, read_only, thaw
from pivotal.core.types import FloatArray, IndexArray

__all__ = ["Curve"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Curve:
    """Scores of a model after this many points were removed, added or repaired.

    Parameters
    ----------
    counts : int array of shape (n_steps,)
        How many points, ascending.
    scores : float array of shape (n_steps,)
        Score of the model then.
    label : str
        Name of the curve, for a legend.
    settings : mapping of str to JSON values, optional
        How it was computed; `n_train` gives the shares in `to_frame`.

    Examples
    --------
    >>> curve = Curve([0, 1, 2], [0.5, 1.0, 1.0], label="ours", settings={"n_train": 4})
    >>> curve.area()
    0.875
    >>> curve.to_frame()
       count  share  score
    0      0   0.00    0.5
    1      1   0.25    1.0
    2      2   0.50    1.0
    """

    counts: IndexArray
    scores: FloatArray
    label: str
    settings: Mapping[str, Any]

    def __init__(
        self,
        counts: npt.ArrayLike,
        scores: npt.ArrayLike,
        *,
        label: str = "values",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        whole = np.array(counts)
        heights = np.array(scores, dtype=np.float64)
        if whole.ndim != 1 or whole.size == 0 or whole.dtype.kind not in "iu" or (np.diff(whole) <= 0).any():
            raise ValueError(f"counts must be integers that grow, at least one; got {counts!r}.")
        if heights.shape != whole.shape:
            raise ValueError(f"scores must be one number per count, shape {whole.shape}; got shape {heights.shape}.")
        for name, array in (("counts", whole.astype(np.int64)), ("scores", heights)):
            object.__setattr__(self, name, read_only(array))
        object.__setattr__(self, "label", str(label))
        object.__setattr__(self, "settings", freeze({} if settings is None else settings, "settings"))

    def area(self) -> float:
        """Return the area under the curve: its area over its width."""
        width = float(self.counts[-1] - self.counts[0])
        return float(np.trapezoid(self.scores, self.counts)) / width if width else float(self.scores[0])

    def to_frame(self) -> pd.DataFrame:
        """One row per step: count, share of the training points where their number is known, and score."""
        columns: dict[str, Any] = {"count": self.counts}
        if "n_train" in self.settings:
            columns["share"] = self.counts / self.settings["n_train"]
        return pd.DataFrame({**columns, "score": self.scores})

    def __len__(self) -> int:
        return self.counts.size

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(Curve, label=self.label, settings=thaw(self.settings))  # a mapping proxy cannot be pickled
        return made, (self.counts, self.scores)

    def __repr__(self) -> str:
        kind = self.settings.get("kind", "points")
        return (
            f"Curve({self.label}, {kind} of {self.counts[0]} to {self.counts[-1]} points, "
            f"score {self.scores[0]:.4g} to {self.scores[-1]:.4g}, mean {self.area():.4g})"
        )
