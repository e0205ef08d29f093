"""Point removal, data selection and label flipping: scores of a model while the training set changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from pivotal.research.experiments._contenders import SELECT
from pivotal.research.experiments._experiment import Experiment, Results
from pivotal.research.experiments._experiment_page import (
    Claim,
    beats,
    claims_table,
    data_table,
    limits,
    mean_table,
    mixed,
)
from pivotal.research.experiments._figures import draw_lines, legend, panels
from pivotal.research.experiments._frames import averages, pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell
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
    from matplotlib.figure import Figure

__all__ = ["FLIP", "REMOVAL", "SELECTION", "areas", "average", "curve_frame", "gain_at"]

PLACES: Final = {"seen": "on the test set, as in the paper", "fresh": "on fresh points"}
"""Where models are scored."""
_KEYS: Final = ["data", "size", "method", "on", "weights"]


def curve_frame(results: Results, kind: str) -> pd.DataFrame:
    """Return the curves of all cells, a row per step: data, size, method, run, on, weights, count, share, score."""
    parts = []
    for cell, result in results:
        counts = np.asarray(result["counts"])
        for evaluation, scores in result[kind].items():
            on, weights = evaluation.split("/")
            part = pd.DataFrame({"count": counts, "share": counts / result["n_train"], "score": scores})
            about = {
                "data": cell.data,
                "size": cell.settings["size"],
                "n_train": result["n_train"],
                "method": cell.method,
                "run": cell.run,
                "on": on,
                "weights": weights,
            }
            parts.append(part.assign(**about))
    columns = ["data", "size", "n_train", "method", "run", "on", "weights", "count", "share", "score"]
    return pd.concat(parts, ignore_index=True)[columns]


def average(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean and the deviation of the runs, a row per step."""
    keys = ["data", "size", "n_train", "method", "on", "weights", "count", "share"]
    found = frame.groupby(keys, sort=False)["score"].agg(["mean", "std", "count"]).round(5)
    return found.set_axis(["score", "deviation", "runs"], axis=1).reset_index()


def areas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean height of each curve: data, size, method, on, weights, run, area."""

    def height(curve: pd.DataFrame) -> float:
        width = curve["share"].iloc[-1] - curve["share"].iloc[0]
        return float(np.trapezoid(curve["score"], curve["share"]) / width)

    found = frame.groupby([*_KEYS, "run"], sort=False)[["share", "score"]].apply(height)
    return found.rename("area").reset_index()


def area_tables(frame: pd.DataFrame, size: str, on: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means and deviations of the areas, a row per data set and a column per method, unweighted."""
    return averages(pick(areas(frame), size=size, on=on, weights="uniform"), "data", "method", "area")


def gain_at(curves: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return what the score gains on the way to a share of the points: a row per data set, a column per method."""
    found = []
    for (name, method), curve in curves.groupby(["data", "method"], sort=False):
        means = curve.groupby("share")["score"].mean()
        place = int(np.abs(means.index.to_numpy() - share).argmin())
        found.append({"data": name, "method": method, "gain": means.iloc[place] - means.iloc[0]})
    return pivot(pd.DataFrame(found), "data", "method", "gain")


def _cells(setup: Setup, study: str) -> list[Cell]:
    return setup.task_cells(study, setup.methods)


def _selection_cells(setup: Setup) -> list[Cell]:
    """Return the cells of the values, and those of rows that are selected together, on the samples."""
    ranked = setup.task_cells("clean", setup.methods)
    samples = {(cell.data, cell.run): cell for cell in ranked if cell.settings["size"] == "sample"}
    return [*ranked, *(Cell("selected", name, SELECT, run, cell.settings) for (name, run), cell in samples.items())]


def _draw(frame: pd.DataFrame, word: str) -> Figure:
    sample = pick(frame, size="sample", on="seen", weights="uniform")
    names = list(dict.fromkeys(sample["data"]))
    figure, axes = panels(names)
    for ax, name in zip(axes, names, strict=True):
        draw_lines(ax, sample[sample["data"] == name], "share", "score")
    figure.supxlabel(f"share of the points {word}", fontsize="small")
    figure.supylabel("accuracy", fontsize="small")
    legend(figure, axes)
    return figure


def _tell(
    frame: pd.DataFrame,
    setup: Setup,
    *,
    how: str,
    lowest: bool,
    claims: Callable[[pd.DataFrame], list[Claim]],
) -> list[str]:
    parts = [
        how,
        "## Data",
        data_table(setup),
        limits(setup),
        "## What the paper says, and what is found here",
        f"{NO_FIGURES} On the samples that all methods can take; a method is better on a data set if the mean height "
        f"of its curve over {setup.runs} runs is {'lower' if lowest else 'higher'}.",
        claims_table(claims(frame)),
    ]
    for size in dict.fromkeys(frame["size"]):
        for on, place in PLACES.items():
            mean, deviation = area_tables(frame, size, on)
            title = "samples for all methods" if size == "sample" else "all rows"
            parts += [
                f"## Mean height of the curves, {title}, {place}",
                mean_table(mean, deviation, lowest=lowest, digits=3),
            ]
    return parts


def _both(says: str, look: Callable[[str], tuple[bool | None, str]]) -> Claim:
    return Claim(says, {place: look(on) for on, place in PLACES.items()})


def _removal_claims(frame: pd.DataFrame) -> list[Claim]:
    heights = {on: area_tables(frame, "sample", on)[0] for on in PLACES}

    def best_are_hard(on: str) -> tuple[bool | None, str]:
        games = [name for name in ("bv-fast", "bv-uw", "sv", "sv-uw", "sv-soft", "beta-mc") if name in heights[on]]
        if len(games) < 2:
            return None, "not measured"
        best = heights[on][games].dropna(how="all").idxmin(axis=1)
        hard = int(best.isin(["bv-fast", "bv-uw", "sv", "sv-uw"]).sum())
        return 2 * hard > len(best), f"lowest of the game-theoretic on {hard} of {len(best)}"

    def start(on: str) -> tuple[bool | None, str]:
        first = pick(frame, size="sample", on=on, count=0, method="bv-fast")
        if first.empty:
            return None, "not measured"
        table = pivot(first, "data", "weights", "score")
        table = table.rename(columns={"distance": "weighted", "uniform": "unweighted"})
        return beats(table, "weighted", ["unweighted"])

    def flat(on: str) -> tuple[bool | None, str]:
        return beats(heights[on], "bv-uw", ["loo", "rand"], lowest=True)

    return [
        _both("Hard-label Banzhaf and Shapley values are often the best among game-theoretic methods", best_are_hard),
        _both("... followed by `sv-soft`", lambda on: beats(heights[on], "bv-uw", ["sv-soft"], lowest=True)),
        _both("... and `beta-mc`", lambda on: beats(heights[on], "bv-uw", ["beta-mc"], lowest=True)),
        _both("`inf` underperforms", lambda on: beats(heights[on], "bv-uw", ["inf"], lowest=True)),
        _both("`lava` is inconsistent", lambda on: mixed(heights[on], ["lava"], lowest=True)),
        _both("`loo` levels off early; removing at random does little", flat),
        _both("Weighted models start at a higher accuracy", start),
    ]


def _selection_claims(frame: pd.DataFrame) -> list[Claim]:
    heights = {on: area_tables(frame, "sample", on)[0] for on in PLACES}

    def near_best(on: str) -> tuple[bool | None, str]:
        ours = [name for name in ("bv-fast", "bv-uw") if name in heights[on]]
        if not ours:
            return None, "not measured"
        values = heights[on].drop(columns=SELECT, errors="ignore")  # the claim is about values
        behind = values.max(axis=1) - values[ours].max(axis=1)
        close = int((behind <= 0.01).sum())
        return 2 * close > len(behind), f"within 0.01 of the best on {close} of {len(behind)}"

    return [
        _both("`bv-fast` and `bv-uw` are the best or very close to it in many data sets", near_best),
        _both("`loo` and `rand` are less capable", lambda on: beats(heights[on], "bv-uw", ["loo", "rand"])),
        _both("`lava` and `inf` are inconsistent", lambda on: mixed(heights[on], ["lava", "inf"])),
    ]


def _flip_claims(frame: pd.DataFrame) -> list[Claim]:
    def gains(on: str, share: float) -> pd.DataFrame:
        return gain_at(pick(frame, size="sample", on=on, weights="uniform"), share)

    def unchanged(on: str) -> tuple[bool | None, str]:
        gain = gains(on, 0.01)
        if "sv-soft" not in gain:
            return None, "not measured"
        still = int((gain["sv-soft"].abs() < 0.01).sum())
        return 2 * still > len(gain), f"the first 1 % change less than 0.01 on {still} of {len(gain)}"

    def rises(on: str) -> tuple[bool | None, str]:
        gain = gains(on, 0.05)
        if "bv-fast" not in gain:
            return None, "not measured"
        up = int((gain["bv-fast"] > 0.01).sum())
        return 2 * up > len(gain), f"5 % flipped gain more than 0.01 on {up} of {len(gain)}"

    return [
        _both("With `sv-soft` accuracy often stays unchanged after the first few points", unchanged),
        _both("Hard-label values such as `bv-fast` increase accuracy significantly", rises),
        _both("... and more than `sv-soft`", lambda on: beats(gains(on, 0.05), "bv-fast", ["sv-soft"])),
    ]


_SPLIT: Final = (
    "Of each data set 90 % are training points, 5 % the test set that the values are computed from, and 5 % fresh. "
    "Tables are standardised by the training part. k = 5; the score is the accuracy of a nearest-neighbour model with "
    "unweighted votes."
)

REMOVAL: Final = Experiment(
    "removal",
    "Point removal: accuracy while the most valuable points go",
    partial(_cells, study="clean"),
    measure_clean,
    partial(curve_frame, kind="removal"),
    partial(_draw, word="removed"),
    partial(
        _tell,
        how=f"{_SPLIT} The most valuable points are removed first, up to {REMOVED[-1]:.0%} of them. Lower is better.",
        lowest=True,
        claims=_removal_claims,
    ),
)

SELECTION: Final = Experiment(
    "selection",
    "Data selection: accuracy while the most valuable points come",
    _selection_cells,
    measure_selection,
    partial(curve_frame, kind="selection"),
    partial(_draw, word="added"),
    partial(
        _tell,
        how=f"{_SPLIT} From {WARM:.0%} of the points, drawn at random, the most valuable are added first, up to "
        f"{REMOVED[-1]:.0%}. Higher is better. `select` is no value: `pivotal.select` chooses rows together, "
        "without the test set, anew for each size.",
        lowest=False,
        claims=_selection_claims,
    ),
)

FLIP: Final = Experiment(
    "flip",
    "Label flipping: accuracy while the least valuable points get another label",
    partial(_cells, study="noise"),
    measure_noisy,
    partial(curve_frame, kind="flip"),
    partial(_draw, word="flipped"),
    partial(
        _tell,
        how=f"{_SPLIT} 5 % of the training labels are flipped at random before values are computed; then the least "
        f"valuable points get another label, up to {FLIPPED[-1]:.0%} of them: with two classes the other one, with "
        "more the commonest other one nearby. Higher is better.",
        lowest=False,
        claims=_flip_claims,
    ),
)
