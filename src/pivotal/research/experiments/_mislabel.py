"""Mislabel detection: who finds labels that were flipped, in tables beside the printed ones."""

from __future__ import annotations

from typing import Final

import pandas as pd

from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._mislabel_page import MEASURES, draw_scatter, draw_scores, explain_mislabel
from pivotal.research.experiments._result_cells import Cell
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import measure_noisy

__all__ = ["MISLABEL", "detection_frame"]


def detection_frame(results: Results) -> pd.DataFrame:
    """Return what every cell found: data, size, n_train, method, run, and a column per measure."""
    rows = [
        {
            "data": cell.data,
            "size": cell.settings["size"],
            "n_train": result["n_train"],
            "n_flipped": result["detection"]["n_mislabelled"],
            "method": cell.method,
            "run": cell.run,
            **{name: result["detection"][name] for name in MEASURES},
            "seconds": result["valuation"],
        }
        for cell, result in results
    ]
    return pd.DataFrame(rows)


def _cells(setup: Setup) -> list[Cell]:
    return setup.task_cells("noise", setup.methods)


MISLABEL: Final = Experiment(
    "mislabel",
    "Mislabel detection: flipped labels among the least valuable points",
    _cells,
    measure_noisy,
    detection_frame,
    (
        Picture("", "Ours against the printed numbers, a dot for each data set and method", draw_scatter),
        Picture("scores", "F1 and average precision by method, a dot for each data set", draw_scores),
    ),
    explain_mislabel,
)
