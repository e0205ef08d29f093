"""The page of a study: one HTML file with tables, that needs no network."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pivotal.core.atomic import check_file, write_text
from pivotal.report._plain_page import ROWS, Markup, page_of, table_section

if TYPE_CHECKING:
    from pivotal.analysis.retrieval.study import Study

__all__ = ["write_page"]


def write_page(study: Study, path: str | os.PathLike[str], texts: Mapping[Any, str], title: str = "") -> Path:
    """Write the page; parameters as in `Study.report`."""
    target = check_file(path, "page.html")
    name = title or "What the documents are worth"
    distractors, carrying, unused = study.distractors(), study.carrying(), study.unused()
    parts = [f"<h1>{html.escape(name)}</h1>", *_facts(study, len(distractors), len(unused))]
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
            "Documents that queries depend on", "Without them the metric of these queries falls to 0.", carrying, texts
        ),
        table_section("Most valuable documents", "Beside what is lost if one of them alone goes.", _top(study), texts),
        table_section(
            "Redundant", "Of positive value, but not missed alone: others stand in.", study.redundant(), texts
        ),
        table_section("Unused", "They change nothing for any of these queries.", unused, texts),
        _queries(study),
    ]
    write_text(target, page_of(name, "".join(parts)), path)
    return Path(path)


def _facts(study: Study, n_distractors: int, n_unused: int) -> list[str]:
    """Return what stands at the top: figures, and what they rest on."""
    values, settings = study.values, study.values.settings
    judged = settings["judged_share"]
    shown = {
        f"{settings['utility']} at {study.k}": f"{values.full_utility or 0.0:.4f}",
        "queries": str(values.n_queries),
        "documents": str(settings["n_documents"]),
        "retrieved and judged": f"{judged:.1%}",
        "distractors": str(n_distractors),
        "unused": str(n_unused),
    }
    figures = "".join(f"<div><dt>{html.escape(what)}</dt><dd>{number}</dd></div>" for what, number in shown.items())
    notes = [
        "Values are about this metric, not about what a language model does with the texts.",
        f"Semivalue: {html.escape(str(settings['semivalue']))}. No value is off by more than {values.error_bound:.2g}, "
        "given these rankings.",
        f"{1.0 - judged:.1%} of the documents that are retrieved have no judgement; they "
        f"{'count as irrelevant' if settings['unjudged'] == 'irrelevant' else 'are not looked at'}. "
        f"{settings['queries_without_relevant']} queries have no relevant document and "
        f"{'are not counted' if settings['no_relevant'] == 'skip' else 'count with 0'}; "
        f"{settings['queries_without_judgements']} queries have no judgements and are not counted.",
    ]
    return [f"<dl>{figures}</dl>", *(f"<p class=note>{note}</p>" for note in notes)]


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
        tracks.append(
            Markup(
                f"<span class='track {kind}'><u style='left:{place(0.0):.1f}%'></u><i style='left:{place(low):.1f}%;"
                f"width:{place(high) - place(low):.1f}%'></i><b style='left:{place(middle):.1f}%'></b></span>"
            )
        )
    column_of = np.empty(len(tracks), dtype=object)
    for place_of, track in enumerate(tracks):
        column_of[place_of] = track
    shown = frame.copy()
    shown.insert(list(frame.columns).index("high") + 1, "interval", column_of)
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
