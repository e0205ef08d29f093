"""The page of before and after: plain HTML and SVG, no script, to be sent as one file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template
from typing import Any

from pivotal.core.version import __version__
from pivotal.report.encode import as_text


def write_page(facts: dict[str, Any]) -> str:
    """Return the page of the facts that `_compare` gathers."""
    actions = facts["actions"]
    changed = actions["fix"] + actions["label"]
    sections = [
        _accuracy(facts),
        _section("Values", _values(facts)),
        _section("Classes", _classes(facts)),
        _section("What was changed", _pairs(facts)),
        _section("Who decided", _people(facts)),
    ]
    stats = {
        "changed": _count(changed, "label"),
        "dropped": _count(actions["drop"], "row"),
        "leave-one-out accuracy, all rows": f"{facts['loo'][0]:.2%} → {facts['loo'][1]:.2%}",
        "rows of negative value": f"{facts['negative'][0]:,} → {facts['negative'][1]:,}",
    }
    style = (resources.files("pivotal.review") / "assets" / "compare.css").read_text(encoding="utf-8")
    return Template(_PAGE).substitute(
        title=_safe(f"{facts['name']}: before and after"),
        style=style,
        name=_safe(facts["name"]),
        lead=_safe(
            f"{_count(sum(actions.values()), 'row')} of {facts['n_rows']:,} decided, by the column "
            f"{as_text(facts['label'], 80)}: "
            f"{_count(changed, 'label')} changed, {_count(actions['drop'], 'row')} dropped, {actions['keep']:,} kept, "
            f"{actions['unsure']:,} unsure."
        ),
        stats="".join(f"<div><dt>{_safe(name)}</dt><dd>{_safe(text)}</dd></div>" for name, text in stats.items()),
        sections="\n".join(sections),
        made=_safe(f"Made by pivotal {__version__}. This page loads nothing and runs nothing."),
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<header><p class="overline">Label review: before and after</p><h1>$name</h1><p class="lead">$lead</p></header>
<main>
<dl class="stats">$stats</dl>
$sections
</main>
<footer>$made</footer>
</body>
</html>
"""


def _accuracy(facts: dict[str, Any]) -> str:
    test, held_out = facts["test"], facts["held_out"]
    parts = "" if test is None else _one_accuracy(test, f"On {_count(test.n_rows, 'test row')}")
    parts += _one_accuracy(
        held_out, f"On the {held_out.n_rows:,} rows whose label was not changed, each predicted by the others"
    )
    note = (
        f"Share of rows whose label the {facts['k']} nearest other rows predict by plurality. Rows whose label was "
        "changed teach but are not tested on, so that the labels tested on are the same before and after. Intervals "
        "cover 95 %; that of the difference is from pairs."
    )
    notes = [note, facts["estimated"]] if facts["estimated"] else [note]
    shown = "".join(f'<p class="note">{_safe(one)}</p>' for one in notes)
    return _section("Accuracy on held-out data", shown + parts)


def _one_accuracy(accuracy: Any, where: str) -> str:
    difference, low, high = accuracy.difference
    surely = low > 0 or high < 0
    sentence = (
        f"{100 * difference:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f}): {accuracy.gained:,} predictions "
        f"became right and {accuracy.lost:,} became wrong. "
        + ("The difference is beyond chance." if surely else "The difference may be chance.")
    )
    lowest = min(accuracy.before[1], accuracy.after[1])
    low_end = max(0.0, lowest - (1.0 - lowest) * 0.25)
    bars = "".join(
        _interval(name, share, low_end) for name, share in (("Before", accuracy.before), ("After", accuracy.after))
    )
    return f'<h3>{_safe(where)}</h3>{bars}<p class="verdict">{_safe(_minus(sentence))}</p>'


def _interval(name: str, share: tuple[float, float, float], low_end: float) -> str:
    """Draw a share with its interval on a line from `low_end` to 1."""
    at, low, high = ((max(0.0, one - low_end) / (1.0 - low_end or 1.0)) * 100 for one in share)
    drawing = (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{name}: {share[0]:.2%}, between {share[1]:.2%} and {share[2]:.2%}">'
        '<line class="track" x1="0" x2="100" y1="5" y2="5"/>'
        f'<line class="range {name.lower()}" x1="{low:.2f}" x2="{high:.2f}" y1="5" y2="5"/>'
        f'<rect class="dot {name.lower()}" x="{at - 0.4:.2f}" y="1" width="0.8" height="8"/></svg>'
    )
    return (
        f'<div class="interval"><span>{name}</span>{drawing}<span class="number">{share[0]:.2%} '
        f"<small>{share[1]:.2%} to {share[2]:.2%}</small></span></div>"
    )


def _values(facts: dict[str, Any]) -> str:
    values = facts["values"]
    edges, before, after = values["edges"], values["before"], values["after"]
    highest = max(float(before.max()), float(after.max())) or 1.0
    width = 600 / len(before)
    bars = []
    for kind, heights in (("before", before), ("after", after)):
        for place, height in enumerate(heights):
            size = 150 * float(height) / highest
            shift = 0.0 if kind == "before" else width / 2
            bars.append(
                f'<rect class="{kind}" x="{place * width + shift:.1f}" y="{150 - size:.1f}" '
                f'width="{width / 2 - 0.4:.1f}" height="{size:.1f}"/>'
            )
    zero = ""
    if edges[0] < 0 < edges[-1]:
        place = 600 * (0 - edges[0]) / (edges[-1] - edges[0])
        zero = f'<line class="zero" x1="{place:.1f}" x2="{place:.1f}" y1="0" y2="150"/>'
    note = _minus(
        f"Soft-label Banzhaf value of every row to the predictions of all others, from {edges[0]:.2g} to "
        f"{edges[-1]:.2g}; the line is 0. Rows of negative value: {facts['negative'][0]:,} before, "
        f"{facts['negative'][1]:,} after."
    )
    key = '<p class="key"><i class="before"></i>before <i class="after"></i>after</p>'
    return (
        f'<p class="note">{_safe(note)}</p><svg class="chart" viewBox="0 0 600 152" role="img" '
        f'aria-label="Values before and after">{"".join(bars)}{zero}</svg>{key}'
    )


def _classes(facts: dict[str, Any]) -> str:
    rows = [
        (name, f"{before:,}", f"{after:,}", _minus(f"{after - before:+,}") if after != before else "0")
        for name, before, after in facts["classes"]
    ]
    more = facts["n_classes"] - len(rows)
    note = f'<p class="note">The {len(rows)} largest of {facts["n_classes"]:,} classes.</p>' if more > 0 else ""
    return note + _table(("Class", "Before", "After", "Change"), rows)


def _pairs(facts: dict[str, Any]) -> str:
    if not facts["pairs"]:
        return '<p class="note">No label was changed and no row dropped.</p>'
    rows = [(given, "dropped" if to is None else to, f"{count:,}") for (given, to), count in facts["pairs"]]
    note = f'<p class="note">The {len(rows)} most frequent of {facts["n_pairs"]:,} changes.</p>'
    return (note if facts["n_pairs"] > len(rows) else "") + _table(("From", "To", "Rows"), rows, first_number=2)


def _people(facts: dict[str, Any]) -> str:
    people = [(name, f"{count:,}") for name, count in facts["reviewers"].most_common()]
    if not people:
        return '<p class="note">No decisions yet.</p>'
    first, last = (date[:16].replace("T", " ") for date in facts["dates"])
    said = f'<p class="note">{_safe(f"Between {first} and {last} UTC.")}</p>' + _table(("Reviewer", "Rows"), people)
    if facts["agreements"]:
        pairs = [
            (f"{one.reviewers[0]}, {one.reviewers[1]}", f"{one.n_rows:,}", f"{one.share:.1%}",
             "–" if one.kappa is None else _minus(f"{one.kappa:.2f}"))
            for one in facts["agreements"]
        ]  # fmt: skip
        said += _table(("Both decided", "Rows", "Agree", "Cohen's κ"), pairs)
        said += (
            f'<p class="note">{_count(facts["n_conflicts"], "row")} decided differently; the last decision holds.</p>'
        )
    return said


def _section(title: str, content: str) -> str:
    return f"<section><h2>{_safe(title)}</h2>{content}</section>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], first_number: int = 1) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        kind = ' class="number"' if place >= first_number else ""
        return f"<{tag}{kind}>{_safe(text)}</{tag}>"

    head = "".join(cell("th", place, text) for place, text in enumerate(header))
    body = "".join("<tr>" + "".join(cell("td", i, text) for i, text in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _minus(text: str) -> str:
    return re.sub(r"-(?=\d)", "−", text)


def _safe(text: Any) -> str:
    return html.escape(as_text(text, 400))
