"""Curves of accuracy over a changing training set: from single runs to means, heights and gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pandas as pd

from pivotal.research.experiments._claims import Claim, ClaimCheck
from pivotal.research.experiments._experiment import Results
from pivotal.research.experiments._frames import pick, pivot

PLACES: Final = {"seen": "on the test set, as in the paper", "fresh": "on fresh points"}
"""Where models are scored."""
_CURVE: Final = ["data", "size", "n_train", "method", "on", "weights"]


def on_both(says: str, look: Callable[[str], ClaimCheck]) -> Claim:
    """Return a claim that is looked at on the test set and on fresh points."""
    return Claim(says, {place: look(on) for on, place in PLACES.items()})


def curve_frame(results: Results, kind: str) -> pd.DataFrame:
    """Return the curves of all cells, a row per step: data, size, method, run, on, weights, count, share, score."""
    parts = []
    for cell, result in results:
        counts = np.asarray(result["counts"])
        for evaluation, scores in result[kind].items():
            on, weights = evaluation.split("/")
            about = {"data": cell.data, "size": cell.settings["size"], "n_train": result["n_train"]}
            about |= {"method": cell.method, "run": cell.run, "on": on, "weights": weights}
            steps = {"count": counts, "share": counts / result["n_train"], "score": scores}
            parts.append(pd.DataFrame({**about, **steps}))
    return pd.concat(parts, ignore_index=True)


def _height(curve: pd.DataFrame) -> float:
    width = curve["share"].iloc[-1] - curve["share"].iloc[0]
    return float(np.trapezoid(curve["score"], curve["share"]) / width)


def average(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean and the deviation of the runs, a row per step, and the deviation of the curves' heights."""
    found = frame.groupby([*_CURVE, "count", "share"], sort=False)["score"].agg(["mean", "std", "count"]).round(5)
    found = found.set_axis(["score", "deviation", "runs"], axis=1).reset_index()
    single = frame.groupby([*_CURVE, "run"], sort=False)[["share", "score"]].apply(_height)
    deviations = single.groupby(level=_CURVE, sort=False).std().round(5).rename("height_deviation")
    return found.merge(deviations.reset_index(), how="left", on=_CURVE)


def heights(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean height of each curve, its normalised area: data, size, method, on, weights, height, error."""
    groups = table.groupby(_CURVE, sort=False)
    found = groups[["share", "score"]].apply(_height).rename("height").to_frame()
    found["deviation"] = groups["height_deviation"].first()
    found["error"] = found["deviation"] / groups["runs"].first() ** 0.5
    return found.reset_index()


def height_tables(table: pd.DataFrame, size: str, on: str, figure: str = "height") -> pd.DataFrame:
    """Return heights of unweighted models, or their deviations or errors: a row per data set, a column per method."""
    return pivot(pick(heights(table), size=size, on=on, weights="uniform"), "data", "method", figure)


def gain_at(curves: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return what the score gains on the way to a share of the points: a row per data set, a column per method."""
    found = []
    for (name, method), curve in curves.groupby(["data", "method"], sort=False):
        means = curve.groupby("share")["score"].mean()
        place = int(np.abs(means.index.to_numpy() - share).argmin())
        found.append({"data": name, "method": method, "gain": means.iloc[place] - means.iloc[0]})
    return pivot(pd.DataFrame(found), "data", "method", "gain")
