"""Monte Carlo: how far sampled values are from the exact ones, what they cost, and where the exact ones are cheaper."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.core.method_choice import method
from pivotal.research.bench.markdown import table
from pivotal.research.bench.stopwatch import timed
from pivotal.research.datasets import synthetic
from pivotal.research.experiments._claims import AGREES, OPEN, Claim, ClaimCheck, as_verdict, interval
from pivotal.research.experiments._experiment import Experiment, Picture, Results
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import COLORS, mark, panels
from pivotal.research.experiments._frames import pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._result_cells import Cell, DataSource, Result
from pivotal.research.experiments._setup import K, Setup
from pivotal.valuation.value import value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES: Final = {"uniform": "unweighted", "distance": "votes by distance"}
_SAMPLERS: Final = {"coalitions": ("blue", "-", "o"), "permutations": ("red", "--", "s")}
_ACCEPTED: Final = 0.02  # the deviation that the paper speaks of


def draw_samples(frame: pd.DataFrame) -> Figure:
    """Draw the deviation by samples and by seconds: the median of the runs, and all of them as dots."""
    from matplotlib.ticker import LogLocator

    kinds = list(dict.fromkeys(frame["weights"]))
    titles = [f"{_TITLES[kind]}, by {word}" for kind in kinds for word in ("samples", "seconds")]
    figure, axes = panels(titles, columns=2, width=4.6, height=2.7)
    for number, kind in enumerate(kinds):
        here = pick(frame, weights=kind)
        by_samples, by_seconds = axes[2 * number : 2 * number + 2]
        for sampler, part in here.groupby("sampler", sort=False):
            color, line, marker = _SAMPLERS[str(sampler)]
            dots: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 3, "alpha": 0.5}
            middle = part.groupby("samples")[["deviation", "seconds"]].median().reset_index()
            for ax, x in ((by_samples, "samples"), (by_seconds, "seconds")):
                label = f"{sampler}: median, and each run"
                ax.plot(middle[x], middle["deviation"], line, color=COLORS[color], linewidth=2.0, label=label)
                ax.plot(part[x], part["deviation"], color=COLORS[color], **dots)
        mark(by_seconds, "exact", x=float(here["exact_seconds"].median()))
        for ax, label in ((by_samples, "samples"), (by_seconds, "seconds")):
            ax.set_xlabel(label, fontsize="small")
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.tick_params(axis="x", which="minor", labelbottom=False)
            mark(ax, "0.02", y=_ACCEPTED)
        by_seconds.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))  # less than two powers of ten
        by_seconds.xaxis.set_major_formatter("{x:g}")
        by_samples.set_ylabel("deviation, of the largest value", fontsize="small")
    axes[0].legend(fontsize="x-small", frameon=False, loc="lower left")
    return figure


def explain_samples(frame: pd.DataFrame, setup: Setup) -> PageContent:
    """Return what the page says."""
    how = (
        f"One random query of a synthetic set of 32 features, k = {K}, {setup.runs} runs with other points each. The "
        "deviation is the largest difference to the exact values, over the largest of those, as in the paper; tables "
        "have the median of the runs, because a query far from any boundary has values so small that a single lucky "
        "sample is many times as large. One thread, warm; the search for neighbours is part of all times."
    )
    note = (
        f"{NO_FIGURES} Ratios are geometric means over the numbers of samples with their 95 % intervals. The paper's "
        "factor of 25 is over its own weighted algorithm; the exact engine here is another and faster, so neither "
        "verdict would be about the same thing."
    )
    sections = []
    for kind, part in frame.groupby("weights", sort=False):
        columns = [_medians(part, column)[sampler] for sampler in _SAMPLERS for column in ("deviation", "seconds")]
        rows = [[f"{samples:,}", *(f"{column.loc[samples]:.2g}" for column in columns)] for samples in columns[0].index]
        numbers = table(["samples", "coalitions", "seconds", "permutations", "seconds"], rows)
        exact = f"The exact values take {part['exact_seconds'].median():.2g} s (median)."
        sections.append((f"{_TITLES[str(kind)].capitalize()}, n = {part['n'].iloc[0]:,}", f"{exact}\n\n{numbers}"))
    return PageContent(how, _claims(frame), note, sections)


def _medians(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return pivot(frame, "samples", "sampler", column, "median")


def _ratio(over: pd.DataFrame) -> tuple[str, str]:
    """Return the verdict whether permutations are above coalitions, and their ratio, over the numbers of samples."""
    logs = np.log((over["permutations"] / over["coalitions"]).to_numpy(dtype=float))
    found = interval(logs[np.isfinite(logs)])
    low, high = (float(np.exp(found.mean + sign * found.half)) for sign in (-1, 1))
    return found.verdict, f"{np.exp(found.mean):.2g} times ({low:.2g} to {high:.2g})"


def _claims(frame: pd.DataFrame) -> list[Claim]:
    says = {
        "slower": "Permutations converge more slowly than coalitions",
        "unstable": "... are less stable",
        "longer": "... and take longer",
        "speed_up": "Coalitions are 25 times as fast as the weighted algorithm at a deviation of 0.02, not the "
        "unweighted",
        "smaller": "A smaller deviation may not be practical",
    }
    found: dict[str, dict[str, ClaimCheck]] = {name: {} for name in says}
    for kind, title in _TITLES.items():
        here = pick(frame, weights=kind)
        if here.empty:
            continue
        deviation, seconds = (_medians(here, column) for column in ("deviation", "seconds"))
        verdict, text = _ratio(deviation)
        found["slower"][title] = ClaimCheck(verdict, f"deviation of permutations {text} that of coalitions")
        if here["run"].max() > 0:
            verdict, text = _ratio(pivot(here, "samples", "sampler", "deviation", "std"))
            found["unstable"][title] = ClaimCheck(verdict, f"standard deviation over the runs {text}")
        verdict, text = _ratio(seconds)
        found["longer"][title] = ClaimCheck(verdict, f"seconds {text}")
        exact = float(here["exact_seconds"].median())
        good = seconds["coalitions"][deviation["coalitions"] <= _ACCEPTED]
        if good.empty:
            found["speed_up"][title] = ClaimCheck("", f"no number of samples reaches {_ACCEPTED}")
        else:
            gain = exact / float(good.iloc[0])
            verdict = "" if kind == "distance" else as_verdict(gain <= 1.0)
            found["speed_up"][title] = ClaimCheck(verdict, f"{gain:.2g} times as fast as the exact engine here")
        most = int(deviation.index[-1])
        left, spent = float(deviation["coalitions"].iloc[-1]), float(seconds["coalitions"].iloc[-1])
        verdict = AGREES if spent > exact and left > 1e-3 else OPEN
        numbers = f"{most:,} samples leave {left:.2g} and take {spent / exact:.2g} times as long as the exact values"
        found["smaller"][title] = ClaimCheck(verdict, numbers)
    return [Claim(text, found[name]) for name, text in says.items() if found[name]]


_SIZES: Final = {"uniform": 100_000, "distance": 10_000}  # points, as in the paper
_QUICK_SIZES: Final = {"uniform": 400, "distance": 200}
_SAMPLES: Final = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)


def _cells(setup: Setup) -> list[Cell]:
    samples = _SAMPLES[:3] if setup.quick else _SAMPLES
    sizes = _QUICK_SIZES if setup.quick else _SIZES
    shared = {"samples": list(samples), "k": K, "seed": setup.seed}
    return [
        Cell("monte-carlo", "synthetic", sampler, run, {"weights": weights, "n": n, **shared})
        for weights, n in sizes.items()
        for sampler in _SAMPLERS
        for run in range(setup.runs)
    ]


def measure_sampler(cell: Cell, source: DataSource) -> Result:  # noqa: ARG001  all measures take both
    """Sample the values of one random query with more and more samples, and compare them with the exact ones."""
    settings = cell.settings
    data = synthetic(settings["n"] + 1, random_state=settings["seed"] + cell.run)
    task = (data.X[:-1], data.y[:-1], data.X[-1:], data.y[-1:])
    how: dict[str, Any] = {"k": settings["k"], "weights": settings["weights"], "n_jobs": 1}
    sampled = partial(method, cell.method, random_state=settings["seed"] + cell.run)
    value(*task, **how)  # compiled from here on
    value(*task, method=sampled(n_samples=2), **how)
    exact, exact_seconds = timed(lambda: value(*task, **how).values)
    largest = float(np.abs(exact).max())
    runs = [timed(partial(value, *task, method=sampled(n_samples=count), **how)) for count in settings["samples"]]
    seconds = [taken for _, taken in runs]
    deviations = [float(np.abs(run.values - exact).max()) / largest if largest else 0.0 for run, _ in runs]
    return {"exact": exact_seconds, "largest": largest, "deviation": deviations, "time": seconds}


def _gather(results: Results) -> pd.DataFrame:
    parts = []
    for cell, result in results:
        columns = {"samples": cell.settings["samples"], "deviation": result["deviation"], "seconds": result["time"]}
        about = {"weights": cell.settings["weights"], "n": cell.settings["n"], "sampler": cell.method, "run": cell.run}
        parts.append(pd.DataFrame({**about, **columns, "exact_seconds": result["exact"]}))
    return pd.concat(parts, ignore_index=True)


MONTE_CARLO: Final = Experiment(
    "monte-carlo",
    "Monte Carlo: deviation against samples",
    _cells,
    measure_sampler,
    _gather,
    (Picture("", "Deviation from the exact values by samples, and by seconds", draw_samples),),
    explain_samples,
    alone=True,
    needs_data=False,
)
