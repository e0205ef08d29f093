"""Shell sessions in the docs: every command runs in a shell, and what is shown below it is what it prints."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(py|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in (ROOT / "docs").rglob("*.md") if "```console\n" in page.read_text(encoding="utf-8")]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the sessions are those of bash")


def session(block: str) -> list[tuple[str, str]]:
    """The commands of a block, after `$ ` and `> `, each with what is shown below it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        command, shown = found[-1] if found else ("", "")
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> ") and not shown:
            found[-1] = (command + line[2:], "")
        else:
            found[-1] = (command, shown + line)
    return found


# Has the libraries loaded and forks: where the package is only asked for its answer, it need not start anew every time.
FORKS = """
import os, runpy, socket, sys
import numba, pandas, pyarrow.parquet, scipy.stats, sklearn.ensemble
from pivotal.cli import main

with open(sys.argv[1] + ".csv", "w") as table:
    table.write("a,y\\n1,0\\n2,1\\n3,0\\n4,1\\n")
for words in (["value"], ["clean", "--trees", "0"]):
    assert main([*words, table.name, "--label", "y", "-k", "1", "--quiet"]) == 0

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", file=sys.stderr, flush=True)
while True:
    told = listener.accept()[0]
    words, files, *_ = socket.recv_fds(told, 2**20, 3)
    if child := os.fork():
        told.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256]))
        for file in files:
            os.close(file)
        told.close()
        continue
    for file, place in zip(files, range(3)):
        os.dup2(file, place)
    folder, *sys.argv[1:] = words.decode().split("\\0")
    os.chdir(folder)
    code = 1
    try:
        runpy.run_module("pivotal", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        os._exit(code)
"""
ASKS = """
import os, socket, sys

server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
socket.send_fds(server, ["\\0".join([os.getcwd(), *sys.argv[2:]]).encode()], [0, 1, 2])
sys.exit(ord(server.recv(1) or b"\\1"))
"""


@pytest.fixture(scope="module")
def command() -> Iterator[list[str]]:
    """What `pivotal` stands for in a shell: a process of its own, forked from one that has the libraries loaded."""
    if sys.platform != "linux":  # elsewhere libraries that are loaded may not survive a fork
        yield [sys.executable, "-m", "pivotal"]
        return
    with tempfile.TemporaryDirectory() as home:
        place = f"{home}/socket"
        environment = {**os.environ, "COLUMNS": "200"}
        start = [sys.executable, "-c", FORKS, place]
        with subprocess.Popen(
            start, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as server:
            assert server.stderr is not None
            assert "ready\n" in iter(server.stderr.readline, "")  # after what libraries may have to say
            yield [sys.executable, "-I", "-S", "-c", ASKS, place]
            server.kill()


class Shell:
    """Bash in a folder, where `pivotal` is the package under test."""

    def __init__(self, folder: Path, home: Path, command: list[str]) -> None:
        home.mkdir()
        launcher = home / "pivotal"
        launcher.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
        self._folder = folder
        self._environment = {**os.environ, "PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
        self._code = 0

    def run(self, command: str) -> str:
        """What a reader looks at: standard output or, where there is none, standard error."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self._code})\n{command}"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        self._code = done.returncode
        return done.stdout or done.stderr


def matches(shown: str, printed: str) -> bool:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, printed, options)


def test_there_are_sessions():
    assert "command-line.md" in {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sessions_print_what_the_page_shows(page, tmp_path, monkeypatch, command):
    folder = tmp_path / "session"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shell = Shell(folder, tmp_path / "bin", command)
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "py":  # what makes the files that the session is about
            exec(compile(block, page.name, "exec"), {})
            continue
        for typed, shown in session(block):
            printed = shell.run(typed)
            if shown or not typed.startswith("pivotal"):
                assert matches(shown, printed), f"$ {typed}{printed}"


def test_a_session_is_cut_into_commands_and_what_they_print():
    block = "$ cat > a <<END\n> one\n> END\n$ cat a\none\n> two\n"
    assert session(block) == [("cat > a <<END\none\nEND\n", ""), ("cat a\n", "one\n> two\n")]


def test_exit_codes_and_messages_are_seen(tmp_path, command):
    shell = Shell(tmp_path, tmp_path / "bin", command)
    assert matches("pivotal: ... nowhere.csv...\n", shell.run("pivotal value nowhere.csv --label y"))
    assert shell.run("echo $?") == "2\n"
    assert shell.run("echo said; echo aside >&2") == "said\n"
    assert not matches("1 of 2\n", "1 of 3\n")
