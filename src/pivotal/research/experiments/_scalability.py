"""Scalability: the paper's algorithms and this library's engine, timed on one query of larger and larger data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.core.types import FloatArray, IndexArray
from pivotal.research.bench.markdown import table
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._experiment import Experiment, Results
from pivotal.research.experiments._experiment_page import Claim, claims_table
from pivotal.research.experiments._figures import legend, panels, style
from pivotal.research.experiments._ladder import Step, time_scaling
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.paper import ALGORITHMS
from pivotal.valuation.value import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SCALABILITY", "make_step", "measure_ladder", "soft_shapley"]

_SIZES: Final = (10, 20, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000, 10_000_000)
_QUICK_SIZES: Final = (4, 8, 10)
_BITS: Final = 7
_WEIGHTED: Final = ("bv", "bv-fast", "sv")
_ENGINE: Final = ("bv-fast", "bv-uw", "sv", "sv-uw", "sv-soft")
_BY_HAND: Final = (*ALGORITHMS, "sv-soft")


def soft_shapley(match: FloatArray, k: int) -> FloatArray:
    """Return the soft-label Shapley values of one query by the recursion of Jia et al. (2019), in O(n).

    Parameters
    ----------
    match : float array of shape (n,)
        1 where a neighbour has the query's label, nearest first.
    k : int

    Examples
    --------
    >>> soft_shapley(np.array([1.0, 0.0, 1.0]), 1).round(4)
    array([ 0.8333, -0.1667,  0.3333])
    """
    n = len(match)
    ranks = np.arange(1, n)
    steps = (match[:-1] - match[1:]) * np.minimum(k, ranks) / (k * ranks)
    last = match[-1] * min(k, n) / (n * k)
    return np.asarray(last + np.append(np.cumsum(steps[::-1])[::-1], 0.0))


def make_step(kind: str, name: str, weights: str, k: int, seed: int) -> Step:
    """Return what makes the timed call for a size: the paper's algorithm by hand, or the engine.

    Parameters
    ----------
    kind : {"by hand", "engine"}
    name : str
        Abbreviation of the algorithm.
    weights : {"uniform", "distance"}
    k, seed : int
    """

    def step(n: int) -> Callable[[], object]:
        data = synthetic(n + 1, random_state=seed)
        # The last row differs with n; the query must not.
        X, y = data.X[1:], data.y[1:]
        query, label = data.X[:1], data.y[:1]
        if kind == "engine":
            # Names of unweighted methods fix their weights, those of weighted ones suggest them.
            chosen: dict[str, Any] = {} if name not in _WEIGHTED else {"weights": weights}
            return lambda: value(X, y, query, label, k=k, method=name, n_jobs=1, **chosen)

        def by_hand() -> object:
            order, distances = _nearest(X, query[0])
            if name == "sv-soft":
                return soft_shapley((y[order] == label[0]).astype(float), k)
            signs = np.where(y[order] == label[0], 1, -1)
            votes = _votes(distances) if weights == "distance" else np.ones(n, dtype=np.int64)
            return ALGORITHMS[name]((signs * votes).tolist(), k)

        return by_hand

    return step


def _nearest(X: Any, query: Any) -> tuple[IndexArray, FloatArray]:
    distances = np.sqrt(((X - query) ** 2).sum(axis=1, dtype=np.float64))
    order = np.argsort(distances, kind="stable")
    return order, distances[order]


def _votes(distances: FloatArray) -> IndexArray:
    """Votes of 7 bits, inverse to the distance, as `weights="distance"` rounds them."""
    largest = (1 << _BITS) - 1
    votes: IndexArray = np.rint(largest * distances[0] / distances).astype(np.int64)
    return votes


def _cells(setup: Setup) -> list[Cell]:
    sizes = _QUICK_SIZES if setup.quick else _SIZES
    # A process of its own can be stopped, but takes seconds to start: small sizes do without.
    settings = {"k": K, "seed": setup.seed, "sizes": list(sizes), "budget": setup.budget, "apart": not setup.quick}
    cells = []
    for kind, names in (("by hand", _BY_HAND), ("engine", _ENGINE)):
        for name in names:
            # bf and bv are no contenders elsewhere; they come along unless methods were chosen without them.
            if name not in setup.methods and name not in ("bf", "bv"):
                continue
            for weights in ("uniform", "distance") if name in _WEIGHTED else ("uniform",):
                more = {**settings, "kind": kind, "weights": weights}
                cells += [Cell("scalability", "synthetic", name, run, more) for run in range(setup.runs)]
    return cells


def measure_ladder(cell: Cell, source: DataSource) -> Result:  # noqa: ARG001  all measures take both
    """Time one algorithm on all sizes it can do in time."""
    settings = cell.settings
    arguments = (settings["kind"], cell.method, settings["weights"], settings["k"], settings["seed"] + cell.run)
    seconds = time_scaling(make_step, arguments, settings["sizes"], settings["budget"], apart=settings["apart"])
    return {"sizes": list(seconds), "time": list(seconds.values())}


def _gather(results: Results) -> pd.DataFrame:
    rows = []
    for cell, result in results:
        done = dict(zip(result["sizes"], result["time"], strict=True))
        about = {"kind": cell.settings["kind"], "algorithm": cell.method, "weights": cell.settings["weights"]}
        for n in cell.settings["sizes"]:
            rows.append({**about, "run": cell.run, "n": n, "seconds": done.get(n), "budget": cell.settings["budget"]})
    return pd.DataFrame(rows).astype({"seconds": float})


def _draw(frame: pd.DataFrame) -> Figure:
    kinds = {"by hand": "as printed, exact integers", "engine": "this library"}
    figure, axes = panels(list(kinds.values()), height=3.4)
    for ax, kind in zip(axes, kinds, strict=True):
        part = frame[frame["kind"] == kind].dropna(subset="seconds")
        for (name, weights), line in part.groupby(["algorithm", "weights"], sort=False):
            how = {**style(str(name)), "marker": "o" if weights == "uniform" else "^", "markersize": 3}
            means = line.groupby("n")["seconds"].mean()
            label = f"{name}{', by distance' if weights == 'distance' else ''}"
            ax.plot(means.index, means, label=label, **how)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("training points", fontsize="small")
    axes[0].set_ylabel("seconds", fontsize="small")
    low, high = frame["seconds"].min(), frame["seconds"].max()
    for ax in axes:
        ax.set_ylim(0.5 * low, 2.0 * high)
    legend(figure, axes)
    return figure


def _times(frame: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series[float]]:
    """Return the mean seconds by size for each kind, algorithm and weights; NaN where the time ran out."""
    return {
        (str(kind), str(name), str(weights)): part.groupby("n")["seconds"].mean()
        for (kind, name, weights), part in frame.groupby(["kind", "algorithm", "weights"], sort=False)
    }


def _tell(frame: pd.DataFrame, setup: Setup) -> list[str]:
    times = _times(frame)
    rows = [
        [f"{kind}: `{name}`", weights, *("–" if figure != figure else f"{figure:.2g}" for figure in line)]
        for (kind, name, weights), line in times.items()
    ]
    return [
        f"One query of a synthetic set of 32 features, k = {K}, {setup.runs} {'run' if setup.runs == 1 else 'runs'}; "
        "seconds in one thread, distances and sorting included. An algorithm stops at the first size that takes longer "
        f"than {frame['budget'].iloc[0]:g} s (the paper allows 10 hours). *By hand* are the algorithms as printed, in "
        "exact integers of Python (`pivotal.paper`), and the recursion of Jia et al. for `sv-soft`; *engine* is "
        "`pivotal.value`. The paper gives all points the same weight; the weighted algorithms are also timed with "
        "votes of 7 bits by distance.",
        "## What the paper says, and what is found here",
        NO_FIGURES,
        claims_table(_claims(times)),
        "## Seconds",
        table(["algorithm", "weights", *(f"{n:,}" for n in frame["n"].unique())], rows),
    ]


def _claims(times: dict[tuple[str, str, str], pd.Series[float]]) -> list[Claim]:
    def done(kind: str, name: str) -> list[tuple[int, float]]:
        line = times.get((kind, name, "uniform"))
        return [] if line is None else [(int(n), float(s)) for n, s in line.dropna().items()]  # type: ignore[call-overload]

    def bounded() -> tuple[bool | None, str]:
        steps = done("by hand", "bf")
        return (steps[-1][0] < 30, f"reaches {steps[-1][0]}") if steps else (None, "not measured")

    def growth() -> tuple[bool | None, str]:
        steps = done("by hand", "bv-uw")
        if len(steps) < 2:
            return None, "too few sizes"
        (small, short), (large, long) = steps[-2:]
        slope = float(np.log(long / short) / np.log(large / small))
        return slope < 1.5, f"time grows as n^{slope:.2f} between {small:,} and {large:,}"

    def order(slow: str, fast: str) -> dict[str, tuple[bool | None, str]]:
        """Compare the largest sizes in time, and where they are the same, the seconds there."""
        found: dict[str, tuple[bool | None, str]] = {}
        for kind in ("by hand", "engine"):
            one, other = done(kind, slow), done(kind, fast)
            if one and other:
                (n, seconds), (m, better) = one[-1], other[-1]
                holds = n < m or (n == m and better < seconds)
                found[kind] = (holds, f"{slow} {n:,} in {seconds:.2g} s, {fast} {m:,} in {better:.2g} s")
        return found

    return [
        Claim("Brute force cannot do 30 points", {"by hand": bounded()}),
        Claim("`bv-uw` takes almost linear time", {"by hand": growth()}),
        Claim("`sv-soft` scales better than `bv-uw`", order("bv-uw", "sv-soft")),
        Claim("`bv-fast` scales better than `bv`", order("bv", "bv-fast")),
        Claim("`bv-fast` scales better than `sv`", order("sv", "bv-fast")),
        Claim("`bv-uw` scales better than `sv-uw`", order("sv-uw", "bv-uw")),
    ]


SCALABILITY: Final = Experiment(
    "scalability",
    "Scalability: time against the number of points",
    _cells,
    measure_ladder,
    _gather,
    _draw,
    _tell,
    alone=True,
    needs_data=False,
)
