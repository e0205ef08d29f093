"""The frame around all commands: the parser, the exit codes, and one sentence on stderr when something is wrong."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from pivotal.cli._parser import Parser, UsageError

BAD_INPUT: Final = 2
BROKEN_PIPE: Final = 141
INTERRUPTED: Final = 130
_EPILOG: Final = """\
example:
  pivotal value train.csv --label species -o values.csv

pivotal COMMAND --help has the options and more examples. Exit codes: 0 all went well, 1 `clean --check` found wrong
labels, 2 something is wrong with the input (one sentence says what), 130 interrupted.
"""
# Each is a module of this package, imported when it is asked for.
_COMMANDS: Final = {
    "value": "value every row of a table",
    "clean": "find wrong labels in a table",
    "select": "keep the most valuable rows of a table",
    "remove": "drop the least valuable rows of a table",
    "pay": "share a budget among the owners of the rows",
    "methods": "list the methods of valuation",
    "datasets": "list the data sets",
    "demo": "find flipped labels in real data, with a picture",
    "bench": "time this library beside its peers on the same data",
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
        0 when all went well, 2 on bad input (one sentence on stderr says what to change), 130 on Ctrl-C.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    parser = _build_parser(words[0] if words else "")
    status = 0
    try:
        options = parser.parse_args(words)
        if options.run is None:
            parser.print_help()
            return 0
        status = options.run(options) or 0
        sys.stdout.flush()  # a closed pipe must be noticed here, not while the interpreter shuts down
    except SystemExit as stop:  # argparse ends --help and --version this way
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        _forget_stdout()
        return BROKEN_PIPE
    except (UsageError, ValueError, OSError, ImportError) as error:
        print(f"pivotal: {' '.join(str(error).split())}", file=sys.stderr)
        _settle_stdout()
        return BAD_INPUT
    except MemoryError:
        print("pivotal: there is not enough memory; use fewer rows or columns, or lower --max-memory.", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("pivotal: interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


def _settle_stdout() -> None:
    """Write what is left, or forget it: a full disk must not speak up again while the interpreter shuts down."""
    try:
        sys.stdout.flush()
    except OSError:
        _forget_stdout()


def _forget_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from pivotal._version import __version__

        print(f"pivotal {__version__}")
        parser.exit()


def _build_parser(only: str | None = None) -> Parser:
    """Make the parser; with `only`, just that command knows its options, which is quicker."""
    parser = Parser(
        prog="pivotal",
        description="What is each training point worth to a nearest-neighbour model?",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, line in _COMMANDS.items():
        command = commands.add_parser(name, help=line)
        if only in (None, name):
            importlib.import_module(f"pivotal.cli.{name}").describe(command)
    return parser
