"""Files that are broken, or made to break something: one sentence each, no signal, no memory that is not there."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import json
import pickle
import subprocess
import sys
import textwrap
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from effort import examples
from pivotal.cli import main
from pivotal.tables import Roles, _limits, prepare, read, write_table

DEEP = 20_000
COLUMNS = {
    "x": [0.5, 1.5, 2.5, 4.0, 3.25, 9.0],
    "n": [1, 2, 3, 4, 5, 7],
    "word": ["a", "b", "a", "b", None, "ö"],
    "flag": [True, False, True, None, True, False],
    "list": [[1.0, 2.0]] * 6,
    "y": ["u", "v", "u", "v", "u", "v"],
}


def seeds() -> dict[str, bytes]:
    """Return a sound file of every format."""
    cells = pa.table(COLUMNS)
    rows = cells.to_pylist()
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    text = "x,n,word,y\r\n" + "".join(f'{row["x"]},{row["n"]},"{row["word"]}",{row["y"]}\r\n' for row in rows)
    parquet, plain, feather, packed, npz, npy = (io.BytesIO() for _ in range(6))
    pq.write_table(cells, parquet)
    pq.write_table(cells, plain, use_dictionary=False, compression="none")
    pyarrow.feather.write_feather(cells, feather, compression="uncompressed")
    pyarrow.feather.write_feather(cells, packed, compression="lz4")
    np.savez(npz, X=np.eye(6), y=np.array(COLUMNS["y"]))
    np.save(npy, np.eye(4))
    return {
        "t.csv": text.encode(),
        "wide.csv": (",".join(f"c{place}" for place in range(600)) + ",y\n" + ("1," * 600 + "a\n") * 4).encode(),
        "t.csv.gz": gzip.compress(text.encode()),
        "t.tsv": text.replace(",", "\t").encode("utf-16"),
        "t.jsonl": lines.encode(),
        "t.json": ("[" + ",\n".join(lines.splitlines()) + "]").encode(),
        "t.json.gz": gzip.compress(json.dumps(rows).encode()),
        "t.parquet": parquet.getvalue(),
        "plain.parquet": plain.getvalue(),
        "t.feather": feather.getvalue(),
        "packed.feather": packed.getvalue(),
        "t.npz": npz.getvalue(),
        "t.npy": npy.getvalue(),
    }


SEEDS = seeds()
PIECES = [
    b"\0",
    b'"',
    b"\n",
    b"\r",
    b",",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\xff",
    b"\xfe",
    b"1e999",
    b"null",
    b"\\u",
    b"\xef\xbb\xbf",
]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a file: a sound one with bytes changed, cut out, put in, repeated, or cut off, or renamed."""
    name = draw(st.sampled_from(sorted(SEEDS)))
    content = SEEDS[name]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 40)))
        piece = draw(st.sampled_from(PIECES) | st.binary(max_size=8))
        how = draw(st.sampled_from(["change", "cut", "repeat", "end"]))
        if how == "change":
            content = content[:start] + piece + content[start + len(piece) :]
        elif how == "cut":
            content = content[:start] + piece + content[end:]
        elif how == "repeat":
            content = content[:end] + content[start:end] * draw(st.integers(1, 50)) + content[end:]
        else:
            content = content[:start]
    other = draw(st.sampled_from(sorted(SEEDS))) if draw(st.integers(0, 9)) == 0 else name
    return other, content


def try_to_use(path: str) -> None:
    """Read, prepare and write a table; only errors that are one sentence may come out."""
    try:
        table = read(path, max_rows=10_000)
        write_table(table.take(range(len(table))), path + ".out.jsonl")
        write_table(table, path + ".out.csv")
        for label in table.columns[-2:]:
            try:
                prepare(table, None, Roles(label))
            except ValueError as error:
                check(error)
    except (ValueError, OSError, MemoryError) as error:
        check(error)


def check(error: Exception) -> None:
    message = str(error)
    assert type(error) in (ValueError, FileNotFoundError, OSError, MemoryError), repr(error)
    assert isinstance(error, MemoryError) or message.endswith((".", "?")), message


@examples(120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damaged())
def test_damaged_files_are_refused_in_one_sentence(tmp_path, file):
    name, content = file
    (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try_to_use(str(tmp_path / name))


@pytest.mark.faults
def test_no_damaged_file_kills_the_interpreter(tmp_path):
    """Thousands of them, in a process of its own: a signal would end that one."""
    rng = np.random.default_rng(0)
    for name, content in SEEDS.items():
        for number in range(25):
            signs = np.frombuffer(content, dtype=np.uint8).copy()
            places = rng.integers(0, len(signs), rng.integers(1, 6))
            signs[places] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)], len(places))
            (tmp_path / f"{number}-{name}").write_bytes(signs.tobytes())
    script = f"""
        import sys, warnings, pathlib
        sys.path.insert(0, {str(__file__).rsplit("/", 1)[0]!r})
        warnings.simplefilter("ignore")
        from test_tables_hostile import try_to_use
        for path in sorted(pathlib.Path({str(tmp_path)!r}).iterdir()):
            try_to_use(str(path))
        print("alive")
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.strip()) == (0, "alive"), ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("objects.jsonl", b'{"a":' * DEEP + b"1" + b"}" * DEEP),
        ("lists.jsonl", b'{"y": 1, "a":' + b"[" * DEEP + b"]" * DEEP + b"}"),
        ("late.jsonl", b'{"a": 1}\n' * 1000 + b'{"a":' * 100 + b"1" + b"}" * 100),
        ("objects.json", b"[" + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"]"),
        ("shallow.json", b"[" + b'{"a":' * 100 + b"1" + b"}" * 100 + b"]"),
        ("objects.jsonl.gz", gzip.compress(b'{"a":' * DEEP + b"1" + b"}" * DEEP)),
        ("open.jsonl", b'{"a":' * DEEP),
        ("split.json", b"[" + b" " * (1 << 22) + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"]"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",  # contents are long, and a gzip file holds the time
)
def test_nesting_has_a_limit(tmp_path, name, content, capsys):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"must not nest lists and objects more than 64 deep; row \d+ \(0-based, line"):
        read(str(tmp_path / name))
    assert main(["value", str(tmp_path / name), "--label", "a"]) == 2
    assert "more than 64 deep" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"[" * 200_000, b"[" * 200_000 + b"]" * 200_000, b"{" * 200_000])
def test_brackets_alone(tmp_path, content):
    for name in ("t.json", "t.jsonl"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"is not a JSON object|is not JSON|more than 64 deep"):
            read(str(tmp_path / name))


@pytest.mark.parametrize("form", ["{}", "[{}]"])
def test_integers_of_very_many_digits(tmp_path, form, capsys):
    rows = [f'{{"y": {place % 2}, "a": {place}{"0" * 5000 * (place == 7)}}}' for place in range(30)]
    file = tmp_path / ("t.jsonl" if form == "{}" else "t.json")
    file.write_text(form.format(("\n" if form == "{}" else ",\n").join(rows)))
    assert main(["value", str(file), "--label", "y", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "bug" not in said


def test_brackets_in_text_are_text(tmp_path):
    rows = [{"t": '"[{' * 500, "y": number} for number in range(3)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "t.json").write_text(json.dumps(rows, indent=2), encoding="utf-8")
    assert read(str(tmp_path / "t.jsonl")).cells.equals(read(str(tmp_path / "t.json")).cells)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.json.gz"])
def test_half_a_download(tmp_path, name):
    rows = "".join(f'{{"x": {place}, "y": 1}},\n' for place in range(5000))
    text = "x,y\n" + "1,2\n" * 50_000 if "csv" in name else f'[{rows}{{"x": 1, "y": 1}}]'
    whole = gzip.compress(text.encode())
    for end in (len(whole) // 2, len(whole) - 5, 15):
        (tmp_path / name).write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"is cut short or damaged \(.*\); copy or download it again\."):
            read(str(tmp_path / name))
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 0xFF
    (tmp_path / name).write_bytes(broken)
    with pytest.raises(ValueError, match=r"is cut short or damaged|is not|must"):
        read(str(tmp_path / name))
    assert main(["clean", str(tmp_path / name), "--label", "y", "--check"]) == 2


def test_a_limit_on_rows_is_looked_at_before_arrays_are_unpacked(tmp_path):
    """The content is damaged at its end: whoever unpacks it says so."""
    np.savez(tmp_path / "t.npz", X=np.zeros((5000, 40)), y=np.zeros(5000))
    content = bytearray((tmp_path / "t.npz").read_bytes())
    content[5000 * 40 * 8] ^= 1
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a file of plain NumPy arrays \(Bad CRC"):
        read(str(tmp_path / "t.npz"))
    with pytest.raises(ValueError, match="has more than 1,000 rows, the most that --max-rows allows"):
        read(str(tmp_path / "t.npz"), max_rows=1000)


def test_arrays_have_the_size_that_they_announce(tmp_path):
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (1_000_000, 1200)}
    np.lib.format.write_array_header_1_0(header, about)  # type: ignore[arg-type]
    (tmp_path / "t.npy").write_bytes(header.getvalue())
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    for name in ("t.npy", "t.npz"):
        with pytest.raises(ValueError, match="9,600,000,000 bytes of content announced, 0 there"):
            read(str(tmp_path / name))


def test_arrays_must_fit_into_memory(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 1000)), y=np.zeros(1000))
    monkeypatch.setattr(_limits, "_free_memory", lambda: 7_000_000)
    with pytest.raises(ValueError, match=r"t\.npz unpacks to 0\.0 GB, and 0\.0 GB of memory are free; pass fewer"):
        read(str(tmp_path / "t.npz"))
    text = pa.table({"t": ["x" * 100_000] * 1000, "y": ["a", "b"] * 500})
    pq.write_table(text, tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 50_000
    with pytest.raises(ValueError, match=r"t\.parquet unpacks to 0\.1 GB"):
        read(str(tmp_path / "t.parquet"))


def test_repeated_text_keeps_its_type(tmp_path):
    cells = pa.table({"t": ["some words"] * 9, "c": pa.array(list("abc") * 3).dictionary_encode(), "y": list(range(9))})
    pq.write_table(cells, tmp_path / "t.parquet")
    assert read(str(tmp_path / "t.parquet")).cells.schema.equals(cells.schema)


@pytest.mark.parametrize("shape", [(-1, 2), (2**62, 2**62), (0, 5), ()])
def test_arrays_of_impossible_shapes(tmp_path, shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})  # type: ignore[arg-type]
    (tmp_path / "t.npy").write_bytes(header.getvalue() + bytes(8))
    with pytest.raises(ValueError, match=r"t\.npy (is not a file|has|holds)"):
        read(str(tmp_path / "t.npy"))


class Evil:
    def __reduce__(self):
        return (print, ("run",))


def test_pickles_are_never_run(tmp_path, capsys):
    np.save(tmp_path / "t.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=np.array([Evil()], dtype=object))
    for name in ("p.npy", "p.npz", "p.parquet", "p.feather"):
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match="is not a"):
            read(str(path))
    assert "run" not in capsys.readouterr().out


def test_one_endless_row_of_json(tmp_path, monkeypatch):
    from pivotal.tables import _json_lines

    monkeypatch.setattr(_json_lines, "LONGEST_ROW", 1000)
    for name, content in (("t.jsonl", b'{"a": "%s"}'), ("t.json", b'[{"a": "%s"}]'), ("u.json", b'[{"a": "%s')):
        (tmp_path / name).write_bytes(content % (b"x" * 2000))
        with pytest.raises(ValueError, match=r"has a row of more than 1,000 bytes|is not JSON"):
            read(str(tmp_path / name))


DAY = dt.datetime(2024, 1, 5, 12, 30)
TYPES = {
    "string view": pa.array(["a", "b"] * 3, pa.string_view()),
    "large string": pa.array(["a", "b"] * 3, pa.large_string()),
    "decimal": pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.25")] * 3),
    "wide decimal": pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.25")] * 3, pa.decimal256(50, 2)),
    "struct": pa.array([{"a": 1}, {"a": 2}] * 3),
    "map": pa.array([[("a", 1)], [("b", 2)]] * 3, pa.map_(pa.string(), pa.int64())),
    "list": pa.array([["a"], []] * 3),
    "list of views": pa.array([["a"], []] * 3, pa.list_(pa.string_view())),
    "vectors": pa.array([[1, 2], [3, 4]] * 3),
    "vectors with gaps": pa.array([[1, None], [3, 4]] * 3),
    "fixed vectors": pa.array([[1, 2], [3, 4]] * 3, pa.list_(pa.float16(), 2)),
    "dictionary": pa.array(["a", "b"] * 3).dictionary_encode(),
    "dictionary of numbers": pa.array([5, 7] * 3).dictionary_encode(),
    "half": pa.array(np.array([1, 2] * 3, dtype=np.float16)),
    "binary": pa.array([b"a", b"\xff"] * 3),
    "binary view": pa.array([b"a", b"\xff"] * 3, pa.binary_view()),
    "date": pa.array([DAY.date()] * 6),
    "timestamp": pa.array([DAY] * 6, pa.timestamp("ns", "UTC")),
    "time": pa.array([DAY.time()] * 6),
    "duration": pa.array([dt.timedelta(1)] * 6),
    "null": pa.nulls(6),
    "bool": pa.array([True, False] * 3),
    "uint64": pa.array([2**64 - 1, 1] * 3, pa.uint64()),
    "interval": pa.array([(1, 2, 3)] * 6, pa.month_day_nano_interval()),
    "run ends": pa.RunEndEncodedArray.from_arrays(pa.array([3, 6], pa.int32()), pa.array([1.0, 2.0])),
}


@pytest.mark.parametrize("role", ["feature", "label", "id", "owner", "select"])
@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_every_type_in_every_part(tmp_path, kind, role, capsys):
    cells = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "c": TYPES[kind], "y": ["a", "b"] * 3})
    path = str(tmp_path / "t.feather")
    pyarrow.feather.write_feather(cells, path)
    label = ["--label", "c" if role == "label" else "y"]
    named = ["--" + role, "c"] if role in ("id", "owner") else []
    command = ["select", path, "-n", "3", "--method", "random"] if role == "select" else ["value", path]
    code = main([*command, *label, *named, "-o", str(tmp_path / "out.parquet"), "--quiet"])
    told = capsys.readouterr().err
    assert code in (0, 2)
    assert (code == 0) == (told == ""), told
    if role == "id" and kind in ("decimal", "string view", "dictionary", "uint64"):
        assert code == 0
    if role == "select" and kind in ("string view", "decimal", "dictionary", "struct", "binary view"):
        assert code == 0
