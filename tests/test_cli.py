"""The command: what it prints, where, and with which exit code."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import pivotal.demo
from pivotal.cli import main
from pivotal.results import Values


def run(*arguments):
    command = [sys.executable, "-m", "pivotal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def calls(monkeypatch):
    """Record calls of the demo instead of running it."""
    recorded = []

    def record(out_dir, *, echo, **options):
        recorded.append((out_dir, options))
        echo("a line")

    monkeypatch.setattr(pivotal.demo, "run_demo", record)
    return recorded


def test_module_runs_as_a_command(tmp_path):
    done = run("demo", "--out", tmp_path / "out", "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1].startswith("Written: ")
    values = Values.load(tmp_path / "out" / "values.parquet")
    assert len(values) == 1797
    assert values.settings["k"] == 5
    assert (tmp_path / "out" / "values.png").is_file()


def test_help_names_the_commands():
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: pivotal")
    assert "demo" in done.stdout
    assert run().stdout == done.stdout


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from pivotal.cli import main; main(['demo', '--help']);"
        "assert not {'numpy', 'pandas', 'sklearn', 'matplotlib', 'pivotal.demo'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


def test_help_of_a_command_names_its_options(capsys):
    assert main(["demo", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--out", "-k", "--noise", "--seed", "--quiet", "(default: 0.05)"):
        assert option in text


def test_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pivotal \d+\.\d+\S*\n", capsys.readouterr().out)


def test_demo_defaults(calls, capsys):
    assert main(["demo"]) == 0
    assert calls == [("pivotal-demo", {"k": 5, "noise": 0.05, "seed": 0})]
    assert capsys.readouterr().out == "a line\n"


def test_demo_options(calls, capsys):
    assert main(["demo", "--out", "here", "-k", "3", "--noise", "0.1", "--seed", "7", "--quiet"]) == 0
    assert calls == [("here", {"k": 3, "noise": 0.1, "seed": 7})]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--noise", "2"], r"pivotal: noise must be more than 0 and at most 0.5; got noise=2.0."),
        (["demo", "-k", "0"], r"pivotal: k must be a whole number of at least 1; got k=0."),
        (["demo", "-k", "many"], r"pivotal: argument -k: invalid int value: 'many'; see pivotal demo --help."),
        (["demo", "--speed", "9"], r"pivotal: unrecognized arguments: --speed 9; see pivotal --help."),
        (["dance"], r"pivotal: argument COMMAND: invalid choice: 'dance' .*; see pivotal --help."),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(message + "\n", captured.err)
    assert not any(tmp_path.iterdir())


def test_a_file_in_the_way_is_bad_input(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert re.fullmatch(r"pivotal: cannot create the directory .*\n", capsys.readouterr().err)


def test_bad_input_reaches_the_shell(tmp_path):
    done = run("demo", "--noise", "-1", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pivotal: noise must be more than 0 and at most 0.5; got noise=-1.0.\n"


def test_messages_of_several_lines_become_one(monkeypatch, capsys):
    def fail(*_args, **_options):
        raise OSError("first\n  second")

    monkeypatch.setattr(pivotal.demo, "run_demo", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == "pivotal: first second\n"


def test_ctrl_c(monkeypatch, capsys):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(pivotal.demo, "run_demo", interrupt)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "pivotal: interrupted\n"


def test_errors_of_our_own_are_not_hidden(monkeypatch):
    def fail(*_args, **_options):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(pivotal.demo, "run_demo", fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["demo"])


def test_a_closed_pipe_is_no_error():
    code = (
        "import os, sys; from pivotal.cli import main; import pivotal.demo;"
        "pivotal.demo.run_demo = lambda *a, echo, **o: [echo('x' * 100) for _ in range(10_000)];"
        "sys.exit(main(['demo']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 141
    assert errors == ""
