"""The one result object of the library: the value of every training point, and how far it can be off."""

from __future__ import annotations

import html
import json
import math
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, SupportsFloat, SupportsIndex

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike

from pivotal._arrow import decode_ids, encode_ids, read_table, write_table
from pivotal._types import AnyArray, FloatArray, IndexArray
from pivotal._validation import check_probability

_EPS: Final = float(np.finfo(np.float64).eps)
_SCALARS: Final = ("error_bound", "n_queries", "full_utility", "empty_utility", "vote_resolution", "recall")
_HTML_ROWS: Final = 10  # half from each end


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Values:
    """Values of the training points, averaged over the queries.

    Immutable: the arrays are read-only copies and the settings a read-only mapping. `numpy.asarray(values)` gives the
    values themselves, so a result goes wherever an array does.

    Parameters
    ----------
    values : array-like of shape (n_train,)
        Value of each training point.
    n_queries : int
        Number of queries the values are the mean of.
    full_utility : float
        Utility of the whole training set, v(D), mean over the queries.
    empty_utility : float
        Utility of the empty coalition, mean over the queries.
    error_bound : float, default=0.0
        Certified: no entry of `values` is off by more than this (truncation, quadrature and rounding together). The
        chance of sampling is in `standard_error`, the rounding of real weights to votes in `vote_resolution`.
    standard_error : array-like of shape (n_train,), optional
        Standard error of each value when it was sampled; None for exact methods.
    ids : array-like of shape (n_train,), optional
        Names of the training points; their indices when None.
    vote_resolution : float, default=0.0
        Largest rounding of a weight to an integer vote, relative to the query's largest weight; 0 for exact votes.
    recall : float, optional
        Share of the true neighbours that an approximate index found, measured on some of the queries; None when the
        neighbours are exact. The error bound takes the lists as true.
    settings : mapping of str to JSON values, optional
        How the values were computed: k, utility, semivalue, and so on.

    Examples
    --------
    >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0, ids=["a", "b", "c"])
    >>> values.rank()
    array([2, 0, 1])
    >>> values.top(2)
      id  value  rank
    2  c   0.75     1
    0  a   0.25     2
    """

    values: FloatArray
    n_queries: int
    full_utility: float
    empty_utility: float
    error_bound: float
    standard_error: FloatArray | None
    ids: AnyArray
    vote_resolution: float
    recall: float | None
    settings: Mapping[str, Any]

    def __init__(
        self,
        values: ArrayLike,
        *,
        n_queries: int,
        full_utility: float,
        empty_utility: float,
        error_bound: float = 0.0,
        standard_error: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        vote_resolution: float = 0.0,
        recall: float | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        array = np.array(values, dtype=np.float64)
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"values must be one number per training point, at least one; got shape {array.shape}.")
        checked = {
            "values": _finite("values", array),
            "n_queries": _count("n_queries", n_queries),
            "full_utility": _number("full_utility", full_utility),
            "empty_utility": _number("empty_utility", empty_utility),
            "error_bound": _number("error_bound", error_bound, non_negative=True),
            "standard_error": None if standard_error is None else _errors(standard_error, array.size),
            "ids": as_ids(ids, array.size),
            "vote_resolution": _number("vote_resolution", vote_resolution, non_negative=True),
            "recall": None if recall is None else check_probability(recall, "recall"),
            "settings": _freeze({} if settings is None else settings, "settings"),
        }
        for name, content in checked.items():
            if isinstance(content, np.ndarray):
                content.setflags(write=False)
            object.__setattr__(self, name, content)

    def rank(self) -> IndexArray:
        """Training indices, most valuable first; equal values in the order of their indices.

        Returns
        -------
        indices : int array of shape (n_train,)
        """
        return np.argsort(-self.values, kind="stable").astype(np.int64, copy=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per training point, in training order.

        Returns
        -------
        frame : pandas DataFrame of n_train rows
            Columns id, value, rank (1 is the most valuable) and, for sampled values, standard_error.
        """
        rank = np.empty(len(self), dtype=np.int64)
        rank[self.rank()] = np.arange(1, len(self) + 1)
        columns: dict[str, AnyArray] = {"id": self.ids, "value": self.values, "rank": rank}
        if self.standard_error is not None:
            columns["standard_error"] = self.standard_error
        return pd.DataFrame(columns)

    def top(self, n: int = 10) -> pd.DataFrame:
        """Return the n most valuable points, best first, as rows of `to_frame`; their index is the training index."""
        return self.to_frame().iloc[self.rank()[: _count("n", n)]]

    def bottom(self, n: int = 10) -> pd.DataFrame:
        """Return the n least valuable points, worst first, as rows of `to_frame`; their index is the training index."""
        return self.to_frame().iloc[self.rank()[::-1][: _count("n", n)]]

    def normalized(self) -> Values:
        """Scale the values so that they sum to `full_utility - empty_utility`.

        For Banzhaf values this is the normalised Banzhaf value. The order of the points does not change.

        Returns
        -------
        values : Values
            With the error bound and the standard errors carried over. The bound also covers the error of the sum; the
            standard errors take the sum as known.

        Raises
        ------
        ValueError
            If the sum of the values cannot be told from zero within the error bound, or if its sign differs from that
            of `full_utility - empty_utility`, so that scaling would turn the order of the points around.

        Examples
        --------
        >>> Values([1.0, 3.0], n_queries=1, full_utility=1.0, empty_utility=0.0).normalized().values
        array([0.25, 0.75])
        """
        total = math.fsum(self.values)
        blur = len(self) * self.error_bound + _EPS * math.fsum(np.abs(self.values))  # how far the sum can be off
        if abs(total) <= blur:
            raise ValueError(
                f"normalized values need a sum that differs from 0; got {total:.3g}, which is 0 within the error bound "
                f"of {blur:.3g}. Use the values as they are."
            )
        gain = self.full_utility - self.empty_utility
        if gain * total < 0:
            raise ValueError(
                f"normalized values need a sum with the sign of full_utility - empty_utility = {gain:.3g}; got "
                f"{total:.3g}, which would turn the order of the points around. Use the values as they are."
            )
        scale = gain / total
        scaled = self.values * scale
        largest = float(np.abs(self.values).max())
        # |v/s - v'/s'| <= (|v - v'| + |v/s| |s - s'|) / |s'|, and a few roundings of the result itself.
        bound = abs(gain) * (self.error_bound + largest / abs(total) * blur) / (abs(total) - blur)
        return replace(
            self,
            values=scaled,
            error_bound=bound + 4 * _EPS * float(np.abs(scaled).max()),
            standard_error=None if self.standard_error is None else self.standard_error * abs(scale),
            settings={**self.settings, "normalized": True},
        )

    def by_owner(self, owners: ArrayLike) -> pd.Series:
        """Sum the values of each owner's points.

        Parameters
        ----------
        owners : array-like of shape (n_train,)
            Owner of each training point, in training order.

        Returns
        -------
        sums : pandas Series
            Indexed by owner, most valuable first. This is the sum of the values of single points, not the value of
            the owner as one player who joins with all their points at once.

        Examples
        --------
        >>> values = Values([0.25, -0.5, 0.75], n_queries=4, full_utility=0.9, empty_utility=0.0)
        >>> values.by_owner(["ann", "bob", "ann"]).to_dict()
        {'ann': 1.0, 'bob': -0.5}
        """
        names = pd.Series(_one_dimensional("owners", owners, len(self)))
        missing = int(names.isna().sum())
        if missing:
            raise ValueError(
                f"owners must name an owner for every training point; got {missing} missing. "
                "Give points without an owner a name of their own, for example 'nobody'."
            )
        sums = pd.Series(self.values, name="value").groupby(names.rename("owner"), sort=False).sum()
        return sums.sort_values(ascending=False, kind="stable")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the values to one Parquet file, whole or not at all.

        The columns are id, value and, for sampled values, standard_error; everything else is JSON in the schema
        metadata. Numbers come back to the last bit and ids with their dtype.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced only once the new one is complete.

        Raises
        ------
        OSError
            If the file cannot be written.
        TypeError
            If the ids are objects of mixed types or of a type that Parquet cannot hold.
        """
        column, tag = encode_ids(self.ids)
        columns = {"id": column, "value": pa.array(self.values)}
        if self.standard_error is not None:
            columns["standard_error"] = pa.array(self.standard_error)
        about = {name: getattr(self, name) for name in _SCALARS}
        write_table(path, columns, {**about, "ids": tag, "settings": _thaw(self.settings)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Values:
        """Read a file written by `save`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not Parquet, holds no pivotal values, is damaged, or was written by a newer format.
        """
        table, about = read_table(path)
        try:
            return cls(
                table["value"].to_numpy(),
                ids=decode_ids(table["id"], about["ids"]),
                standard_error=table["standard_error"].to_numpy() if "standard_error" in table.column_names else None,
                settings=about["settings"],
                **{name: about[name] for name in _SCALARS},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged ({error}); save the values again.") from error

    def equals(self, other: object) -> bool:
        """Whether `other` holds the same values, ids, errors and settings, to the last bit."""
        if not isinstance(other, Values):
            return False
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __len__(self) -> int:
        return self.values.size

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        return _rebuild, ({**state, "settings": _thaw(self.settings)},)  # a mapping proxy cannot be pickled

    def __repr__(self) -> str:
        shown = [f"n_train={len(self)}", f"n_queries={self.n_queries}"]
        shown += [f"{name}={self.settings[name]}" for name in ("k", "utility", "semivalue") if name in self.settings]
        shown.append(f"error_bound={self.error_bound:.2g}")
        if self.recall is not None:
            shown.append(f"recall={self.recall:.3g}")
        if self.standard_error is not None:
            shown.append(f"standard_error<={self.standard_error.max():.2g}")
        return f"Values({', '.join(shown)}, values in [{self.values.min():.4g}, {self.values.max():.4g}])"

    def _repr_html_(self) -> str:
        frame = self.to_frame().iloc[self.rank()]
        table = frame.to_html(max_rows=_HTML_ROWS, float_format="{:.6g}".format, border=0, escape=True)
        return f"<div><p>{html.escape(repr(self))}</p>{table}</div>"


def _rebuild(state: dict[str, Any]) -> Values:
    return Values(**state)


def _finite(name: str, array: FloatArray) -> FloatArray:
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise ValueError(f"{name} must be finite; got {array[bad[0]]} at training index {bad[0]}.")
    return array


def _number(name: str, number: SupportsFloat, *, non_negative: bool = False) -> float:
    converted = float(number)
    if not math.isfinite(converted) or (non_negative and converted < 0):
        raise ValueError(f"{name} must be a finite number{' >= 0' if non_negative else ''}; got {converted}.")
    return converted


def _count(name: str, number: SupportsIndex) -> int:
    if isinstance(number, bool) or not isinstance(number, SupportsIndex) or operator.index(number) < 1:
        raise ValueError(f"{name} must be a positive integer; got {number!r}.")
    return operator.index(number)


def _errors(standard_error: ArrayLike, n_train: int) -> FloatArray:
    array = _one_dimensional("standard_error", np.array(standard_error, dtype=np.float64), n_train)
    if (array < 0).any():
        raise ValueError(f"standard_error must not be negative; got {array.min()}.")
    return _finite("standard_error", array)


def as_ids(ids: ArrayLike | None, n_train: int) -> AnyArray:
    """Return the names of the training points: those given, or their indices."""
    return np.arange(n_train) if ids is None else _one_dimensional("ids", ids, n_train)


def _one_dimensional(name: str, content: ArrayLike, n_train: int) -> AnyArray:
    """Copy to an array of shape (n_train,), without turning numbers that stand beside strings into strings."""
    array = np.array(content)
    if array.dtype.kind in "US" and isinstance(content, (list, tuple)):
        objects = np.array(content, dtype=object)
        array = array if len({type(item) for item in objects.flat}) == 1 else objects
    if array.shape != (n_train,):
        raise ValueError(f"{name} must have one entry per training point, shape ({n_train},); got shape {array.shape}.")
    return array


def _freeze(content: Any, where: str) -> Any:
    """Read-only copy of JSON-able content: mappings become proxies, lists tuples, NumPy scalars Python's own."""
    if isinstance(content, np.generic):
        content = content.item()
    if isinstance(content, Mapping):
        wrong = [key for key in content if not isinstance(key, str)]
        if wrong:
            raise TypeError(f"{where} must have strings as keys; got {wrong[0]!r}.")
        return MappingProxyType({key: _freeze(item, f"{where}[{key!r}]") for key, item in content.items()})
    if isinstance(content, (list, tuple)):
        return tuple(_freeze(item, where) for item in content)
    if content is None or isinstance(content, (str, bool, int)):
        return content
    if isinstance(content, float):
        return _number(where, content)
    raise TypeError(f"{where} must be text, a number, None, a list or a mapping; got {type(content).__name__}.")


def _thaw(content: Any) -> Any:
    """Turn frozen content back into the dicts and lists that JSON knows."""
    if isinstance(content, Mapping):
        return {key: _thaw(item) for key, item in content.items()}
    return [_thaw(item) for item in content] if isinstance(content, tuple) else content


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if one.dtype.kind == "O":
            return all(a is b or (type(a) is type(b) and a == b) for a, b in zip(one, other, strict=True))
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fcMm"))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return json.dumps(_thaw(one), sort_keys=True) == json.dumps(_thaw(other), sort_keys=True)
    return type(one) is type(other) and bool(one == other)
