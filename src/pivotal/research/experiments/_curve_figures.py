"""Figures of removal, selection and flipping: against random, by data set, and for weighted models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from pivotal.research.experiments._claims import interval
from pivotal.research.experiments._figures import draw_lines, legend, pairs, panels, same_height, style
from pivotal.research.experiments._frames import pick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_against_random", "draw_by_data", "draw_weighted"]

_TITLES: Final = {"seen": "test set", "fresh": "fresh points"}
_WEIGHTED: Final = ("bv-fast", "sv")


def draw_against_random(table: pd.DataFrame, word: str) -> Figure:
    """Draw how far each method is from random: the mean over the data sets, at the end with its 95 % interval."""
    sample = pick(table, size="sample", weights="uniform")
    figure, axes = panels(["on the test set that the values know", "on fresh points"], columns=2, width=4.6, height=3.6)
    for ax, on in zip(axes, _TITLES, strict=True):
        here = pick(sample, on=on)
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
        ax.axhline(0.0, **style("rand"), zorder=0)
        ax.annotate("random", (0.99, 0.0), xycoords=("axes fraction", "data"), xytext=(0, 3), ha="right",
                    textcoords="offset points", fontsize="x-small", color="#4b5563")  # fmt: skip
        ax.set_xlabel(f"share of the points {word}", fontsize="small")
    axes[0].set_ylabel("accuracy minus random's, points", fontsize="small")
    same_height(axes)
    legend(figure, axes)
    return figure


def draw_by_data(table: pd.DataFrame, word: str) -> Figure:
    """Draw the curves of every data set as in the paper, beside those on fresh points; bands are one standard error."""
    sample = pick(table, size="sample", weights="uniform")
    sample = sample.assign(error=sample["deviation"] / sample["runs"] ** 0.5)
    names = list(dict.fromkeys(sample["data"]))
    figure, groups = pairs(names, list(_TITLES.values()))
    for group, name in zip(groups, names, strict=True):
        for ax, on in zip(group, _TITLES, strict=True):
            draw_lines(ax, pick(sample, data=name, on=on), "share", "score", error="error")
    figure.supxlabel(f"share of the points {word}", fontsize="small")
    figure.supylabel("accuracy of an unweighted model", fontsize="small")
    legend(figure, [ax for group in groups for ax in group])
    return figure


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
            error = lines["deviation"] / lines["runs"] ** 0.5
            ax.fill_between(
                lines["share"],
                lines["score"] - error,
                lines["score"] + error,
                color=how["color"],
                alpha=0.1,
                linewidth=0,
            )
    figure.supxlabel(f"share of the points {word}", fontsize="small")
    figure.supylabel("accuracy on the test set", fontsize="small")
    legend(figure, axes)
    return figure
