"""What `pivotal clean` says and writes: suspects, scores, how many are wrong, the table corrected or without them."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from pivotal.analysis.label_errors import LabelErrors, ManyLabelErrors
from pivotal.cli._work import Data
from pivotal.core.types import IndexArray
from pivotal.tables import Table, cells_of_labels, write_frame, write_table
from pivotal.tables.columns import as_numbers


def table_of_labels(table: Table, names: list[str], gaps: Collection[str]) -> pd.DataFrame:
    """Return columns of 0 and 1 as numbers, a column per label."""
    columns: dict[str, Any] = {}
    for name in names:
        numbers, odd = as_numbers(table, name, gaps)
        strange = np.setdiff1d(np.flatnonzero((numbers != 0) & (numbers != 1)), odd)
        wrong = [*odd.tolist(), *strange.tolist()]
        if wrong:
            got = table.column(name)[min(wrong)].as_py()
            raise ValueError(
                f"column {name!r} of {table.name} must hold 0 and 1, as --labels names it; got {got!r} in row "
                f"{min(wrong)}. Use --label for one column of classes."
            )
        columns[name] = numbers.astype(np.int32)
    return pd.DataFrame(columns)


def describe_count(found: LabelErrors) -> str:
    """Say how many are suspects and how many are wrong: of as many suspects as were asked for, not all need be."""
    n, n_rows = len(found.suspects), len(found.scores)
    what = {"regression": "numbers", "multilabel": "cells"}.get(found.settings["task"], "labels")
    if found.fixed_size:
        many = f"The {'' if n == 1 else f'{n} '}most suspicious of {n_rows} {what}"
    else:
        many = f"{n} of {n_rows} {what} {'is a suspect' if n == 1 else 'are suspects'}"
    if n > 1:
        at_most = "at most " if found.n_wrong.upper_bound_only else ""
        many += f", {at_most}{found.precision():.0%} of them expected to be wrong"
    return f"{many}; {found.n_wrong.sentence}."


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return counts by group as they are printed."""
    shown = frame.reset_index(names="owner")
    return shown.assign(
        **{name: shown[name].round(1) for name in ("wrong", "low", "high")}, share=shown["share"].round(3)
    )


def counts_frame(found: LabelErrors, data: Data) -> pd.DataFrame:
    """Return expected numbers of wrong labels: in all, by label, by owner, and by label given and suggested."""
    n, task = found.n_wrong, found.settings["task"]
    total = {"rows": len(found.scores), "suspects": len(found.suspects), "wrong": n.count, "low": n.low, "high": n.high}
    parts = [pd.DataFrame([{"by": "all", "name": "", "suggested": "", **total}])]
    if task != "regression":
        by = "label" if task == "multilabel" else "class"
        parts.append(found.by_class().reset_index(names="name").assign(by=by, suggested=""))
    if data.prepared.owners is not None:
        parts.append(found.by_group(data.prepared.owners).reset_index(names="name").assign(by="owner", suggested=""))
    if task == "classification":
        pairs = found.confusion().rename_axis(index="name").reset_index().melt("name", value_name="wrong")
        pairs = pairs[pairs["name"] != pairs["suggested"]].sort_values("wrong", ascending=False, kind="stable")
        parts.append(pairs.assign(by="pair"))
    columns = ["by", "name", "suggested", "rows", "suspects", "wrong", "low", "high"]
    whole = pd.concat([part.astype({"name": object}).reindex(columns=columns) for part in parts], ignore_index=True)
    return whole.astype({"rows": "Int64", "suspects": "Int64"})


def suspect_frame(found: LabelErrors, data: Data, places: IndexArray) -> pd.DataFrame:
    """Return a line for each of some rows, or cells of many labels: its label, the one suggested, how sure, and why."""
    ready, rows = data.prepared, rows_of(found, places)
    columns: dict[str, Any] = {"id": [ready.ids[row] for row in rows]}
    if found.settings["task"] == "multilabel":
        labels, given = cells_of(found).labels[places], found.given[places]
        columns |= {"label": labels.tolist(), "given": given.tolist()}
    else:
        columns["label"] = [ready.y[row] for row in rows]
    columns |= {
        "suggested": [found.suggested[place] for place in places],
        "confidence": [float(found.confidence[place]) for place in places],
        "error_chance": [float(found.error_chances[place]) for place in places],
        "score": [float(found.scores[place]) for place in places],
    }
    if ready.text is not None:
        columns["text"] = [ready.text[row] for row in rows]
    return pd.DataFrame({**columns, "why": [found.explain(place) for place in places]})


def cells_of(found: LabelErrors) -> ManyLabelErrors:
    """Return errors of many labels as what they are."""
    assert isinstance(found, ManyLabelErrors)
    return found


def rows_of(found: LabelErrors, places: IndexArray) -> IndexArray:
    """Return the rows of some places: these, or the rows of these cells."""
    return cells_of(found).rows[places] if found.settings["task"] == "multilabel" else places


def write_suspects(options: argparse.Namespace, data: Data, found: LabelErrors) -> None:
    """Write the list of suspects, the counts, the page, the corrected table and the table without the suspects."""
    suspects = np.asarray(found.suspects, dtype=np.int64)
    if options.out is not None:
        frame = suspect_frame(found, data, found.order if options.all else suspects)
        if options.all:
            frame.insert(list(frame).index("confidence") + 1, "suspect", np.isin(found.order, suspects))
        write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
    if options.counts is not None:
        write_frame(counts_frame(found, data), options.counts, safe=options.safe_csv, form=options.format)
    if options.report is not None:
        ready = data.prepared
        found.report(options.report, text=ready.text, groups=ready.owners, title=f"Label errors in {data.name}")
    if options.fix is not None:
        write_table(corrected(options, data, found), options.fix, safe=options.safe_csv, form=options.format)
    if options.drop is not None:
        kept = np.setdiff1d(np.arange(len(data.table)), rows_of(found, suspects))
        write_table(data.table.take(kept), options.drop, safe=options.safe_csv, form=options.format)


def corrected(options: argparse.Namespace, data: Data, found: LabelErrors) -> Table:
    """Return the table with the suggested labels in place, written as the table writes them."""
    table, suspects = data.table, np.asarray(found.suspects, dtype=np.int64)
    if found.settings["task"] != "multilabel":
        labels = found.suggested[suspects].tolist()
        if data.regression:
            labels = numbers_as_written(labels, found, decimal=options.decimal if table.written else None)
        return table.replaced(data.label, suspects, cells_of_labels(table, data.label, data.prepared.y, labels))
    cells = cells_of(found)
    given = found.given.reshape(-1, len(cells.names))
    for place, name in enumerate(cells.names.tolist()):
        some = suspects[suspects % len(cells.names) == place]
        written = cells_of_labels(table, name, given[:, place], found.suggested[some].tolist())
        table = table.replaced(name, rows_of(found, some), written)
    return table


def numbers_as_written(numbers: list[float], found: LabelErrors, *, decimal: str | None) -> list[Any]:
    """Return suggested numbers as cells: six digits, integers where all are, text where `decimal` is a text file's."""
    integers = bool((found.given % 1 == 0).all())
    known = set(found.given.tolist())
    # A suspect that keeps its number keeps how it is written.
    cells = [one if one in known else int(one) if integers else float(f"{one:.6g}") for one in numbers]
    return cells if decimal is None else [one if one in known else str(one).replace(".", decimal) for one in cells]
