"""The page of a study: one HTML file with tables, that needs no network."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pivotal.core.atomic import check_file
from pivotal.report._plain_page import ROWS, draw_track, table_section, write_plain_page

if TYPE_CHECKING:
    from pivotal.analysis.retrieval.study import Study

__all__ = ["write_page"]


def write_page(study: Study, path: str | os.PathLike[str], texts: Mapping[Any, str], title: str = "") -> Path:
    """Write the page; parameters as in `Study.report`."""
    target = check_file(path, "page.html")
    distractors, unused, settings = study.distractors(), study.unused(), study.values.settings
    figures = {
        f"{settings['utility']} at {study.k}": f"{study.values.full_utility or 0.0:.4f}",
        "queries": study.values.n_queries,
        "documents": settings["n_documents"],
        "retrieved and judged": f"{settings['judged_share']:.1%}",
        "distractors": len(distractors),
        "unused": len(unused),
    }
    parts = [f"<p class=note>{note}</p>" for note in _notes(study)]
    if study.sources is not None:
        note = "Shares of a budget of 1, with 95 % intervals over queries like these."
        if study.sources.standard_error is not None:
            note += f" Their values are estimates, with a standard error of {study.sources.standard_error.max():.2g}"
            note += " at most, which the intervals include."
        parts.append(table_section("Sources", note, _with_track(study.payouts(), "payout")))
    parts += [
        table_section(
            "Distractors",
            "Documents of surely negative value (95 %, corrected for the number of documents), with the queries that "
            "they cost most and the relevant documents behind them there.",
            _with_track(distractors, "value"),
            texts,
        ),
        table_section(
            "Documents that queries depend on",
            "Without them the metric of these queries falls to 0.",
            study.carrying(),
            texts,
        ),
        table_section("Most valuable documents", "Beside what is lost if one of them alone goes.", _top(study), texts),
        table_section(
            "Redundant", "Of positive value, but not missed alone: others stand in.", study.redundant(), texts
        ),
        table_section("Unused", "They change nothing for any of these queries.", unused, texts),
        _queries(study),
    ]
    return write_plain_page(target, path, title or "What the documents are worth", figures, parts)


def _notes(study: Study) -> list[str]:
    """Return what the figures rest on."""
    settings = study.values.settings
    return [
        "Values are about this metric, not about what a language model does with the texts.",
        f"Semivalue: {html.escape(str(settings['semivalue']))}. No value is off by more than "
        f"{study.values.error_bound:.2g}, given these rankings.",
        f"{1.0 - settings['judged_share']:.1%} of the documents that are retrieved have no judgement; they "
        f"{'count as irrelevant' if settings['unjudged'] == 'irrelevant' else 'are not looked at'}. "
        f"{settings['queries_without_relevant']} queries have no relevant document and "
        f"{'are not counted' if settings['no_relevant'] == 'skip' else 'count with 0'}; "
        f"{settings['queries_without_judgements']} queries have no judgements and are not counted.",
    ]


def _with_track(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add a small picture of each interval, all on one scale that holds 0."""
    ends = frame[["low", "high"]].to_numpy(dtype=np.float64)[:ROWS]
    ends = ends[np.isfinite(ends)]
    minimum, most = min(0.0, ends.min(initial=0.0)), max(0.0, ends.max(initial=0.0))
    scale = 100.0 / ((most - minimum) or 1.0)

    def place(number: float) -> float:
        return float(np.clip((number - minimum) * scale, 0.0, 100.0))

    tracks = []
    for low, middle, high in zip(frame["low"], frame[column], frame["high"], strict=True):
        kind = "up" if low > 0.0 else "down" if high < 0.0 else "open"
        tracks.append(draw_track(kind, place(0.0), place(low), place(high), place(middle)))
    shown = frame.copy()
    shown.insert(list(frame.columns).index("high") + 1, "interval", pd.Series(tracks, frame.index, dtype=object))
    return shown


def _top(study: Study) -> pd.DataFrame:
    columns = {"id": study.values.ids, "value": study.values.values, "leave_one_out": study.leave_one_out.values}
    frame = pd.DataFrame(columns).sort_values("value", ascending=False, kind="stable")
    return frame[frame["value"] > 0.0]


def _queries(study: Study) -> str:
    """The queries that go worst, each with what decides it."""
    utility = study.query_utilities()
    worst = np.argsort(utility, kind="stable")[:ROWS]
    rows = [
        {"query": str(study.problem.queries[q]), "metric": float(utility[q]), "why": str(study.explain(int(q), 3))}
        for q in worst
    ]
    return table_section("Queries that go worst", "And the documents that decide them.", pd.DataFrame(rows))
