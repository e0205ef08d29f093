"""A result at a glance for notebooks: a line of settings, a histogram, both ends of the ranking. No script."""

from __future__ import annotations

import html
from typing import Final

import numpy as np

from pivotal.core.types import IndexArray
from pivotal.report._groups import histogram
from pivotal.report._words import number
from pivotal.report.encode import as_text
from pivotal.results.values import Values

_ROWS: Final = 5  # at each end
_WIDTH, _HEIGHT = 360, 96
_NAME: Final = 40  # characters of an id
# Mid-tones that read on a light and on a dark page; blue and orange for colour-blind readers.
_UP, _DOWN = "#3f83c4", "#d9772b"


def compact_html(values: Values) -> str:
    """Return a small piece of HTML that shows a result, for a notebook or a custom page.

    The text takes the colour of its surroundings, so it reads on light and dark pages alike. Everything that comes
    from the data is escaped.

    Parameters
    ----------
    values : Values

    Returns
    -------
    html : str
        Less than 30 kB, whatever the number of points.

    Examples
    --------
    >>> page = compact_html(Values([0.25, -0.5], n_queries=4, full_utility=0.9, empty_utility=0.0))
    >>> page.startswith("<div"), "<svg" in page, "<script" in page
    (True, True, False)
    """
    order = values.order()
    n_top = min(_ROWS, -(-len(order) // 2))
    n_bottom = min(_ROWS, len(order) - n_top)
    tables = _table(values, order[:n_top], "most valuable")
    if n_bottom:
        tables += _table(values, order[::-1][:n_bottom], "least valuable")
    return (
        '<div style="font-variant-numeric:tabular-nums;max-width:760px">'
        f'<p style="margin:0 0 8px">{html.escape(as_text(repr(values), 2000))}</p>'
        '<div style="display:flex;flex-wrap:wrap;gap:8px 32px;align-items:flex-start">'
        f"{_svg(values)}{tables}</div></div>"
    )


def _table(values: Values, rows: IndexArray, title: str) -> str:
    named = not np.array_equal(values.ids, np.arange(len(values)))
    head = "<th>row</th>" + ("<th>id</th>" if named else "") + '<th style="text-align:right">value</th>'
    lines = []
    for row in rows:
        name = f"<td>{html.escape(as_text(values.ids[row], _NAME))}</td>" if named else ""
        worth = number(values.values[row])
        lines.append(f'<tr><th>{row}</th>{name}<td style="text-align:right;white-space:nowrap">{worth}</td></tr>')
    return (
        '<table style="border:0;margin:0;color:inherit">'
        f'<caption style="text-align:left;white-space:nowrap;padding:0 0 4px">{title}</caption>'
        f"<tbody><tr>{head}</tr>{''.join(lines)}</tbody></table>"
    )


def _svg(values: Values) -> str:
    """Draw the histogram: bars left and right of zero in two colours."""
    bins = histogram(values.values)
    edges, counts = bins["edges"], bins["counts"]
    width, tallest = _WIDTH / len(counts), max(counts)
    bars = []
    for place, count in enumerate(counts):
        if count:
            height = max(1.0, (_HEIGHT - 20) * count / tallest)
            colour = _UP if edges[place] + edges[place + 1] > 0 else _DOWN
            bars.append(
                f'<rect x="{place * width:.1f}" y="{_HEIGHT - 16 - height:.1f}" width="{max(width - 0.8, 0.4):.1f}" '
                f'height="{height:.1f}" fill="{colour}"/>'
            )
    ends = "".join(
        f'<text x="{x}" y="{_HEIGHT - 3}" font-size="11" text-anchor="{anchor}" fill="currentColor">{text}</text>'
        for x, anchor, text in ((0, "start", number(edges[0], 3)), (_WIDTH, "end", number(edges[-1], 3)))
    )
    return (
        f'<svg role="img" aria-label="Histogram of the values" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="max-width:100%">{"".join(bars)}'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT - 15.5}" y2="{_HEIGHT - 15.5}" stroke="currentColor" opacity="0.4"/>'
        f"{ends}</svg>"
    )
