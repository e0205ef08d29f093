"""The page of a check-up: what was found, what to do about it, and the rows, in one HTML file."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd

from pivotal.core.atomic import check_file
from pivotal.report._plain_page import rows_of_table, short_text, table_section, write_plain_page

if TYPE_CHECKING:
    from pivotal.analysis.checkup import CheckUp, Finding

__all__ = ["write_check_page"]

_SHOWN: Final = 12  # rows of each finding


def write_check_page(
    check: CheckUp, path: str | os.PathLike[str], *, text: Sequence[str] | None = None, title: str = ""
) -> Path:
    """Write the page, as in `CheckUp.report`."""
    target = check_file(path, "check.html")
    n_rows = len(check.ids)
    if text is not None and len(text) != n_rows:
        raise ValueError(f"text must have an entry for each of the {n_rows} rows; got {len(text)}.")
    settings = check.settings
    facts = {
        "rows": n_rows,
        "features": settings.get("n_features", ""),
        "classes": settings.get("n_classes") or "none",
        "test rows": settings.get("n_test") or "none",
        "findings": f"{len(check.present)} of {len(check)}",
    }
    return write_plain_page(target, path, title or "Check-up", facts, _parts(check, text))


def _parts(check: CheckUp, text: Sequence[str] | None) -> Iterator[str]:
    present = check.present
    if present:
        links = (
            f"<li><a href='#{one.name}'><b class=down>{len(one) or '!'}</b>{html.escape(one.title)}</a></li>"
            for one in present
        )
        yield f"<nav><ul>{''.join(links)}</ul></nav>"
    for finding in present:
        yield _section(finding, text)
    clean = [finding for finding in check.values() if not finding.present]
    if clean:
        table = pd.DataFrame({"looked for": [one.title for one in clean], "why": [one.sentence for one in clean]})
        yield table_section("Nothing to do", "What else was looked for.", table)


def _section(finding: Finding, text: Sequence[str] | None) -> str:
    """Return one finding: a sentence, what to do, and the worst of the rows or columns."""
    limit = "" if finding.threshold is None else f"; threshold {finding.threshold:.4g}"
    table = (
        f"<h2>{html.escape(finding.title)}</h2><p>{html.escape(finding.sentence)}</p>"
        f"<p class=todo>{html.escape(finding.advice)}</p>"
        f"<p class=note>Score: {html.escape(finding.score_means + limit)}.</p>"
    )
    of_rows = finding.about == "rows"
    rows = finding.to_frame().reset_index(drop=not of_rows)
    if of_rows and (rows["row"].astype(str) == rows["id"].astype(str)).all():
        rows = rows.drop(columns="id")  # rows without names of their own
    if of_rows and text is not None:
        rows["text"] = [short_text(text[row]) for row in finding.rows]
    frames = [finding.table, rows]
    tables = [rows_of_table(one, _SHOWN) for one in frames if one is not None and len(one)]
    return f"<section id='{finding.name}'>{table}{''.join(tables)}</section>"
