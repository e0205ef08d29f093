"""Dates and times as numbers: how late it is, and where in the year, the week and the day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import FloatArray
from pivotal.tables.columns import as_text, type_of
from pivotal.tables.roles import Roles
from pivotal.tables.table import Table

__all__ = ["date_features"]

_DAY: Final = 86_400.0
_YEAR: Final = 365.2425 * _DAY
# What goes round, and how long that takes; a cycle is used where the training rows span enough of it to see it.
_CYCLES: Final = (("year", _YEAR), ("week", 7 * _DAY), ("day", _DAY))


def date_features(tables: Sequence[Table], name: str, roles: Roles, done: dict[str, str]) -> list[FloatArray]:
    """Return a column of dates as numbers: time passed, standardised, and sine and cosine of each cycle that shows.

    Parameters
    ----------
    tables : sequence of Table
        The training table, from which all is learned, and the test table if there is one.
    name : str
        The column.
    roles : Roles
        With what to do about gaps.
    done : dict of str to str
        Gets a word on what was done.
    """
    seconds = [_seconds(table, name, roles) for table in tables]
    n_gaps = sum(int(np.isnan(one).sum()) for one in seconds)
    if n_gaps and roles.missing == "reject":
        raise ValueError(
            f"column {name!r} of {tables[0].name} must have no gaps with --missing reject; {n_gaps} cells are empty. "
            "Fill them, or use --missing impute."
        )
    first = seconds[0]
    if np.isnan(first).all():
        raise ValueError(f"column {name!r} of {tables[0].name} must hold at least one date to be a feature.")
    middle = float(np.nanmedian(first))
    filled = [np.where(np.isnan(one), middle, one) for one in seconds]
    kind = _kind_of(tables[0], name, roles)
    parts: list[list[FloatArray]] = [[] for _ in tables]
    words = []
    spread = float(filled[0].std())
    if kind != "time" and spread > 0.0:
        words.append("time passed")
        for part, one in zip(parts, filled, strict=True):
            part.append((one - filled[0].mean()) / spread)
    for cycle, length in _CYCLES if kind != "duration" else ():
        if not _shows(filled[0], cycle, length, kind):
            continue
        words.append(f"{cycle} as a circle")
        for part, one in zip(parts, filled, strict=True):
            angle = 2.0 * np.pi * ((one + (3 * _DAY if cycle == "week" else 0.0)) % length) / length
            part += [np.sin(angle), np.cos(angle)]
    if not words:
        words.append("the same in every row")
        for part, one in zip(parts, filled, strict=True):
            part.append(np.zeros(len(one)))
    done[name] = ", ".join(words) + (f", {n_gaps} gaps filled with the median" if n_gaps else "")
    return [np.column_stack(part) for part in parts]


def _shows(seconds: FloatArray, cycle: str, length: float, kind: str) -> bool:
    """Whether a cycle can be told from time passed: rows lie in several places of it, over more than one turn."""
    if len(np.unique(np.floor(seconds % length / length * 24.0))) < 2:
        return False  # as when all dates have no time
    return (kind == "time" and cycle == "day") or (kind == "date" and bool(np.ptp(seconds) > length))


def _kind_of(table: Table, name: str, roles: Roles) -> str:
    """Say what a column holds: date, time or duration."""
    kind = type_of(table, name)
    if pa.types.is_duration(kind):
        return "duration"
    if pa.types.is_time(kind):
        return "time"
    if pa.types.is_temporal(kind):
        return "date"
    first = next((cell.strip() for cell in as_text(table, name, roles.gaps) if cell is not None), "")
    if "day" in first:
        return "duration"
    return "time" if ":" in first and "-" not in first and "/" not in first and "." not in first[:5] else "date"


def _seconds(table: Table, name: str, roles: Roles) -> FloatArray:
    """Return dates as seconds since 1970, times as seconds since midnight, durations as seconds; NaN for gaps."""
    kind = _kind_of(table, name, roles)
    if pa.types.is_temporal(type_of(table, name)):
        return _typed_seconds(table, name, kind)
    text = pd.Series(as_text(table, name, roles.gaps), dtype=object)
    try:
        if kind != "date":
            return _of_timedelta(pd.to_timedelta(_with_seconds(text)))
        return _of_dates(pd.to_datetime(text, **_form(text), utc=True))
    except (ValueError, TypeError, OverflowError) as error:
        first = next(iter(str(error).splitlines()), "")
        raise ValueError(
            f"column {name!r} of {table.name} must hold dates of one form; {first.rstrip('.')}."
        ) from error


def _typed_seconds(table: Table, name: str, kind: str) -> FloatArray:
    column = table.column(name)
    column = column.cast(type_of(table, name))
    if kind == "time":
        spelled = pd.Series([None if cell is None else cell.isoformat() for cell in column.to_pylist()], dtype=object)
        return _of_timedelta(pd.to_timedelta(spelled))
    if kind == "duration":
        return _of_timedelta(pd.to_timedelta(pd.Series(column.to_pandas())))
    return _of_dates(pd.to_datetime(pd.Series(column.to_pandas()), utc=True))


def _of_timedelta(times: Any) -> FloatArray:
    return np.asarray(times.dt.total_seconds(), dtype=np.float64)


def _of_dates(dates: Any) -> FloatArray:
    since = dates - pd.Timestamp(0, tz="UTC")
    return np.asarray(since.dt.total_seconds(), dtype=np.float64)


def _with_seconds(text: Any) -> Any:
    """Return times that have seconds, as durations must."""
    return text.str.strip().str.replace(r"(?<![\d:])(\d{1,2}:\d{2})$", r"\1:00", regex=True)


def _form(text: Any) -> dict[str, Any]:
    """Return how dates are written; raise where day and month cannot be told apart."""
    present = text.dropna().str.strip()
    if not present.str.contains("/").any():
        return {"dayfirst": True} if present.str.contains(r"^\d{1,2}\.", regex=True).any() else {"format": "ISO8601"}
    parts = present.str.extract(r"^(\d{1,2})/(\d{1,2})/")
    first, second = (parts[place].dropna().astype(int) for place in (0, 1))
    if (first > 12).any() == (second > 12).any():
        raise ValueError(f"of dates such as {present.iloc[0]!r} it cannot be told which is the day and which the month")
    return {"dayfirst": bool((first > 12).any())}
