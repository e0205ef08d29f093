"""The ablations: quantisation bits, number of neighbours, balance of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.stopwatch import timed
from pivotal.research.experiments._ablation_pages import (
    ENDING,
    REFERENCE,
    draw_bits,
    draw_means,
    draw_variation,
    explain_bits,
    explain_imbalance,
    explain_k,
)
from pivotal.research.experiments._contenders import play
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import draw_task, measure_clean

_METHODS: Final = ("bv-fast", "bv-uw", "sv-uw", "sv-soft", "rand")

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
    exact = play("bv-fast", task, bits=REFERENCE, **how).values  # compiles on the way
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


# Neighbours, and balance: removal curves at two points.


def _variation_frame(results: Results, column: str) -> pd.DataFrame:
    rows = []
    for cell, result in results:
        about = {"data": cell.data, "n_train": result["n_train"], "method": cell.method}
        about |= {column: cell.settings[column], "run": cell.run}
        for evaluation, scores in result["removal"].items():
            on, weights = evaluation.split("/")
            ends = {"start": scores[0], "end": scores[-1], "drop": scores[0] - scores[-1]}
            rows.append({**about, "on": on, "weights": weights, **ends})
    return pd.DataFrame(rows)


def _variation_cells(setup: Setup, study: str, column: str, few: Sequence[float], many: Sequence[float]) -> list[Cell]:
    """Return cells with few settings of a column for a quick run, else with many."""
    methods = [name for name in _METHODS if name in setup.methods]
    variations = [{column: setting, "shares": [0.0, ENDING]} for setting in (few if setup.quick else many)]
    return setup.task_cells(study, methods, full=False, variations=variations)


def _variation_pictures(what: str, column: str, score: str) -> tuple[Picture, Picture]:
    how: dict[str, Any] = {"column": column, "score": score}
    return (
        Picture("", f"{what} by {column}, the mean over the data sets", partial(draw_means, **how)),
        Picture("data", f"{what} by {column}, by data set", partial(draw_variation, **how)),
    )


BITS: Final = Experiment(
    "bits",
    "Quantisation bits: how fine weights must be",
    _bits_cells,
    measure_bits,
    _bits_frame,
    (Picture("", "Deviation and time of bv-fast by the bits of its weights", draw_bits),),
    explain_bits,
    alone=True,
)
NEIGHBOURS: Final = Experiment(
    "k",
    "Number of neighbours: accuracy left after removal",
    partial(_variation_cells, study="neighbours", column="k", few=(1, 5, 9), many=(1, 3, 5, 7, 9, 11, 15, 21)),
    measure_clean,
    partial(_variation_frame, column="k"),
    _variation_pictures("Accuracy left", "k", "end"),
    explain_k,
)
IMBALANCE: Final = Experiment(
    "imbalance",
    "Class imbalance: what removal does where a class is rare",
    partial(_variation_cells, study="balance", column="ratio", few=(1.0, 0.2), many=(1.0, 0.5, 0.3, 0.2, 0.1)),
    measure_clean,
    partial(_variation_frame, column="ratio"),
    _variation_pictures("Drop", "ratio", "drop"),
    explain_imbalance,
)
