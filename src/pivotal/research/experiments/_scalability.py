"""Scalability: the paper's algorithms and this library's engine, timed on one query of larger and larger data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import FloatArray, IndexArray
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._ladder import Step, time_scaling
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._scalability_page import draw_times, explain_times
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.paper import ALGORITHMS
from pivotal.valuation.value import value

__all__ = ["SCALABILITY", "make_step", "measure_ladder", "soft_shapley"]

_SIZES: Final = (10, 20, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000, 10_000_000)
_QUICK_SIZES: Final = (4, 8, 10)
_BITS: Final = 7
_WEIGHTED: Final = ("bv", "bv-fast", "sv")
_ENGINE: Final = ("bv-fast", "bv-uw", "sv", "sv-uw", "sv-soft")
_BY_HAND: Final = (*ALGORITHMS, "sv-soft")


def soft_shapley(match: FloatArray, k: int) -> FloatArray:
    """Return the soft-label Shapley values of one query by the recursion of Jia et al. (2019), in O(n).

    Parameters
    ----------
    match : float array of shape (n,)
        1 where a neighbour has the query's label, nearest first.
    k : int

    Examples
    --------
    >>> soft_shapley(np.array([1.0, 0.0, 1.0]), 1).round(4)
    array([ 0.8333, -0.1667,  0.3333])
    """
    n = len(match)
    ranks = np.arange(1, n)
    steps = (match[:-1] - match[1:]) * np.minimum(k, ranks) / (k * ranks)
    last = match[-1] * min(k, n) / (n * k)
    return np.asarray(last + np.append(np.cumsum(steps[::-1])[::-1], 0.0))


def make_step(kind: str, name: str, weights: str, k: int, seed: int) -> Step:
    """Return what makes the timed call for a size: the paper's algorithm by hand, or the engine.

    Parameters
    ----------
    kind : {"by hand", "engine"}
    name : str
        Abbreviation of the algorithm.
    weights : {"uniform", "distance"}
    k, seed : int
    """

    def step(n: int) -> Callable[[], object]:
        data = synthetic(n + 1, random_state=seed)
        # The last row differs with n; the query must not.
        X, y = data.X[1:], data.y[1:]
        query, label = data.X[:1], data.y[:1]
        if kind == "engine":
            # Names of unweighted methods fix their weights, those of weighted ones suggest them.
            chosen: dict[str, Any] = {} if name not in _WEIGHTED else {"weights": weights}
            return lambda: value(X, y, query, label, k=k, method=name, n_jobs=1, **chosen)

        def by_hand() -> object:
            order, distances = _nearest(X, query[0])
            if name == "sv-soft":
                return soft_shapley((y[order] == label[0]).astype(float), k)
            signs = np.where(y[order] == label[0], 1, -1)
            votes = _votes(distances) if weights == "distance" else np.ones(n, dtype=np.int64)
            return ALGORITHMS[name]((signs * votes).tolist(), k)

        return by_hand

    return step


def _nearest(X: Any, query: Any) -> tuple[IndexArray, FloatArray]:
    distances = np.sqrt(((X - query) ** 2).sum(axis=1, dtype=np.float64))
    order = np.argsort(distances, kind="stable")
    return order, distances[order]


def _votes(distances: FloatArray) -> IndexArray:
    """Votes of 7 bits, inverse to the distance, as `weights="distance"` rounds them."""
    largest = (1 << _BITS) - 1
    votes: IndexArray = np.rint(largest * distances[0] / distances).astype(np.int64)
    return votes


def _cells(setup: Setup) -> list[Cell]:
    sizes = _QUICK_SIZES if setup.quick else _SIZES
    # A process of its own can be stopped, but takes seconds to start: small sizes do without.
    settings = {"k": K, "seed": setup.seed, "sizes": list(sizes), "budget": setup.budget, "apart": not setup.quick}
    cells = []
    for kind, names in (("by hand", _BY_HAND), ("engine", _ENGINE)):
        for name in names:
            # bf and bv are no contenders elsewhere; they come along unless methods were chosen without them.
            if name not in setup.methods and name not in ("bf", "bv"):
                continue
            for weights in ("uniform", "distance") if name in _WEIGHTED else ("uniform",):
                more = {**settings, "kind": kind, "weights": weights}
                cells += [Cell("scalability", "synthetic", name, run, more) for run in range(setup.runs)]
    return cells


def measure_ladder(cell: Cell, source: DataSource) -> Result:  # noqa: ARG001  all measures take both
    """Time one algorithm on all sizes it can do in time."""
    settings = cell.settings
    arguments = (settings["kind"], cell.method, settings["weights"], settings["k"], settings["seed"] + cell.run)
    seconds = time_scaling(make_step, arguments, settings["sizes"], settings["budget"], apart=settings["apart"])
    return {"sizes": list(seconds), "time": list(seconds.values())}


def _gather(results: Results) -> pd.DataFrame:
    rows = []
    for cell, result in results:
        done = dict(zip(result["sizes"], result["time"], strict=True))
        about = {"kind": cell.settings["kind"], "algorithm": cell.method, "weights": cell.settings["weights"]}
        for n in cell.settings["sizes"]:
            rows.append({**about, "run": cell.run, "n": n, "seconds": done.get(n), "budget": cell.settings["budget"]})
    return pd.DataFrame(rows).astype({"seconds": float})


SCALABILITY: Final = Experiment(
    "scalability",
    "Scalability: time against the number of points",
    _cells,
    measure_ladder,
    _gather,
    (Picture("", "Seconds for one query by the number of training points", draw_times),),
    explain_times,
    alone=True,
    needs_data=False,
)
