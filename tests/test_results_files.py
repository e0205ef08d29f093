"""Values on disk: whole or not there, the same when they come back, clear words about what cannot be read."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from pivotal.results import storage as _arrow
from pivotal.results.values import Values
from specimens import NOT_A_GAME, SETTINGS, make

# ----------------------------------------------------------------------------------------------- there and back

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = {
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=True),
    "str": TEXT,
    "bytes": st.binary(max_size=8).filter(lambda raw: not raw.endswith(b"\0")),
    "object of str": st.one_of(st.none(), TEXT),
    "object of int": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "object of datetime": st.one_of(st.none(), st.datetimes()),
    "object of date": st.dates(),
}


@st.composite
def ids_arrays(draw, size):
    kind = draw(st.sampled_from([*IDS, "numpy datetime", "numpy number"]))
    if kind == "numpy datetime":
        unit = draw(st.sampled_from(["Y", "M", "h", "D", "s", "ms", "us", "ns"]))
        kind = "M" if unit in "YM" else draw(st.sampled_from("Mm"))  # a month has no length
        counts = draw(st.lists(st.integers(-100_000, 100_000), min_size=size, max_size=size))
        return np.array(counts, dtype=np.int64).astype(f"{kind}8[{unit}]")
    if kind == "numpy number":
        dtype = draw(st.sampled_from(["i1", "u2", "i4", "u8", "f2", "f4", ">f8", ">i4"]))
        return draw(hnp.arrays(dtype, size))
    items = draw(st.lists(IDS[kind], min_size=size, max_size=size))
    return np.array(items, dtype=object if kind.startswith("object") else None)


@st.composite
def any_values(draw):
    size = draw(st.integers(1, 12))
    numbers = st.lists(FINITE, min_size=size, max_size=size)
    positive = st.floats(0, 1e300)
    return Values(
        draw(numbers),
        n_queries=draw(st.integers(1, 2**62)),
        full_utility=draw(st.none() | FINITE),
        empty_utility=draw(st.none() | FINITE),
        proved_bound=draw(st.none() | positive),
        rounding_allowance=draw(positive),
        neighbors_exact=draw(st.none() | st.booleans()),
        standard_error=draw(st.none() | st.lists(positive, min_size=size, max_size=size)),
        ids=draw(st.none() | ids_arrays(size)),
        vote_resolution=draw(positive),
        recall=draw(st.none() | st.floats(0, 1)),
        settings=draw(
            st.dictionaries(
                TEXT,
                st.recursive(
                    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
                    max_leaves=5,
                ),
                max_size=4,
            )
        ),
    )


@examples(150)
@given(values=any_values())
def test_files_give_back_what_was_saved(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("saved") / "values.parquet"
    values.save(path)
    again = Values.load(path)
    assert again.equals(values)
    assert again.values.tobytes() == values.values.tobytes()  # to the last bit, the sign of zero too
    assert again.ids.dtype == values.ids.dtype
    assert [entry.name for entry in path.parent.iterdir()] == ["values.parquet"]


@pytest.mark.parametrize(
    "ids",
    [
        pd.date_range("2020-01-01", periods=3, freq="D", tz="Europe/Paris"),
        np.array([pd.Timestamp(2020, 1, 1, nanosecond=n) for n in (1, 2, 3)], dtype=object),
        pd.date_range("2020-01-01", periods=3, freq="h"),
        pd.Index(["a", "b", "c"]),
        pd.Categorical(["a", "b", "a"]),
        np.array(["a", "", "ccc"], dtype=np.dtypes.StringDType()),
        np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="M8[D]"),
        np.array([np.int64(1), np.int64(2), None], dtype=object),
        np.array(["2020-01-01T05", "2020-01-01T06", "2020-01-01T07"], dtype="M8[h]"),
        np.array([1, -2, 3], dtype="m8[D]"),
        np.array([0.5, 1.5, np.inf], dtype=np.float16),
        np.array([b"a\0b", b"", b"c"]),
    ],
    ids=[
        "zoned",
        "nanoseconds",
        "hours",
        "index",
        "categorical",
        "StringDType",
        "NaT",
        "scalars",
        "numpy hours",
        "durations",
        "half",
        "zero byte",
    ],
)
def test_files_give_back_ids_of_pandas_and_numpy(tmp_path, ids):
    values = make(ids=ids)
    values.save(tmp_path / "values.parquet")
    again = Values.load(tmp_path / "values.parquet")
    assert again.ids.dtype == values.ids.dtype
    for got, expected in zip(again.ids, values.ids, strict=True):
        assert got == expected or (pd.isna(got) and pd.isna(expected))
        assert getattr(got, "tzinfo", None) == getattr(expected, "tzinfo", None)


def test_files_are_plain_parquet(tmp_path):
    values = make(ids=["a", "b", "c"], standard_error=[0.1, 0.2, 0.3])
    values.save(tmp_path / "values.parquet")
    frame = pd.read_parquet(tmp_path / "values.parquet")
    assert frame.columns.tolist() == ["id", "value", "standard_error"]
    assert frame["value"].tolist() == values.values.tolist()
    about = json.loads(pq.read_schema(tmp_path / "values.parquet").metadata[b"pivotal.values"])
    assert about["settings"] == SETTINGS
    assert about["format"] == 1


def test_what_is_not_a_game_survives_a_file(tmp_path):
    make(**NOT_A_GAME).save(tmp_path / "values.parquet")
    assert Values.load(tmp_path / "values.parquet").equals(make(**NOT_A_GAME))


def test_files_take_text_paths_and_follow_links(tmp_path):
    target = tmp_path / "real.parquet"
    make().save(str(target))
    link = tmp_path / "link.parquet"
    link.symlink_to(target)
    make([1.0, 2.0, 3.0]).save(link)
    assert link.is_symlink()
    assert Values.load(str(target)).values.tolist() == [1.0, 2.0, 3.0]


def test_files_can_be_read_by_others(tmp_path):
    make().save(tmp_path / "values.parquet")
    (tmp_path / "plain").touch()
    assert (tmp_path / "values.parquet").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1, 2.5, 3], dtype=object), r"ids must all be of one type to be saved; got float and int. Turn them"),
        (np.array(["a", math.nan, "c"], dtype=object), r"ids must all be of one type to be saved; got float and str"),
        (np.array([Fraction(1), Fraction(2), Fraction(3)]), r"ids of type Fraction cannot be saved; turn them"),
        (np.array([2**70, 1, 2], dtype=object), r"ids of dtype object cannot be saved \(.*\); turn them into strings"),
        (np.array(["\ud800", "b", "c"], dtype=object), r"ids of dtype object cannot be saved \(.*\); turn them"),
        (
            np.array([1, 2, 3], dtype="M8[ps]"),
            r"ids of dtype datetime64\[ps\] cannot be saved \(whole seconds do not hold",
        ),
        (np.array([1j, 2j, 3j]), r"ids of dtype complex128 cannot be saved \(.*\); turn them into strings first"),
    ],
)
def test_ids_that_parquet_cannot_hold_are_refused(tmp_path, ids, message):
    with pytest.raises(TypeError, match=message):
        make(ids=ids).save(tmp_path / "values.parquet")
    assert not any(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------- failing disks


def test_saving_to_a_directory_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"cannot write to .*: it is a directory; give a file name such as"):
        make().save(tmp_path)


def test_saving_into_no_directory_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot write .*: the directory .*nowhere does not exist; create it"):
        make().save(tmp_path / "nowhere" / "values.parquet")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=r"the directory .*file does not exist"):
        make().save(tmp_path / "file" / "values.parquet")


def test_a_failing_rename_leaves_nothing_behind(tmp_path):
    with pytest.raises(OSError, match=r"cannot write .*: File name too long; the file was left as it was"):
        make().save(tmp_path / ("x" * 250 + ".parquet"))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), OSError("disk on fire")])
def test_a_full_disk_keeps_the_older_file(tmp_path, monkeypatch, failure):
    path = tmp_path / "values.parquet"
    make().save(path)

    def fail(_table, file, **_options):
        file.write(b"PAR1 half a file")
        raise failure

    monkeypatch.setattr(_arrow.pq, "write_table", fail)
    reason = failure.strerror or str(failure)
    with pytest.raises(OSError, match=rf"cannot write .*values.parquet: {reason}; the file was left as it was"):
        make([1.0, 2.0, 3.0]).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["values.parquet"]
    assert Values.load(path).equals(make())


def test_ctrl_c_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_table, file, **_options):
        file.write(b"PAR1")
        raise KeyboardInterrupt

    monkeypatch.setattr(_arrow.pq, "write_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        make().save(tmp_path / "values.parquet")
    assert not any(tmp_path.iterdir())


def test_an_unwritable_directory_is_named(tmp_path, monkeypatch):
    def refuse(_path, _mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # modes of directories do not stop an administrator
    with pytest.raises(OSError, match=r"cannot write .*values.parquet: Permission denied; the file was left as it was"):
        make().save(tmp_path / "values.parquet")


# ----------------------------------------------------------------------------------------------- files not to be read


def test_loading_needs_a_file(tmp_path):
    for path in (tmp_path / "nothing.parquet", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"cannot read .*: there is no such file"):
            Values.load(path)


@pytest.mark.parametrize("content", [b"", b"id,value\n1,2\n", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_loading_needs_parquet(tmp_path, content):
    path = tmp_path / "values.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"values.parquet is not a Parquet file; give a file written by Values.save"):
        Values.load(path)


def test_loading_needs_a_whole_file(tmp_path):
    path = tmp_path / "values.parquet"
    make().save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"is not a Parquet file"):
        Values.load(path)


def test_loading_needs_our_own_parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"id": [1], "value": [2.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"is a Parquet file but holds no pivotal values; give a file written by"):
        Values.load(path)


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "values.parquet"
    make(np.random.default_rng(0).normal(size=1000)).save(path)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


def rewrite(path, about=None, **columns):
    """Save the file again with other metadata or columns."""
    table = pq.read_table(path)
    metadata = table.schema.metadata
    for name, column in columns.items():
        place = table.column_names.index(name)
        table = table.remove_column(place) if column is None else table.set_column(place, name, column)
    if about is not None:
        metadata = {b"pivotal.values": about if isinstance(about, bytes) else json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    "name",
    [
        "proved_bound",
        "rounding_allowance",
        "neighbors_exact",
        "n_queries",
        "full_utility",
        "empty_utility",
        "vote_resolution",
    ],
)
def test_a_lost_number_is_not_taken_for_an_unknown_one(tmp_path, name):
    path = tmp_path / "values.parquet"
    make().save(path)
    about = json.loads(pq.read_schema(path).metadata[b"pivotal.values"])
    del about[name]
    rewrite(path, about)
    with pytest.raises(ValueError, match=rf"values.parquet is damaged \(no '{name}'\); save the values again"):
        Values.load(path)


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    path = tmp_path / "values.parquet"
    make().save(path)
    about = json.loads(pq.read_schema(path).metadata[b"pivotal.values"])
    rewrite(path, {**about, "format": 2})
    with pytest.raises(ValueError, match=r"has format 2, newer than 1, which this pivotal reads; upgrade pivotal"):
        Values.load(path)


@pytest.mark.parametrize("about", [b"not json", b"[]", b"{}", {"format": "x"}, {"format": 1}])
def test_damaged_metadata_is_noticed(tmp_path, about):
    path = tmp_path / "values.parquet"
    make().save(path)
    rewrite(path, about)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


@pytest.mark.parametrize("columns", [{"value": None}, {"id": None}, {"value": pa.array([1.0, math.nan, 2.0])}])
def test_damaged_columns_are_noticed(tmp_path, columns):
    path = tmp_path / "values.parquet"
    make().save(path)
    rewrite(path, **columns)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    path = tmp_path / "values.parquet"
    make().save(path)

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_arrow, "open_regular", refuse)
    with pytest.raises(PermissionError, match=r"cannot read .*values.parquet: Permission denied"):
        Values.load(path)
