"""Point removal, data selection and label flipping: scores of a model while the training set changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from pivotal.research.experiments._claims import Claim, interval
from pivotal.research.experiments._contenders import SELECT
from pivotal.research.experiments._curve_pages import explain_curves, flip_claims, removal_claims, selection_claims
from pivotal.research.experiments._curves import average, curve_frame
from pivotal.research.experiments._experiment import Experiment, Picture
from pivotal.research.experiments._figures import draw_against_random, draw_by_data, legend, panels, style
from pivotal.research.experiments._frames import pick
from pivotal.research.experiments._result_cells import Cell, Measure
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import FLIPPED, REMOVED, WARM, measure_clean, measure_noisy, measure_selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WEIGHTED: Final = ("bv-fast", "sv")


def draw_means(table: pd.DataFrame, word: str) -> Figure:
    """Draw how far each method is from random: the mean over the data sets, at the end with its 95 % interval."""

    def draw(ax: Axes, on: str) -> None:
        here = pick(table, size="sample", weights="uniform", on=on)
        chance = pick(here, method="rand").set_index(["data", "count"])["score"]
        for number, (name, lines) in enumerate(here.groupby("method", sort=False)):
            if name == "rand":
                continue
            known = lines.set_index(["data", "count"])
            apart = 100.0 * (known["score"] - chance).dropna()
            share = known["share"].loc[apart.index].round(3)
            found = {step: interval(part) for step, part in apart.groupby(share)}
            if not found:
                continue
            how = style(str(name))
            ax.plot(list(found), [each.mean for each in found.values()], label=str(name), **how)
            # Twelve bands would hide each other; the last step has its interval, beside those of the others.
            last, step = list(found.items())[-1][::-1]
            if np.isfinite(last.half):
                place = step * (1.03 + 0.02 * number)
                ax.errorbar(place, last.mean, last.half, color=how["color"], elinewidth=1.2, marker="_", markersize=5)

    labels = f"share of the points {word}", "accuracy minus random's, points"
    return draw_against_random(draw, labels, height=3.6)


def draw_every_data_set(table: pd.DataFrame, word: str) -> Figure:
    """Draw the curves of every data set as in the paper, beside those on fresh points; bands are one standard error."""
    sample = pick(table, size="sample", weights="uniform")
    sample = sample.assign(error=sample["deviation"] / sample["runs"] ** 0.5)
    labels = f"share of the points {word}", "accuracy of an unweighted model"
    return draw_by_data(sample, "share", "score", labels, error="error")


def draw_weighted(table: pd.DataFrame, word: str) -> Figure | None:
    """Draw the curves of weighted methods for a weighted model beside an unweighted one, on the test set."""
    sample = pick(table, size="sample", on="seen")
    sample = sample[sample["method"].isin(_WEIGHTED)]
    names = list(dict.fromkeys(sample["data"]))
    if not names:
        return None
    figure, axes = panels(names, height=1.9)
    for ax, name in zip(axes, names, strict=True):
        for (method, weights), lines in pick(sample, data=name).groupby(["method", "weights"], sort=False):
            weighted = weights == "distance"
            how = {**style(str(method)), "linestyle": "-" if weighted else "--"}
            label = f"{method}, {'weighted' if weighted else 'unweighted'} model"
            ax.plot(lines["share"], lines["score"], label=label, **how)
            low, high = (lines["score"] + sign * lines["deviation"] / lines["runs"] ** 0.5 for sign in (-1, 1))
            ax.fill_between(lines["share"], low, high, color=how["color"], alpha=0.1, linewidth=0)
    figure.supxlabel(f"share of the points {word}", fontsize="small")
    figure.supylabel("accuracy on the test set", fontsize="small")
    legend(figure, axes)
    return figure


def _selection_cells(setup: Setup) -> list[Cell]:
    """Return the cells of the values, and those of rows that are selected together, on the samples."""
    ranked = setup.task_cells("clean")
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
) -> Experiment:
    pictures = (
        Picture("", f"{title}; the mean over the data sets, minus random's", partial(draw_means, word=word)),
        Picture("data", f"{title}, by data set", partial(draw_every_data_set, word=word)),
        Picture("weighted", f"{title}, with weighted models", partial(draw_weighted, word=word)),
    )
    lowest = name == "removal"  # what is taken away first should be missed
    explain = partial(explain_curves, how=how, lowest=lowest, claims=claims, pictures=pictures[1:])
    gather = partial(curve_frame, kind=name)
    return Experiment(name, title, cells, measure, gather, pictures, explain, average)


REMOVAL: Final = _curve_experiment(
    "removal",
    "Point removal: accuracy while the most valuable points go",
    partial(Setup.task_cells, study="clean"),
    measure_clean,
    removal_claims,
    word="removed",
    how=f"The most valuable points are removed first, up to {REMOVED[-1]:.0%} of them. Lower is better.",
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
)

FLIP: Final = _curve_experiment(
    "flip",
    "Label flipping: accuracy while the least valuable points get another label",
    partial(Setup.task_cells, study="noise"),
    measure_noisy,
    flip_claims,
    word="flipped",
    how="5 % of the training labels are flipped at random before values are computed; then the least valuable points "
    f"get another label, up to {FLIPPED[-1]:.0%} of them: with two classes the other one, with more the commonest "
    "other one nearby. Higher is better.",
)
