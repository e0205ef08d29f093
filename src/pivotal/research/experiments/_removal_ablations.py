"""Ablations of removal, at the start and after a tenth of the points: number of neighbours, balance of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import NOT_MEASURED, ClaimCheck, compare, interval
from pivotal.research.experiments._curves import PLACES, on_both
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import draw_against_random, draw_by_data, mark, style
from pivotal.research.experiments._frames import pick, pivot, train_sizes
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.experiments._tasks import measure_clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METHODS: Final = ("bv-fast", "bv-uw", "sv-uw", "sv-soft", "rand")
_ENDING: Final = 0.1  # share of the points removed where the score is taken
_EXTREME: Final = 0.1  # what the paper calls an extreme ratio of the classes
_LEFT_OUT: Final = (
    "`sv` is omitted: the time of its exact weighted values grows with the points, with k and with the sum of k votes, "
    "and there are many settings here. `bv-fast` is scored by a weighted model, the others by an unweighted one, so "
    "its height cannot be compared with theirs, only its shape."
)
_WHERE: Final = (
    "The test set is the one that the values are computed from. The figure has differences to removing at random: "
    "means over the data sets with 95 % intervals, paired by data set."
)
_LABELS: Final = {
    "k": "neighbours k, of values and model",
    "ratio": "rare class over common class",
    "end": "accuracy left after 10 % are removed",
    "drop": "drop in accuracy after 10 % are removed",
}


def _gather(results: Results, column: str) -> pd.DataFrame:
    rows = []
    for cell, result in results:
        about = {"data": cell.data, "n_train": result["n_train"], "method": cell.method}
        about |= {column: cell.settings[column], "run": cell.run}
        for evaluation, scores in result["removal"].items():
            on, weights = evaluation.split("/")
            ends = {"start": scores[0], "end": scores[-1], "drop": scores[0] - scores[-1]}
            rows.append({**about, "on": on, "weights": weights, **ends})
    return pd.DataFrame(rows)


def _cells(setup: Setup, study: str, column: str, few: Sequence[float], many: Sequence[float]) -> list[Cell]:
    """Return cells with few settings of a column for a quick run, else with many."""
    methods = [name for name in _METHODS if name in setup.methods]
    variations = [{column: setting, "shares": [0.0, _ENDING]} for setting in (few if setup.quick else many)]
    return setup.task_cells(study, methods, full=False, variations=variations)


def _pictures(what: str, column: str, score: str) -> tuple[Picture, Picture]:
    how: dict[str, Any] = {"column": column, "score": score}
    return (
        Picture("", f"{what} by {column}, the mean over the data sets", partial(_draw_means, **how)),
        Picture("data", f"{what} by {column}, by data set", partial(_draw_by_data, **how)),
    )


def _own_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the scores of each method's own model: weighted for a weighted method."""
    weighted = frame["method"] == "bv-fast"
    return frame[(frame["weights"] == "distance") == weighted]


def _draw_means(frame: pd.DataFrame, column: str, score: str) -> Figure:
    """Draw how far methods are from random: the mean over the data sets with its 95 % interval, paired by data set."""

    def draw(ax: Axes, on: str) -> None:
        chosen = _own_model(pick(frame, on=on))
        means = chosen.groupby(["method", column, "data"], sort=False)[score].mean()
        methods = [name for name in dict.fromkeys(chosen["method"]) if name != "rand"]
        for number, method in enumerate(methods):
            apart = 100.0 * (means.loc[method] - means.loc["rand"]) if "rand" in means else 100.0 * means.loc[method]
            found = {at: interval(part) for at, part in apart.groupby(level=0)}
            place = number - (len(methods) - 1) / 2  # moves bars apart, so that none hides another
            places = np.array([at * 1.025**place if column == "ratio" else at + 0.15 * place for at in found])
            heights = [each.mean for each in found.values()]
            halves = [0.0 if each.half != each.half else each.half for each in found.values()]
            how: dict[str, Any] = style(str(method))
            ax.errorbar(places, heights, halves, label=str(method), elinewidth=0.8, capsize=0, **how)

    labels = _LABELS[column], f"{_LABELS[score].split(' after')[0]}, minus random's, points"
    figure = draw_against_random(draw, labels, height=3.2)
    for ax in figure.axes:
        if column == "k":
            mark(ax, "k elsewhere", x=K)
        _scale(ax, column)
    return figure


def _draw_by_data(frame: pd.DataFrame, column: str, score: str) -> Figure:
    """Draw a data set's scores by setting, on the test set beside fresh points; bands are one standard error."""
    figure = draw_by_data(_own_model(frame), column, score, (_LABELS[column], _LABELS[score]))
    for ax in figure.axes:
        _scale(ax, column)
    return figure


def _scale(ax: Axes, column: str) -> None:
    if column == "k":
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    if column == "ratio":
        ax.set_xscale("log")
        ax.set_xticks([0.1, 0.2, 0.3, 0.5, 1.0], ["0.1", "0.2", "0.3", "0.5", "1"])
        ax.minorticks_off()


def _explain_k(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says on the number of neighbours."""

    def range_over_k(on: str) -> ClaimCheck:
        ends = pivot(_own_model(pick(frame, on=on)), ["data", "method"], "k", "end")
        extent = (ends.max(axis=1) - ends.min(axis=1)).rename("range").rename_axis(["data", "method"])
        ranges = pivot(extent.reset_index(), "data", "method", "range")
        return compare(ranges, "bv-fast", ["bv-uw"], lowest=True)

    how = (
        f"The {_ENDING:.0%} most valuable points are removed, and the accuracy that is left is taken, for several k; "
        f"lower is better. Values and model use the same k. Samples of at most {setup.rows:,} rows "
        f"({train_sizes(frame)} training points). {_LEFT_OUT}\n\n{_WHERE}"
    )
    note = (
        f"{NO_FIGURES} Differences are in points of accuracy: the mean over the data sets with its 95 % interval. The "
        "range is that of the accuracy left over all k. For the ideal k, the k that was best on the other runs of a "
        "data set is compared with the k that was best on the other runs of all data sets, on the run left out."
    )
    claims = [
        on_both("Weighted methods depend less on k (range of `bv-fast` below that of `bv-uw`)", range_over_k),
        on_both("The ideal k depends on the data set (`bv-uw`)", lambda on: _own_k(frame, on)),
    ]
    return PageContent(how, claims, note, _sections(frame, "k", "end", "Accuracy left"))


def _sections(frame: pd.DataFrame, column: str, score: str, title: str) -> list[tuple[str, str]]:
    means = [
        (f"{title}, mean over the data sets, {place}", _means(frame, on, column, score)) for on, place in PLACES.items()
    ]
    return [("By data set", "<!-- figure data -->"), *means]


def _own_k(frame: pd.DataFrame, on: str) -> ClaimCheck:
    """Say what choosing k for each data set gains over one k for all, on runs that did not choose."""
    scores = pick(_own_model(frame), on=on, method="bv-uw")
    if scores.empty or scores["run"].nunique() < 2:
        return NOT_MEASURED
    ends = scores.pivot_table(index=["data", "run"], columns="k", values="end")
    gains: dict[str, list[float]] = {}
    for data, run in ends.index:
        others = ends[ends.index.get_level_values("run") != run]
        own = others.loc[data].mean().idxmin()
        common = others.mean().idxmin()
        gains.setdefault(data, []).append(float(ends.loc[(data, run), common] - ends.loc[(data, run), own]))
    found = interval([sum(each) / len(each) for each in gains.values()])
    best = ends.groupby(level="data").mean().idxmin(axis=1).value_counts().sort_index()
    where = ", ".join(f"{k} on {count}" for k, count in best.items())
    return ClaimCheck(found.verdict, f"own k over one k {found.text()}; best k {where}")


def _means(frame: pd.DataFrame, on: str, column: str, score: str) -> str:
    means = _own_model(pick(frame, on=on)).groupby(["method", column, "data"], sort=False)[score].mean()
    settings = list(dict.fromkeys(means.index.get_level_values(column)))
    rows = []
    for method in dict.fromkeys(means.index.get_level_values("method")):
        found = {at: interval(part) for at, part in means.loc[method].groupby(level=0)}
        rows.append([f"`{method}`", *(found[at].text(1.0, 3).removeprefix("+") for at in settings)])
    return table(["method", *(f"{at:g}" for at in settings)], rows)


def _explain_imbalance(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says on the balance of the classes."""
    rarest, even = frame["ratio"].min(), frame["ratio"].max()

    def usual_drop(on: str) -> ClaimCheck:
        here = _own_model(pick(frame, on=on))
        return compare(pivot(here[here["ratio"] > _EXTREME], "data", "method", "drop"), "bv-uw", ["rand"])

    def lost(on: str) -> ClaimCheck:
        """Say how much less `bv-uw` removes where a class is rarest than where classes are even."""
        drops = pivot(pick(_own_model(frame), on=on, method="bv-uw"), "data", "ratio", "drop")
        if drops.empty or len(drops.columns) < 2:
            return NOT_MEASURED
        found = interval(drops[even] - drops[drops.columns.min()])
        return ClaimCheck(found.verdict, f"bv-uw {found.text()}")

    how = (
        f"Rows are dropped until the rare class is {rarest:g} to {even:g} times as frequent as the common one; then "
        f"the {_ENDING:.0%} most valuable points are removed. A larger drop in accuracy is better. Samples of at most "
        f"{setup.rows:,} rows. {_LEFT_OUT}\n\n{_WHERE}"
    )
    note = (
        f"{NO_FIGURES} Differences are in points of accuracy: the mean over the data sets with its 95 % interval. "
        f"Robust means here: over the ratios above {_EXTREME:g}, values remove more accuracy than random removal does."
    )
    claims = [
        on_both("The methods are robust (`bv-uw` against random removal)", usual_drop),
        on_both("... except for extreme imbalance (drop with even classes minus drop at the rarest)", lost),
    ]
    return PageContent(how, claims, note, _sections(frame, "ratio", "drop", "Drop in accuracy"))


NEIGHBOURS: Final = Experiment(
    "k",
    "Number of neighbours: accuracy left after removal",
    partial(_cells, study="neighbours", column="k", few=(1, 5, 9), many=(1, 3, 5, 7, 9, 11, 15, 21)),
    measure_clean,
    partial(_gather, column="k"),
    _pictures("Accuracy left", "k", "end"),
    _explain_k,
)
IMBALANCE: Final = Experiment(
    "imbalance",
    "Class imbalance: what removal does where a class is rare",
    partial(_cells, study="balance", column="ratio", few=(1.0, 0.2), many=(1.0, 0.5, 0.3, 0.2, 0.1)),
    measure_clean,
    partial(_gather, column="ratio"),
    _pictures("Drop", "ratio", "drop"),
    _explain_imbalance,
)
