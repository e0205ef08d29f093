"""Decisions that were written to a file, applied to the table that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import Any

from pivotal.core.types import AnyArray
from pivotal.report.encode import as_text
from pivotal.review._export import cleaned_table
from pivotal.review._subject import Classes
from pivotal.tables import Table

_NEEDED = ("row", "action", "from", "to")
_CHANGES = ("fix", "label")
_ACTIONS = (*_CHANGES, "keep", "drop", "unsure", "note")


def apply_decisions(table: Table, label: str, y: AnyArray, decisions: Table) -> tuple[Table, dict[str, int]]:
    """Return a table with decisions applied, and how many labels were changed and rows dropped.

    Parameters
    ----------
    table : Table
    label : str
        The column of labels.
    y : array of shape (n_rows,)
        Its labels as they were read.
    decisions : Table
        From a review: columns row, action, from and to, and also id and holds where they are there. Of several
        decisions about a row that hold, the last counts.

    Raises
    ------
    ValueError
        If a decision is about a row that the table does not have, or that has another label than the one decided
        about: then they are about another table, and none is applied.
    """
    missing = [name for name in _NEEDED if name not in decisions.columns]
    if missing:
        raise ValueError(
            f"{decisions.name} must have the columns {', '.join(_NEEDED)}; it has no {missing[0]!r}. "
            "Use the decisions that pivotal review wrote."
        )
    lines: Iterable[tuple[Any, ...]] = zip(*(decisions.column(name).to_pylist() for name in _NEEDED), strict=True)
    if "holds" in decisions.columns:
        holds = [str(cell).strip().lower() in ("true", "1") for cell in decisions.column("holds").to_pylist()]
        lines = compress(lines, holds)
    classes = Classes(y)
    last: dict[int, tuple[str, Any]] = {}
    for number, (row, action, before, to) in enumerate(lines):
        place = _place(row, len(table), decisions.name, number)
        if action not in _ACTIONS:
            raise ValueError(f"an action of {decisions.name} must be one of {', '.join(_ACTIONS)}; got {action!r}.")
        if action == "note":  # says something, and decides nothing
            continue
        given = classes.names[classes.given[place]]
        if as_text(before) != given:
            raise ValueError(
                f"{decisions.name} decides about row {place} with the label {as_text(before)!r}, and in {table.name} "
                f"that row has {given!r}; they are about another table, and none was applied."
            )
        if action in _CHANGES and (to is None or as_text(to) == ""):
            raise ValueError(f"{decisions.name} gives row {place} no label to change to; fill in the column 'to'.")
        last[place] = (action, to)
    changes = {}
    for row, (action, to) in last.items():
        if action in _CHANGES:
            classes.check_new(as_text(to))
            changes[row] = classes.label(as_text(to))
    dropped = [row for row, (action, _) in last.items() if action == "drop"]
    if len(dropped) == len(table):
        raise ValueError(f"{decisions.name} drops every row of {table.name}; keep some of them.")
    changes = {row: to for row, to in changes.items() if to != y[row]}
    cleaned = cleaned_table(table, label, y, changes, sorted(dropped))
    return cleaned, {"changed": len(changes), "dropped": len(dropped)}


def _place(row: Any, n_rows: int, name: str, number: int) -> int:
    try:
        place = int(str(row))
    except ValueError:
        place = -1
    if not 0 <= place < n_rows:
        raise ValueError(
            f"a row of {name} must be an integer from 0 to {n_rows - 1}; got {row!r} in line {number + 2}."
        )
    return place
