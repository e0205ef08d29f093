"""What the order of the values is good for: scores while points leave, and while they join, against random orders."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pivotal.analysis import removal_curve, selection_curve
from pivotal.core.types import IndexArray
from pivotal.report._report_inputs import Inputs
from pivotal.report._words import count

_STEPS: Final = 45
_SHUFFLES: Final = 5
_REMOVED: Final = 0.9  # of the points; the last few say nothing


def draw_curves(inputs: Inputs, seed: int) -> dict[str, Any]:
    """Return the charts of removal and selection: `note`, and lines and the band of random orders in `charts`.

    The model that is scored is nearest neighbours with unweighted votes. The seed is that of the random orders.
    """
    values, k = inputs.values, inputs.k
    scoring, name = ("accuracy", "Accuracy") if inputs.responses is None else ("r2", "R²")
    n_train = len(values)
    shuffles = [np.random.default_rng([seed, run]).permutation(n_train) for run in range(_SHUFFLES)]
    model: dict[str, Any] = {
        "k": k, "metric": inputs.metric, "metric_params": inputs.metric_params, "scoring": scoring,
    }  # fmt: skip
    data = (inputs.X, inputs.y, inputs.X_test, inputs.y_test)

    leaving = _steps(0, int(_REMOVED * n_train))
    removal = {
        order: removal_curve(values, *data, order=order, steps=leaving, **model) for order in ("lowest", "highest")
    }
    gone = [removal_curve(values, *data, order=order, steps=leaving, **model) for order in shuffles]

    joining = _steps(min(n_train, max(k, n_train // 50)), n_train)
    selection = selection_curve(values, *data, steps=joining, **model)
    come = [selection_curve(values, *data, order=order, steps=joining, **model) for order in shuffles]

    tested = count(inputs.X_test.shape[0], "test point")
    return {
        "note": f"{name} of a nearest-neighbour model (k = {k}, unweighted) on {tested}. "
        f"Grey is the mean of {_SHUFFLES} random orders; the band goes from the lowest to the highest of them. "
        "The curves flatter if the values were computed from the same test points.",
        "charts": [
            {
                "title": "Points removed",
                "axis": "points removed",
                "score": name,
                "lines": [
                    _line("least valuable first", "down", removal["lowest"]),
                    _line("most valuable first", "up", removal["highest"]),
                    _mean(gone),
                ],
                "band": _band(gone),
            },
            {
                "title": "Points selected",
                "axis": "points selected",
                "score": name,
                "lines": [_line("most valuable first", "up", selection), _mean(come)],
                "band": _band(come),
            },
        ],
    }


def _steps(first: int, last: int) -> IndexArray:
    return np.unique(np.rint(np.linspace(first, last, _STEPS)).astype(np.int64))


def _line(name: str, colour: str, curve: Any) -> dict[str, Any]:
    return {"name": name, "colour": colour, "counts": curve.counts.tolist(), "scores": curve.scores.tolist()}


def _mean(curves: list[Any]) -> dict[str, Any]:
    scores = np.mean([curve.scores for curve in curves], axis=0)
    return {"name": "random", "colour": "quiet", "counts": curves[0].counts.tolist(), "scores": scores.tolist()}


def _band(curves: list[Any]) -> dict[str, Any]:
    scores = np.array([curve.scores for curve in curves])
    low, high = scores.min(axis=0), scores.max(axis=0)
    return {"counts": curves[0].counts.tolist(), "low": low.tolist(), "high": high.tolist()}
