"""The page of scalability: times by size, how they grow, and what they come to in the paper's ten hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import (
    NOT_MEASURED,
    OPEN,
    Claim,
    ClaimCheck,
    as_verdict,
)
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import COLORS, mark, panels, style
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._setup import K, Setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_times", "explain_times"]

_KINDS: Final = {"by hand": "the algorithms as printed, in exact integers", "engine": "pivotal.value"}
_TEN_HOURS: Final = 36_000.0
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
        # Handles are long enough to show dashes.
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


def _times(frame: pd.DataFrame) -> dict[tuple[str, str, str], pd.Series[float]]:
    """Return the median seconds by size for each kind, algorithm and weights; NaN where the time ran out."""
    return {
        (str(kind), str(name), str(weights)): part.groupby("n")["seconds"].median()
        for (kind, name, weights), part in frame.groupby(["kind", "algorithm", "weights"], sort=False)
    }


def explain_times(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says."""
    times = _times(frame)
    rows = [
        [f"{kind}: `{name}`", weights, *("–" if figure != figure else f"{figure:.2g}" for figure in line)]
        for (kind, name, weights), line in times.items()
    ]
    runs = "one run" if setup.runs == 1 else f"the median of {setup.runs} runs, with their range as a band"
    how = (
        f"One query of a synthetic set of 32 features in single precision, k = {K}: {runs}; seconds in one thread, "
        "warm, distances and sorting included. An algorithm stops at the first size that takes longer than "
        f"{frame['budget'].iloc[0]:g} s. *By hand* are the algorithms as printed, in exact integers of Python "
        "(`pivotal.research.paper`), and the recursion of Jia et al. for `sv-soft`; *engine* is `pivotal.value`. The "
        "paper gives all points the same weight; the weighted algorithms are also timed with votes of 7 bits by "
        "distance."
    )
    note = (
        f"{NO_FIGURES} Exponents are fitted to all sizes from 100 points on. What ten hours would bring is "
        "extrapolated by them, not run."
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
        if len(large) < 2:
            return Growth(int(done.index[-1]), float(done.iloc[-1]), float("nan"))
        exponent = np.polyfit(np.log(large.index.to_numpy(dtype=float)), np.log(large.to_numpy()), 1)[0]
        return Growth(int(done.index[-1]), float(done.iloc[-1]), float(exponent))

    def bounded() -> ClaimCheck:
        found = growth("by hand", "bf")
        return NOT_MEASURED if found is None else ClaimCheck(as_verdict(found.size < 30), f"reaches {found.size}")

    def as_analysed() -> ClaimCheck:
        found = {
            name: each for name in _EXPONENTS if (each := growth("by hand", name)) and each.exponent == each.exponent
        }
        if not found:
            return NOT_MEASURED
        text = ", ".join(f"{name} n^{each.exponent:.2f} (n^{_EXPONENTS[name]:g})" for name, each in found.items())
        return ClaimCheck(as_verdict(all(each.exponent < _EXPONENTS[name] + 0.5 for name, each in found.items())), text)

    def nearly_linear() -> ClaimCheck:
        found = growth("by hand", "bv-uw")
        if found is None or found.exponent != found.exponent:
            return NOT_MEASURED
        return ClaimCheck(
            as_verdict(found.exponent < 1.5), f"n^{found.exponent:.2f}; integers grow with n, as the paper says"
        )

    def ten_hours() -> ClaimCheck:
        reach = {"sv": 10_000, "sv-uw": 10_000, "bv-fast": 10_000, "bv-uw": 1_000_000}
        found = {name: each for name in reach if (each := growth("by hand", name)) and each.exponent == each.exponent}
        if len(found) < len(reach):
            return NOT_MEASURED
        hours = {name: each.at(reach[name]) / 3600.0 for name, each in found.items()}
        text = ", ".join(f"{name} {reach[name]:,} in {time:.2g} h" for name, time in hours.items())
        as_said = {name: (time > 10.0) == name.startswith("sv") for name, time in hours.items()}
        return ClaimCheck(as_verdict(True) if all(as_said.values()) else OPEN, f"extrapolated: {text}")

    def order(slow: str, fast: str) -> dict[str, ClaimCheck]:
        """Compare the largest sizes in time, and where they are the same, the seconds there."""
        found: dict[str, ClaimCheck] = {}
        for kind in ("by hand", "engine"):
            one, other = growth(kind, slow), growth(kind, fast)
            if one and other:
                holds = one.size < other.size or (one.size == other.size and other.seconds < one.seconds)
                close = one.size == other.size and 0.8 < one.seconds / other.seconds < 1.25
                numbers = f"{slow} {one.size:,} in {one.seconds:.2g} s, {fast} {other.size:,} in {other.seconds:.2g} s"
                found[kind] = ClaimCheck(OPEN if close else as_verdict(holds), numbers)
        return found

    return [
        Claim("Running times align with the analysis (exponents of n)", {"by hand": as_analysed()}),
        Claim("Brute force cannot do 30 points", {"by hand": bounded()}),
        Claim("`bv-uw` takes almost linear time", {"by hand": nearly_linear()}),
        Claim(
            "In 10 hours `sv` and `sv-uw` cannot do 10⁴ points, `bv-fast` can, `bv-uw` 10⁶", {"by hand": ten_hours()}
        ),
        Claim("`sv-soft` scales better than `bv-uw`", order("bv-uw", "sv-soft")),
        Claim("`bv-fast` scales better than `bv`", order("bv", "bv-fast")),
        Claim("`bv-fast` scales better than `sv`", order("sv", "bv-fast")),
        Claim("`bv-uw` scales better than `sv-uw`", order("sv-uw", "bv-uw")),
    ]
