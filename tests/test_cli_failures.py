"""What is the user's to fix, what is a bug, and how each of them ends."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from joblib import Parallel, delayed

import pivotal.research.demo
from pivotal import find_label_errors
from pivotal.cli import main
from pivotal.cli._failures import BAD_INPUT, BUG, INTERRUPTED, explain_failure
from pivotal.core.validation import check_k
from pivotal.report._groups import by_group
from pivotal.report._words import number


def caught(function, *arguments, **options):
    """Return the exception of a call that fails."""
    with pytest.raises(BaseException) as found:  # noqa: PT011  any kind
        function(*arguments, **options)
    return found.value


def code_of(error):
    return explain_failure(error, has_verbose=True).code


def does_not_broadcast():
    return by_group(np.ones(3), np.array(["a", "b"]))


def test_rules_of_ours_are_the_users_to_fix():
    assert explain_failure(caught(check_k, 0), has_verbose=True).sentence == str(caught(check_k, 0))
    assert code_of(caught(find_label_errors, [[0.0], [1.0]], [0, 1], model=3)) == BAD_INPUT  # a TypeError
    assert code_of(caught(find_label_errors, [[0.0], [1.0]], [0])) == BAD_INPUT


@pytest.mark.parametrize(
    "accident",
    [
        does_not_broadcast,  # a ValueError of NumPy's, out of a file of ours
        lambda: number("text"),  # a TypeError
        lambda: check_k(),  # a call that does not fit
        lambda: np.ones(2) + np.ones(3),
        lambda: int("five"),
        lambda: {}["key"],
        lambda: 1 / 0,
        lambda: [][1],
    ],
)
def test_accidents_are_bugs_whatever_their_type(accident):
    failure = explain_failure(caught(accident), has_verbose=True)
    assert failure.code == BUG
    assert failure.sentence.endswith("; this is a bug, please report it (--verbose shows where).")
    assert failure.sentence.startswith(type(caught(accident)).__name__)


def test_an_error_in_the_message_of_an_error_is_a_bug():
    """The line is a raise, but it was not the raise that failed."""
    code = "def check(value):\n    raise ValueError(f'must be positive; got {value:.3g}')\n"
    space = {"__name__": "pivotal.made_up"}
    exec(compile(code, "<made up>", "exec"), space)
    assert code_of(caught(space["check"], 1.0)) == BAD_INPUT
    assert code_of(caught(space["check"], "text")) == BUG


def test_errors_of_the_machine_are_not_bugs():
    assert code_of(caught(open, "/no/such/file")) == BAD_INPUT
    assert code_of(caught(np.ones, 2**50)) == BAD_INPUT
    assert code_of(caught(__import__, "no_such_package")) == BAD_INPUT
    assert code_of(caught(__import__, "pivotal.no_such_module")) == BUG


def test_content_that_pyarrow_cannot_take_is_not_a_bug_where_tables_are_read():
    code = "def read(table, rows):\n    return table.take(rows)\n"
    unusual = pa.chunked_array([pa.array(["a", "b"]).cast(pa.string_view())])
    try:
        pa.chunked_array([unusual]).take(pa.array([0]))
    except pa.ArrowNotImplementedError:
        pass
    else:
        pytest.skip("this pyarrow takes string views")
    for module, expected in (("pivotal.tables.made_up", BAD_INPUT), ("pivotal.made_up", BUG)):
        space = {"__name__": module}
        exec(compile(code, "<made up>", "exec"), space)
        assert code_of(caught(space["read"], unusual, pa.array([0]))) == expected


@pytest.mark.cluster
def test_errors_of_other_processes_are_told_apart():
    """They come without a traceback of their own."""
    for accident, expected in (((check_k, 0), BAD_INPUT), ((by_group, np.ones(3), np.array(["a"])), BUG)):
        function, *arguments = accident
        error = caught(Parallel(n_jobs=2), [delayed(function)(*arguments)] * 2)
        assert type(error) is ValueError
        assert code_of(error) == expected


def test_errors_of_dask_workers_are_told_apart():
    """They come with a traceback that was made up again from names and lines."""
    pickling = pytest.importorskip("tblib.pickling_support")
    pickling.install()
    for function, arguments, expected in ((check_k, [0], BAD_INPUT), (does_not_broadcast, [], BUG)):
        error = caught(function, *arguments)
        trace = pickle.loads(pickle.dumps(error.__traceback__))
        assert code_of(type(error)(*error.args).with_traceback(trace)) == expected


def test_ctrl_c_behind_another_error_is_ctrl_c():
    def importing():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    assert code_of(caught(importing)) == INTERRUPTED


@pytest.fixture
def bug(monkeypatch):
    monkeypatch.delenv("PIVOTAL_DEBUG", raising=False)
    monkeypatch.setattr(pivotal.research.demo, "run_demo", lambda *_args, **_options: does_not_broadcast())


@pytest.mark.usefixtures("bug")
def test_a_bug_is_one_sentence_and_has_its_own_exit_code(capsys):
    assert main(["demo"]) == 70
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pivotal: ValueError: ")
    assert captured.err.endswith("this is a bug, please report it (PIVOTAL_DEBUG=1 in the environment shows where).\n")
    assert captured.err.count("\n") == 1


@pytest.mark.usefixtures("bug")
def test_the_environment_shows_where(monkeypatch, capsys):
    monkeypatch.setenv("PIVOTAL_DEBUG", "1")
    assert main(["demo"]) == 70
    assert capsys.readouterr().err.startswith("Traceback (most recent call last):\n")


def test_verbose_shows_where_for_both_kinds(tmp_path, monkeypatch, capsys):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n1,0\n2,1\n3,0\n4,1\n", encoding="utf-8")
    assert main(["value", str(table), "--label", "no", "--verbose"]) == 2
    told = capsys.readouterr().err
    assert "Traceback (most recent call last):\n" in told
    assert "t.csv has no column 'no'" in told.splitlines()[-1]

    monkeypatch.setattr("pivotal.valuation.value.value", lambda *_args, **_options: does_not_broadcast())
    for words in (["--verbose"], []):
        assert main(["value", str(table), "--label", "y", *words]) == 70
        told = capsys.readouterr().err
        assert ("Traceback (most recent call last):\n" in told) == bool(words)
        assert told.splitlines()[-1].endswith("this is a bug, please report it (--verbose shows where).")


def test_a_bug_does_not_look_like_wrong_labels(tmp_path, monkeypatch, capsys):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n1,0\n2,1\n3,0\n4,1\n", encoding="utf-8")

    def fail(*_args, **_options):
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr("pivotal.analysis.label_errors.find_label_errors", fail)
    assert main(["clean", str(table), "--label", "y", "--check", "--quiet"]) == 70
    assert capsys.readouterr().err.count("\n") == 1


RUN = """
import importlib.abc, runpy, sys

class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["pivotal", "value", "t.csv", "--label", "y", "--quiet"]
runpy.run_module("pivotal", run_name="__main__", alter_sys=True)
"""


@pytest.mark.faults
@pytest.mark.parametrize("name", ["pivotal.cli", "argparse", "pivotal.cli.value_command", "numpy", "pyarrow", "numba"])
def test_ctrl_c_during_imports(tmp_path, name):
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,1\n3,0\n4,1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(name=name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "pivotal: interrupted\n"


@pytest.mark.faults
def test_a_caller_keeps_its_standard_output_and_no_file_stays_open():
    """A program that calls `main` itself may go on after the reader of a pipe went away."""
    code = """
import os, sys
import pivotal.research.demo
from pivotal.cli import main

def fail(*_, **__):
    raise BrokenPipeError

pivotal.research.demo.run_demo = fail
before = sorted(os.listdir("/dev/fd"))
assert main(["demo"]) == 141
assert sorted(os.listdir("/dev/fd")) == before
print("still here")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("still here\n", "", 0)


@pytest.mark.faults
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")  # noqa: PTH110
def test_a_full_device_is_one_sentence():
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "pivotal", "methods"], stdout=full, stderr=subprocess.PIPE, timeout=300, check=False
        )
    assert (done.returncode, done.stderr) == (2, b"pivotal: No space left on device.\n")
