"""Shell sessions in the docs: every command runs in a shell, and what is shown below it is what it prints."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
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


class Shell:
    """Bash in a folder, where `pivotal` is the package under test."""

    def __init__(self, folder: Path, home: Path) -> None:
        home.mkdir()
        launcher = home / "pivotal"
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pivotal "$@"\n', encoding="utf-8")
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
def test_sessions_print_what_the_page_shows(page, tmp_path, monkeypatch):
    folder = tmp_path / "session"
    folder.mkdir()
    monkeypatch.chdir(folder)
    shell = Shell(folder, tmp_path / "bin")
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "py":  # what makes the files that the session is about
            exec(compile(block, page.name, "exec"), {})
            continue
        for command, shown in session(block):
            printed = shell.run(command)
            if shown or not command.startswith("pivotal"):
                assert matches(shown, printed), f"$ {command}{printed}"


def test_a_session_is_cut_into_commands_and_what_they_print():
    block = "$ cat > a <<END\n> one\n> END\n$ cat a\none\n> two\n"
    assert session(block) == [("cat > a <<END\none\nEND\n", ""), ("cat a\n", "one\n> two\n")]


def test_exit_codes_and_messages_are_seen(tmp_path):
    shell = Shell(tmp_path, tmp_path / "bin")
    assert matches("pivotal: ... nowhere.csv...\n", shell.run("pivotal value nowhere.csv --label y"))
    assert shell.run("echo $?") == "2\n"
    assert shell.run("echo said; echo aside >&2") == "said\n"
    assert not matches("1 of 2\n", "1 of 3\n")
