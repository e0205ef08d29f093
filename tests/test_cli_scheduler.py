"""`pivotal value --scheduler`: the same values from a cluster, and one sentence when it cannot be."""

from __future__ import annotations

import argparse
import logging
import os
import re
import socket
import sys

import numpy as np
import pandas as pd
import pytest

from pivotal.cli import _cluster, main
from pivotal.cli._screen import Screen
from pivotal.results.values import Values

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) * [1, 100, 0.01] + [0, 5, -3] + y[:, np.newaxis] * [1, 50, 0.02]
    return pd.DataFrame(X, columns=list("abc")).assign(
        key=[f"r{i}" for i in range(60)], species=np.array(["cat", "dog", "emu"])[y]
    )


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, frame):
    """Two tables in Parquet files: of all rows, and of some to be predicted."""
    shuffled = frame.sample(frac=1.0, random_state=0)
    (tmp_path / "train").mkdir()
    for number, (first, last) in enumerate([(0, 21), (21, 40), (40, 50)]):
        shuffled.iloc[first:last].to_parquet(tmp_path / f"train/part{number}.parquet", index=False)
    shuffled.iloc[50:].to_parquet(tmp_path / "test.parquet", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def no_client():
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
    return True


def sentence(capsys, *arguments):
    """Return what a command that must fail says."""
    assert main(["value", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pivotal: ")
    assert captured.err.count("\n") == 1
    assert no_client()
    return captured.err.removeprefix("pivotal: ").strip()


def both(folder, address, *options):
    """Value the same rows here and there."""
    there = ["value", f"file://{folder}/train/*.parquet", "--scheduler", address, "-o", "there.parquet"]
    here = ["value", "train/*.parquet", "-o", "here.parquet"]
    for command in (there, here):
        assert main([*command, "--label", "species", "--quiet", *options]) == 0
    return Values.load("there.parquet"), Values.load("here.parquet")


@pytest.mark.parametrize(
    "options",
    [
        ["--id", "key", "--test", "test.parquet"],
        ["--ignore", "key", "--semivalue", "shapley", "--utility", "soft", "-k", "3", "--weights", "distance"],
    ],
    ids=["test rows", "each other"],
)
def test_values_are_those_of_one_machine(folder, address, capsys, options):
    there, here = both(folder, address, *options)
    np.testing.assert_allclose(there.values, here.values, rtol=0, atol=1e-12)
    assert there.ids.tolist() == here.ids.tolist()
    assert there.n_queries == here.n_queries
    assert capsys.readouterr() == ("", "")
    assert no_client()


def test_what_is_said(address, capsys):
    options = ["--label", "species", "--id", "key", "--test", "test.parquet", "--scheduler", address]
    assert main(["value", "train/*.parquet", *options, "--top", "2", "--verbose"]) == 0
    captured = capsys.readouterr()
    notes = captured.err.splitlines()
    assert re.fullmatch(rf"{address}: 2 workers; http://127\.0\.0\.1:\d+/status", notes[0])
    assert notes[1:9] == [
        "reading train/*.parquet",
        "train/*.parquet: 50 rows; 10 test rows in test.parquet",
        "  a        number    standardised",
        "  b        number    standardised",
        "  c        number    standardised",
        "  key      name      names the rows",
        "  species  label     predicted, 3 classes",
        notes[8],
    ]
    assert re.fullmatch(r"looked at in [\d.]+ s; 3 features in 3 pieces", notes[8])
    first, signs, title, header, *rows = captured.out.splitlines()
    assert first.startswith("50 rows valued by 10 test rows (method = exact,")
    assert signs.startswith("0 points harm beyond doubt and 0 help")
    assert (title, header.split()) == ("Most valuable", ["id", "value", "rank", "label"])
    kinds = dict(zip(*pd.read_parquet("train")[["key", "species"]].to_numpy().T, strict=True))
    assert [(row.split()[0], row.split()[3]) for row in rows] == [
        (row.split()[0], kinds[row.split()[0]]) for row in rows
    ]
    assert len(rows) == 2


def test_what_is_finished_is_kept(folder, address):
    command = ["value", "train", "--label", "species", "--ignore", "key", "--checkpoint", "kept", "--quiet", "-o"]
    assert main([*command, "first.parquet", "--scheduler", address]) == 0
    blocks = sorted(folder.glob("kept/block-*"))
    assert blocks
    written = [block.stat().st_mtime_ns for block in blocks]
    assert main([*command, "second.parquet", "--scheduler", address]) == 0
    assert [block.stat().st_mtime_ns for block in blocks] == written
    assert Values.load("first.parquet").equals(Values.load("second.parquet"))


def test_what_is_finished_is_kept_without_a_cluster(folder):
    command = ["value", "train/part0.parquet", "--label", "species", "--quiet", "-o"]
    assert main([*command, "plain.parquet"]) == 0
    for name in ("first", "second"):
        assert main([*command, f"{name}.parquet", "--checkpoint", "kept"]) == 0
    assert list(folder.glob("kept/block-*"))
    first, second, plain = (Values.load(f"{name}.parquet") for name in ("first", "second", "plain"))
    assert first.equals(second)
    assert np.array_equal(first.values, plain.values)


def test_a_cluster_of_this_machine(capsys):
    options = ["--label", "species", "--ignore", "key", "--scheduler", "local:1"]
    assert main(["value", "train", *options, "-o", "-", "--format", "csv"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 51
    assert captured.err.startswith("train: 50 rows\n")
    assert no_client()


def test_workers_that_die(capsys):
    screen = Screen(argparse.Namespace(quiet=False, verbose=False, out=None))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(OSError, match="workers kept dying on the same task"),
        _cluster.connected("local:1", screen),
    ):
        distributed.default_client().submit(os._exit, 1).result()
    assert capsys.readouterr() == ("", "")
    assert no_client()


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'pivotal'"), ImportError("s3fs"), RuntimeError()]
)
def test_workers_without_the_library(address, error):
    screen = Screen(argparse.Namespace(quiet=False, verbose=False, out=None))
    expected = "need pivotal, in the version that is installed here" if "pivotal" in str(error) else f"^{error}$"
    with pytest.raises((ImportError, RuntimeError), match=expected), _cluster.connected(address, screen):
        raise error


def _cancelled():
    future = distributed.default_client().submit(sum, [1, 2])
    future.cancel()
    return future


def test_a_connection_that_is_lost_or_interrupted(address):
    screen = Screen(argparse.Namespace(quiet=False, verbose=False, out=None))
    with (
        pytest.raises(OSError, match=f"the connection to the scheduler {address} was lost; is it still running"),
        _cluster.connected(address, screen),
    ):
        _cancelled().result()
    assert no_client()
    with pytest.raises(KeyboardInterrupt), _cluster.connected(address, screen):
        raise KeyboardInterrupt
    assert no_client()


LABEL = ["--label", "species"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["train/*.parquet", "--label", "specis"],
            r"no column 'specis', which --label names; did you mean 'species'\?",
        ),
        (["train/*.parquet", *LABEL, "--test", "no.parquet"], r"cannot read no\.parquet: there is no such file\."),
        (["no/*.parquet", *LABEL], r"cannot read no/\*\.parquet: no file matches the pattern\."),
        (
            ["table.csv", *LABEL],
            r"with --scheduler tables are read from Parquet files; got table\.csv\. Convert it, or",
        ),
        (
            ["gaps.parquet", *LABEL, "--missing", "reject"],
            r"column 'a' of gaps\.parquet must have no gaps with --missing reject; 1 of 60 cells",
        ),
        (
            ["train", *LABEL, "--features", "a,key"],
            r"column 'key' of train cannot be a feature: it is text with too many",
        ),
        (["train", *LABEL, "--max-rows", "9"], r"train has 50 rows, more than the 9 that --max-rows allows"),
        (["train", *LABEL, "--features", "a", "--method", "coalitions"], r"exact"),
        (
            ["train", *LABEL, "-o", "train/part1.parquet"],
            r"train/part1\.parquet is read from and must not be written over",
        ),
        (["nowhere://t.parquet", *LABEL], r"no file system is known by the name 'nowhere'"),
    ],
)
def test_what_is_wrong_with_the_tables(frame, address, capsys, arguments, message):
    frame.to_csv("table.csv", index=False)
    frame.assign(a=frame["a"].where(frame["a"] != frame["a"].max())).to_parquet("gaps.parquet", index=False)
    assert main(["value", *arguments, "--scheduler", address]) == 2
    captured = capsys.readouterr()
    *_, last = captured.err.splitlines()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert re.search(rf"^pivotal: .*{message}", last)
    assert no_client()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--report", "r.html"],
            "--report does not go with --scheduler: a report shows rows",
        ),
        (
            ["--split", "0.2"],
            "--split does not go with --scheduler: rows are not held out",
        ),
        (
            ["--owner", "key"],
            "--owner does not go with --scheduler: owners are shown",
        ),
        (
            ["--text", "key"],
            "--text does not go with --scheduler: text is shown",
        ),
        (
            ["--image", "key"],
            "--image does not go with --scheduler: images are shown",
        ),
        (["-o", "no/v.csv"], "cannot write no/v.csv: the directory"),
        (["-o", "v.npz"], "results cannot be written to v.npz"),
        (["--top", "-1"], "--top must be an integer of at least 0; got -1."),
    ],
)
def test_options_that_do_not_go_together(capsys, arguments, message):
    # None of them is connected to, as there is nobody.
    command = ["train", *LABEL, "--scheduler", "tcp://127.0.0.1:9", *arguments]
    assert sentence(capsys, *command).startswith(message)


def test_a_label_is_needed(capsys):
    told = sentence(capsys, "train", "--scheduler", "local")
    assert told == "say which column holds the labels, for example --label y."


@pytest.mark.parametrize("scheduler", ["", "here", "local:", "local:0", "local:two", "localhost:8786", "tcp://host"])
def test_addresses_that_are_none(capsys, scheduler):
    assert sentence(capsys, "train", *LABEL, "--scheduler", scheduler) == (
        "--scheduler is the address of a Dask scheduler such as tcp://host:8786, or local, or local:4 for 4 workers on "
        f"this machine; got {scheduler!r}."
    )


def test_nobody_at_the_address(capsys, monkeypatch):
    monkeypatch.setattr(_cluster, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the call, and says nothing
        port = silent.getsockname()[1]
        told = sentence(capsys, "train", *LABEL, "--scheduler", f"tcp://127.0.0.1:{port}")
    expected = f"cannot reach a Dask scheduler at tcp://127.0.0.1:{port}; is it running, and is this its port?"
    assert told == expected
    assert sentence(capsys, "train", *LABEL, "--scheduler", f"tcp://127.0.0.1:{port}") == expected
    told = sentence(capsys, "train", *LABEL, "--scheduler", f"tls://127.0.0.1:{port}")
    assert re.search(r"^cannot reach a Dask scheduler at tls://\S+ \(.*TLS.*\); is it running", told)


def test_without_dask(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["value", "train", *LABEL, "--scheduler", "local"]) == 2
    assert capsys.readouterr().err == (
        "pivotal: --scheduler needs Dask; install it with: pip install 'pivotal[dask]'\n"
    )
