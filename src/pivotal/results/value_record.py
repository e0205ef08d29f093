"""The checked, immutable record behind `Values`: what it holds, how it is copied, compared and written to a file."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self, SupportsFloat, SupportsIndex

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike

from pivotal.core.frozen import freeze, freeze_arrays, same, thaw
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_probability
from pivotal.results.ids import as_ids, one_dimensional
from pivotal.results.per_query import PerQuery
from pivotal.results.storage import (
    as_table,
    decode_ids,
    encode_ids,
    numbers_of,
    read_table,
    reported_as_damage,
    write_table,
)

_BOUNDS: Final = ("proved_bound", "rounding_allowance", "neighbors_exact")
_SCALARS: Final = ("n_queries", "full_utility", "empty_utility", *_BOUNDS, "vote_resolution", "recall")
_ERRORS: Final = ("standard_error", "query_standard_error")
_NOT_GIVEN: Final[Any] = object()  # None is something that can be said of a bound


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ValueRecord:
    """The fields of `Values`, which documents them."""

    values: FloatArray
    n_queries: int
    full_utility: float | None
    empty_utility: float | None
    proved_bound: float | None
    rounding_allowance: float
    neighbors_exact: bool | None
    standard_error: FloatArray | None
    query_standard_error: FloatArray | None
    ids: AnyArray
    vote_resolution: float
    recall: float | None
    settings: Mapping[str, Any]
    details: Mapping[str, Any]
    queries: PerQuery | None

    def __init__(
        self,
        values: ArrayLike,
        *,
        n_queries: int,
        full_utility: float | None = None,
        empty_utility: float | None = None,
        proved_bound: float | None = None,
        rounding_allowance: float = 0.0,
        neighbors_exact: bool | None = True,
        error_bound: float | None = _NOT_GIVEN,
        standard_error: ArrayLike | None = None,
        query_standard_error: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        vote_resolution: float = 0.0,
        recall: float | None = None,
        settings: Mapping[str, Any] | None = None,
        details: Mapping[str, Any] | None = None,
        queries: PerQuery | None = None,
    ) -> None:
        bound_name = "proved_bound"
        if error_bound is not _NOT_GIVEN:
            bound_name, proved_bound, rounding_allowance = "error_bound", error_bound, 0.0
        if neighbors_exact is not None and not isinstance(neighbors_exact, bool | np.bool_):
            raise ValueError(f"neighbors_exact must be True, False or None; got {neighbors_exact!r}.")
        exact = None if neighbors_exact is None else bool(neighbors_exact)
        share = None if recall is None else check_probability(recall, "recall")
        array = np.array(values, dtype=np.float64)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"values must be one number per training point, at least one; got shape {array.shape}.")
        checked = {
            "values": _finite("values", array),
            "n_queries": as_count("n_queries", n_queries),
            "full_utility": None if full_utility is None else _number("full_utility", full_utility),
            "empty_utility": None if empty_utility is None else _number("empty_utility", empty_utility),
            "proved_bound": None if proved_bound is None else _number(bound_name, proved_bound, non_negative=True),
            "rounding_allowance": _number("rounding_allowance", rounding_allowance, non_negative=True),
            "neighbors_exact": False if share is not None and share < 1.0 else exact,
            "standard_error": _errors("standard_error", standard_error, array.size),
            "query_standard_error": _errors("query_standard_error", query_standard_error, array.size),
            "ids": as_ids(ids, array.size),
            "vote_resolution": _number("vote_resolution", vote_resolution, non_negative=True),
            "recall": share,
            "settings": freeze({} if settings is None else settings, "settings"),
            "details": freeze({} if details is None else details, "details"),
            "queries": queries if queries is None else queries.check(array.size),
        }
        for name, content in checked.items():
            object.__setattr__(self, name, content)
        freeze_arrays(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values to one Parquet file, whole or not at all.

        The columns are id, value, and standard errors where they are known; everything else is JSON in the schema
        metadata. Values of single queries are four more columns: the label of a training point, and lists of the
        queries it has a value for. Numbers come back to the last bit and ids with their dtype.

        Parameters
        ----------
        path : path-like
            File to write, or URL such as s3://bucket/values.parquet; an existing file is replaced only once the new
            one is complete.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If the ids are objects of mixed types or of a type that Parquet cannot hold.
        """
        write_table(path, *_saved(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by `save`, by its path or URL. Everything in it is checked.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not Parquet, holds no pivotal values, is damaged, or was written by a newer format.
        """
        table, about = read_table(path)
        with reported_as_damage(path):
            for name in ("settings", "details"):
                if not isinstance(about.setdefault(name, {}), dict):
                    raise ValueError(f"{name} must be an object")
            errors: dict[str, Any] = {
                name: numbers_of(table[name], pa.float64(), name) for name in _ERRORS if name in table.column_names
            }
            return cls(
                numbers_of(table["value"], pa.float64(), "value"),
                ids=decode_ids(table["id"], about["ids"]),
                **errors,
                settings=about["settings"],
                details=about["details"],
                queries=PerQuery.from_columns(table, about["per_query"]) if "per_query" in about else None,
                **{name: about[name] for name in _SCALARS},
            )

    def equals(self, other: object) -> bool:
        """Whether `other` holds the same values, ids, errors and settings, to the last bit."""
        if not isinstance(other, ValueRecord):
            return False
        return all(same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __len__(self) -> int:
        return self.values.size

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return _rebuild, (
            type(self),
            {**state, "settings": thaw(self.settings), "details": thaw(self.details)},
        )  # a mapping proxy cannot be pickled


def table_of(values: ValueRecord) -> pa.Table:
    """Return the table that `ValueRecord.save` writes."""
    return as_table(*_saved(values))


def _saved(values: ValueRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of a file of values, and what it says of itself."""
    column, tag = encode_ids(values.ids)
    columns = {"id": column, "value": pa.array(values.values)}
    for name in _ERRORS:
        if getattr(values, name) is not None:
            columns[name] = pa.array(getattr(values, name))
    about = {name: getattr(values, name) for name in _SCALARS}
    if values.queries is not None:
        more, about["per_query"] = values.queries.to_columns()
        columns |= more
    record = {"settings": thaw(values.settings), "details": thaw(values.details)}
    return columns, {**about, "ids": tag, **record}


def _rebuild(kind: type[ValueRecord], state: dict[str, Any]) -> ValueRecord:
    return kind(**state)


def _finite(name: str, array: FloatArray) -> FloatArray:
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(f"{name} must be finite; got {array[bad[0]]} at training index {bad[0]}.")
    return array


def _number(name: str, number: SupportsFloat, *, non_negative: bool = False) -> float:
    if isinstance(number, str | bytes):
        raise TypeError(f"{name} must be a number; got {number!r}.")
    converted = float(number)
    if not math.isfinite(converted) or (non_negative and converted < 0):
        raise ValueError(f"{name} must be a finite number{' >= 0' if non_negative else ''}; got {converted}.")
    return converted


def as_count(name: str, number: SupportsIndex) -> int:
    """Return a positive integer, or raise."""
    if not isinstance(number, bool) and hasattr(number, "__index__") and operator.index(number) >= 1:
        return operator.index(number)
    raise ValueError(f"{name} must be a positive integer; got {number!r}.")


def _errors(name: str, standard_error: ArrayLike | None, n_train: int) -> FloatArray | None:
    if standard_error is None:
        return None
    array = one_dimensional(name, np.array(standard_error, dtype=np.float64), n_train)
    if (array < 0).any():
        raise ValueError(f"{name} must not be negative; got {array.min()}.")
    return _finite(name, array)
