"""The ablations: bits of a vote, number of neighbours, balance of the classes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.bench.stopwatch import timed
from pivotal.research.experiments._contenders import play
from pivotal.research.experiments._curve_experiments import PLACES
from pivotal.research.experiments._experiment import Experiment, Results
from pivotal.research.experiments._experiment_page import Claim, claims_table, data_table, mean_table
from pivotal.research.experiments._figures import draw_lines, legend, panels
from pivotal.research.experiments._frames import averages, pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.experiments._tasks import draw_task, measure_clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BITS", "IMBALANCE", "NEIGHBOURS", "measure_bits"]

_REFERENCE: Final = 12  # bits of the votes that others are compared with
_EXTREME: Final = 0.1  # what the paper calls an extreme ratio of the classes
_ENDING: Final = 0.1  # share of the points removed where the score is taken
_METHODS: Final = ("bv-fast", "bv-uw", "sv-uw", "sv-soft", "rand")
_LEFT_OUT: Final = (
    "`sv` is omitted: the time of its exact weighted values grows with the points, with k and with the sum of k "
    "votes, and there are many settings here."
)


def _chosen(setup: Setup) -> list[str]:
    return [name for name in _METHODS if name in setup.methods]


# Bits.


def _bits_cells(setup: Setup) -> list[Cell]:
    most = 8 if setup.quick else 10
    if "bv-fast" not in setup.methods:
        return []
    return setup.task_cells("bits", ["bv-fast"], full=False, variations=[{"bits": list(range(1, most + 1))}])


def measure_bits(cell: Cell, source: DataSource) -> Result:
    """Value the points with votes of few and of many bits: time, and how far the values are from those of 12 bits."""
    task = draw_task(cell, source).seen
    how: dict[str, Any] = {"k": cell.settings["k"], "n_samples": cell.settings["n_samples"], "seed": cell.run}
    exact = play("bv-fast", task, bits=_REFERENCE, **how).values  # compiles on the way
    seconds, deviations = [], []
    for bits in cell.settings["bits"]:
        runs = [timed(partial(play, "bv-fast", task, bits=bits, **how)) for _ in range(3)]
        seconds.append(min(taken for _, taken in runs))
        deviations.append(float(np.abs(runs[0][0].values - exact).max() / exact.max()))
    return {"n_train": len(exact), "bits": cell.settings["bits"], "time": seconds, "deviation": deviations}


def _bits_frame(results: Results) -> pd.DataFrame:
    parts = []
    for cell, result in results:
        columns = {"bits": result["bits"], "deviation": result["deviation"], "seconds": result["time"]}
        parts.append(pd.DataFrame({"data": cell.data, "n_train": result["n_train"], "run": cell.run, **columns}))
    return pd.concat(parts, ignore_index=True)


def _draw_bits(frame: pd.DataFrame) -> Figure:
    from matplotlib import colormaps

    figure, axes = panels(["deviation", "seconds"], height=3.0)
    names = frame["data"].unique()
    for ax, column in zip(axes, ("deviation", "seconds"), strict=True):
        for name, place in zip(names, np.linspace(0.0, 0.9, len(names)), strict=True):
            means = pick(frame, data=name).groupby("bits")[column].mean()
            ax.plot(means.index, means, label=name, color=colormaps["viridis"](place), linewidth=1.3)
        ax.set_yscale("log")
        ax.set_xlabel("bits of a vote", fontsize="small")
    legend(figure, axes)
    return figure


def _tell_bits(frame: pd.DataFrame, setup: Setup) -> list[str]:
    # Medians, as one data set whose values are all next to nothing would be the whole mean.
    medians = frame.groupby("bits")[["deviation", "seconds"]].median()
    first, last = int(medians.index[0]), int(medians.index[-1])
    deviation, seconds = medians["deviation"].to_dict(), medians["seconds"].to_dict()
    claims = [
        Claim(
            "Running time grows with b",
            {
                "here": (
                    seconds[last] > seconds[first],
                    f"{seconds[first]:.2g} s at {first} bit, {seconds[last]:.2g} s at {last}",
                )
            },
        ),
        Claim(
            "The deviation falls quickly with b",
            {
                "here": (
                    deviation[5] < deviation[first] / 10,
                    f"{deviation[first]:.2g} at {first} bit, {deviation[5]:.2g} at 5",
                )
            },
        ),
        Claim(
            "... and levels off at around b = 7",
            {"here": (deviation[7] < 0.01, f"{deviation[7]:.2g} at 7 bits, {deviation[last]:.2g} at {last}")},
        ),
    ]
    rows = [[bits, f"{line.deviation:.2g}", f"{line.seconds:.3g}"] for bits, line in medians.iterrows()]
    return [
        f"`bv-fast`, k = {K}, on samples of at most {setup.rows} rows. The deviation is the largest difference to the "
        f"values of votes of {_REFERENCE} bits, over the largest of those; the paper does not say what it compares "
        "with. One thread; the fastest of three.",
        "## Data",
        data_table(setup),
        "## What the paper says, and what is found here",
        f"{NO_FIGURES} It counts as level here where the values are within 1 % of the largest.",
        claims_table(claims),
        "## Median over data sets and runs",
        table(["bits", "deviation", "seconds"], rows),
    ]


# Neighbours, and balance: removal curves at two points.


def _variation_frame(results: Results, column: str) -> pd.DataFrame:
    rows = []
    for cell, result in results:
        for evaluation, scores in result["removal"].items():
            on, weights = evaluation.split("/")
            rows.append(
                {
                    "data": cell.data,
                    "n_train": result["n_train"],
                    "method": cell.method,
                    column: cell.settings[column],
                    "run": cell.run,
                    "on": on,
                    "weights": weights,
                    "start": scores[0],
                    "end": scores[-1],
                    "drop": scores[0] - scores[-1],
                }
            )
    return pd.DataFrame(rows)


def _own_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the scores of each method's own model: weighted for a weighted method."""
    weighted = frame["method"] == "bv-fast"
    return frame[(frame["weights"] == "distance") == weighted]


def _k_cells(setup: Setup) -> list[Cell]:
    counts = (1, 5, 9) if setup.quick else (1, 3, 5, 7, 9, 11, 15, 21)
    variations = [{"k": k, "shares": [0.0, _ENDING]} for k in counts]
    return setup.task_cells("neighbours", _chosen(setup), full=False, variations=variations)


def _k_frame(results: Results) -> pd.DataFrame:
    return _variation_frame(results, "k")


def _draw_variation(frame: pd.DataFrame, column: str, height: str) -> Figure:
    chosen = _own_model(pick(frame, on="seen"))
    names = list(dict.fromkeys(chosen["data"]))
    figure, axes = panels(names)
    for ax, name in zip(axes, names, strict=True):
        draw_lines(ax, chosen[chosen["data"] == name], column, height)
    figure.supxlabel({"k": "neighbours", "ratio": "rare class over common class"}[column], fontsize="small")
    figure.supylabel({"end": "accuracy at the end", "drop": "drop in accuracy"}[height], fontsize="small")
    legend(figure, axes)
    return figure


def _draw_k(frame: pd.DataFrame) -> Figure:
    return _draw_variation(frame, "k", "end")


def _tell_k(frame: pd.DataFrame, setup: Setup) -> list[str]:
    holds: dict[str, tuple[bool | None, str]] = {}
    for on, place in PLACES.items():
        ends = pivot(_own_model(pick(frame, on=on)), ["data", "method"], "k", "end")
        range_of_ends = (ends.max(axis=1) - ends.min(axis=1)).rename("range").rename_axis(["data", "method"])
        ranges = pivot(range_of_ends.reset_index(), "data", "method", "range")
        if {"bv-fast", "bv-uw"} <= set(ranges.columns):
            calmer = int((ranges["bv-fast"] < ranges["bv-uw"]).sum())
            figures = f"bv-fast varies less than bv-uw on {calmer} of {len(ranges)}"
            holds[place] = (2 * calmer > len(ranges), figures)
    parts = [
        f"The {_ENDING:.0%} most valuable points are removed, and the accuracy that is left is taken, for several k; "
        "values and model use the same k, and the model of a weighted method is weighted. "
        f"Samples of at most {setup.rows} rows. {_LEFT_OUT}",
        "## Data",
        data_table(setup),
        "## What the paper says, and what is found here",
        NO_FIGURES,
        claims_table([Claim("Weighted methods depend less on k", holds)]),
    ]
    chosen = _own_model(pick(frame, on="seen"))
    for name, part in chosen.groupby("data", sort=False):
        both = averages(part, "k", "method", "end")
        parts += [f"## {name}: accuracy left, by k", mean_table(*both, lowest=True, digits=3, first="k")]
    return parts


def _imbalance_cells(setup: Setup) -> list[Cell]:
    ratios = (1.0, 0.2) if setup.quick else (1.0, 0.5, 0.3, 0.2, 0.1)
    variations = [{"ratio": ratio, "shares": [0.0, _ENDING]} for ratio in ratios]
    return setup.task_cells("balance", _chosen(setup), full=False, variations=variations)


def _imbalance_frame(results: Results) -> pd.DataFrame:
    return _variation_frame(results, "ratio")


def _draw_imbalance(frame: pd.DataFrame) -> Figure:
    return _draw_variation(frame, "ratio", "drop")


def _tell_imbalance(frame: pd.DataFrame, setup: Setup) -> list[str]:
    rarest, even = frame["ratio"].min(), frame["ratio"].max()
    holds: dict[str, tuple[bool | None, str]] = {}
    for on, place in PLACES.items():
        drops = pivot(_own_model(pick(frame, on=on)), "ratio", "method", "drop")
        if {"bv-uw", "rand"} <= set(drops.columns):
            usual = drops[drops.index > _EXTREME]
            robust = bool((usual["bv-uw"] > usual["rand"]).all())
            figures = ", ".join(f"{drop:.3f} at {ratio:g}" for ratio, drop in drops["bv-uw"].items())
            holds[place] = (robust, f"mean drop of bv-uw {figures}")
    parts = [
        f"Rows are dropped until the rare class is {rarest:g} to {even:g} times as frequent as the common one; then "
        f"the {_ENDING:.0%} most valuable points are removed. A larger drop in accuracy is better. Samples of at most "
        f"{setup.rows} rows. {_LEFT_OUT}",
        "## Data",
        data_table(setup),
        "## What the paper says, and what is found here",
        f"{NO_FIGURES} It counts as robust here if the mean drop stays above that of random removal at every "
        f"ratio above {_EXTREME:g}.",
        claims_table([Claim("The methods are robust except for extreme imbalance", holds)]),
    ]
    chosen = _own_model(pick(frame, on="seen"))
    for name, part in chosen.groupby("data", sort=False):
        both = averages(part, "ratio", "method", "drop")
        parts += [f"## {name}: drop in accuracy, by ratio", mean_table(*both, digits=3, first="ratio")]
    return parts


BITS: Final = Experiment(
    "bits",
    "Bits of a vote: how fine weights must be",
    _bits_cells,
    measure_bits,
    _bits_frame,
    _draw_bits,
    _tell_bits,
    alone=True,
)
NEIGHBOURS: Final = Experiment(
    "k", "Number of neighbours: accuracy left after removal", _k_cells, measure_clean, _k_frame, _draw_k, _tell_k
)
IMBALANCE: Final = Experiment(
    "imbalance",
    "Class imbalance: what removal does where a class is rare",
    _imbalance_cells,
    measure_clean,
    _imbalance_frame,
    _draw_imbalance,
    _tell_imbalance,
)
