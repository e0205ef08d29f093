"""Dates and times as numbers: how late it is, and where in the year, the week and the day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pivotal.core.types import FloatArray
from pivotal.tables._cells import decoded
from pivotal.tables._column_moments import Moments
from pivotal.tables._phrases import first_line
from pivotal.tables.columns import as_text, type_of
from pivotal.tables.roles import Roles
from pivotal.tables.table import Table

_DAY: Final = 86_400.0
_YEAR: Final = 365.2425 * _DAY
# What goes round, and how long that takes; a cycle is used where the training rows span enough of it to see it.
_CYCLES: Final = {"year": _YEAR, "week": 7 * _DAY, "day": _DAY}
_PARTS: Final = 24  # of a cycle, of which rows must lie in several


class DateSummary(NamedTuple):
    """What is known of a column of dates: what it holds, its moments, and in which parts of each cycle rows lie."""

    kind: str
    moments: Moments
    parts: dict[str, frozenset[int]]

    @classmethod
    def of(cls, kind: str, seconds: FloatArray) -> DateSummary:
        """Return what is known of dates in seconds."""
        present = seconds[~np.isnan(seconds)]
        return cls(kind if present.size else "", Moments.of(seconds[:, np.newaxis]), _parts_of(present))

    def joined(self, other: DateSummary) -> DateSummary:
        """Return what is known of both."""
        parts = {cycle: found | other.parts[cycle] for cycle, found in self.parts.items()}
        return DateSummary(self.kind or other.kind, self.moments.joined(other.moments), parts)


def _parts_of(seconds: FloatArray) -> dict[str, frozenset[int]]:
    return {
        cycle: frozenset(np.unique(np.floor(seconds % length / length * _PARTS)).astype(int).tolist())
        for cycle, length in _CYCLES.items()
    }


@dataclass(frozen=True)
class DateEncoding:
    """How dates become numbers: time passed, standardised, and sine and cosine of each cycle that shows.

    Gaps are filled with the median, in seconds; a deviation of 0 leaves the time passed out.
    """

    median: float
    mean: float
    deviation: float
    cycles: tuple[str, ...]

    @classmethod
    def learned(cls, summary: DateSummary, median: float, n_rows: int) -> DateEncoding:
        """Return what a summary of all training rows says; the median is NaN where there are no gaps."""
        moments = summary.moments.filled(np.array([median]), n_rows)
        span = float(moments.high[0] - moments.low[0])
        filling = _parts_of(np.array([median] if summary.moments.counts[0] < n_rows else []))
        cycles = [
            cycle
            for cycle, length in _CYCLES.items()
            if len(summary.parts[cycle] | filling[cycle]) > 1  # unlike all dates without a time
            and ((summary.kind == "time" and cycle == "day") or (summary.kind == "date" and span > length))
        ]
        passed = summary.kind != "time" and span > 0.0
        return cls(median, float(moments.mean[0]), float(moments.deviation[0]) if passed else 0.0, tuple(cycles))

    @property
    def width(self) -> int:
        """Number of features."""
        return max(1, bool(self.deviation) + 2 * len(self.cycles))

    def __str__(self) -> str:
        words = ["time passed"] if self.deviation else []
        words += [f"{cycle} as a circle" for cycle in self.cycles]
        return ", ".join(words or ["the same in every row"])

    def write(self, seconds: FloatArray, out: FloatArray) -> None:
        """Write the features of dates in seconds to an array of shape (n_rows, width)."""
        filled = np.where(np.isnan(seconds), self.median, seconds)
        columns = [(filled - self.mean) / self.deviation] if self.deviation else []
        for cycle in self.cycles:
            length = _CYCLES[cycle]
            angle = 2.0 * np.pi * ((filled + (3 * _DAY if cycle == "week" else 0.0)) % length) / length
            columns += [np.sin(angle), np.cos(angle)]
        for place, column in enumerate(columns or [np.zeros(len(filled))]):
            out[:, place] = column


def seconds_of(table: Table, name: str, roles: Roles, *, whole: bool = True) -> tuple[str, FloatArray]:
    """Return what a column holds (date, time or duration), and its cells in seconds; NaN for gaps.

    Dates count from 1970, times from midnight. What day and month of a written date are, only all rows can say: of a
    table in pieces, dates that are text must be as ISO 8601 writes them.
    """
    kind = _kind_of(table, name, roles)
    if pa.types.is_temporal(type_of(table, name)):
        return kind, _typed_seconds(table, name, kind)
    text = pd.Series(as_text(table, name, roles.gaps), dtype=object)
    try:
        if kind != "date":
            return kind, _of_timedelta(pd.to_timedelta(_with_seconds(text)))
        form = _form(text) if whole else {"format": "ISO8601"}
        return kind, _of_dates(pd.to_datetime(text, **form, utc=True))
    except (ValueError, TypeError, OverflowError) as error:
        first = first_line(error)
        raise ValueError(f"column {name!r} of {table.name} must hold dates of one form; {first}.") from error


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


def _typed_seconds(table: Table, name: str, kind: str) -> FloatArray:
    column = decoded(table.column(name))
    if kind == "time":
        spelled = pd.Series([None if cell is None else cell.isoformat() for cell in column.to_pylist()], dtype=object)
        return _of_timedelta(pd.to_timedelta(spelled))
    if kind == "duration":
        return _of_timedelta(pd.to_timedelta(pd.Series(column.to_pandas())))
    return _of_dates(pd.to_datetime(pd.Series(column.to_pandas()), utc=True))


def _of_timedelta(times: Any) -> FloatArray:
    return np.asarray(times.dt.total_seconds(), dtype=np.float64)


def _of_dates(dates: Any) -> FloatArray:
    return _of_timedelta(dates - pd.Timestamp(0, tz="UTC"))


def _with_seconds(text: Any) -> Any:
    """Return times that have seconds, as durations must."""
    return text.str.strip().str.replace(r"(?<![\d:])(\d{1,2}:\d{2})$", r"\1:00", regex=True)


def _form(text: Any) -> dict[str, Any]:
    """Return how dates are written; raise where day and month cannot be distinguished."""
    present = text.dropna().str.strip()
    if not present.str.contains("/").any():
        return {"dayfirst": True} if present.str.contains(r"^\d{1,2}\.", regex=True).any() else {"format": "ISO8601"}
    parts = present.str.extract(r"^(\d{1,2})/(\d{1,2})/")
    first, second = (parts[place].dropna().astype(int) for place in (0, 1))
    if (first > 12).any() == (second > 12).any():
        raise ValueError(f"of dates such as {present.iloc[0]!r} it cannot be told which is the day and which the month")
    return {"dayfirst": bool((first > 12).any())}
