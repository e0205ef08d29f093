"""The page of a study: one HTML file with tables, that needs no network."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.atomic import check_file, write_text

if TYPE_CHECKING:
    from pivotal.analysis.retrieval.study import Study

__all__ = ["write_page"]

_ROWS: Final = 30
_TEXT: Final = 160
_STYLE: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1a222c;--muted:#5a6673;--line:#e2e6ea;--up:#1f64a5;--down:#b8530f}
@media(prefers-color-scheme:dark){:root{--paper:#11151a;--ink:#e4e8ed;--muted:#9ba7b4;--line:#2a323c;--up:#74b4f2;
--down:#f2994e}}
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:var(--ink);
background:var(--paper);overflow-wrap:anywhere}
h1{font-size:1.6rem}h2{font-size:1.15rem;margin:2.2rem 0 .2rem}.note,caption,dt,th{color:var(--muted)}
.note{max-width:80ch;margin:.2rem 0}dl{display:flex;flex-wrap:wrap;gap:.6rem 2rem;margin:1rem 0}dt{font-size:.85rem}
dd{margin:0;font-size:1.35rem;font-weight:600}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;
margin:.5rem 0}caption{text-align:left}th{font-weight:500;white-space:nowrap}th,td{border-bottom:1px solid var(--line);
padding:.3rem .6rem;text-align:left;vertical-align:top}td{min-width:4.5rem}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums;white-space:nowrap}td.text{min-width:16rem}.track{position:relative;display:block;
width:9rem;height:1.4em}.track i{position:absolute;top:.65em;height:2px;background:currentColor}
.track b{position:absolute;top:.45em;width:7px;height:7px;margin-left:-3px;border-radius:50%;background:currentColor}
.track u{position:absolute;top:0;bottom:0;width:1px;background:var(--line)}
.up{color:var(--up)}.down{color:var(--down)}.open{color:var(--muted)}
"""


def write_page(study: Study, path: str | os.PathLike[str], texts: Mapping[Any, str], title: str = "") -> Path:
    """Write the page; parameters as in `Study.report`."""
    target = check_file(path, "page.html")
    name = title or "What the documents are worth"
    distractors, carrying, unused = study.distractors(), study.carrying(), study.unused()
    parts = [f"<h1>{html.escape(name)}</h1>", *_facts(study, len(distractors), len(unused))]
    if study.sources is not None:
        told = "Shares of a budget of 1, with 95 % intervals over queries like these."
        if study.sources.standard_error is not None:
            told += f" Their values are estimates, with a standard error of {study.sources.standard_error.max():.2g}"
            told += " at most, which the intervals include."
        parts.append(_section("Sources", told, _with_track(study.payouts(), "payout")))
    parts += [
        _section(
            "Distractors",
            "Documents of surely negative value (95 %, corrected for the number of documents), with the queries that "
            "they cost most and the relevant documents behind them there.",
            _with_track(distractors, "value"),
            texts,
        ),
        _section(
            "Documents that queries depend on", "Without them the metric of these queries falls to 0.", carrying, texts
        ),
        _section("Most valuable documents", "Beside what is lost if one of them alone goes.", _top(study), texts),
        _section("Redundant", "Of positive value, but not missed alone: others stand in.", study.redundant(), texts),
        _section("Unused", "They change nothing for any of these queries.", unused, texts),
        _queries(study),
    ]
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(name)}</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<main>{''.join(parts)}</main></html>\n"
    )
    write_text(target, page, path)
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
    ends = frame[["low", "high"]].to_numpy(dtype=np.float64)[:_ROWS]
    ends = ends[np.isfinite(ends)]
    least, most = min(0.0, ends.min(initial=0.0)), max(0.0, ends.max(initial=0.0))
    scale = 100.0 / ((most - least) or 1.0)

    def place(number: float) -> float:
        return float(np.clip((number - least) * scale, 0.0, 100.0))

    tracks = []
    for low, middle, high in zip(frame["low"], frame[column], frame["high"], strict=True):
        kind = "up" if low > 0.0 else "down" if high < 0.0 else "open"
        tracks.append(
            _Markup(
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


class _Markup(NamedTuple):
    """What is markup already; no text, or a data frame would take it for a name."""

    written: str


def _top(study: Study) -> pd.DataFrame:
    columns = {"id": study.values.ids, "value": study.values.values, "leave_one_out": study.leave_one_out.values}
    frame = pd.DataFrame(columns).sort_values("value", ascending=False, kind="stable")
    return frame[frame["value"] > 0.0]


def _queries(study: Study) -> str:
    """The queries that go worst, each with what decides it."""
    utility = study.query_utilities()
    worst = np.argsort(utility, kind="stable")[:_ROWS]
    rows = [
        {"query": str(study.problem.queries[q]), "metric": float(utility[q]), "why": str(study.explain(int(q), 3))}
        for q in worst
    ]
    return _section("Queries that go worst", "And the documents that decide them.", pd.DataFrame(rows))


def _section(title: str, note: str, frame: pd.DataFrame, texts: Mapping[Any, str] | None = None) -> str:
    shown = frame.head(_ROWS)
    if frame.empty:
        return f"<h2>{title}</h2><p class=note>{note} There are none.</p>"
    if texts and "id" in shown:
        shown = shown.assign(text=[_short(texts.get(name, "")) for name in shown["id"].tolist()])
    head = "".join(f"<th{_numeric(shown[c])}>{html.escape(str(c).replace('_', ' '))}</th>" for c in shown)
    body = "".join(
        "<tr>" + "".join(f"<td{_numeric(shown[c])}>{_cell(row[c])}</td>" for c in shown) + "</tr>"
        for row in shown.to_dict("records")
    )
    more = f"The first {len(shown)} of {len(frame)}." if len(frame) > len(shown) else f"{len(frame)} in all."
    table = f"<table><caption>{more}</caption><tr>{head}</tr>{body}</table>"
    return f"<h2>{title}</h2><p class=note>{note}</p><div class=wide tabindex=0>{table}</div>"


def _numeric(column: Any) -> str:
    if column.name in ("text", "why"):
        return " class=text"
    return " class=n" if column.dtype.kind in "fi" else ""


def _cell(content: Any) -> str:
    if isinstance(content, _Markup):
        return content.written
    if isinstance(content, float):
        return f"{content:.4g}"
    if isinstance(content, Sequence) and not isinstance(content, str):
        return html.escape(", ".join(map(str, content)))
    return html.escape(str(content))


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _TEXT else plain[: _TEXT - 1] + "…"
