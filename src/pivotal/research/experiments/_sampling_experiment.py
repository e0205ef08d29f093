"""Monte Carlo: how far sampled values are from the exact ones, and what they cost."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.method_choice import method
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._sampling_page import draw_samples, explain_samples
from pivotal.research.experiments._setup import K, Setup
from pivotal.valuation.value import value

__all__ = ["MONTE_CARLO", "measure_sampler"]

_SIZES: Final = {"uniform": 100_000, "distance": 10_000}  # points, as in the paper
_QUICK_SIZES: Final = {"uniform": 400, "distance": 200}
_SAMPLES: Final = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def _cells(setup: Setup) -> list[Cell]:
    samples = _SAMPLES[:3] if setup.quick else _SAMPLES
    sizes = _QUICK_SIZES if setup.quick else _SIZES
    return [
        Cell(
            "monte-carlo",
            "synthetic",
            sampler,
            run,
            {"weights": weights, "n": n, "samples": list(samples), "k": K, "seed": setup.seed},
        )
        for weights, n in sizes.items()
        for sampler in ("coalitions", "permutations")
        for run in range(setup.runs)
    ]


def measure_sampler(cell: Cell, source: DataSource) -> Result:  # noqa: ARG001  all measures take both
    """Sample the values of one random query with more and more samples, and compare them with the exact ones."""
    settings = cell.settings
    data = synthetic(settings["n"] + 1, random_state=settings["seed"] + cell.run)
    task = (data.X[:-1], data.y[:-1], data.X[-1:], data.y[-1:])
    how: dict[str, Any] = {"k": settings["k"], "weights": settings["weights"], "n_jobs": 1}
    sampled = partial(method, cell.method, random_state=settings["seed"] + cell.run)
    value(*task, **how)  # compiled from here on
    value(*task, method=sampled(n_samples=2), **how)
    with Stopwatch() as watch:
        exact = value(*task, **how).values
    exact_seconds = watch.seconds
    deviations, seconds = [], []
    largest = float(np.abs(exact).max())
    for n_samples in settings["samples"]:
        with Stopwatch() as watch:
            values = value(*task, method=sampled(n_samples=n_samples), **how).values
        seconds.append(watch.seconds)
        deviations.append(float(np.abs(values - exact).max()) / largest if largest else 0.0)
    return {"exact": exact_seconds, "largest": largest, "deviation": deviations, "time": seconds}


def _gather(results: Results) -> pd.DataFrame:
    parts = []
    for cell, result in results:
        columns = {"samples": cell.settings["samples"], "deviation": result["deviation"], "seconds": result["time"]}
        about = {"weights": cell.settings["weights"], "n": cell.settings["n"], "sampler": cell.method, "run": cell.run}
        parts.append(pd.DataFrame({**about, **columns, "exact_seconds": result["exact"]}))
    return pd.concat(parts, ignore_index=True)


MONTE_CARLO: Final = Experiment(
    "monte-carlo",
    "Monte Carlo: deviation against samples",
    _cells,
    measure_sampler,
    _gather,
    (Picture("", "Deviation from the exact values by samples, and by seconds", draw_samples),),
    explain_samples,
    alone=True,
    needs_data=False,
)
