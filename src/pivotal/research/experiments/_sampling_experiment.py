"""Monte Carlo: how far sampled values are from the exact ones, and what they cost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.core.method_choice import method
from pivotal.research.bench.markdown import table
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._experiment import Experiment, Results
from pivotal.research.experiments._experiment_page import Claim, claims_table
from pivotal.research.experiments._figures import legend, panels, style
from pivotal.research.experiments._frames import pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.valuation.value import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MONTE_CARLO", "measure_sampler"]

_SIZES: Final = {"uniform": 100_000, "distance": 10_000}  # points, as in the paper
_QUICK_SIZES: Final = {"uniform": 400, "distance": 200}
_SAMPLES: Final = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
_TITLES: Final = {"uniform": "unweighted", "distance": "votes by distance"}
_DRAWN_AS: Final = {"coalitions": "bv-fast", "permutations": "sv"}


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


def _draw(frame: pd.DataFrame) -> Figure:
    kinds = list(dict.fromkeys(frame["weights"]))
    figure, axes = panels([_TITLES[kind] for kind in kinds], height=3.0)
    for ax, kind in zip(axes, kinds, strict=True):
        for sampler, part in frame[frame["weights"] == kind].groupby("sampler", sort=False):
            summary = part.groupby("samples")["deviation"].agg(["median", "min", "max"])
            how = style(_DRAWN_AS[str(sampler)])
            ax.plot(summary.index, summary["median"], label=str(sampler), **how)
            ax.fill_between(summary.index, summary["min"], summary["max"], color=how["color"], alpha=0.15, linewidth=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("samples", fontsize="small")
    axes[0].set_ylabel("deviation", fontsize="small")
    legend(figure, axes)
    return figure


def _tell(frame: pd.DataFrame, setup: Setup) -> list[str]:
    parts = [
        f"One random query of a synthetic set of 32 features, k = {K}, {setup.runs} runs with other points each. The "
        "deviation is the largest difference to the exact values, over the largest of those, as in the paper; tables "
        "have the median of the runs, because a query far from any boundary has values so small that a single lucky "
        "sample is many times as large. One thread. The search for neighbours is part of all times.",
        "## What the paper says, and what is found here",
        NO_FIGURES,
        claims_table(_claims(frame)),
    ]
    for kind, part in frame.groupby("weights", sort=False):
        figures = [_medians(part, column)[sampler] for sampler in _DRAWN_AS for column in ("deviation", "seconds")]
        rows = [[f"{samples:,}", *(f"{column.loc[samples]:.2g}" for column in figures)] for samples in figures[0].index]
        exact = part["exact_seconds"].mean()
        parts += [
            f"## {_TITLES[str(kind)].capitalize()}, n = {part['n'].iloc[0]:,}",
            f"The exact values take {exact:.2g} s.",
            table(["samples", "coalitions", "seconds", "permutations", "seconds"], rows),
        ]
    return parts


def _medians(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return pivot(frame, "samples", "sampler", column, "median")


def _claims(frame: pd.DataFrame) -> list[Claim]:
    closer: dict[str, tuple[bool | None, str]] = {}
    faster: dict[str, tuple[bool | None, str]] = {}
    speed_up: dict[str, tuple[bool | None, str]] = {}
    for kind, title in _TITLES.items():
        here = pick(frame, weights=kind)
        deviation, seconds = (_medians(here, column) for column in ("deviation", "seconds"))
        won = int((deviation["coalitions"] < deviation["permutations"]).sum())
        closer[title] = (
            2 * won > len(deviation),
            f"coalitions closer for {won} of {len(deviation)} numbers of samples",
        )
        ratio = float((seconds["permutations"] / seconds["coalitions"]).iloc[-1])
        faster[title] = (ratio > 1.0, f"permutations take {ratio:.1f} times as long with the most samples")
        good = seconds["coalitions"][deviation["coalitions"] <= 0.02]
        exact = float(here["exact_seconds"].mean())
        if good.empty:
            speed_up[title] = (None, "no number of samples reaches it")
        else:
            gain = exact / float(good.iloc[0])
            speed_up[title] = (
                gain >= 25.0 if kind == "distance" else gain <= 1.0,
                f"{gain:.2g} times as fast as the exact engine of this library",
            )
    return [
        Claim("Permutations converge more slowly than coalitions", closer),
        Claim("... and take longer", faster),
        Claim(
            "Coalitions are 25 times as fast as the weighted algorithm at a deviation of 0.02, not the unweighted",
            speed_up,
        ),
    ]


MONTE_CARLO: Final = Experiment(
    "monte-carlo",
    "Monte Carlo: deviation against samples",
    _cells,
    measure_sampler,
    _gather,
    _draw,
    _tell,
    alone=True,
    needs_data=False,
)
