"""Broken and hostile files, drawn by hypothesis: checkpoints, saved values, pictures. Run in a process of its own.

A crash of the interpreter would take the tests with it, so this is a program, and `test_fuzz_disk.py` looks at how it
ends: `python fuzzing.py KIND FOLDER`. The file that was tried last stays in the folder.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning

import flat
from pivotal.report.thumbnails import Images
from pivotal.results.values import Values
from pivotal.valuation.dask.blocks import Expected
from pivotal.valuation.dask.dask_tasks import add_parts, combine, mean_of, part_of

FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()
RNG = np.random.default_rng(5)
KEY = b"pivotal.values"

RUN = settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
NUMBERS = st.sampled_from([0, 1, -1, 3, 7, 30, 199, 200, 255, 2**31 - 1, -(2**31), 2**53, 2**62, -(2**63)])
REALS = st.sampled_from([0.0, -0.0, 1e-300, 0.5, -0.25, 2.0, 1e300, -1e308, float("nan"), float("inf")])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | REALS | st.sampled_from(["", "k", "<U900000000", "|O", "object", "T", "1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abk"), inner, max_size=3),
    max_leaves=6,
)
DEEP = st.sampled_from([b"[" * 50_000, b'{"a":' * 50_000, b"[" * 900 + b"]" * 900, b"\xff\xfe", b"", b"null", b"NaN"])


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes with some of them changed, omitted, put in or repeated."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at, size = draw(st.integers(0, max(0, len(data) - 1))), draw(st.sampled_from([1, 1, 2, 4, 8, 64]))
        change = draw(st.sampled_from(["set", "set", "cut", "insert", "drop", "repeat", "tail"]))
        if change == "set":
            data[at : at + size] = draw(st.sampled_from([b"\0", b"\xff", b"\x80", b"\x01"])) * size
        elif change == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=9))
        elif change == "drop":
            del data[at : at + size]
        elif change == "repeat":
            data[at:at] = data[at : at + 64]
        elif change == "cut":
            del data[at:]
        else:
            at = max(0, len(data) - 1 - draw(st.integers(0, 40)))
            data[at : at + size] = draw(st.binary(min_size=size, max_size=size))
    return bytes(data)


def names(error: Exception, *words: str) -> None:
    """Make sure that an error is the one sentence that it should be."""
    assert all(word in str(error) for word in words), error
    assert "\n" not in str(error)


def edited(draw: st.DrawFn, array: Any) -> Any:
    """An array of another type, length, shape or content."""
    with warnings.catch_warnings(action="ignore"):
        return _edited(draw, array)


def _edited(draw: st.DrawFn, array: Any) -> Any:
    change = draw(st.sampled_from(["entry", "entry", "type", "length", "shape", "all"]))
    if change == "type":
        return array.astype(draw(st.sampled_from(["i8", "i4", "f8", "f4", "u8", "?", "U9", "c16", ">f8", "M8[s]"])))
    if change == "length":
        return np.resize(array, draw(st.sampled_from([0, 1, 2, array.size + 1, 2 * array.size])))
    if change == "shape":
        shapes = [array.reshape(-1, 1), array.reshape(1, -1)]
        return draw(st.sampled_from([*shapes, array.ravel()[:1].reshape(())] if array.size else shapes))
    numbers = REALS if array.dtype.kind == "f" else NUMBERS
    new = np.atleast_1d(array.copy())
    if new.size:
        entry = draw(numbers)
        if new.dtype.kind in "iu":
            entry = max(min(entry, np.iinfo(new.dtype).max), np.iinfo(new.dtype).min)
        new.flat[slice(None) if change == "all" else draw(st.integers(0, new.size - 1))] = entry
    return new.reshape(array.shape)


# ------------------------------------------------------------------------------------------------- checkpoints


def checkpoints() -> None:
    X, y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, 200)
    Q, t = RNG.normal(size=(30, 3)), RNG.integers(0, 3, 30)
    with dask.config.set(scheduler="synchronous"):
        how: dict[str, Any] = {"block_size": 10, "checkpoint": FOLDER / "kept"}
        chunks = dask.array.from_array(X, chunks=(60, -1))
        flat.value(chunks, y, Q, t, **how).compute()
        lazy = flat.value(chunks, y, Q, t, **how)
        plan, targets = dask.get(lazy.__dask_graph__(), [lazy._graph.plan, (f"pivotal-codes-{lazy._token}", 1)])
    checkpoint = lazy._problem.checkpoint
    file, about = FOLDER / "kept/block-1.npz", FOLDER / "kept/valuation.json"
    whole, said = file.read_bytes(), about.read_bytes()
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    expected = Expected(checkpoint.identity, plan, targets, None)

    def attempt(content: bytes) -> Any:
        file.write_bytes(content)
        try:
            parts = checkpoint.load(1, expected)
        except OSError as error:
            names(error, "is damaged in ", "block-1.npz: ")
            return None
        count = combine([parts.account])
        for shard in range(len(plan.starts) - 1):  # what compiled code does with it
            assert np.isfinite(mean_of(add_parts(plan, shard, None, [part_of(parts, shard)]), count).values).all()
        return parts

    @RUN
    @given(mutated(whole))
    def broken(content: bytes) -> None:
        parts = attempt(content)
        if parts is not None:  # what nobody reads may change, and nothing else
            assert np.array_equal(parts.points, arrays["points"])
            assert np.array_equal(parts.values, arrays["values"])

    @RUN
    @given(st.data())
    def crafted(data: st.DataObject) -> None:
        changed = dict(arrays)
        for _ in range(data.draw(st.integers(1, 3))):
            name = data.draw(st.sampled_from(sorted(arrays)))
            if data.draw(st.integers(0, 9)) == 0:
                changed.pop(name, None)
            elif name in changed:
                changed[name] = edited(data.draw, changed[name])
        stream = io.BytesIO()
        data.draw(st.sampled_from([np.savez, np.savez, np.savez, np.savez_compressed]))(stream, **changed)
        attempt(stream.getvalue())

    @RUN
    @given(mutated(said) | DEEP | JSON.map(lambda content: json.dumps(content).encode()))
    def described(content: bytes) -> None:
        about.write_bytes(content)
        try:
            checkpoint.open(json.loads(said))
        except OSError as error:
            names(error, "is damaged in ", "valuation.json: ")
        except ValueError as error:
            names(error, "belongs to another valuation, with other ")

    broken()
    crafted()
    described()


# ------------------------------------------------------------------------------------------------- saved values


def values() -> None:
    X, Q = RNG.normal(size=(25, 2)), RNG.normal(size=(6, 2))
    kinds = np.array(["cat", "dog", "emu"])
    kept = flat.value(X, kinds[RNG.integers(0, 3, 25)], Q, kinds[RNG.integers(0, 3, 6)], k=3, per_query=True)
    path = FOLDER / "saved.parquet"
    kept.save(path)
    whole, table = path.read_bytes(), pq.read_table(path)
    said = json.loads(table.schema.metadata[KEY])

    def attempt() -> None:
        try:
            found = Values.load(path)
        except ValueError as error:
            names(error, "saved.parquet")
            return
        assert np.isfinite(found.values).all()
        assert repr(found)
        assert len(found.to_frame()) == len(found)
        if found.queries is not None:
            for query in range(len(found.queries.targets)):
                assert str(found.explain(query))
            assert found.per_query is not None
            assert np.isfinite(found.per_query.toarray()).all()

    @RUN
    @given(mutated(whole))
    def broken(content: bytes) -> None:
        path.write_bytes(content)
        attempt()

    @RUN
    @given(st.data())
    def crafted(data: st.DataObject) -> None:
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        about: Any = json.loads(json.dumps(said))
        for _ in range(data.draw(st.integers(1, 3))):
            where = data.draw(st.sampled_from(["lists", "lists", "numbers", "about", "per_query", "gone"]))
            if where == "lists":
                name = data.draw(st.sampled_from(["queries", "query_values", "query_ranks"]))
                columns[name] = lists_edited(data.draw, columns[name])
            elif where == "numbers":
                name = data.draw(st.sampled_from(["label", "value", "id"]))
                array = edited(data.draw, columns[name].to_numpy(zero_copy_only=False))
                if array.shape == (25,) and array.dtype.kind != "c" and array.dtype.isnative:  # what Arrow can hold
                    columns[name] = pa.array(array)
            elif where == "gone":
                columns.pop(data.draw(st.sampled_from(sorted(columns))))
                break
            else:
                part = about if where == "about" else about["per_query"]
                if isinstance(part, dict) and part:
                    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(JSON)
                if not isinstance(about.get("per_query"), dict):
                    break
        metadata = json.dumps(about).encode() if data.draw(st.integers(0, 9)) else data.draw(DEEP)
        pq.write_table(pa.table(columns).replace_schema_metadata({KEY: metadata}), path)
        attempt()

    broken()
    crafted()


def lists_edited(draw: st.DrawFn, column: Any) -> Any:
    """A column of lists with an entry, a length, or the type changed."""
    content = column.to_pylist()
    real = pa.types.is_floating(column.type.value_type)
    place = draw(st.integers(0, len(content) - 1))
    change = draw(st.sampled_from(["entry", "entry", "shorter", "longer", "gap", "type"]))
    if change == "type":
        return column.cast(pa.large_list(draw(st.sampled_from([pa.float64(), pa.int64(), pa.string()]))), safe=False)
    if change == "gap":
        content[place] = None
    elif change == "shorter":
        content[place] = (content[place] or [])[1:]
    else:
        number = draw(REALS) if real else int(np.clip(draw(NUMBERS), -(2**31), 2**31 - 1))
        entry = str(number) if pa.types.is_string(column.type.value_type) else number
        entries = list(content[place] or [])
        content[place] = [*entries[:-1], entry] if change == "entry" else [*entries, entry]
    return pa.array(content, column.type)


# ------------------------------------------------------------------------------------------------- pictures


def pictures() -> None:
    from PIL import Image

    path = FOLDER / "picture.png"
    whole = []
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"):
        for mode in ("RGB", "P" if kind in ("PNG", "GIF", "BMP", "TIFF") else "L"):
            stream = io.BytesIO()
            Image.fromarray(RNG.integers(0, 256, (24, 31, 3), dtype=np.uint8)).convert(mode).save(stream, kind)
            whole.append(stream.getvalue())
    heads = [b"%!PS-Adobe-3.0 EPSF-3.0\n", b"<svg xmlns=", b"%PDF-1.4\n", b"\0\0\1\0", b"8BPS", b"P6 9 9 255\n"]

    @RUN
    @given(
        st.sampled_from(whole).flatmap(mutated)
        | st.tuples(st.sampled_from(heads), st.binary(max_size=99)).map(b"".join)
    )
    def tried(content: bytes) -> None:
        path.write_bytes(content)
        made = Images(["picture.png"], 1, FOLDER).thumbnails([0], 10**7)
        assert len(made.uris) + sum(made.left_out.values()) == 1
        assert made.complete

    tried()


KINDS: dict[str, Callable[[], None]] = {"checkpoints": checkpoints, "values": values, "pictures": pictures}

if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("error")  # nothing odd is passed over
    warnings.simplefilter("ignore", HypothesisWarning)  # of long examples
    KINDS[sys.argv[1]]()
    print("done", flush=True)  # noqa: T201
    os._exit(0)  # how Arrow's threads end after a broken file is not what is tried here
