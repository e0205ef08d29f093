"""The two studies behind most figures: values on data as it is, and values on data with flipped labels.

Of every data set 5 % are the test set that the values are computed from, as in the paper, and another 5 % are fresh: no
value knows them. The paper measures models on the former, which flatters the values; here it is done on both.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.analysis import detection, removal_curve, repair, selection_curve
from pivotal.analysis.selection import select
from pivotal.core.types import IndexArray
from pivotal.research.bench.stopwatch import Stopwatch, timed
from pivotal.research.datasets import Split, flip_labels, imbalance
from pivotal.research.experiments._contenders import CONTENDERS, SELECT, play
from pivotal.research.experiments._result_cells import Cell, DataSource, Result

REMOVED: Final = (*np.arange(0, 0.1, 0.01).round(2).tolist(), *np.arange(0.1, 0.51, 0.02).round(2).tolist())
"""Shares of the training points after which the score of removal and selection is taken."""
FLIPPED: Final = tuple(np.arange(0, 0.101, 0.005).round(3).tolist())
"""Shares of the training points after which the score of flipping is taken."""
SELECTED: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares after which the score of rows that are selected together is taken: each size is selected anew."""
WARM: Final = 0.01  # share of the training points from which a selection starts
_NOISE: Final = 0.05  # the paper's share of wrong labels
_HELD_OUT: Final = 0.1  # half of it is the test set, half is fresh


class ExperimentTask(NamedTuple):
    """Points to value, queries to value them by, and fresh ones that no value knows."""

    seen: Split
    fresh: Split
    rng: np.random.Generator


def draw_task(cell: Cell, source: DataSource) -> ExperimentTask:
    """Draw the rows of a cell and split them; the same for all methods, and for other runs others."""
    settings = cell.settings
    rng = np.random.default_rng([settings["seed"], cell.run])
    data = source.load(cell.data)
    if "ratio" in settings:
        X, y, _ = imbalance(data.X, data.y, settings["ratio"], random_state=rng)
        data = replace(data, X=X, y=y)
    data = data.sample(settings["rows"], random_state=rng)
    # Pixels share a scale, and scaling each by itself would amplify the empty corners.
    train_X, train_y, X, y = data.split(_HELD_OUT, standardize=data.image is None, random_state=rng)
    # Files are often sorted by class, and of equal values the index decides: that must not be a hint.
    order = rng.permutation(len(train_y))
    train_X, train_y = train_X[order], train_y[order]
    rows = rng.permutation(len(y))
    half = held_out_sizes(len(data))[1]
    seen, fresh = (Split(train_X, train_y, X[part], y[part]) for part in (rows[:half], rows[half:]))
    return ExperimentTask(seen, fresh, rng)


def held_out_sizes(rows: int) -> tuple[int, int, int]:
    """Return how many of n rows are training points, test points and fresh points.

    Examples
    --------
    >>> held_out_sizes(2000)
    (1800, 100, 100)
    """
    held_out = round(_HELD_OUT * rows)
    test = (held_out + 1) // 2
    return rows - held_out, test, held_out - test


def measure_clean(cell: Cell, source: DataSource) -> Result:
    """Value the points of a data set; remove the most valuable, and select them."""
    task = draw_task(cell, source)
    values, seconds = _timed_values(cell, task.seen)
    n_train, k = len(values), cell.settings["k"]
    counts = whole_counts(cell.settings.get("shares", REMOVED), n_train)
    seed = int(task.rng.integers(2**31))
    how: dict[str, Any] = {"k": k, "steps": counts, "n_jobs": 1}
    result: Result = {**_sizes(task), "valuation": seconds, "counts": counts.tolist(), "removal": {}, "selection": {}}
    warm = max(1, round(WARM * n_train))
    for name, split, weights in _evaluations(cell, task):
        removal = removal_curve(values, *split, order="highest", weights=weights, **how)
        selection = selection_curve(values, *split, warm_start=warm, weights=weights, random_state=seed, **how)
        result["removal"][name] = removal.scores.round(6).tolist()
        result["selection"][name] = selection.scores.round(6).tolist()
    return result


def measure_selection(cell: Cell, source: DataSource) -> Result:
    """Add rows to the same random start: the most valuable, or those that `pivotal.select` chooses together."""
    if cell.method != SELECT:
        return measure_clean(cell, source)
    task = draw_task(cell, source)
    n_train, k = len(task.seen.y_train), cell.settings["k"]
    counts = whole_counts(SELECTED, n_train)
    # The start is that of the other curves: their seed, and the stream they take it from.
    seed = int(task.rng.integers(2**31))
    warm = np.random.default_rng(seed).spawn(2)[0].permutation(n_train)[: max(1, round(WARM * n_train))]
    scores: dict[str, list[float]] = {"seen/uniform": [], "fresh/uniform": []}
    spent = 0.0
    for count in counts.tolist():
        size = len(warm) + count
        chosen = warm
        with Stopwatch() as watch:
            if count:
                found = select(task.seen.X_train, task.seen.y_train, size, include=warm, random_state=seed, n_jobs=1)
                chosen = found.indices
        spent += watch.seconds
        for on in ("seen", "fresh"):
            curve = selection_curve(
                None, *getattr(task, on), order=np.arange(n_train), warm_start=chosen, steps=[0], k=k, n_jobs=1
            )
            scores[f"{on}/uniform"].append(round(float(curve.scores[0]), 6))
    return {**_sizes(task), "valuation": spent, "counts": counts.tolist(), "selection": scores}


def measure_noisy(cell: Cell, source: DataSource) -> Result:
    """Flip labels, value the points, look for the flips, and flip the labels of the least valuable."""
    task = draw_task(cell, source)
    noisy, flipped = flip_labels(task.seen.y_train, _NOISE, random_state=task.rng)
    task = ExperimentTask(task.seen._replace(y_train=noisy), task.fresh._replace(y_train=noisy), task.rng)
    values, seconds = _timed_values(cell, task.seen)
    counts = whole_counts(FLIPPED, len(values))
    result: Result = {
        **_sizes(task),
        "valuation": seconds,
        "counts": counts.tolist(),
        "flip": {},
        "detection": detection(values, flipped).to_dict(),
    }
    for name, split, weights in _evaluations(cell, task):
        repaired = repair(
            values, *split, share=int(counts[-1]), steps=counts, k=cell.settings["k"], weights=weights, n_jobs=1
        )
        result["flip"][name] = repaired.curve.scores.round(6).tolist()
    return result


def whole_counts(shares: Any, n_train: int) -> IndexArray:
    """Turn shares of the training points into counts that grow."""
    return np.unique(np.round(np.asarray(shares) * n_train).astype(np.int64))


def _timed_values(cell: Cell, task: Split) -> tuple[npt.NDArray[np.float64], float]:
    k, n_samples, seed = cell.settings["k"], cell.settings["n_samples"], cell.settings["seed"] + cell.run
    if cell.method == "rand":  # else one draw would serve all data sets of one size, and its luck would be the mean's
        seed = int(np.random.SeedSequence([seed, zlib.crc32(cell.data.encode())]).generate_state(1)[0])
    values, seconds = timed(lambda: play(cell.method, task, k=k, n_samples=n_samples, seed=seed))
    return values.values, seconds


def _evaluations(cell: Cell, task: ExperimentTask) -> list[tuple[str, Split, str]]:
    """Return who scores: unweighted, and for a weighted method its own model as well."""
    kinds = dict.fromkeys(("uniform", CONTENDERS[cell.method].weights))
    return [(f"{on}/{weights}", getattr(task, on), weights) for weights in kinds for on in ("seen", "fresh")]


def _sizes(task: ExperimentTask) -> dict[str, int]:
    return {"n_train": len(task.seen.y_train), "n_test": len(task.seen.y_test), "n_fresh": len(task.fresh.y_test)}
