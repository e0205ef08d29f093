"""Columns that say nothing: empty, constant, naming the rows; and cells that are missing."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.core.types import AnyArray

_FEWEST: Final = 20  # this many different integers are no coincidence
_DIFFERENT: Final = 0.9  # part of the rows that must differ; the others may be copies of rows
_NAMED: Final = re.compile(
    r"(?i)(.*[ _.-])?(id|idx|index|key|uuid|guid|nr|no|num|number|row|rowid|record|serial)|.*[a-z](Id|ID|Key|Nr|No)"
)


def find_missing(content: pd.DataFrame, ids: AnyArray, threshold: float) -> Finding:
    """Find rows with cells that have no content, in columns that are not empty altogether."""
    content = content.loc[:, content.notna().any().to_numpy()]
    gaps = content.isna().to_numpy()
    scores = 1.0 - gaps.mean(axis=1) if content.shape[1] else np.ones(len(content))
    n_cells, n_rows = int(gaps.sum()), int((scores < threshold).sum())
    columns = np.flatnonzero(gaps.any(axis=0))
    sentence = "No cell is missing."
    if n_cells:
        worst = int(np.argmax(gaps.mean(axis=0)))
        sentence = (
            f"{count_of(n_cells, 'cell')} in {count_of(int(gaps.any(axis=1).sum()), 'row')} and "
            f"{count_of(len(columns), 'column')} {'is' if n_cells == 1 else 'are'} missing, most of them in "
            f"{content.columns[worst]} ({gaps[:, worst].mean():.1%})."
        )
        if n_rows < int(gaps.any(axis=1).sum()):
            sentence += f" In {count_of(n_rows, 'row')} too many."
    table = pd.DataFrame({"column": content.columns[columns].astype(str), "missing": gaps.mean(axis=0)[columns]})
    return found_below("missing", scores, threshold, ids, sentence, table=table)


def find_column_faults(content: pd.DataFrame, thresholds: dict[str, float | None]) -> list[Finding]:
    """Find columns, as they came, that are empty, constant, or different in every row and merely names of them."""
    names = np.array([str(name) for name in content.columns], dtype=object)
    columns = [content.iloc[:, place] for place in range(content.shape[1])]
    filled = 1.0 - content.isna().to_numpy().mean(axis=0)
    differing = np.array([_differing(column) for column in columns])
    naming = np.array([_names_rows(name, column) for name, column in zip(names, columns, strict=True)])
    findings = []
    for name, scores, what in (
        ("empty_columns", filled, "no content, or hardly any"),
        ("constant_columns", np.where(filled > 0.0, differing, 1.0), "always the same"),
        ("id_columns", np.where(naming, 0.0, 1.0), "different in every row, as names are"),
    ):
        threshold = max(float(thresholds[name] or 0.0), np.nextafter(0.0, 1.0))
        found = names[scores < threshold]
        sentence = f"None of {count_of(len(names), 'column')}: {what}."
        if len(found):
            few = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
            sentence = f"{count_of(len(found), 'column')} of {len(names)}: {what}{f' ({few})' if few else ''}."
        findings.append(found_below(name, scores, threshold, names, sentence))
    return findings


def _differing(column: pd.Series[Any]) -> float:
    """Return the share of the rows with content that differ from the most frequent value."""
    present = column.dropna()
    if len(present) < 2:
        return 1.0
    try:
        counts = present.value_counts()
    except TypeError:  # lists and other things that cannot be counted
        counts = present.astype(str).value_counts()
    return 1.0 - float(counts.iloc[0]) / len(present)


def _names_rows(name: str, column: pd.Series[Any]) -> bool:
    """Whether a column only names the rows: integers without a gap, or different integers or texts by such a name."""
    if len(column) < _FEWEST or column.isna().any():
        return False
    try:
        different = column.drop_duplicates()
    except TypeError:  # lists and other things that cannot be compared
        return False
    if len(different) < _DIFFERENT * len(column):
        return False
    named = _NAMED.fullmatch(name.strip()) is not None
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return named
    numbers = different.to_numpy(dtype=np.float64)
    whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
    return bool(whole and (named or (np.diff(np.sort(numbers)) == 1.0).all()))
