"""Scalability: the paper's algorithms and this library's engine, timed on one query of larger and larger data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.types import FloatArray
from pivotal.research.bench.markdown import table
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._claims import NOT_MEASURED, OPEN, Claim, ClaimCheck, as_verdict
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import COLORS, mark, panels, style
from pivotal.research.experiments._ladder import Step, time_scaling
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.research.paper import ALGORITHMS
from pivotal.valuation.value import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS: Final = {"by hand": "the algorithms as printed, in exact integers", "engine": "pivotal.value"}
_SHOWN: Final = {"by hand": "as printed", "engine": "engine"}  # what the page calls the kinds of the stored table
_EXPONENTS: Final = {"bv": 4.0, "bv-fast": 2.0, "bv-uw": 1.0}  # of n, by the paper's analysis with k fixed


class Growth(NamedTuple):
    """The largest size that was done, its seconds, and the exponent of n over all sizes from 100 on."""

    size: int
    seconds: float
    exponent: float

    def at(self, size: int) -> float:
        """Return the seconds that a larger size would take, if time went on growing like that."""
        return float(self.seconds * (size / self.size) ** self.exponent)


def draw_times(frame: pd.DataFrame) -> Figure:
    """Draw seconds against points: the algorithms as printed, and the engine."""
    figure, axes = panels(list(_KINDS.values()), columns=2, width=5.2, height=4.2)
    for ax, kind in zip(axes, _KINDS, strict=True):
        part = frame[frame["kind"] == kind].dropna(subset="seconds")
        for (name, weights), line in part.groupby(["algorithm", "weights"], sort=False):
            weighted = weights == "distance"
            how = {**style(str(name)), "marker": "^" if weighted else "o", "markersize": 4}
            times = line.groupby("n")["seconds"].agg(["median", "min", "max"])
            ax.plot(times.index, times["median"], label=f"{name}{', 7-bit weights' if weighted else ''}", **how)
            ax.fill_between(times.index, times["min"], times["max"], color=how["color"], alpha=0.15, linewidth=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("training points n", fontsize="small")
        # Handles long enough for dashes.
        ax.legend(fontsize="x-small", frameon=False, loc="upper left", ncols=2, handlelength=3.5)
        budget = float(frame["budget"].iloc[0])
        mark(ax, f"{budget:g} s: no larger size is tried", y=budget)
    low, high = frame["seconds"].min(), frame["seconds"].max()
    _guides(axes[0], low, high)
    for ax in axes:
        ax.set_ylim(0.5 * low, 200.0 * high)
        ax.set_xlim(frame["n"].min() * 0.7, frame["n"].max() * 1.5)
    axes[0].set_ylabel("seconds", fontsize="small")
    return figure


def _guides(ax: Any, low: float, high: float) -> None:
    """Draw lines that grow as n, n² and n⁴, to hold slopes against."""
    for exponent, start in ((1, 3e4), (2, 1e4), (4, 150.0)):
        sizes = np.array([start, start * 8 ** (1 / exponent)])
        seconds = 30 * low * (sizes / start) ** exponent
        if seconds[-1] < high:
            ax.plot(sizes, seconds, color=COLORS["grey"], linewidth=1.0)
            ax.annotate(f"n{'' if exponent == 1 else '²' if exponent == 2 else '⁴'}", (sizes[-1], seconds[-1]),
                        xytext=(3, -2), textcoords="offset points", fontsize="x-small", color="#4b5563")  # fmt: skip


def explain_times(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says."""
    # The median seconds by size; NaN where the time ran out.
    times = {
        (str(kind), str(name), str(weights)): part.groupby("n")["seconds"].median()
        for (kind, name, weights), part in frame.groupby(["kind", "algorithm", "weights"], sort=False)
    }
    rows = [
        [f"{_SHOWN[kind]}: `{name}`", weights, *("–" if figure != figure else f"{figure:.2g}" for figure in line)]
        for (kind, name, weights), line in times.items()
    ]
    runs = "one run" if setup.runs == 1 else f"the median of {setup.runs} runs, with their range as a band"
    how = (
        f"One query of a synthetic set of 32 features in single precision, k = {K}: {runs}; seconds in one thread, "
        "warm, distances and sorting included. An algorithm stops at the first size that takes longer than "
        f"{frame['budget'].iloc[0]:g} s. *As printed* are the paper's algorithms, in exact integers of Python "
        "(`pivotal.research.paper`), and the recursion of Jia et al. for `sv-soft`; *engine* is `pivotal.value`. The "
        "paper gives all points the same weight; the weighted algorithms are also timed with votes of 7 bits by "
        "distance."
    )
    note = (
        f"{NO_FIGURES} Exponents are fitted to all sizes from 100 points on; they align with the analysis if they "
        "exceed it by less than 0.5. What ten hours would bring is extrapolated by them, not run."
    )
    numbers = table(["algorithm", "weights", *(f"{n:,}" for n in frame["n"].unique())], rows)
    return PageContent(how, _claims(times), note, [("Seconds", numbers)])


def _claims(times: dict[tuple[str, str, str], pd.Series[float]]) -> list[Claim]:
    def growth(kind: str, name: str) -> Growth | None:
        line = times.get((kind, name, "uniform"))
        done = None if line is None else line.dropna()
        if done is None or done.empty:
            return None
        large = done[done.index >= 100] if (done.index >= 100).sum() > 1 else done
        exponent = float("nan")
        if len(large) > 1:
            exponent = np.polyfit(np.log(large.index.to_numpy(dtype=float)), np.log(large.to_numpy()), 1)[0]
        return Growth(int(done.index[-1]), float(done.iloc[-1]), float(exponent))

    def grown(*names: str) -> dict[str, Growth]:
        """Return the growth of those algorithms as printed whose exponent is known."""
        found = {name: growth("by hand", name) for name in names}
        return {name: each for name, each in found.items() if each and each.exponent == each.exponent}

    def bounded() -> ClaimCheck:
        found = growth("by hand", "bf")
        return NOT_MEASURED if found is None else ClaimCheck(as_verdict(found.size < 30), f"reaches {found.size}")

    def as_analysed() -> ClaimCheck:
        found = grown(*_EXPONENTS)
        if not found:
            return NOT_MEASURED
        text = ", ".join(f"{name} n^{each.exponent:.2f} (n^{_EXPONENTS[name]:g})" for name, each in found.items())
        return ClaimCheck(as_verdict(all(each.exponent < _EXPONENTS[name] + 0.5 for name, each in found.items())), text)

    def nearly_linear() -> ClaimCheck:
        found = grown("bv-uw").get("bv-uw")
        if found is None:
            return NOT_MEASURED
        numbers = f"n^{found.exponent:.2f}; integers grow with n, as the paper says"
        return ClaimCheck(as_verdict(found.exponent < 1.5), numbers)

    def ten_hours() -> ClaimCheck:
        reach = {"sv": 10_000, "sv-uw": 10_000, "bv-fast": 10_000, "bv-uw": 1_000_000}
        found = grown(*reach)
        if len(found) < len(reach):
            return NOT_MEASURED
        hours = {name: each.at(reach[name]) / 3600.0 for name, each in found.items()}
        text = ", ".join(f"{name} {reach[name]:,} in {time:.2g} h" for name, time in hours.items())
        as_said = {name: (time > 10.0) == name.startswith("sv") for name, time in hours.items()}
        return ClaimCheck(as_verdict(True) if all(as_said.values()) else OPEN, f"extrapolated: {text}")

    def order(slow: str, fast: str) -> dict[str, ClaimCheck]:
        """Compare the largest sizes in time, and where they are the same, the seconds there."""
        found: dict[str, ClaimCheck] = {}
        for kind, shown in _SHOWN.items():
            one, other = growth(kind, slow), growth(kind, fast)
            if one and other:
                holds = one.size < other.size or (one.size == other.size and other.seconds < one.seconds)
                close = one.size == other.size and 0.8 < one.seconds / other.seconds < 1.25
                numbers = f"{slow} {one.size:,} in {one.seconds:.2g} s, {fast} {other.size:,} in {other.seconds:.2g} s"
                found[shown] = ClaimCheck(OPEN if close else as_verdict(holds), numbers)
        return found

    return [
        Claim("Running times align with the analysis (exponents of n)", {"as printed": as_analysed()}),
        Claim("Brute force cannot do 30 points", {"as printed": bounded()}),
        Claim("`bv-uw` takes almost linear time", {"as printed": nearly_linear()}),
        Claim(
            "In 10 hours `sv` and `sv-uw` cannot do 10⁴ points, `bv-fast` can, `bv-uw` 10⁶",
            {"as printed": ten_hours()},
        ),
        Claim("`sv-soft` scales better than `bv-uw`", order("bv-uw", "sv-soft")),
        Claim("`bv-fast` scales better than `bv`", order("bv", "bv-fast")),
        Claim("`bv-fast` scales better than `sv`", order("sv", "bv-fast")),
        Claim("`bv-uw` scales better than `sv-uw`", order("sv-uw", "bv-uw")),
    ]


_SIZES: Final = (10, 20, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000, 10_000_000)
_QUICK_SIZES: Final = (4, 8, 10)
_LARGEST_VOTE: Final = 127  # votes of 7 bits
_WEIGHTED: Final = ("bv", "bv-fast", "sv")
_ENGINE: Final = ("bv-fast", "bv-uw", "sv", "sv-uw", "sv-soft")
_BY_HAND: Final = (*ALGORITHMS, "sv-soft")


def soft_shapley(match: FloatArray, k: int) -> FloatArray:
    """Return the soft-label Shapley values of one query by the recursion of Jia et al. (2019), in O(n).

    `match` is 1 where a neighbour has the query's label, nearest first.

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
    """Return what makes the timed call for a size: the paper's algorithm "by hand", or the "engine"."""

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
            distances = np.sqrt(((X - query[0]) ** 2).sum(axis=1, dtype=np.float64))
            order = np.argsort(distances, kind="stable")
            right = y[order] == label[0]
            if name == "sv-soft":
                return soft_shapley(right.astype(float), k)
            votes = np.ones(n, dtype=np.int64)
            if weights == "distance":  # inverse to the distance, as `value` rounds them
                votes = np.rint(_LARGEST_VOTE * distances[order[0]] / distances[order]).astype(np.int64)
            return ALGORITHMS[name](np.where(right, votes, -votes).tolist(), k)

        return by_hand

    return step


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


SCALABILITY: Final = Experiment(
    "scalability",
    "Scalability: time against the number of points",
    _cells,
    measure_ladder,
    _gather,
    (Picture("", "Seconds for one query by the number of training points", draw_times),),
    explain_times,
    alone=True,
    needs_data=False,
)
