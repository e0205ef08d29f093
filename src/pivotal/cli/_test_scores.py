"""What a model makes of fewer rows, measured on test rows that had no part in choosing them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._screen import Screen
from pivotal.cli._work import Data

if TYPE_CHECKING:
    from pivotal.core.types import IndexArray

# Accuracy says little where one class is rare; the mean over the classes does.
_OF_CLASSES: Final = {"Accuracy": "accuracy", "Balanced accuracy": "balanced_accuracy"}


class TestScores:
    """A nearest-neighbour model with the options of the command, scored on the test rows."""

    def __init__(self, options: argparse.Namespace, screen: Screen, data: Data) -> None:
        ready = data.prepared
        self.screen = screen
        self.n_rows = len(data.rows)
        self.arrays = (ready.X, ready.y, ready.X_test, ready.y_test)
        self.scores = {"R²": "r2"} if data.regression else _OF_CLASSES
        self.n_test = 0 if ready.y_test is None else len(ready.y_test)
        self.k = 5 if options.k is None else options.k
        self.settings: dict[str, Any] = {
            "k": self.k,
            "weights": options.weights or "uniform",
            "metric": options.metric or "euclidean",
            "n_jobs": options.jobs,
            "random_state": options.seed,
        }

    def tell_removal(self, gone: IndexArray) -> None:
        """Compare all rows, without those removed, and without as many at random."""
        import numpy as np

        from pivotal.analysis import removal_curve

        n = len(gone)
        order = np.concatenate([gone, np.setdiff1d(np.arange(self.n_rows), gone)])
        for name, scoring in self.scores.items():
            how = {**self.settings, "steps": [0, n], "scoring": scoring}
            removed = removal_curve(None, *self.arrays, order=order, **how).scores
            chance = removal_curve(None, *self.arrays, order="random", **how).scores
            self._tell(
                name,
                f"with all {self.n_rows} rows {removed[0]:.4f}, without the {n} removed {removed[1]:.4f}, "
                f"without {n} at random {chance[1]:.4f}",
            )

    def tell_selection(self, warm: IndexArray, added: IndexArray) -> None:
        """Compare all rows, those selected, and as many at random that begin alike."""
        import numpy as np

        from pivotal.analysis import selection_curve

        n = len(warm) + len(added)
        rest = np.setdiff1d(np.arange(self.n_rows), np.concatenate([warm, added]))
        steps = sorted({len(added), self.n_rows - len(warm)})
        order = np.concatenate([added, rest])
        for name, scoring in self.scores.items():
            how: dict[str, Any] = {"warm_start": warm, **self.settings, "scoring": scoring}
            best = selection_curve(None, *self.arrays, order=order, steps=steps, **how).scores
            chance = selection_curve(None, *self.arrays, order="random", steps=[len(added)], **how).scores
            self._tell(
                name,
                f"with all {self.n_rows} rows {best[-1]:.4f}, with the {n} selected {best[0]:.4f}, "
                f"with {n} at random {chance[0]:.4f}",
            )

    def _tell(self, score: str, what: str) -> None:
        self.screen.tell(f"{score} of {self.k} nearest neighbours on {self.n_test} test rows: {what}.")
