"""The page of a selection: what to expect of it and of other sizes; one HTML file that needs no network."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any, Final

import pandas as pd

from pivotal.analysis.selection import Selection
from pivotal.core.atomic import check_file
from pivotal.report._plain_page import Markup, draw_track, table_section, write_plain_page

__all__ = ["write_selection"]

_FACTS: Final = ("utility", "utility_at_start", "discrepancy", "discrepancy_at_start", "exchanges", "n_confirmed")


def write_selection(
    selection: Selection, path: str | os.PathLike[str], *, title: str = "", curve: pd.DataFrame | None = None
) -> Path:
    """Write the page of a selection that has the data, unless it was estimated and a curve is passed."""
    target = check_file(path, "page.html")
    expected = selection.expected
    sizes = selection.curve() if curve is None else curve
    figures = {
        "rows": f"{len(selection)} of {selection.n_rows}",
        "expected accuracy": f"{expected.accuracy:.1%}",
        "at random": f"{expected.random:.1%}",
        "everything": f"{expected.everything:.1%}",
        "method": selection.method,
    }
    beside = expected.to_frame().reset_index().round(4)
    parts = [
        f"<p class=note>Expected are accuracies on rows that took no part: {html.escape(expected.model)}, "
        f"{expected.n_judged} rows judged in {expected.n_folds} {'fold' if expected.n_folds == 1 else 'folds'}, "
        f"{expected.n_draws} random selections; labels as given. Errors are standard errors.</p>",
        table_section("This selection", "Beside as many rows at random, and all of them.", beside),
        table_section("Other sizes", "Selections by the same method, and random ones.", _with_bars(sizes)),
        table_section("What was optimised", "As the method says.", _optimised(selection)),
        table_section("Selected rows", "In their order.", selection.to_frame()),
    ]
    return write_plain_page(target, path, title or "Selection", figures, parts)


def _with_bars(curve: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes with a small picture of both accuracies, all on one scale."""
    minimum = float(min(curve["accuracy"].min(), curve["random"].min()))
    most = float(max(curve["accuracy"].max(), curve["random"].max(), curve["everything"].max()))
    scale = 100.0 / ((most - minimum) or 1.0)

    def drawn(row: Any) -> Markup:
        kind = "up" if row.gain > 2 * row.gain_error else "down" if row.gain < -2 * row.gain_error else "open"
        ends = row.random, row.accuracy
        mark, low, high, at = ((n - minimum) * scale for n in (row.everything, min(ends), max(ends), row.accuracy))
        return draw_track(kind, mark, low, high, at)

    names = ["size", "share", "accuracy", "accuracy_error", "random", "random_error", "gain", "gain_error"]
    shown = curve[names].round(4)
    pictures = pd.Series([drawn(row) for row in curve.itertuples()], index=curve.index, dtype=object)
    return shown.assign(random_to_selected=pictures)


def _optimised(selection: Selection) -> pd.DataFrame:
    found = {name: selection.facts[name] for name in _FACTS if selection.facts.get(name) is not None}
    return pd.DataFrame(
        {"what": [name.replace("_", " ") for name in found], "number": [float(n) for n in found.values()]}
    )
