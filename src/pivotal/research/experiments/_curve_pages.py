"""Pages of removal, selection and flipping: what the paper says of the curves, and heights by data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pandas as pd

from pivotal.research.experiments._claims import (
    AGREES,
    DIFFERS,
    NOT_MEASURED,
    OPEN,
    Claim,
    ClaimCheck,
    best_of,
    compare,
    consistency,
    interval,
)
from pivotal.research.experiments._contenders import SELECT
from pivotal.research.experiments._curves import PLACES, gain_at, height_tables, on_both
from pivotal.research.experiments._experiment import Picture
from pivotal.research.experiments._experiment_page import PageContent, mean_table
from pivotal.research.experiments._frames import pick, pivot
from pivotal.research.experiments._published import NO_FIGURES
from pivotal.research.experiments._setup import Setup

_HARD: Final = ("bv-fast", "bv-uw", "sv", "sv-uw")
_GAMES: Final = (*_HARD, "sv-soft", "beta-mc")


def explain_curves(
    table: pd.DataFrame,
    setup: Setup,
    *,
    how: str,
    lowest: bool,
    claims: Callable[[pd.DataFrame], list[Claim]],
    pictures: tuple[Picture, ...],
) -> PageContent:
    """Return what a page of averaged curves says.

    `how` says what is done to the training set, `lowest` whether a lower curve is better; the pictures are those after
    the first: by data set, and for weighted models.
    """
    by_data, weighted = pictures
    pairs = "The left of each pair is what the paper draws. Bands are one standard error of the runs."
    kinds = (
        "The same values, scored by a model that weighs its votes by distance (solid) and by one that does not "
        "(dashed)."
    )
    sections = [
        ("Every data set: the test set, and fresh points", f"{pairs}\n\n{by_data.token}"),
        ("Models with weighted votes", f"{kinds}\n\n{weighted.token}"),
    ]
    for size in dict.fromkeys(table["size"]):
        for on, place in PLACES.items():
            mean, deviation = (height_tables(table, size, on, figure) for figure in ("height", "deviation"))
            heading = f"Area under the curves, {'samples for all methods' if size == 'sample' else 'all rows'}, {place}"
            text = f"± is the standard deviation of {setup.runs} runs; the best in bold, the second best underlined."
            sections.append((heading, f"{text}\n\n{mean_table(mean, deviation, lowest=lowest, digits=3)}"))
    note = (
        f"{NO_FIGURES} Numbers are differences in the normalised area under the curve, in points of accuracy: the mean "
        "over the data sets with its 95 % interval, positive where the method that the paper prefers is better "
        f"({'lower' if lowest else 'higher'})."
    )
    found = claims(table)
    if any("inconsistent" in one.says for one in found):
        note += (
            " Inconsistent is a method that is better than random on two data sets or more and worse on as many, by "
            "more than two standard errors; with one such data set on either side it is open."
        )
    ends = "In the figure, bars at the right of each panel are 95 % intervals over the data sets at the last step."
    return PageContent(f"{how} {ends}", found, note, sections)


def _tables(table: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    mean = {on: height_tables(table, "sample", on) for on in PLACES}
    error = {on: height_tables(table, "sample", on, "error") for on in PLACES}
    return mean, error


def removal_claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the paper says of point removal."""
    mean, error = _tables(table)

    def weighted_start(on: str) -> ClaimCheck:
        first = pick(table, size="sample", on=on, count=0, method="bv-fast")
        if first.empty:
            return NOT_MEASURED
        words = {"distance": "weighted", "uniform": "unweighted"}
        return compare(pivot(first, "data", "weights", "score").rename(columns=words), "weighted", ["unweighted"])

    def levels_off(on: str) -> ClaimCheck:
        """How much of the fall of a curve comes after the first tenth of the points."""
        curves = pick(table, size="sample", on=on, weights="uniform")
        early, late = gain_at(curves, 0.1), gain_at(curves, 0.5)
        if not {"loo", "bv-uw"} <= set(late.columns):
            return NOT_MEASURED
        after = early - late  # positive: the curve still falls
        return compare(after, "bv-uw", ["loo"])

    return [
        on_both(
            "Hard-label Banzhaf and Shapley values are often the best among game-theoretic methods",
            lambda on: best_of(mean[on], _HARD, ("sv-soft", "beta-mc"), lowest=True),
        ),
        on_both("... followed by `beta-mc`", lambda on: compare(mean[on], "bv-uw", ["beta-mc"], lowest=True)),
        on_both("... and `sv-soft`", lambda on: compare(mean[on], "bv-uw", ["sv-soft"], lowest=True)),
        on_both("`inf` underperforms", lambda on: compare(mean[on], "bv-uw", ["inf"], lowest=True)),
        on_both("`lava` is inconsistent", lambda on: consistency(mean[on], error[on], ["lava"], lowest=True)),
        on_both("`loo` levels off early (fall between 10 % and 50 % removed)", levels_off),
        on_both(
            "Values are better than removing at random", lambda on: compare(mean[on], "bv-uw", ["rand"], lowest=True)
        ),
        on_both("Weighted models start at a higher accuracy", weighted_start),
    ]


def selection_claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the paper says of data selection."""
    mean, error = _tables(table)

    def near_best(on: str) -> ClaimCheck:
        values = mean[on].drop(columns=[SELECT, "rand"], errors="ignore")  # the claim is about values
        ours = [name for name in ("bv-fast", "bv-uw") if name in values]
        if not ours:
            return NOT_MEASURED
        behind = values.max(axis=1) - values[ours].max(axis=1)
        close = int((behind <= 0.01).sum())
        numbers = f"{interval(-behind).text()} from the best; within a point on {close} of {len(behind)}"
        return ClaimCheck(interval(0.01 - behind).verdict, numbers)

    def comparable(on: str) -> ClaimCheck:
        """Whether game-theoretic methods differ less among themselves than from random."""
        games = [name for name in _GAMES if name in mean[on]]
        if len(games) < 2 or "rand" not in mean[on]:
            return NOT_MEASURED
        chosen = mean[on][games]
        extent, gain = chosen.max(axis=1) - chosen.min(axis=1), chosen.mean(axis=1) - mean[on]["rand"]
        numbers = f"{interval(extent).text()} between best and worst; {interval(gain).text()} from random"
        return ClaimCheck(interval(gain.abs() - extent).verdict, numbers)

    def selected_together(on: str) -> ClaimCheck:
        return compare(mean[on], SELECT, ["rand"])._replace(verdict="")

    claims = [
        on_both("`bv-fast` and `bv-uw` are the best or very close to it (1 point) in many data sets", near_best),
        on_both("All game-theoretic methods are fairly comparable (closer to each other than to random)", comparable),
        on_both("`loo` is less capable", lambda on: compare(mean[on], "bv-uw", ["loo"])),
        on_both("... and so is `rand`", lambda on: compare(mean[on], "bv-uw", ["rand"])),
        on_both("`lava` and `inf` are inconsistent", lambda on: consistency(mean[on], error[on], ["lava", "inf"])),
    ]
    if any(SELECT in one for one in mean.values()):
        claims.append(on_both("(Not in the paper: `pivotal.select`)", selected_together))
    return claims


def flip_claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the paper says of flipping labels."""

    def gains(on: str, share: float) -> pd.DataFrame:
        return gain_at(pick(table, size="sample", on=on, weights="uniform"), share)

    def unchanged(on: str) -> ClaimCheck:
        gain = gains(on, 0.01)
        if "sv-soft" not in gain:
            return NOT_MEASURED
        found = interval(gain["sv-soft"])
        inside = abs(found.mean) + found.half < 0.01
        outside = abs(found.mean) - found.half > 0.01
        verdict = AGREES if inside else DIFFERS if outside else OPEN
        return ClaimCheck(verdict, f"the first 1 % change {found.text()}")

    def rises(on: str) -> ClaimCheck:
        gain = gains(on, 0.05)
        if "bv-fast" not in gain:
            return NOT_MEASURED
        found = interval(gain["bv-fast"])
        return ClaimCheck(found.verdict, f"5 % flipped change {found.text()}")

    return [
        on_both("With `sv-soft` accuracy often stays unchanged (within 1 point) after the first few points", unchanged),
        on_both("Hard-label values such as `bv-fast` increase accuracy significantly", rises),
        on_both(
            "... and more than `sv-soft` (gain at 5 % flipped)",
            lambda on: compare(gains(on, 0.05), "bv-fast", ["sv-soft"]),
        ),
        on_both(
            "... and over the whole curve (area under it)",
            lambda on: compare(height_tables(table, "sample", on), "bv-fast", ["sv-soft"]),
        ),
    ]
