"""The first figure: values around a boundary point and a far point, with noise, and with every point doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.datasets import illustration
from pivotal.research.experiments._claims import Claim, decided
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._frames import pick
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.valuation.value import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCENES: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "boundary": ("(b) a test point at the boundary", "boundary", {}),
    "far": ("(c) a test point far from it", "far", {}),
    "noise": ("(d) noise in the corner", "boundary", {"noise": 160}),
    "copies": ("in the text: every point doubled", "boundary", {"duplicate": True}),
}
_SEMIVALUES: Final = {"loo": "leave-one-out", "shapley": "Shapley", "banzhaf": "Banzhaf"}


def _cells(setup: Setup) -> list[Cell]:
    return [
        Cell("illustration", scene, semivalue, 0, {"k": K, "seed": setup.seed})
        for scene in _SCENES
        for semivalue in _SEMIVALUES
    ]


def measure_picture(cell: Cell, source: DataSource) -> Result:  # noqa: ARG001  all measures take both
    """Value the points of one scene."""
    _, place, changes = _SCENES[cell.data]
    picture = illustration(random_state=cell.settings["seed"], **changes)
    query = picture.query(place)
    values = value(picture.X, picture.y, *query, k=cell.settings["k"], semivalue=cell.method, n_jobs=1)
    return {
        "x": picture.X[:, 0].round(4).tolist(),
        "y": picture.X[:, 1].round(4).tolist(),
        "label": picture.y.tolist(),
        "part": picture.parts.tolist(),
        "value": values.values.tolist(),
        "query": query[0][0].round(4).tolist(),
    }


def _gather(results: Results) -> pd.DataFrame:
    parts = []
    for cell, result in results:
        columns = {name: result[name] for name in ("x", "y", "label", "part", "value")}
        about = {"scene": cell.data, "semivalue": cell.method}
        at = {"query_x": result["query"][0], "query_y": result["query"][1]}
        parts.append(pd.DataFrame({**about, **columns, **at}))
    return pd.concat(parts, ignore_index=True)


def _draw(frame: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    from pivotal.report.plots import new_figure

    figure = new_figure(11.0, 8.4)
    grid = figure.subplots(len(_SEMIVALUES), len(_SCENES), sharex=True, sharey=True)
    for row, (semivalue, name) in zip(grid, _SEMIVALUES.items(), strict=True):
        # One scale for all scenes, or values of next to nothing would look like any others.
        largest = float(pick(frame, semivalue=semivalue)["value"].abs().max()) or 1.0
        how = {"cmap": "PuOr", "vmin": -largest, "vmax": largest, "edgecolors": "#6b7280", "linewidths": 0.4}
        for ax, (scene, (title, *_)) in zip(row, _SCENES.items(), strict=True):
            points = pick(frame, semivalue=semivalue, scene=scene)
            for label, marker in ((0, "o"), (1, "^")):
                some = points[points["label"] == label]
                size = 10 + 70 * some["value"].abs() / largest
                drawn = ax.scatter(some["x"], some["y"], s=size, c=some["value"], marker=marker, rasterized=True, **how)
            ax.plot(points["query_x"].iloc[0], points["query_y"].iloc[0], "kX", markersize=8, markeredgecolor="white")
            ax.tick_params(labelsize="x-small")
            if semivalue == "loo":
                ax.set_title(title, fontsize="small")
        row[0].set_ylabel(name)
        figure.colorbar(drawn, ax=row, shrink=0.8, pad=0.01).ax.tick_params(labelsize="x-small")
    signs = [
        Line2D([], [], linestyle="none", color="#6b7280", marker=marker, label=label)
        for marker, label in (("o", "class 0"), ("^", "class 1"))
    ]
    query = Line2D([], [], linestyle="none", color="black", marker="X", label="the test point")
    figure.legend(handles=[*signs, query], loc="outside upper center", ncols=3, frameon=False, fontsize="small")
    return figure


def _claims(frame: pd.DataFrame) -> list[Claim]:
    values = {
        (scene, semivalue): part["value"].to_numpy()
        for (scene, semivalue), part in frame.groupby(["scene", "semivalue"])
    }

    def sparse(semivalue: str) -> int:
        found = np.abs(values["boundary", semivalue])
        return int((found > 0.01 * found.max()).sum())

    kept = len(values["boundary", "banzhaf"])
    moved = float(np.abs(values["noise", "banzhaf"][:kept] - values["boundary", "banzhaf"]).max())
    of_noise = float(np.abs(values["noise", "banzhaf"][kept:]).max())
    lost = 1.0 - float(values["noise", "shapley"][:kept].sum() / values["boundary", "shapley"].sum())
    far = float(np.abs(values["far", "banzhaf"]).max() / np.abs(values["boundary", "banzhaf"]).max())
    three, none = (int(np.count_nonzero(values[scene, "loo"])) for scene in ("boundary", "copies"))
    few, many = sparse("banzhaf"), sparse("shapley")
    left = {name: float(np.abs(values["copies", name]).max()) for name in ("shapley", "banzhaf")}

    survived = ", ".join(f"{name} up to {most:.3f}" for name, most in left.items())
    return [
        decided("At the boundary few points have a leave-one-out value", 0 < three <= K, f"{three} of {kept}"),
        decided("... and none once every point is doubled", none == 0, f"{none} of {2 * kept}"),
        decided("Banzhaf and Shapley values survive the doubling", min(left.values()) > 0, survived),
        decided(
            "Banzhaf values are sparser than Shapley values",
            few < many,
            f"{few} against {many} points above 1 % of the largest",
        ),
        decided(
            "Far from the boundary Banzhaf values nearly vanish", far < 0.1, f"{far:.2g} of the boundary's largest"
        ),
        decided(
            "Noise far away has no Banzhaf value, and leaves that of the data unchanged",
            max(of_noise, moved) < 1e-12,
            f"noise up to {of_noise:.2g}, data moved by up to {moved:.2g}",
        ),
        decided("... and takes more than a quarter of the total Shapley value of the data", lost > 0.25, f"{lost:.0%}"),
    ]


def _explain(frame: pd.DataFrame, setup: Setup) -> PageContent:
    rows = []
    for (scene, semivalue), part in frame.groupby(["scene", "semivalue"], sort=False):
        size = part["value"].abs()
        rows.append(
            [_SCENES[str(scene)][0], semivalue, len(part), int((size > 0.01 * size.max()).sum()), f"{size.max():.3g}"]
        )
    how = (
        "The paper's points are not published. These are drawn so that what the paper says about its figure can be "
        f"checked (`pivotal.research.datasets.illustration`, seed {setup.seed}): two classes, a test point at their "
        f"boundary and one far from it, hard votes, k = {K}. Noise of random labels lies in the upper left corner, "
        "farther from the test point than all data. Panel (a) of the paper shows the points alone."
    )
    header = ["scene", "semivalue", "points", "above 1 % of the largest", "largest"]
    return PageContent(how, _claims(frame), sections=[("How many points carry value", table(header, rows))])


ILLUSTRATION: Final = Experiment(
    "illustration",
    "Illustration: which points have value, and what noise and copies do to it",
    _cells,
    measure_picture,
    _gather,
    (Picture("", "Values of all points in four scenes, by leave-one-out, Shapley and Banzhaf", _draw),),
    _explain,
    needs_data=False,
)
