"""Tables of results: picking rows, and means with deviations over the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd


def pick(frame: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """Return the rows whose columns have these entries.

    Examples
    --------
    >>> pick(pd.DataFrame({"method": ["a", "b"], "score": [1, 2]}), method="b")["score"].tolist()
    [2]
    """
    for column, entry in wanted.items():
        frame = frame[frame[column] == entry]
    return frame


def pivot(frame: pd.DataFrame, rows: str | Sequence[str], columns: str, figure: str, how: str = "mean") -> pd.DataFrame:
    """Return a figure over the runs, laid out by rows and columns in the order in which they first occur.

    Examples
    --------
    >>> frame = pd.DataFrame({"data": ["b", "b", "a"], "method": ["x", "x", "x"], "f1": [0.0, 0.5, 1.0]})
    >>> pivot(frame, "data", "method", "f1")["x"].to_dict()
    {'b': 0.25, 'a': 1.0}
    """
    keys = [rows] if isinstance(rows, str) else list(rows)
    table = frame.pivot_table(index=keys, columns=columns, values=figure, aggfunc=how)  # type: ignore[arg-type]
    index = (
        pd.MultiIndex.from_frame(frame[keys].drop_duplicates()) if len(keys) > 1 else pd.Index(frame[keys[0]].unique())
    )
    return table.reindex(index=index, columns=pd.Index(frame[columns].unique()))


def averages(
    frame: pd.DataFrame, rows: str | Sequence[str], columns: str, figure: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means and deviations over the runs, as `pivot` lays them out."""
    return pivot(frame, rows, columns, figure), pivot(frame, rows, columns, figure, "std")


def train_sizes(frame: pd.DataFrame) -> str:
    """Say how many training points there were, the most first."""
    return ", ".join(f"{size:,}" for size in sorted(frame["n_train"].unique(), reverse=True))
