"""The page of Monte Carlo: what more samples bring, what they cost, and where the exact values are cheaper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from pivotal.research.bench.markdown import table
from pivotal.research.experiments._claims import AGREES, OPEN, Claim, ClaimCheck, as_verdict, interval
from pivotal.research.experiments._experiment_page import PageContent
from pivotal.research.experiments._figures import COLORS, mark, panels
from pivotal.research.experiments._frames import pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._setup import K, Setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_samples", "explain_samples"]

_TITLES: Final = {"uniform": "unweighted", "distance": "votes by distance"}
_SAMPLERS: Final = {"coalitions": ("blue", "-", "o"), "permutations": ("red", "--", "s")}
_ACCEPTED: Final = 0.02  # the deviation that the paper speaks of


def draw_samples(frame: pd.DataFrame) -> Figure:
    """Draw the deviation by samples and by seconds: the median of the runs, and all of them as dots."""
    kinds = list(dict.fromkeys(frame["weights"]))
    titles = [f"{_TITLES[kind]}, by {word}" for kind in kinds for word in ("samples", "seconds")]
    figure, axes = panels(titles, columns=2, width=4.6, height=2.7)
    for number, kind in enumerate(kinds):
        here = pick(frame, weights=kind)
        by_samples, by_seconds = axes[2 * number : 2 * number + 2]
        for sampler, part in here.groupby("sampler", sort=False):
            color, line, marker = _SAMPLERS[str(sampler)]
            how: dict[str, Any] = {"color": COLORS[color], "linestyle": line, "linewidth": 2.0}
            dots: dict[str, Any] = {
                "color": COLORS[color],
                "linestyle": "none",
                "marker": marker,
                "markersize": 3,
                "alpha": 0.5,
            }
            middle = part.groupby("samples")[["deviation", "seconds"]].median()
            for ax, x, places in (
                (by_samples, "samples", middle.index.to_numpy()),
                (by_seconds, "seconds", middle["seconds"].to_numpy()),
            ):
                ax.plot(places, middle["deviation"], label=f"{sampler}: median, and each run", **how)
                ax.plot(part[x], part["deviation"], **dots)
        mark(by_seconds, "exact", x=float(here["exact_seconds"].median()))
        for ax in (by_samples, by_seconds):
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.tick_params(axis="x", which="minor", labelbottom=False)
            mark(ax, "0.02", y=_ACCEPTED)
        by_samples.set_ylabel("deviation", fontsize="small")
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
    names = ("slower", "unstable", "longer", "speed_up", "smaller")
    found: dict[str, dict[str, ClaimCheck]] = {name: {} for name in names}
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
    says = {
        "slower": "Permutations converge more slowly than coalitions",
        "unstable": "... are less stable",
        "longer": "... and take longer",
        "speed_up": "Coalitions are 25 times as fast as the weighted algorithm at a deviation of 0.02, not the "
        "unweighted",
        "smaller": "A smaller deviation may not be practical",
    }
    return [Claim(text, found[name]) for name, text in says.items() if found[name]]
