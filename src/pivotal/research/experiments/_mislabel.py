"""Mislabel detection: who finds labels that were flipped, our numbers beside the printed ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import NOT_MEASURED, Claim, ClaimCheck, closest, compare, interval
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent, marked, mean_table
from pivotal.research.experiments._figures import COLORS, legend, panels, style
from pivotal.research.experiments._frames import averages, pick, pivot
from pivotal.research.experiments._published import CAVEATS, published
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import measure_noisy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES: Final = {
    "f1": "F1, as many points inspected as were flipped (the text's definition; precision and recall are the same)",
    "f1_at_twice": "F1, twice as many points inspected (the reading that fits the printed tables)",
    "precision_at_twice": "Precision, twice as many points inspected",
    "recall_at_twice": "Recall, twice as many points inspected",
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
}
"""What is reported, and what it is."""
_PRINTED: Final = {
    "f1_at_twice": ("f1", "Table A1: F1"),
    "recall_at_twice": ("recall", "Table A2: recall"),
    "precision_at_twice": ("precision", "Table A3: precision"),
    "roc_auc": ("roc_auc", "Table A4: AUC-ROC"),
}
_MARKERS: Final = "osD^v<>Pp*Xh"


def metric_tables(frame: pd.DataFrame, measure: str, size: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means and deviations over the runs, a row per data set and a column per method."""
    return averages(pick(frame, size=size), "data", "method", measure)


def printed_table(measure: str) -> pd.DataFrame:
    """Return the printed means of the table that a measure belongs to, in the order of the paper."""
    return pivot(published(_PRINTED[measure][0]), "data", "method", "mean")


def order_agreement(ours: pd.DataFrame, printed: pd.DataFrame) -> pd.Series[float]:
    """Return for each data set the rank correlation between our order of methods and the printed one."""
    found = {}
    for name in ours.index.intersection(printed.index):
        both = pd.concat([ours.loc[name], printed.loc[name]], axis=1, join="inner").dropna()
        if len(both) > 2:
            found[str(name)] = float(both.corr(method="spearman").iloc[0, 1])
    return pd.Series(found, dtype=float)


def _matched(frame: pd.DataFrame, measure: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return our means, their deviations and the printed means of the same cells, laid out as in the paper."""
    (mean, deviation), printed = metric_tables(frame, measure, "sample"), printed_table(measure)
    rows = [name for name in printed.index if name in mean.index]
    columns = [name for name in printed.columns if name in mean.columns]
    return mean.loc[rows, columns], deviation.loc[rows, columns], printed.loc[rows, columns]


def draw_scatter(frame: pd.DataFrame) -> Figure:
    """Draw our numbers against the printed ones, a panel per printed table."""
    figure, axes = panels([title for _, title in _PRINTED.values()], columns=2, width=4.6, height=3.4)
    for ax, measure in zip(axes, _PRINTED, strict=True):
        ours, _, printed = _matched(frame, measure)
        for method, marker in zip(ours.columns, _MARKERS, strict=False):
            how: dict[str, Any] = {"marker": marker, "linestyle": "none", "markersize": 5.5, "alpha": 0.8}
            color = style(method)["color"]
            ax.plot(printed[method], ours[method], label=method, markeredgewidth=0.0, color=color, **how)
        most = float(np.nanmax([ours.to_numpy().max(), printed.to_numpy().max(), 0.1])) if ours.size else 1.0
        ax.plot([0, most], [0, most], color=COLORS["grey"], linewidth=1.0, zorder=0)
        pooled = pd.DataFrame({"a": ours.to_numpy().ravel(), "b": printed.to_numpy().ravel()}).dropna()
        if measure == "roc_auc":
            ax.set_title(f"{_PRINTED[measure][1]} (not one quantity)", fontsize="small")
        elif len(pooled) > 2:
            rank = float(pooled.corr(method="spearman").to_numpy()[0, 1])
            ax.set_title(f"{_PRINTED[measure][1]} (rank correlation {rank:.2f})", fontsize="small")
        ax.set_xlabel("printed", fontsize="small")
        ax.set_ylabel("ours", fontsize="small")
    legend(figure, axes)
    return figure


def draw_scores(frame: pd.DataFrame) -> Figure:
    """Draw F1 and average precision by method: a dot for each data set, a bar at their mean."""
    shown = {"f1": "F1, as many inspected as flipped", "average_precision": "average precision"}
    figure, axes = panels(list(shown.values()), columns=2, width=4.6, height=3.4)
    for ax, measure in zip(axes, shown, strict=True):
        mean, _ = metric_tables(frame, measure, "sample")
        order = mean.mean().sort_values().index
        for place, method in enumerate(order):
            color, places = style(str(method))["color"], np.full(len(mean), place)
            ax.plot(mean[method], places, "o", color=color, markersize=4, alpha=0.6, markeredgewidth=0)
            ax.plot([mean[method].mean()] * 2, [place - 0.35, place + 0.35], color=color, linewidth=2.5)
        ax.set_yticks(range(len(order)), list(order))
        ax.set_xlim(left=0.0)
    return figure


def _cells_table(frame: pd.DataFrame, measure: str) -> str:
    """Write our numbers with the printed ones in brackets, in the order of the paper."""
    ours, _, printed = _matched(frame, measure)
    rows: list[list[object]] = []
    for name, here, there in zip(ours.index, ours.to_numpy(), printed.to_numpy(), strict=True):
        both = zip(marked(here.tolist()), there.tolist(), strict=True)
        rows.append([name, *(f"{cell} ({number:.2f})" for cell, number in both)])
    rows.append(["**mean**", *(f"{ours[method].mean():.2f} ({printed[method].mean():.2f})" for method in ours.columns)])
    return table(["data", *map(str, ours.columns)], rows)


def _claims(frame: pd.DataFrame) -> list[Claim]:
    f1, auc = (metric_tables(frame, measure, "sample")[0] for measure in ("f1", "roc_auc"))
    places = {"F1 here": f1, "ROC AUC here": auc, "F1 as printed": printed_table("f1_at_twice")}

    def above_others(scores: pd.DataFrame, one: str) -> ClaimCheck:
        return closest(scores, one, [name for name in scores.columns if name not in ("sv-soft", "inf", "rand")])

    def many_are_mislabelled(scores: pd.DataFrame) -> ClaimCheck:
        if "sv-soft" not in scores:
            return NOT_MEASURED
        found, chance = interval(100.0 * scores["sv-soft"]), interval(scores["sv-soft"] - 0.05)
        share = found.text(1.0, 0).removeprefix("+")
        return ClaimCheck(chance.verdict, f"{share} % of the first 5 %; chance finds 5 %")

    def random(scores: pd.DataFrame) -> ClaimCheck:
        return ClaimCheck("", f"mean {scores['rand'].mean():.2f}") if "rand" in scores else NOT_MEASURED

    return [
        Claim(
            "`sv-soft` is substantially better than the others (shown: the closest)",
            {place: above_others(scores, "sv-soft") for place, scores in places.items()},
        ),
        Claim("... and so is `inf`", {place: above_others(scores, "inf") for place, scores in places.items()}),
        Claim(
            "Soft labels find more flipped labels than hard ones",
            {place: compare(scores, "sv-soft", ["bv-uw"]) for place, scores in places.items()},
        ),
        Claim("Many of the lowest points by `sv-soft` are indeed mislabelled", {"F1 here": many_are_mislabelled(f1)}),
        Claim("(What random values get)", {place: random(scores) for place, scores in places.items()}),
    ]


def explain_mislabel(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says."""
    how = (
        "5 % of the training labels are flipped at random, points are valued by a clean test set, and the least "
        f"valuable are suspected. Means over {setup.runs} runs. In a panel a dot is one data set and method; on the "
        "line ours is the printed number."
    )
    note = (
        "Numbers are differences in hundredths: the mean over the data sets with its 95 % interval, paired by data "
        "set. `inf` here solves with the Hessian, unlike the one the paper took "
        "([set-up](setup.md#who-implements-what))."
    )
    order = "Rank correlation between the means here and the printed means, for each data set; 1 is the same order."
    sections = [
        ("By method", "<!-- figure scores -->"),
        ("Order of the methods, here and in print", f"{order}\n\n{_agreement(frame)}"),
    ]
    in_print = frame["data"].isin(printed_table("f1_at_twice").index).any()
    for measure, (_, title) in _PRINTED.items() if in_print else ():
        text = (
            f"{MEASURES[measure]}. Ours, and in brackets the printed number; order as printed, our best in bold, our "
            "second best underlined."
        )
        sections.append((title, f"{text}\n\n{_cells_table(frame, measure)}"))
    for size in dict.fromkeys(frame["size"]):
        title = "samples for all methods" if size == "sample" else "all rows"
        for measure in ("f1", "average_precision"):
            sections.append((f"{MEASURES[measure]}: {title}", mean_table(*metric_tables(frame, measure, size))))
    return PageContent(how, _claims(frame), note, sections, CAVEATS)


def _agreement(frame: pd.DataFrame) -> str:
    columns = {
        title: order_agreement(metric_tables(frame, measure, "sample")[0], printed_table(measure))
        for measure, (_, title) in _PRINTED.items()
    }
    found = pd.DataFrame(columns)
    if found.empty:
        return "None of these data sets is in the paper's tables."
    found.loc["mean"] = found.mean()
    # Where all methods score the same there is no order.
    rows = [
        [name, *("–" if figure != figure else f"{figure:.2f}" for figure in line)]
        for name, line in zip(found.index, found.to_numpy().tolist(), strict=True)
    ]
    return table(["data", *found.columns], rows)


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


MISLABEL: Final = Experiment(
    "mislabel",
    "Mislabel detection: flipped labels among the least valuable points",
    partial(Setup.task_cells, study="noise"),
    measure_noisy,
    detection_frame,
    (
        Picture("", "Ours against the printed numbers, a dot for each data set and method", draw_scatter),
        Picture("scores", "F1 and average precision by method, a dot for each data set", draw_scores),
    ),
    explain_mislabel,
)
