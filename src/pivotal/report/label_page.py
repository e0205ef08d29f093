"""The page of label errors: how many are wrong, where, and the suspects with their reasons, in one HTML file."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy.typing as npt
import pandas as pd

from pivotal.core.atomic import check_file
from pivotal.report._plain_page import rows_of_table, short_text, table_section, write_plain_page

if TYPE_CHECKING:
    from pivotal.analysis.label_errors import LabelErrors

__all__ = ["write_label_page"]

_LISTED: Final = 200  # suspects
_PAIRS: Final = 12  # of labels taken for each other
_LEAST: Final = 0.5  # wrong labels expected of a pair that is listed
_ADVICE: Final = "Look before you correct: a row may be rare rather than wrong, and a suggestion is a vote, not a fact."


def write_label_page(
    errors: LabelErrors,
    path: str | os.PathLike[str],
    *,
    text: Sequence[str] | None = None,
    groups: npt.ArrayLike | None = None,
    title: str = "",
) -> Path:
    """Write the page: of classes, of numbers or of many labels; otherwise as in `LabelErrors.report`."""
    target = check_file(path, "suspects.html")
    n_rows = len(errors.ids)
    if text is not None and len(text) != n_rows:
        raise ValueError(f"text must have an entry for each of the {n_rows} rows; got {len(text)}.")
    task = errors.settings["task"]
    what = {"regression": "numbers", "multilabel": "cells"}.get(task, "labels")
    facts = {
        "rows": n_rows,
        what: errors.scores.size,
        "most suspicious" if errors.fixed_size else "suspects": errors.suspects.size,
        "wrong": errors.n_wrong,
        "wrong among those listed": f"{errors.precision():.0%}" if errors.suspects.size else "–",
    }
    parts = [f"<p class=note>{html.escape(_sentence(errors))}</p>"]
    if task != "regression":
        which = "label" if task == "multilabel" else "label as given"
        note = f"Wrong {what} expected, by {which}, with an interval that holds nine times in ten."
        parts.append(table_section("By label", note, _rounded(errors.by_class())))
    if groups is not None:
        note = f"Wrong {what} expected of each, with an interval that holds nine times in ten."
        parts.append(table_section("By group", note, _rounded(errors.by_group(groups))))
    if task == "classification":
        parts.append(_pairs(errors))
    parts.append(f"<h2>Suspects</h2><p class=note>Most suspicious first. {_ADVICE}</p>" + _suspects(errors, text))
    return write_plain_page(target, path, title or "Label errors", facts, parts)


def _sentence(errors: LabelErrors) -> str:
    wrong = errors.n_wrong.sentence
    voters = ", ".join(f"{name} {weight:.0%}" for name, weight in errors.settings["weights"].items())
    return f"{wrong[:1].upper()}{wrong[1:]}. Votes: {voters}."


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    counts = {name: frame[name].round(1) for name in ("wrong", "low", "high")}
    return frame.assign(**counts, share=frame["share"].round(3)).reset_index()


def _pairs(errors: LabelErrors) -> str:
    """Return which labels are taken for which."""
    lines = errors.confusion().reset_index().melt("given", var_name="suggested", value_name="wrong")
    lines = lines[lines["wrong"] >= _LEAST].sort_values("wrong", ascending=False, kind="stable")[:_PAIRS]
    note = "Wrong labels expected, by the label given and the one suggested."
    return table_section("What is taken for what", note, lines.assign(wrong=lines["wrong"].round(1)))


def _suspects(errors: LabelErrors, text: Sequence[str] | None) -> str:
    """Return a table of the suspects, with a sentence on each."""
    first = errors.suspects[:_LISTED]
    if not len(first):
        return "<p class=note>There are none.</p>"
    frame = errors.to_frame().head(_LISTED)
    shares = ["confidence", "error_chance", "score"]
    shown = frame.filter(["id", "label", "given", "suggested", *shares]).round(dict.fromkeys(shares, 3))
    if text is not None:
        shown["text"] = [short_text(text[row]) for row in frame.get("row", frame.index)]
    shown["why"] = [errors.explain(one) for one in first]
    table = rows_of_table(shown, _LISTED)
    rest = len(errors.suspects) - len(first)
    return table + (f"<p class=note>{rest} more suspects are not listed here.</p>" if rest else "")
