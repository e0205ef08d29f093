"""Point removal, data selection and label flipping: scores of a model while the training set changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from pivotal.research.experiments._claims import Claim
from pivotal.research.experiments._contenders import SELECT
from pivotal.research.experiments._curve_figures import draw_against_random, draw_by_data, draw_weighted
from pivotal.research.experiments._curve_pages import explain_curves, flip_claims, removal_claims, selection_claims
from pivotal.research.experiments._curves import average, curve_frame
from pivotal.research.experiments._experiment import Experiment, Picture
from pivotal.research.experiments._result_cells import Cell, Measure
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import (
    FLIPPED,
    REMOVED,
    WARM,
    measure_clean,
    measure_noisy,
    measure_selection,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FLIP", "REMOVAL", "SELECTION"]


def _cells(setup: Setup, study: str) -> list[Cell]:
    return setup.task_cells(study, setup.methods)


def _selection_cells(setup: Setup) -> list[Cell]:
    """Return the cells of the values, and those of rows that are selected together, on the samples."""
    ranked = setup.task_cells("clean", setup.methods)
    samples = {(cell.data, cell.run): cell for cell in ranked if cell.settings["size"] == "sample"}
    return [*ranked, *(Cell("selected", name, SELECT, run, cell.settings) for (name, run), cell in samples.items())]


def _curve_experiment(
    name: str,
    title: str,
    cells: Callable[[Setup], list[Cell]],
    measure: Measure,
    claims: Callable[[pd.DataFrame], list[Claim]],
    *,
    word: str,
    how: str,
    lowest: bool,
) -> Experiment:
    pictures = (
        Picture("", f"{title}; the mean over the data sets, minus random's", partial(draw_against_random, word=word)),
        Picture("data", f"{title}, by data set", partial(draw_by_data, word=word)),
        Picture("weighted", f"{title}, with weighted models", partial(draw_weighted, word=word)),
    )
    explain = partial(explain_curves, how=how, lowest=lowest, claims=claims, pictures=pictures[1:])
    gather = partial(curve_frame, kind=name)
    return Experiment(name, title, cells, measure, gather, pictures, explain, average)


REMOVAL: Final = _curve_experiment(
    "removal",
    "Point removal: accuracy while the most valuable points go",
    partial(_cells, study="clean"),
    measure_clean,
    removal_claims,
    word="removed",
    how=f"The most valuable points are removed first, up to {REMOVED[-1]:.0%} of them. Lower is better.",
    lowest=True,
)

SELECTION: Final = _curve_experiment(
    "selection",
    "Data selection: accuracy while the most valuable points come",
    _selection_cells,
    measure_selection,
    selection_claims,
    word="added",
    how=f"From {WARM:.0%} of the points, drawn at random, the most valuable are added first, up to {REMOVED[-1]:.0%}. "
    "Higher is better. `select`, where it is shown, is no value: `pivotal.select` chooses rows together, without the "
    "test set, anew for each size.",
    lowest=False,
)

FLIP: Final = _curve_experiment(
    "flip",
    "Label flipping: accuracy while the least valuable points get another label",
    partial(_cells, study="noise"),
    measure_noisy,
    flip_claims,
    word="flipped",
    how="5 % of the training labels are flipped at random before values are computed; then the least valuable points "
    f"get another label, up to {FLIPPED[-1]:.0%} of them: with two classes the other one, with more the commonest "
    "other one nearby. Higher is better.",
    lowest=False,
)
