"""What a model makes of a selection on rows that had no part in it, by cross-validation, beside random selections."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import pandas as pd

from pivotal.analysis.selection._exchange_search import Chosen
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.analysis.selection._wishes import Wishes
from pivotal.core.progress import tqdm
from pivotal.core.types import CodeArray, FloatArray, IndexArray

_MANY_ROWS: Final = 20_000  # beyond, one part is held out, not each in turn
_HELD_OUT: Final = 5_000
_NEIGHBORS: Final = 5
DEFAULT_MODEL: Final = f"{_NEIGHBORS} nearest neighbours"
"""What is fitted where no model is given."""


class Chooser(Protocol):
    """A way of choosing rows."""

    @property
    def name(self) -> str:
        """What `pivotal.select` calls it."""

    def on(self, data: SelectionData) -> Callable[[Wishes], Chosen]:
        """Return what chooses from these rows; what does not depend on the wishes is computed once."""


@dataclass(frozen=True)
class Expectation:
    """Accuracy on rows that took no part, as the share of labels that a model predicts; the labels are as given.

    Parameters
    ----------
    size : int
        Rows that are selected, of all.
    accuracy, accuracy_error : float
        Of a model fitted to the selection, and the standard error over the rows it was judged on.
    random, random_error : float
        The same for as many rows drawn at random, mean of several draws; for whole groups, or rows within the budget,
        where these were asked for.
    everything, everything_error : float
        The same for all rows.
    gain, gain_error : float
        Accuracy less that of random selections, paired by row.
    balanced, balanced_random, balanced_everything : float
        Balanced accuracies: means over the classes.
    n_judged, n_folds, n_draws : int
        Rows that were judged, folds, and draws of random selections.
    model : str
        What was fitted.
    """

    size: int
    accuracy: float
    accuracy_error: float
    random: float
    random_error: float
    everything: float
    everything_error: float
    gain: float
    gain_error: float
    balanced: float
    balanced_random: float
    balanced_everything: float
    n_judged: int
    n_folds: int
    n_draws: int
    model: str

    def to_frame(self) -> pd.DataFrame:
        """One line each for the selection, random selections and everything."""
        return pd.DataFrame(
            {
                "accuracy": [self.accuracy, self.random, self.everything],
                "standard_error": [self.accuracy_error, self.random_error, self.everything_error],
                "balanced_accuracy": [self.balanced, self.balanced_random, self.balanced_everything],
            },
            index=pd.Index(["this selection", "random", "everything"], name="rows"),
        )

    def __str__(self) -> str:
        return (
            f"expected accuracy {_percent(self.accuracy, self.accuracy_error)}; random selections "
            f"{_percent(self.random, self.random_error)}; everything "
            f"{_percent(self.everything, self.everything_error)} ({self.model}, {self.n_judged} rows that took no part)"
        )


def _percent(share: float, error: float) -> str:
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


@dataclass(frozen=True, eq=False)
class Estimation:
    """How selections are judged."""

    method: Chooser
    data: SelectionData
    wishes: Wishes
    model: Any = None
    """A scikit-learn classifier; 5 nearest neighbours by default."""

    n_folds: int = 5
    """Parts that are held out in turn."""

    n_draws: int = 5
    """Random selections."""

    seed: int = 0
    progress: bool = False

    def of_sizes(self, sizes: Sequence[int]) -> list[Expectation]:
        """Return what to expect of selections of some sizes.

        With the rows as queries, a fold's rows are omitted, and as large a share of the others is selected. With test
        data, a fold of these is omitted from the queries. Random selections fulfil the wishes as well, apart from
        quotas.
        """
        data = self.data
        folds = self.folds()
        judged = np.concatenate([held for _, held in folds])
        right = np.zeros((len(sizes), len(judged)))
        chance = np.zeros((self.n_draws, len(sizes), len(judged)))
        whole = np.zeros(len(judged))
        rng = np.random.default_rng(self.seed)
        start = 0
        with tqdm(
            total=len(folds) * len(sizes), unit="selection", disable=not self.progress, desc="cross-validating"
        ) as bar:
            for seen, held in folds:
                stop = start + len(held)
                part, rows = data.seen(seen)
                choose = self.method.on(part)
                whole[start:stop] = self.correct(rows, held)
                for s, size in enumerate(sizes):
                    wishes = self.wishes.sized(size)
                    wishes = wishes.part(seen) if data.each_other else wishes
                    made = choose(wishes)
                    if made.facts.get("interrupted"):
                        raise KeyboardInterrupt  # half a search says nothing of a whole one
                    chosen = made.rows
                    right[s, start:stop] = self.correct(rows[chosen], held)
                    for draw in range(self.n_draws):
                        chance[draw, s, start:stop] = self.correct(rows[wishes.draw(rng)], held)
                    bar.update(1)
                start = stop
        targets = data.targets[judged]
        return [self._summary(size, right[s], chance[:, s], whole, targets, len(folds)) for s, size in enumerate(sizes)]

    def folds(self) -> list[tuple[IndexArray, IndexArray]]:
        """Return what is seen and what is held out: rows, or queries that are no rows."""
        from sklearn.model_selection import GroupKFold, StratifiedKFold

        targets, n = self.data.targets, len(self.data.targets)
        if n > _MANY_ROWS and self.wishes.groups is None:
            order = np.random.default_rng(self.seed).permutation(n)
            return [(np.sort(order[_HELD_OUT:]), np.sort(order[:_HELD_OUT]))]
        if self.data.each_other and self.wishes.groups is not None:
            n_folds = min(self.n_folds, int(self.wishes.groups.max()) + 1)
            if n_folds < 2:
                raise ValueError("cross-validation needs at least two groups; got 1. There is nothing to choose.")
            return list(GroupKFold(n_folds).split(targets, targets, self.wishes.groups))
        n_folds = min(self.n_folds, n)
        if n_folds < 2:
            raise ValueError("cross-validation needs at least two queries; got 1. Add test rows, or omit them.")
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        _, codes, counts = np.unique(targets, return_inverse=True, return_counts=True)
        with warnings.catch_warnings():
            # A class smaller than the number of folds is missing from some of them, which does no harm.
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            if counts.max() < n_folds:
                codes = np.zeros_like(codes)
            return list(folds.split(np.zeros(n), codes))

    def correct(self, rows: IndexArray, held: IndexArray) -> FloatArray:
        """Return which held-out rows a model fitted to some rows predicts."""
        data = self.data
        codes = data.codes[rows]
        if (codes == codes[0]).all():
            predicted: CodeArray = np.full(len(held), codes[0])
        else:
            from sklearn.base import clone

            near = data.neighbors_model(min(_NEIGHBORS, len(rows)))
            model = near if self.model is None else clone(self.model)
            asked = data.X[held] if data.each_other else data.queries[held]
            fitted = model.fit(data.X[rows] if data.has_features else data.X[rows][:, rows], codes)
            predicted = fitted.predict(asked if data.has_features else asked[:, rows])
        right: FloatArray = (predicted == data.targets[held]).astype(np.float64)
        return right

    def _summary(
        self, size: int, right: FloatArray, chance: FloatArray, whole: FloatArray, targets: CodeArray, n_folds: int
    ) -> Expectation:
        drawn = chance.mean(axis=0)
        # Random selections are uncertain twice: by the rows they are judged on, and by the draw.
        by_draw = float(chance.mean(axis=1).var(ddof=1)) / self.n_draws if self.n_draws > 1 else 0.0
        return Expectation(
            size=size,
            accuracy=float(right.mean()),
            accuracy_error=_error(right),
            random=float(drawn.mean()),
            random_error=float(np.hypot(_error(drawn), by_draw**0.5)),
            everything=float(whole.mean()),
            everything_error=_error(whole),
            gain=float((right - drawn).mean()),
            gain_error=float(np.hypot(_error(right - drawn), by_draw**0.5)),
            balanced=_balanced(right, targets),
            balanced_random=_balanced(drawn, targets),
            balanced_everything=_balanced(whole, targets),
            n_judged=len(right),
            n_folds=n_folds,
            n_draws=self.n_draws,
            model=DEFAULT_MODEL if self.model is None else type(self.model).__name__,
        )


def _error(numbers: FloatArray) -> float:
    """Standard error of a mean."""
    return float(numbers.std(ddof=1) / np.sqrt(len(numbers))) if len(numbers) > 1 else 0.0


def _balanced(right: FloatArray, targets: CodeArray) -> float:
    return float(np.mean([right[targets == code].mean() for code in np.unique(targets)]))
