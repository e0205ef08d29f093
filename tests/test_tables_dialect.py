"""CSV to CSV: what is not changed is written as it was read, byte for byte."""

from __future__ import annotations

import codecs
import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotal.cli import main
from pivotal.tables import read, write_table
from pivotal.tables._dialect import with_cell

MARKS = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


def bytes_of(tmp_path, table, name="out.csv"):
    write_table(table, str(tmp_path / name))
    return (tmp_path / name).read_bytes()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("latin-1", b""), *MARKS.items()],
)
def test_rows_are_written_as_they_were_read(tmp_path, newline, delimiter, encoding, mark):
    rows = ['"name"|size|"y"', '"Jürgen"|007|a', "Zoë|1.50|b", '"two|in ""one"""|NA|a', f'"line{newline}break"||"b"']
    lines = [row.replace("|", delimiter) + newline for row in rows]
    content = mark + "".join(lines).encode(encoding)
    (tmp_path / "t.csv").write_bytes(content)
    named = "latin-1" if encoding == "latin-1" else "utf-8"
    table = read(str(tmp_path / "t.csv"), encoding=named, delimiter=delimiter)
    assert bytes_of(tmp_path, table) == content
    some = mark + "".join([lines[0], lines[2], lines[4]]).encode(encoding)
    assert bytes_of(tmp_path, table.take([1, 3])) == some
    changed = table.replaced("y", np.array([1]), ["a"])
    assert bytes_of(tmp_path, changed) == content.replace(
        lines[2].encode(encoding), lines[2].replace("b", "a").encode(encoding)
    )


def test_a_last_line_without_an_end_has_none_where_it_stays_the_last(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,y\r\n1,x\r\n2,z")
    table = read(str(tmp_path / "t.csv"))
    assert bytes_of(tmp_path, table) == b"a,y\r\n1,x\r\n2,z"
    assert bytes_of(tmp_path, table.take([1, 0])) == b"a,y\r\n2,z\r\n1,x\r\n"
    assert bytes_of(tmp_path, table.take([0])) == b"a,y\r\n1,x\r\n"


def test_rows_that_must_change_keep_encoding_mark_and_line_ends(tmp_path):
    (tmp_path / "t.csv").write_bytes(codecs.BOM_UTF8 + 'a,"y"\r\n=1+1,ü\r\n'.encode())
    write_table(read(str(tmp_path / "t.csv")), str(tmp_path / "safe.csv"), safe=True)
    assert (tmp_path / "safe.csv").read_bytes() == codecs.BOM_UTF8 + "a,y\r\n'=1+1,ü\r\n".encode()
    assert (
        bytes_of(tmp_path, read(str(tmp_path / "t.csv")), "t.tsv") == codecs.BOM_UTF8 + "a\ty\r\n=1+1\tü\r\n".encode()
    )
    (tmp_path / "old.csv").write_bytes(b"a,y\r1,2\r")
    assert bytes_of(tmp_path, read(str(tmp_path / "old.csv"))) == b"a,y\r1,2\r"


def test_stray_quotes_and_blank_lines_do_not_mix_rows_up(tmp_path):
    content = b'a,y\n\n5" disk,x\n\n"q",z\n3,"w"\n'
    (tmp_path / "t.csv").write_bytes(content)
    table = read(str(tmp_path / "t.csv"))
    assert table.column("a").to_pylist() == ['5" disk', "q", "3"]
    out = bytes_of(tmp_path, table.take([0, 2]))
    assert list(csv.reader(io.StringIO(out.decode()))) == [["a", "y"], ['5" disk', "x"], ["3", "w"]]


CELL = st.text(st.sampled_from('ab",;\n\r ö'), max_size=6)


@given(
    st.lists(CELL, min_size=1, max_size=4), st.integers(0, 3), CELL, st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
)
def test_one_cell_is_changed_and_no_other(cells, place, content, quoting):
    place = min(place, len(cells) - 1)
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n", quoting=quoting).writerow(cells)
    changed = with_cell(out.getvalue(), place, content, ",")
    (row,) = csv.reader(io.StringIO(changed, newline="")) if changed.strip("\r\n") else [[""]]
    assert row == [*cells[:place], content, *cells[place + 1 :]]


def test_fix_changes_the_labels_that_were_wrong_and_nothing_else(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40) + np.repeat([0, 9], 20)
    labels = np.repeat(["Größe", "Maß"], 20)
    labels[3] = "Maß"
    lines = [
        '"x";"note";y',
        *(f'{cell:.3f};"n {row}";{label}' for row, (cell, label) in enumerate(zip(x, labels, strict=True))),
    ]
    content = "".join(line + "\r\n" for line in lines).encode("cp1252")
    (tmp_path / "t.csv").write_bytes(content)
    arguments = ["--label", "y", "--encoding", "cp1252", "--trees", "0", "-k", "5", "--quiet"]
    assert main(["clean", str(tmp_path / "t.csv"), *arguments, "--fix", str(tmp_path / "f.csv")]) == 0
    before, after = content.split(b"\r\n"), (tmp_path / "f.csv").read_bytes().split(b"\r\n")
    assert [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other] == [4]
    assert after[4] == lines[4].replace("Maß", "Größe").encode("cp1252")
