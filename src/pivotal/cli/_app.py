"""The frame around all commands: the parser, the exit codes, and one sentence on stderr when something is wrong."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import platform
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NoReturn

from pivotal.cli._failures import BROKEN_PIPE, INTERRUPTED, Failure, explain_failure, wants_traceback
from pivotal.cli._parser import Parser

_EPILOG: Final = """\
example:
  pivotal value train.csv --label species -o values.csv

pivotal COMMAND --help has the options and more examples. Exit codes: 0 all went well, 1 `clean --check` or
`check --fail-on` found what they look for, 2 the input is invalid (one sentence says what to fix), 70 a bug in
pivotal, 130 interrupted.
--verbose, or PIVOTAL_DEBUG=1 in the environment, shows where an error comes from.
"""
_RUNS_ON: Final = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow")
# Each is a module of this package, imported when it is asked for.
_COMMANDS: Final = {
    "value": "value every row of a table",
    "check": "look for everything that is wrong with a table",
    "clean": "find wrong labels in a table",
    "review": "decide about suspected labels on a page in the browser",
    "select": "keep few rows of a table that are nearly as good as all",
    "remove": "drop rows of a table that do harm",
    "pay": "share a budget among the owners of the rows",
    "retrieval": "value the documents of a retriever: TREC runs and judgements, BEIR folders",
    "methods": "list the methods of valuation",
    "datasets": "list the data sets",
    "cache": "list or delete embeddings that are kept on disk",
    "demo": "find flipped labels in real data, with a picture",
    "bench": "time this library beside others on the same data",
    "reproduce": "run the paper's experiments and compare with its figures",
    "completion": "print a completion script for a shell",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process when None.

    Returns
    -------
    status : int
        0 when all went well, 1 when `clean --check` or `check --fail-on` found something, 2 on bad input (one sentence
        on stderr says what to change), 70 on a bug, 130 on Ctrl-C, 141 when the reader of a pipe went away.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    options = argparse.Namespace()
    try:
        with _one_line_warnings():
            status = _run(words, options)
        sys.stdout.flush()  # a closed pipe must be noticed here, not while the interpreter shuts down
    except BaseException as error:  # noqa: BLE001  every end has its exit code and its sentence
        verbose = getattr(options, "verbose", False) or "--verbose" in words
        failure = explain_failure(error, has_verbose=hasattr(options, "verbose"))
        if failure.sentence and failure.code != INTERRUPTED and wants_traceback(verbose=verbose):
            traceback.print_exception(error)
        _print_failure(failure, ends_process=argv is None)
        return failure.code
    return status


@contextlib.contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print warnings as `pivotal: warning: ...` on stderr for a while, without the code that gave them."""
    before = warnings.showwarning
    warnings.showwarning = _say
    try:
        yield
    finally:
        warnings.showwarning = before


def _say(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"pivotal: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _run(words: list[str], options: argparse.Namespace) -> int:
    """Parse and do what was asked for; the options are filled in as they are read."""
    parser = build_parser(words[0] if words else "")
    try:
        parser.parse_args(words, options)
    except SystemExit as stop:  # argparse ends --help and --version this way
        return stop.code if isinstance(stop.code, int) else 0
    if options.run is None:
        parser.print_help()
        return 0
    status: int | None = options.run(options)
    return status or 0


def _print_failure(failure: Failure, *, ends_process: bool) -> None:
    """Say what went wrong, and write what is left of the output or forget it.

    A disk that is full, or a pipe without a reader, must not speak up again while the interpreter shuts down. A program
    that called `main` itself keeps its standard output as it is.
    """
    if failure.sentence:
        print(f"pivotal: {failure.sentence}", file=sys.stderr)
    try:
        if failure.code != BROKEN_PIPE:
            sys.stdout.flush()
            return
    except OSError:
        pass
    if ends_process:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from pivotal.core.version import __version__

        print(f"pivotal {__version__}")
        runs_on = ", ".join(f"{name} {_installed(name)}" for name in _RUNS_ON)
        print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {runs_on}")
        parser.exit()


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def build_parser(only: str | None = None) -> Parser:
    """Make the parser; with `only`, just that command knows its options, which is quicker."""
    parser = Parser(
        prog="pivotal",
        description="Which training rows help a nearest-neighbour model, which hurt, and which are mislabelled?",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, line in _COMMANDS.items():
        command = commands.add_parser(name, help=line)
        if only in (None, name):
            importlib.import_module(f"pivotal.cli.{name}_command").describe(command)
    return parser
