"""Pages of tables: one HTML file with its style, without scripts and without a network."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from pivotal.core.atomic import Target, write_text

ROWS: Final = 30  # of a table
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
.todo{max-width:80ch;margin:.2rem 0;padding-left:.7rem;border-left:3px solid var(--down)}nav ul{list-style:none;
padding:0;columns:2 22rem}nav a{color:inherit}nav b{display:inline-block;min-width:3.5rem;text-align:right;
margin-right:.6rem;font-variant-numeric:tabular-nums}
"""


def write_plain_page(
    target: Target, path: str | os.PathLike[str], title: str, figures: Mapping[str, object], parts: Iterable[str]
) -> Path:
    """Write a page to the checked target of a path: its title, figures by name, and parts, which are markup."""
    name = html.escape(title)
    shown = "".join(
        f"<div><dt>{html.escape(what)}</dt><dd>{html.escape(str(figure))}</dd></div>"
        for what, figure in figures.items()
    )
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{name}</title>"
        f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
        f"<main><h1>{name}</h1><dl>{shown}</dl>{''.join(parts)}</main></html>\n"
    )
    write_text(target, page, path)
    return Path(path)


class Markup(NamedTuple):
    """What is markup already; no text, or a data frame would take it for a name."""

    written: str


def draw_track(kind: str, mark: float, low: float, high: float, at: float) -> Markup:
    """Draw a dot on a line from low to high, beside a mark; places are percentages of the width."""
    return Markup(
        f"<span class='track {kind}'><u style='left:{mark:.1f}%'></u>"
        f"<i style='left:{low:.1f}%;width:{high - low:.1f}%'></i><b style='left:{at:.1f}%'></b></span>"
    )


def table_section(title: str, note: str, frame: pd.DataFrame, texts: Mapping[Any, str] | None = None) -> str:
    """Return a heading, a note and the first rows of a frame; title and note are markup, the frame is text."""
    if frame.empty:
        return f"<h2>{title}</h2><p class=note>{note} There are none.</p>"
    if texts and "id" in frame:
        frame = frame.assign(text=[short_text(texts.get(name, "")) for name in frame["id"].tolist()])
    return f"<h2>{title}</h2><p class=note>{note}</p>{rows_of_table(frame)}"


def rows_of_table(frame: pd.DataFrame, max_rows: int = ROWS) -> str:
    """Return the first rows of a frame as a table, and how many there are."""
    shown = frame.head(max_rows)
    head = "".join(f"<th{_numeric(shown[c])}>{html.escape(str(c).replace('_', ' '))}</th>" for c in shown)
    body = "".join(
        "<tr>" + "".join(f"<td{_numeric(shown[c])}>{_cell(row[c])}</td>" for c in shown) + "</tr>"
        for row in shown.to_dict("records")
    )
    more = f"The first {len(shown)} of {len(frame)}." if len(frame) > len(shown) else f"{len(frame)} in all."
    table = f"<table><caption>{more}</caption><tr>{head}</tr>{body}</table>"
    return f"<div class=wide tabindex=0>{table}</div>"


def _numeric(column: Any) -> str:
    if column.name in ("text", "why"):
        return " class=text"
    return " class=n" if column.dtype.kind in "fi" else ""


def _cell(content: Any) -> str:
    if isinstance(content, Markup):
        return content.written
    if isinstance(content, float):
        return f"{content:.4g}"
    if isinstance(content, Sequence) and not isinstance(content, str):
        return html.escape(", ".join(map(str, content)))
    return html.escape(str(content))


def short_text(text: str) -> str:
    """Return a text in one line, cut to what a table can show."""
    plain = " ".join(text.split())
    return plain if len(plain) <= _TEXT else plain[: _TEXT - 1] + "…"
