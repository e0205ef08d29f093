"""Saved values that somebody else wrote: what cannot be right is one sentence, and never reaches compiled code."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flat
from pivotal.results.values import Values

RNG = np.random.default_rng(3)
X, Q = RNG.normal(size=(25, 2)), RNG.normal(size=(6, 2))
KINDS = ("cat", "dog", "emu")
CLASSES = flat.value(
    X, RNG.choice(KINDS, 25), Q, RNG.choice(KINDS, 6), k=3, per_query=True, ids=[f"r{i}" for i in range(25)]
)
NUMBERS = flat.value(X, RNG.normal(size=25), Q, RNG.normal(size=6), utility="regression", per_query=True)
KEY = b"pivotal.values"


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Write a file again after its columns, as lists of Python's or Arrow arrays, and its description were changed."""
    table = pq.read_table(path)
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    about = json.loads(table.schema.metadata[KEY])
    change(columns, about)
    new = pa.table(columns)
    pq.write_table(new.replace_schema_metadata({KEY: json.dumps(about).encode()}), path)


def lists(name: str, edit: Callable[[list[list[Any]]], None]) -> Callable[[Any, Any], None]:
    """Change the lists of a column, which keeps its type."""

    def change(columns: dict[str, Any], _: Any) -> None:
        content = columns[name].to_pylist()
        edit(content)
        columns[name] = pa.array(content, columns[name].type)

    return change


def first(content: list[list[Any]]) -> list[Any]:
    return next(entries for entries in content if len(entries) > 1)


def put(entry: Any) -> Callable[[list[list[Any]]], None]:
    def edit(content: list[list[Any]]) -> None:
        first(content)[0] = entry

    return edit


def cast(name: str, kind: Any) -> Callable[[Any, Any], None]:
    return lambda columns, _: columns.update({name: columns[name].cast(kind)})


def column(name: str, array: Any) -> Callable[[Any, Any], None]:
    return lambda columns, _: columns.update({name: array})


def said(*path: str, entry: Any) -> Callable[[Any, Any], None]:
    def change(_: Any, about: dict[str, Any]) -> None:
        for name in path[:-1]:
            about = about[name]
        about[path[-1]] = entry

    return change


def swap(content: list[list[Any]]) -> None:
    entries = first(content)
    entries[0], entries[1] = entries[1], entries[0]


def shorten(content: list[list[Any]]) -> None:
    first(content).pop()


DAMAGE: dict[str, Callable[[Any, Any], None]] = {
    "query beyond": lists("queries", put(6)),
    "query far beyond": lists("queries", put(400)),
    "query 1e9": lists("queries", put(10**9)),
    "query below": lists("queries", put(-1)),
    "query far below": lists("queries", put(-(2**31))),
    "queries twice": lists("queries", lambda content: first(content).__setitem__(1, first(content)[0])),
    "queries out of order": lists("queries", swap),
    "queries short": lists("queries", shorten),
    "queries of reals": cast("queries", pa.list_(pa.float64())),
    "queries of wide numbers": cast("queries", pa.list_(pa.int64())),
    "queries of text": cast("queries", pa.list_(pa.string())),
    "queries not lists": column("queries", pa.array([1] * 25)),
    "queries with gaps": lists("queries", lambda content: content.__setitem__(0, None)),
    "a gap in a list": lists("queries", put(None)),
    "queries of structs": column("queries", pa.array([{"a": 1}] * 25)),
    "ranks short": lists("query_ranks", shorten),
    "rank 0": lists("query_ranks", put(0)),
    "rank below": lists("query_ranks", put(-3)),
    "rank beyond": lists("query_ranks", put(26)),
    "ranks twice": lists(
        "query_ranks", lambda content: [entries.__setitem__(slice(None), [1] * len(entries)) for entries in content]
    ),
    "nearest gone": lists(
        "query_ranks",
        lambda content: [
            entries.__setitem__(slice(None), [r + 3 if r < 4 else r for r in entries]) for entries in content
        ],
    ),
    "values nan": lists("query_values", put(float("nan"))),
    "values infinite": lists("query_values", put(float("inf"))),
    "values of single precision": cast("query_values", pa.list_(pa.float32())),
    "values short": lists("query_values", shorten),
    "label beyond": column("label", pa.array([3] * 25, pa.int32())),
    "label below": column("label", pa.array([-1] * 25, pa.int32())),
    "label text": column("label", pa.array(["cat"] * 25)),
    "label real": column("label", pa.array([0.5] * 25)),
    "label with gaps": column("label", pa.array([None, *[0] * 24], pa.int32())),
    "value text": column("value", pa.array(["1.0"] * 25)),
    "value with gaps": column("value", pa.array([None, *[0.0] * 24])),
    "value of integers": column("value", pa.array([1] * 25)),
    "value of lists": column("value", pa.array([[1.0]] * 25)),
    "id of lists": column("id", pa.array([["a"]] * 25)),
    "id of numbers": column("id", pa.array([1] * 25)),
    "id with gaps": column("id", pa.array([None, *["a"] * 24])),
    "targets beyond": said("per_query", "targets", entry=[7] * 6),
    "targets below": said("per_query", "targets", entry=[-1] * 6),
    "targets huge": said("per_query", "targets", entry=[10**30] * 6),
    "targets real": said("per_query", "targets", entry=[0.5] * 6),
    "targets true": said("per_query", "targets", entry=[True] * 6),
    "targets few": said("per_query", "targets", entry=[0]),
    "targets none": said("per_query", "targets", entry=[]),
    "targets nested": said("per_query", "targets", entry=[[0]] * 6),
    "targets an object": said("per_query", "targets", entry={"0": 1}),
    "classes few": said("per_query", "classes", entry=["cat"]),
    "classes none": said("per_query", "classes", entry=[]),
    "classes numbers": said("per_query", "classes", entry=[1, 2, 3]),
    "classes text": said("per_query", "classes", entry="abc"),
    "k 0": said("per_query", "k", entry=0),
    "k real": said("per_query", "k", entry=1.5),
    "k true": said("per_query", "k", entry=True),
    "dropped below": said("per_query", "largest_dropped", entry=-1.0),
    "dropped text": said("per_query", "largest_dropped", entry="0"),
    "per_query a list": said("per_query", entry=[1]),
    "per_query nothing": said("per_query", entry=None),
    "settings a list": said("settings", entry=[1]),
    "settings nothing": said("settings", entry=None),
    "settings text": said("settings", entry="k"),
    "ids unknown": said("ids", entry="<q9"),
    "ids a number": said("ids", entry=5),
    "ids objects by pickle": said("ids", entry="|O"),
    "ids raw": said("ids", entry="|V8"),
    "ids with fields": said("ids", entry="f8,f8"),
    "ids of arrays": said("ids", entry="(1000000000,)f8"),
    "ids too wide": said("ids", entry="<U900000000"),
    "ids of another kind": said("ids", entry="<i8"),
    "n_queries 0": said("n_queries", entry=0),
    "n_queries text": said("n_queries", entry="6"),
    "n_queries real": said("n_queries", entry=6.0),
    "full_utility text": said("full_utility", entry="0.5"),
    "full_utility huge": said("full_utility", entry=10**400),
    "full_utility nan": said("full_utility", entry=float("nan")),
    "proved_bound below": said("proved_bound", entry=-1e-9),
    "proved_bound a list": said("proved_bound", entry=[0.1]),
    "proved_bound text": said("proved_bound", entry="0.1"),
    "rounding_allowance below": said("rounding_allowance", entry=-1e-9),
    "rounding_allowance infinite": said("rounding_allowance", entry=float("inf")),
    "neighbors_exact a list": said("neighbors_exact", entry=[]),
    "neighbors_exact text": said("neighbors_exact", entry="yes"),
    "neighbors_exact a number": said("neighbors_exact", entry=2),
    "recall beyond": said("recall", entry=1.5),
    "format text": said("format", entry="1"),
    "format true": said("format", entry=True),
    "format 0": said("format", entry=0),
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_sentence(tmp_path: Path, change: Callable[[Any, Any], None]) -> None:
    path = tmp_path / "saved.parquet"
    CLASSES.save(path)
    changed(path, change)
    with pytest.raises(ValueError, match=r"saved\.parquet is damaged \(.+\); save the values again\.$") as caught:
        Values.load(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize(
    "change",
    [
        column("label", pa.array([float("nan")] * 25)),
        column("label", pa.array([1] * 25, pa.int32())),
        said("per_query", "targets", entry=[float("inf")] * 6),
        said("per_query", "classes", entry=["cat"]),
    ],
)
def test_damage_of_responses(tmp_path: Path, change: Callable[[Any, Any], None]) -> None:
    path = tmp_path / "saved.parquet"
    NUMBERS.save(path)
    changed(path, change)
    with pytest.raises(ValueError, match=r"saved\.parquet is damaged \(.+\); save the values again\.$"):
        Values.load(path)


@pytest.mark.parametrize("depth", [900, 20_000, 200_000])
def test_descriptions_nested_deeply(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "saved.parquet"
    CLASSES.save(path)
    table = pq.read_table(path)
    for deep in (b"[" * depth, b'{"format":1,"settings":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)):
        pq.write_table(table.replace_schema_metadata({KEY: deep}), path)
        with pytest.raises(ValueError, match=r"saved\.parquet is damaged \(.+\); save the values again\.$"):
            Values.load(path)


@pytest.mark.parametrize("values", [CLASSES, NUMBERS], ids=["classes", "responses"])
def test_what_is_whole_is_read_and_explained(tmp_path: Path, values: Values) -> None:
    path = tmp_path / "saved.parquet"
    values.save(path)
    changed(path, lambda _columns, _about: None)
    again = Values.load(path)
    assert again.equals(values)
    assert [str(again.explain(query)) for query in range(6)] == [str(values.explain(query)) for query in range(6)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "saved.parquet")
    with pytest.raises(FileNotFoundError, match=r"cannot read .*saved\.parquet: there is no such file"):
        Values.load(tmp_path / "saved.parquet")


def test_a_file_is_read_in_the_thread_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Threads of Arrow's that ask a Python file for bytes may still run when the process ends, and abort it.
    CLASSES.save(tmp_path / "saved.parquet")
    readers: set[int] = set()

    class Watched(io.FileIO):
        def read(self, size: int | None = -1) -> bytes:
            readers.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr("pivotal.results.storage.open_regular", Watched)
    for _ in range(20):
        assert Values.load(tmp_path / "saved.parquet").equals(CLASSES)
    assert readers == {threading.get_ident()}
