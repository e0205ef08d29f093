"""Quantisation bits: how fine the weights of votes must be, and what finer ones cost."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.bench.stopwatch import timed
from pivotal.research.experiments._claims import decided
from pivotal.research.experiments._contenders import play
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import COLORS, mark, panels
from pivotal.research.experiments._frames import train_sizes
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.experiments._tasks import draw_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_REFERENCE: Final = 12  # bits of the votes that others are compared with


def _cells(setup: Setup) -> list[Cell]:
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


def _gather(results: Results) -> pd.DataFrame:
    parts = []
    for cell, result in results:
        columns = {"bits": result["bits"], "deviation": result["deviation"], "seconds": result["time"]}
        parts.append(pd.DataFrame({"data": cell.data, "n_train": result["n_train"], "run": cell.run, **columns}))
    return pd.concat(parts, ignore_index=True)


def _draw(frame: pd.DataFrame) -> Figure:
    """Draw the deviation and the time by bits: a thin line per data set, a thick one at their median."""
    titles = {"deviation": "largest deviation from 12 bits, relative", "seconds": "seconds of bv-fast"}
    figure, axes = panels(list(titles.values()), columns=2, width=4.6, height=3.2)
    for ax, column in zip(axes, titles, strict=True):
        for number, (_, part) in enumerate(frame.groupby("data", sort=False)):
            means = part.groupby("bits")[column].median()
            ax.plot(means.index, means, color=COLORS["grey"], linewidth=0.8, alpha=0.7,
                    label=None if number else "one data set")  # fmt: skip
        medians = frame.groupby("bits")[column].median()
        ax.plot(medians.index, medians, color=COLORS["blue"], linewidth=2.5, marker="o", markersize=4, label="median")
        ax.set_yscale("log")
        ax.set_xlabel("bits of a weight", fontsize="small")
        mark(ax, "the paper's 7 bits", x=7)
    low, high = (float(each) for each in frame.groupby(["data", "bits"])["deviation"].median().quantile([0.02, 0.9]))
    if 0.0 < low < high:  # one data set whose values are next to nothing would squeeze the others
        axes[0].set_ylim(0.5 * low, 10.0 * high)
    mark(axes[0], "1 %", y=0.01)
    axes[0].legend(fontsize="small", frameon=False, loc="lower left")
    return figure


def _explain(frame: pd.DataFrame, setup: Setup) -> PageContent:
    # Medians, as one data set whose values are all next to nothing would be the whole mean.
    medians = frame.groupby("bits")[["deviation", "seconds"]].median()
    first, last = int(medians.index[0]), int(medians.index[-1])
    deviation, seconds = medians["deviation"].to_dict(), medians["seconds"].to_dict()
    fall = (deviation[first] - deviation[7]) / (deviation[first] - deviation[last])
    claims = [
        decided(
            "Running time grows with b",
            seconds[last] > seconds[first],
            f"{seconds[first]:.2g} s at {first} bit, {seconds[last]:.2g} s at {last}",
        ),
        decided(
            "The deviation falls quickly with b",
            deviation[5] < deviation[first] / 10,
            f"{deviation[first]:.2g} at {first} bit, {deviation[5]:.2g} at 5",
        ),
        decided(
            "... and levels off at around b = 7",
            fall > 0.95,
            f"{fall:.1%} of the fall from {first} to {last} bits is done; {deviation[7]:.2g} at 7 bits, "
            f"{deviation[last]:.2g} at {last}",
        ),
    ]
    rows = [[bits, f"{line.deviation:.2g}", f"{line.seconds:.3g}"] for bits, line in medians.iterrows()]
    how = (
        f"`bv-fast`, k = {K}, on samples of at most {setup.rows:,} rows ({train_sizes(frame)} training points). The "
        f"deviation is the largest difference to the values of votes of {_REFERENCE} bits, over the largest of those; "
        "the paper does not say what it compares with. One thread; the fastest of three calls in one process. In the "
        "figure a data set whose values are all next to nothing may leave the scale."
    )
    note = (
        f"{NO_FIGURES} The deviation halves with every bit and so never levels off on a scale of ratios; on the "
        "paper's scale it does where 95 % of its fall is done."
    )
    return PageContent(
        how, claims, note, [("Median over data sets and runs", table(["bits", "deviation", "seconds"], rows))]
    )


BITS: Final = Experiment(
    "bits",
    "Quantisation bits: how fine weights must be",
    _cells,
    measure_bits,
    _gather,
    (Picture("", "Deviation and time of bv-fast by the bits of its weights", _draw),),
    _explain,
    alone=True,
)
