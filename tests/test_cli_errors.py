"""Bad input from the command line: one clear sentence, exit code 2, and no half-written file."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pivotal.cli import main

GOOD = "a,b,y\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(20))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "good.csv").write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sentence(capsys, *arguments):
    """Return what a command that must fail says."""
    assert main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    *notes, last = captured.err.splitlines()
    assert all(note.startswith(("  ", "good.csv:", "t.csv:")) for note in notes)
    assert last.startswith("pivotal: ")
    return last.removeprefix("pivotal: ")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("", ["--label", "y"], "t.csv is empty; give a table with a header and at least one row."),
        ("a,y\n", ["--label", "y"], "t.csv has no rows; give at least one beside the header."),
        ("a,y\n1,0\n", ["--label", "y"], r"t.csv has 1 row, and self-valuation needs at least two; add"),
        (
            "a,Species\n1,0\n2,1\n",
            ["--label", "specis"],
            r"no column 'specis', which --label names; did you mean 'Species'",
        ),
        ("a,y\n1,0\n2,1\n", [], r"say which column of t.csv holds the labels, for example --label 'y'\."),
        (
            "a,y\n1,5\n2,6\n3,7\n",
            ["--label", "y"],
            r"a different label in each of its 3 rows.*use --utility regression",
        ),
        (
            "a,y\n1,5.5\n2,6\n3,6\n",
            ["--label", "y"],
            r"must name classes, and 5.5 in row 0 .* is a number; use --utility regression",
        ),
        ("a,y\n1,0\n2,1\nthree,1\n", ["--label", "y"], r"column 'a' of t.csv must be all numbers or all text; 1 of 3"),
        ("a,y\n1,0\n2\n", ["--label", "y"], r"t.csv must have 2 cells in every row"),
        ("a,y\n1,0\n2,\n", ["--label", "y"], r"t.csv must have a label in every row; 1 of 2 have none"),
        ("a,y\n1,0\n,1\n", ["--label", "y", "--missing", "reject"], r"must have no gaps with --missing reject"),
        (GOOD, ["--label", "y", "-k", "0"], r"k must be an integer of at least 1; got k=0\."),
        (GOOD, ["--label", "y", "-k", "9" * 20], r"k must be at most 2147483647; got k=99999999999999999999\."),
        (GOOD, ["--label", "y", "--utility", "sof"], r".*sof"),
        (GOOD, ["--label", "y", "--semivalue", "shaply"], r".*shaply"),
        (GOOD, ["--label", "y", "--method", "shaply"], r".*shaply"),
        (
            GOOD,
            ["--label", "y", "--params", "C"],
            r"argument --params: expected NAME=VALUE; got 'C'; see pivotal value",
        ),
        (GOOD, ["--label", "y", "--features", ","], r"argument --features: expected column names such as age,height"),
        (GOOD, ["--label", "y", "--top", "-1"], r"--top must be an integer of at least 0; got -1\."),
        (GOOD, ["--label", "y", "--bottom", "-1"], r"--bottom must be an integer of at least 0; got -1\."),
        (GOOD, ["--label", "y", "--max-points", "0"], r"--max-points must be an integer of at least 1; got 0\."),
        (GOOD, ["--label", "y", "--method", "inf"], r"--method inf needs test rows to value by; name some with --test"),
        (GOOD, ["--label", "y", "--split", "1.5"], r"--split must be a share between 0 and 1, such as 0.2; got 1.5\."),
        (GOOD, ["--label", "y", "--split", "0.2", "--test", "good.csv"], r"argument --test: not allowed with argument"),
        (GOOD, ["--label", "y", "--test", "no.csv"], r"cannot read no.csv: there is no such file\."),
        (GOOD, ["--label", "y", "--max-rows", "5"], r"t.csv has more than 5 rows, the most that --max-rows allows"),
        (GOOD, ["--label", "y", "-o", "v.xls"], r"v.xls must end in one of"),
        (
            GOOD,
            ["--label", "y", "-o", "no/v.csv"],
            r"cannot write no/v.csv: the directory .* does not exist; create it",
        ),
        (GOOD, ["--label", "y", "-o", "."], r"cannot write to \.: it is a directory"),
        (GOOD, ["--label", "y", "-o", "t.csv"], r"t.csv is read from and must not be written over"),
        (GOOD, ["--label", "y", "--test", "good.csv", "-o", "good.csv"], r"good.csv is read from and must not be"),
        (GOOD, ["--label", "y", "-o", "v.npz"], r"results cannot be written to v.npz"),
        (GOOD, ["--label", "y", "--report", "no/r.html"], r"cannot write no/r.html"),
        (
            GOOD,
            ["--label", "y", "--report", "-"],
            r"the report is an HTML file, for example --report report.html; got -\.",
        ),
        (GOOD, ["--label", "y", "--report", "v.csv"], r"the report is an HTML file, .*; got v\.csv\."),
        (
            GOOD,
            ["--label", "y", "--seed", str(2**32)],
            r"--seed must be an integer from 0 to 4294967295; got 4294967296",
        ),
        (GOOD, ["--label", "y", "--seed", "-1"], r"--seed must be an integer from 0 to 4294967295; got -1\."),
    ],
)
def test_bad_tables_and_options(folder, capsys, content, arguments, message):
    (folder / "t.csv").write_text(content, encoding="utf-8")
    before = sorted(folder.iterdir())
    assert re.search(message, sentence(capsys, "value", "t.csv", *arguments))
    assert sorted(folder.iterdir()) == before
    assert (folder / "t.csv").read_text(encoding="utf-8") == content


def test_a_file_that_cannot_be_read(folder, capsys):
    assert sentence(capsys, "value", "no.csv", "--label", "y") == "cannot read no.csv: there is no such file."
    assert sentence(capsys, "value", "*.tsv", "--label", "y") == "cannot read *.tsv: no file matches the pattern."
    (folder / "t.parquet").write_bytes(b"PAR1 no")
    assert sentence(capsys, "value", "t.parquet", "--label", "y").startswith("t.parquet is not a parquet file")


# Random values, because it is the writing that is tested.
WRITE = ["--label", "y", "--method", "rand", "--quiet", "-o"]


def run(*arguments, limit=None, **settings):
    return subprocess.run(
        [sys.executable, "-m", "pivotal", *map(str, arguments)],
        stderr=subprocess.PIPE,
        timeout=600,
        check=False,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        **settings,
    )


@pytest.fixture
def large(tmp_path):
    """A table whose values do not fit into a few kilobytes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20_000, 2)).round(3), columns=["a", "b"]).assign(
        y=rng.integers(0, 2, size=20_000)
    )
    frame.to_csv(tmp_path / "large.csv", index=False)
    return tmp_path / "large.csv"


@pytest.mark.faults
@pytest.mark.parametrize("name", ["values.csv", "values.parquet"])
def test_a_full_disk_leaves_no_file_behind(large, name):
    out = large.with_name(name)
    done = run("value", large, *WRITE, out, limit=16_384)
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert lines[-1] == f"pivotal: cannot write {out}: File too large; the file was left as it was."
    assert list(large.parent.iterdir()) == [large]


@pytest.mark.faults
def test_a_full_device(large):
    done = run("value", large, *WRITE, "/dev/full")
    assert done.returncode == 2
    assert done.stderr == b"pivotal: cannot write /dev/full: No space left on device.\n"


@pytest.mark.faults
def test_a_full_standard_output(large):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = run("value", large, *WRITE, "-", stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"pivotal: cannot write to standard output: No space left on device.\n"


@pytest.mark.faults
def test_a_closed_pipe_is_no_error(large):
    command = [sys.executable, "-m", "pivotal", "value", str(large), *WRITE, "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=300) == 141
    assert errors == b""


@pytest.mark.faults
def test_more_rows_than_allowed_are_refused_while_they_come():
    rows = "import sys; print('a,y')\nfor i in range(10_000_000): print(f'{i},{i % 2}')"
    with subprocess.Popen([sys.executable, "-c", rows], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
        done = run("value", "-", "--label", "y", "--max-rows", "1000", stdin=source.stdout, stdout=subprocess.PIPE)
        assert source.stdout is not None
        source.stdout.close()
        assert source.wait(timeout=300) != 0  # it was cut off long before its end
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"pivotal: standard input has more than 1,000 rows, the most that --max-rows allows")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.faults
def test_ctrl_c_while_waiting_for_a_pipe():
    command = [sys.executable, "-m", "pivotal", "value", "-", "--label", "y", "--verbose"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"a,y\n1,0\n")
        process.stdin.flush()
        assert process.stderr.readline() == b"reading -\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=300) == 130
        assert process.stderr.read() == b"pivotal: interrupted\n"
