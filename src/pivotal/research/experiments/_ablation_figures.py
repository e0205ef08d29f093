"""Figures of the ablations: bits, neighbours, balance of the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.experiments._claims import interval
from pivotal.research.experiments._figures import COLORS, draw_lines, legend, mark, pairs, panels, same_height, style
from pivotal.research.experiments._frames import pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_bits", "draw_means", "draw_variation", "own_model"]

_TITLES: Final = {"seen": "test set", "fresh": "fresh points"}
_LABELS: Final = {
    "k": "neighbours k, of values and model",
    "ratio": "rare class over common class",
    "end": "accuracy left after 10 % are removed",
    "drop": "drop in accuracy after 10 % are removed",
}


def own_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the scores of each method's own model: weighted for a weighted method."""
    weighted = frame["method"] == "bv-fast"
    return frame[(frame["weights"] == "distance") == weighted]


def draw_bits(frame: pd.DataFrame) -> Figure:
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


def draw_means(frame: pd.DataFrame, column: str, score: str) -> Figure:
    """Draw how far methods are from random: the mean over the data sets with its 95 % interval, paired by data set."""
    figure, axes = panels(["on the test set that the values know", "on fresh points"], columns=2, width=4.6, height=3.2)
    for ax, on in zip(axes, _TITLES, strict=True):
        chosen = own_model(pick(frame, on=on))
        means = chosen.groupby(["method", column, "data"], sort=False)[score].mean()
        methods = [name for name in dict.fromkeys(chosen["method"]) if name != "rand"]
        for number, method in enumerate(methods):
            apart = 100.0 * (means.loc[method] - means.loc["rand"]) if "rand" in means else 100.0 * means.loc[method]
            found = {at: interval(part) for at, part in apart.groupby(level=0)}
            shift = _shift(number, len(methods), column)
            places = np.array([at * shift if column == "ratio" else at + shift for at in found])
            heights = [each.mean for each in found.values()]
            halves = [0.0 if each.half != each.half else each.half for each in found.values()]
            how: dict[str, Any] = style(str(method))
            ax.errorbar(places, heights, halves, label=str(method), elinewidth=0.8, capsize=0, **how)
        ax.axhline(0.0, **style("rand"), zorder=0)
        ax.set_xlabel(_LABELS[column], fontsize="small")
        if column == "k":
            mark(ax, "k elsewhere", x=5)
        _scale(ax, column)
    axes[0].set_ylabel(f"{_LABELS[score].split(' after')[0]}, minus random's, points", fontsize="small")
    same_height(axes)
    legend(figure, axes)
    return figure


def _shift(number: int, count: int, column: str) -> float:
    """Move the bars of methods apart, so that none hides another."""
    place = number - (count - 1) / 2
    return 1.025**place if column == "ratio" else 0.15 * place


def draw_variation(frame: pd.DataFrame, column: str, score: str) -> Figure:
    """Draw a data set's scores by setting, on the test set beside fresh points; bands are one standard error."""
    chosen = own_model(frame)
    names = list(dict.fromkeys(chosen["data"]))
    figure, groups = pairs(names, list(_TITLES.values()))
    for group, name in zip(groups, names, strict=True):
        for ax, on in zip(group, _TITLES, strict=True):
            draw_lines(ax, pick(chosen, data=name, on=on), column, score)
            _scale(ax, column)
    figure.supxlabel(_LABELS[column], fontsize="small")
    figure.supylabel(_LABELS[score], fontsize="small")
    legend(figure, [ax for group in groups for ax in group])
    return figure


def _scale(ax: Axes, column: str) -> None:
    if column == "ratio":
        ax.set_xscale("log")
        ax.set_xticks([0.1, 0.2, 0.3, 0.5, 1.0], ["0.1", "0.2", "0.3", "0.5", "1"])
        ax.minorticks_off()
