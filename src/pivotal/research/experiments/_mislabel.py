"""Mislabel detection: who finds labels that were flipped, in tables beside the printed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._experiment import Experiment, Results
from pivotal.research.experiments._experiment_page import Claim, claims_table, data_table, limits, mean_table
from pivotal.research.experiments._figures import legend, panels, style
from pivotal.research.experiments._frames import averages, pick, pivot
from pivotal.research.experiments._published import CAVEATS, published
from pivotal.research.experiments._result_cells import Cell
from pivotal.research.experiments._setup import Setup
from pivotal.research.experiments._tasks import measure_noisy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MISLABEL", "detection_frame", "metric_tables", "order_agreement"]

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
    "f1": "f1",
    "f1_at_twice": "f1",
    "precision_at_twice": "precision",
    "recall_at_twice": "recall",
    "roc_auc": "roc_auc",
}


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


def metric_tables(frame: pd.DataFrame, measure: str, size: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means and deviations over the runs, a row per data set and a column per method."""
    return averages(pick(frame, size=size), "data", "method", measure)


def printed_table(measure: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the printed means and deviations of a measure, in the same form."""
    rows = published(_PRINTED[measure])
    return pivot(rows, "data", "method", "mean"), pivot(rows, "data", "method", "deviation")


def order_agreement(ours: pd.DataFrame, printed: pd.DataFrame) -> pd.Series[float]:
    """Return for each data set the rank correlation between our order of methods and the printed one."""
    found = {}
    for name in ours.index.intersection(printed.index):
        both = pd.concat([ours.loc[name], printed.loc[name]], axis=1, join="inner").dropna()
        if len(both) > 2:
            found[str(name)] = float(both.corr(method="spearman").iloc[0, 1])
    return pd.Series(found, dtype=float)


def _cells(setup: Setup) -> list[Cell]:
    return setup.task_cells("noise", setup.methods)


def _draw(frame: pd.DataFrame) -> Figure:
    shown = {
        "f1": "F1",
        "f1_at_twice": "F1, twice as many",
        "roc_auc": "ROC AUC",
        "average_precision": "av. precision",
    }
    figure, axes = panels(list(shown.values()), height=3.0)
    for ax, measure in zip(axes, shown, strict=True):
        mean, _ = metric_tables(frame, measure, "sample")
        places = range(len(mean))
        for method in mean.columns:
            how = {**style(method), "linestyle": "none", "marker": "o", "markersize": 3.5}
            ax.plot(mean[method], places, label=method, **how)
        ax.set_yticks(list(places), list(mean.index))
        ax.invert_yaxis()
        ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    legend(figure, axes)
    return figure


def _claims(frame: pd.DataFrame) -> list[Claim]:
    places = {f"{measure} here": metric_tables(frame, measure, "sample")[0] for measure in ("f1", "roc_auc")}
    places["F1 as printed"] = printed_table("f1")[0]

    def top_two(figures: pd.DataFrame) -> tuple[bool | None, str]:
        if len(figures.columns) < 3 or not {"sv-soft", "inf"} <= set(figures.columns):
            return None, "not measured"
        ranked = figures.mean().sort_values(ascending=False)
        text = ", ".join(f"{name} {mean:.2f}" for name, mean in ranked.head(4).items())
        return {"sv-soft", "inf"} == set(ranked.index[:2]), f"means {text}"

    def soft_beats_hard(figures: pd.DataFrame) -> tuple[bool | None, str]:
        if not {"sv-soft", "bv-uw"} <= set(figures.columns):
            return None, "not measured"
        won = int((figures["sv-soft"] > figures["bv-uw"]).sum())
        return 2 * won > len(figures), f"sv-soft above bv-uw on {won} of {len(figures)}"

    def chance(figures: pd.DataFrame) -> tuple[bool | None, str]:
        return (None, f"mean of rand {figures['rand'].mean():.2f}") if "rand" in figures else (None, "not measured")

    return [
        Claim(
            "`sv-soft` and `inf` are substantially better than the others",
            {place: top_two(figures) for place, figures in places.items()},
        ),
        Claim(
            "Soft labels find more flipped labels than hard ones",
            {place: soft_beats_hard(figures) for place, figures in places.items()},
        ),
        Claim("(What random values get)", {place: chance(figures) for place, figures in places.items()}),
    ]


def _tell(frame: pd.DataFrame, setup: Setup) -> list[str]:
    parts = [
        "5 % of the training labels are flipped at random, points are valued by a clean test set (5 % of the rows; "
        "another 5 % are held out), and the least valuable points are suspected. Means and deviations over "
        f"{setup.runs} runs; the best in bold, the second best underlined.",
        "## Data",
        data_table(setup),
        limits(setup),
        "## How the printed tables may be read",
        "\n".join(f"{number}. {caveat}" for number, caveat in enumerate(CAVEATS, 1)),
        "## What the paper says, and what is found here",
        claims_table(_claims(frame)),
        "## Order of the methods, here and in print",
        "Rank correlation between the means here and the printed means, for each data set; 1 is the same order.",
        _agreement(frame),
    ]
    for size in dict.fromkeys(frame["size"]):
        title = "samples for all methods" if size == "sample" else "all rows"
        for measure, what in MEASURES.items():
            parts += [f"## {what}: {title}", mean_table(*metric_tables(frame, measure, size))]
    for measure in ("f1", "precision", "recall", "roc_auc"):
        what = "AUC-ROC, which it is not" if measure == "roc_auc" else measure
        key = next(ours for ours, printed in _PRINTED.items() if printed == measure)
        parts += [f"## As printed: {what}", mean_table(*printed_table(key))]
    return parts


def _agreement(frame: pd.DataFrame) -> str:
    columns = {
        measure: order_agreement(metric_tables(frame, measure, "sample")[0], printed_table(measure)[0])
        for measure in _PRINTED
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


MISLABEL: Final = Experiment(
    "mislabel",
    "Mislabel detection: flipped labels among the least valuable points",
    _cells,
    measure_noisy,
    detection_frame,
    _draw,
    _tell,
)
