"""The command: what it prints, where, and with which exit code."""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys

import pytest

import pivotal.research.demo
from pivotal.cli import build_parser, main
from pivotal.cli._screen import print_table
from pivotal.core.methods import methods
from pivotal.results.values import Values


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

    monkeypatch.setattr(pivotal.research.demo, "run_demo", record)
    return recorded


def test_module_runs_as_a_command(tmp_path):
    done = run("demo", "--data", "iris", "--out", tmp_path / "out", "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert any(line.startswith("Written: ") for line in done.stdout.splitlines())
    values = Values.load(tmp_path / "out" / "values.parquet")
    assert len(values) == 150
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
        "import sys; from pivotal.cli import main; main(['demo', '--help']); main(['value', '--help']); main([]);"
        "assert not {'numpy', 'pandas', 'sklearn', 'pyarrow', 'matplotlib', 'pivotal.research.demo'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


def test_help_of_a_command_names_its_options(capsys):
    assert main(["demo", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--out", "-k", "--noise", "--seed", "--quiet", "(default: 0.05)"):
        assert option in text


def test_version(capsys):
    assert main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"pivotal \d+\.\d+\S*", first)
    assert re.fullmatch(r"Python 3\.\d+\S* on .*; numpy \d.*, pyarrow \d.*", second)


def test_demo_defaults(calls, capsys):
    assert main(["demo"]) == 0
    assert calls == [("pivotal-demo", {"data": "digits", "data_home": None, "k": 5, "noise": 0.05, "seed": 0})]
    assert capsys.readouterr().out == "a line\n"


def test_demo_options(calls, capsys):
    options = ["--data", "wine", "--data-home", "there", "-k", "3", "--noise", "0.1", "--seed", "7", "--quiet"]
    assert main(["demo", "--out", "here", *options]) == 0
    assert calls == [("here", {"data": "wine", "data_home": "there", "k": 3, "noise": 0.1, "seed": 7})]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--noise", "2"], r"pivotal: noise must be more than 0 and at most 0.5; got noise=2.0."),
        (["demo", "-k", "0"], r"pivotal: k must be an integer of at least 1; got k=0."),
        (["demo", "-k", "many"], r"pivotal: argument -k: invalid int value: 'many'; see pivotal demo --help."),
        (
            ["demo", "--speed", "9"],
            r"pivotal: there is no option --speed, did you mean --seed\? see pivotal demo --help.",
        ),
        (
            ["clean", "--lable"],
            r"pivotal: there is no option --lable, did you mean --label\? see pivotal clean --help.",
        ),
        (["clean", "--foo", "3"], r"pivotal: there is no option --foo; see pivotal clean --help."),
        (["value", "t.csv", "-x"], r"pivotal: there is no option -x; see pivotal value --help."),
        (["methods", "all"], r"pivotal: unexpected argument 'all'; see pivotal methods --help."),
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


def test_bad_input_reaches_the_shell(tmp_path, capsys):
    assert main(["demo", "--noise", "-1", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "pivotal: noise must be more than 0 and at most 0.5; got noise=-1.0.\n")
    done = run("demo", "--noise", "much")  # which is refused before libraries are loaded
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pivotal")
    assert "much" in done.stderr


def test_messages_of_several_lines_become_one(monkeypatch, capsys):
    def fail(*_args, **_options):
        raise OSError("first\n  second")

    monkeypatch.setattr(pivotal.research.demo, "run_demo", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == "pivotal: first second\n"


def test_ctrl_c(monkeypatch, capsys):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(pivotal.research.demo, "run_demo", interrupt)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "pivotal: interrupted\n"


@pytest.mark.faults
def test_a_closed_pipe_is_no_error():
    code = (
        "import os, sys; from pivotal.cli import main; import pivotal.research.demo;"
        "pivotal.research.demo.run_demo = lambda *a, echo, **o: [echo('x' * 100) for _ in range(10_000)];"
        "sys.argv = ['pivotal', 'demo']; sys.exit(main())"
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


def subcommands():
    parser = build_parser()
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return found.choices


@pytest.mark.parametrize("name", list(subcommands()))
def test_every_command_has_an_example_and_explains_every_option(name):
    command = subcommands()[name]
    assert command.epilog is not None
    assert re.match(rf"examples?:\n  .*pivotal {name}", command.epilog)
    for action in command._actions:
        assert action.help, action.option_strings
    for line in command.epilog.splitlines()[1:]:
        words = line.split("pivotal ", 1)[1].split(" | ")[0].split(" > ")[0].split(" || ")[0]
        options = build_parser().parse_args([word.strip("'") for word in words.split()])
        assert options.run is not None


def test_methods_are_listed(capsys):
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == [method.name for method in methods()]
    assert max(map(len, lines)) <= 80
    told = " ".join(" ".join(lines).split())
    for method in methods():
        for words in (method.title, method.cost, ", ".join(method.needs)):
            assert words in told


def test_data_sets_are_listed(tmp_path, capsys):
    assert main(["datasets", "--data-home", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["name", "variant"]
    found = {line.split()[0]: line.split()[-1] for line in lines[1:]}
    assert (found["phoneme"], found["digits"]) == ("no", "yes")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_commands_and_options(shell, capsys):
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("value", "clean", "max-rows", "semivalue", "impute"):
        assert word in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True, timeout=60)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(capsys):
    pytest.importorskip("shtab")
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    ask = "COMP_WORDS=(pivotal value --miss); COMP_CWORD=2; _shtab_pivotal; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["--missing"]


def test_completion_without_shtab(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    expected = "pivotal: completion needs shtab; install it with: pip install 'pivotal[cli]'\n"
    assert capsys.readouterr().err == expected


class Terminal(io.StringIO):
    def isatty(self):
        return True


ROWS = [("a", 0.123456789, 1, ""), ("[red]b", -1e-12, 20, "long " * 30), ("c\x1b[0m", float("nan"), 3, None)]


def test_tables_for_people():
    pytest.importorskip("rich")
    screen = Terminal()
    print_table("A title", ["name", "value", "n", "text"], ROWS, screen)
    printed = screen.getvalue()
    assert "A title" in printed
    assert "0.123457" in printed
    assert "[red]b" in printed  # markup of the user's is text


@pytest.mark.parametrize("with_rich", [True, False])
def test_tables_for_files(with_rich, monkeypatch):
    if not with_rich:
        monkeypatch.setitem(sys.modules, "rich.box", None)
    screen = io.StringIO() if with_rich else Terminal()
    print_table("A title", ["name", "value", "n", "text"], ROWS, screen, widest=10)
    assert screen.getvalue().splitlines() == [
        "A title",
        "name       value   n  text",
        "a       0.123457   1",
        "[red]b    -1e-12  20  long long…",
        "c [0m              3  None",
    ]


def test_too_little_memory_is_said(monkeypatch, capsys):
    def fail(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr(pivotal.research.demo, "run_demo", fail)
    assert main(["demo"]) == 2
    assert capsys.readouterr().err.startswith("pivotal: there is not enough memory")
