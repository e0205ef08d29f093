"""Tables that are elsewhere: every format through fsspec, patterns, and what is wrong in one sentence."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pivotal.cli import main
from pivotal.core.urls import is_url, link_of
from pivotal.tables import read, read_many
from pivotal.tables._remote import is_pattern
from pivotal.tables.read import format_of

fsspec = pytest.importorskip("fsspec")
MemoryFileSystem = pytest.importorskip("fsspec.implementations.memory").MemoryFileSystem

FRAME = pd.DataFrame({"age": [31.5, 7.0, 22.25], "colour": ["red", "blue", "red"], "y": [1, 0, 1]})
RECORDS = [dict(zip(FRAME.columns, row, strict=True)) for row in FRAME.itertuples(index=False, name=None)]


@pytest.fixture
def memory():
    """A file system that is empty before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def content(kind):
    stream = io.BytesIO()
    if kind in ("csv", "csv.gz"):
        text = FRAME.to_csv(index=False).encode()
        return gzip.compress(text) if kind == "csv.gz" else text
    if kind == "tsv":
        return FRAME.to_csv(index=False, sep="\t").encode()
    if kind == "json":
        return json.dumps(RECORDS).encode()
    if kind == "jsonl":
        return "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
    if kind == "parquet":
        FRAME.to_parquet(stream)
    elif kind == "feather":
        FRAME.to_feather(stream)
    else:
        np.savez(stream, **{name: np.array(FRAME[name].tolist()) for name in FRAME})
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "json", "jsonl", "parquet", "feather", "npz"])
def test_every_format(memory, kind):
    memory.pipe(f"/data/table.{kind}", content(kind))
    table = read(f"memory://data/table.{kind}")
    assert (table.name, table.folder, len(table)) == (f"memory://data/table.{kind}", None, 3)
    assert table.column("colour").to_pylist() == ["red", "blue", "red"]
    assert [float(cell) for cell in table.column("age").to_pylist()] == [31.5, 7.0, 22.25]


def test_pairs_of_arrays(memory):
    for name, array in (("X", np.arange(6.0).reshape(3, 2)), ("y", np.array([0, 1, 0]))):
        stream = io.BytesIO()
        np.save(stream, array)
        memory.pipe(f"/{name}.npy", stream.getvalue())
    table, files = read_many(["memory://X.npy,memory://y.npy"])
    assert table.column("X").to_pylist() == [[0, 1], [2, 3], [4, 5]]
    assert table.column("y").to_pylist() == [0, 1, 0]
    assert files == ["memory://X.npy,memory://y.npy"]
    with pytest.raises(FileNotFoundError, match=re.escape("cannot read memory://z.npy: there is no such file.")):
        read("memory://X.npy,memory://z.npy")


def test_patterns_are_read_in_the_order_of_names(memory):
    for number in (2, 10, 1):
        memory.pipe(f"/parts/{number}.csv", f"a,y\n{number},0\n".encode())
    memory.pipe("/parts/notes.txt", b"nothing")
    table, files = read_many(["memory://parts/*.csv"])
    assert table.column("a").to_pylist() == ["1", "10", "2"]
    assert files == ["memory:///parts/1.csv", "memory:///parts/10.csv", "memory:///parts/2.csv"]
    assert table.name == "memory://parts/*.csv"
    with pytest.raises(FileNotFoundError, match=r"cannot read memory://parts/\*\.tsv: no file matches the pattern\."):
        read_many(["memory://parts/*.tsv"])
    memory.pipe("/parts/[a].csv", b"a,y\n5,0\n")  # a name that looks like a pattern
    assert read_many(["memory://parts/[a].csv"])[0].column("a").to_pylist() == ["5"]


def test_files_here_by_url_are_files_here(tmp_path):
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text(f"a,y\n{number},0\n", encoding="utf-8")
    table, files = read_many([f"file://{tmp_path}/*.csv"])
    assert files == [str(tmp_path / "0.csv"), str(tmp_path / "1.csv")]
    assert table.folder == tmp_path
    with pytest.raises(FileNotFoundError, match=r"no\.csv: there is no such file"):
        read_many([f"file://{tmp_path}/no.csv"])


def test_rows_are_limited(memory):
    memory.pipe("/t.csv", b"a\n1\n2\n3\n")
    memory.pipe("/t.parquet", content("parquet"))
    for kind in ("csv", "parquet"):
        with pytest.raises(ValueError, match=rf"memory://t\.{kind} has more than 2 rows, the most that --max-rows"):
            read_many([f"memory://t.{kind}"], max_rows=2)


def test_what_is_not_there_and_what_is_damaged(memory):
    memory.pipe("/folder.csv/t.csv", b"a\n1\n")
    memory.pipe("/t.parquet", b"PAR1 no")
    memory.pipe("/t.csv", b"")
    for path, message in (
        ("memory://no.csv", "cannot read memory://no.csv: there is no such file."),
        ("memory://folder.csv", "cannot read memory://folder.csv: it is a directory; name the files in it, for"),
        ("memory://t.parquet", "memory://t.parquet is not a parquet file, or damaged ("),
        ("memory://t.csv", "memory://t.csv is empty; give a table with a header and at least one row."),
        ("memory://t.xls", "memory://t.xls must end in one of .csv,"),
        ("nowhere://t.csv", "cannot read nowhere://t.csv: no file system is known by the name 'nowhere'"),
        ("zip://t.csv::memory://no.zip", "cannot read zip://t.csv::memory://no.zip: there is no such file."),
    ):
        with pytest.raises((OSError, ValueError), match=re.escape(message)):
            read_many([path])


def test_files_within_files(memory):
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.csv", "a\n1\n")
    memory.pipe("/t.zip", packed.getvalue())
    assert read_many(["zip://t.csv::memory://t.zip"])[0].column("a").to_pylist() == ["1"]


class Locked(MemoryFileSystem):
    """A file system that has errors of its own."""

    protocol = "locked"
    cachable = False

    def _open(self, path, *_, **__):
        if path.endswith("secret.csv"):
            raise PermissionError("403")
        raise RuntimeError("the token has expired.\nsee the manual")


def test_errors_of_file_systems_are_sentences():
    fsspec.register_implementation("locked", Locked, clobber=True)
    with pytest.raises(PermissionError, match=r"^cannot read locked://secret\.csv: access is denied; are the cred"):
        read("locked://secret.csv")
    with pytest.raises(OSError, match=r"^cannot read locked://t\.csv: the token has expired\.$"):
        read("locked://t.csv")


def test_packages_that_are_missing_are_named():
    program = """
import sys
for name in ("s3fs", "gcsfs", "aiohttp"):
    sys.modules[name] = None
from pivotal.tables import read_many
for url in sys.argv[1:]:
    try:
        read_many([url])
    except ImportError as error:
        print(error)
"""
    urls = ["s3://b/*.csv", "gs://b/t.csv", "https://h/t.csv"]
    answer = subprocess.run([sys.executable, "-c", program, *urls], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == [
        "cannot read s3://b/*.csv: that needs s3fs; install it with: pip install 'pivotal[s3]'",
        "cannot read gs://b/t.csv: that needs gcsfs; install it with: pip install gcsfs",
        "cannot read https://h/t.csv: that needs aiohttp and requests; install it with: pip install aiohttp requests",
    ]


def test_without_fsspec(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        ImportError, match=r"^cannot read memory://t\.csv: that needs fsspec; install it with: pip install fsspec"
    ):
        read_many(["memory://t.csv"])
    with pytest.raises(ImportError, match=r"install it with: pip install fsspec 'pivotal\[s3\]'$"):
        read_many(["s3://bucket/t.csv"])
    (tmp_path / "t.csv").write_text("a\n1\n", encoding="utf-8")
    assert len(read_many([str(tmp_path / "t.csv")])[0]) == 1


def test_what_is_a_url():
    assert is_url("s3://bucket/t.csv")
    assert is_url("simplecache::s3://bucket/t.csv")
    assert not is_url("C:/data/t.csv")
    assert not is_url("data/a:b.csv")
    assert link_of("https://host/t.csv?token=a.b") == "https://host/t.csv"
    assert link_of("simplecache::s3://bucket/t.csv") == "s3://bucket/t.csv"
    assert format_of("https://host/t.csv?token=a.parquet") == "csv"
    assert is_pattern("s3://bucket/?.csv")
    assert not is_pattern("https://host/t.csv?token=1")


def test_the_command_line_reads_urls_and_writes_files(memory, tmp_path, capsys):
    rng = np.random.default_rng(0)
    text = pd.DataFrame({"a": rng.normal(size=20), "y": [0, 1] * 10}).to_csv(index=False)
    memory.pipe("/parts/t.csv", text.encode())
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    for table, out in (("memory://parts/*.csv", "far.csv"), (str(tmp_path / "t.csv"), "near.csv")):
        assert main(["value", table, "--label", "y", "-k", "3", "-o", str(tmp_path / out)]) == 0
    assert (tmp_path / "far.csv").read_bytes() == (tmp_path / "near.csv").read_bytes()
    assert capsys.readouterr().err.startswith("memory:///parts/t.csv: 20 rows\n")
    assert main(["value", "memory://no.csv", "--label", "y"]) == 2
    assert capsys.readouterr().err == "pivotal: cannot read memory://no.csv: there is no such file.\n"
    assert main(["value", "memory://parts/t.csv", "--label", "y", "-k", "3", "-o", "memory://out/v.csv"]) == 0
    assert memory.cat("/out/v.csv") == (tmp_path / "near.csv").read_bytes()
    capsys.readouterr()


def test_outputs_elsewhere(memory, tmp_path, capsys):
    memory.pipe("/parts/t.csv", b"a,y\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(20)))
    memory.pipe("/d.html/t.csv", b"a\n")
    command = ["value", "memory://parts/t.csv", "--label", "y", "--quiet"]
    assert main([*command, "-o", "memory://out/v.csv.gz", "--report", f"file://{tmp_path}/r.html"]) == 0
    assert gzip.decompress(memory.cat("/out/v.csv.gz")).startswith(b"id,value,rank,error_bound,query_standard_error\n")
    assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    for arguments, message in (
        (["-o", "memory://parts/t.csv"], "memory://parts/t.csv is read from and must not be written over"),
        (["-o", "memory:///parts/t.csv"], "memory:///parts/t.csv is read from and must not be written over"),
        (["-o", "memory://parts/v.txt"], "memory://parts/v.txt must end in one of .csv"),
        (["-o", "memory://parts/"], "cannot write to memory://parts/: it is a directory; give a file name"),
        (["--report", "memory://d.html"], "cannot write to memory://d.html: it is a directory; give a file name"),
        (["-o", "https://host/v.csv"], "cannot write https://host/v.csv: nothing can be written there; use a store"),
        (["-o", "simplecache::memory://v.csv"], "cannot write simplecache::memory://v.csv: nothing can be written"),
        (["-o", "nowhere://v.csv"], "cannot write nowhere://v.csv: no file system is known by the name 'nowhere'"),
    ):
        assert main([*command, *arguments]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"pivotal: {message}")
        assert said.count("\n") == 1
