"""The `pivotal` command: parse, call, write.

Each command is one function that adds its parser and one that runs it. Heavy imports happen inside the latter, so
that `pivotal --help` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

BAD_INPUT: Final = 2
BROKEN_PIPE: Final = 141
INTERRUPTED: Final = 130


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
    parser = _build_parser()
    try:
        options = parser.parse_args(argv)
        if options.run is None:
            parser.print_help()
            return 0
        options.run(options)
        sys.stdout.flush()  # a closed pipe must be noticed here, not while the interpreter shuts down
    except SystemExit as stop:  # argparse ends --help and --version this way
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (_UsageError, ValueError, OSError, ImportError) as error:
        print(f"pivotal: {' '.join(str(error).split())}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("pivotal: interrupted", file=sys.stderr)
        return INTERRUPTED
    return 0


class _UsageError(Exception):
    """The arguments make no sense."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}; see {self.prog} --help.")


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from pivotal._version import __version__

        print(f"pivotal {__version__}")
        parser.exit()


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="pivotal",
        description="What is each training point worth to a nearest-neighbour model?",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for add_command in (_add_demo, _add_bench):
        add_command(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="find flipped labels in real data, with a picture",
        description="Flip some labels of the handwritten digits that come with scikit-learn, value every point, and "
        "see how many of the flipped labels are among the least valuable points.",
        allow_abbrev=False,
    )
    demo.add_argument("--out", default="pivotal-demo", metavar="DIR", help="where to write (default: %(default)s)")
    demo.add_argument("-k", type=int, default=5, help="number of neighbours (default: %(default)s)")
    demo.add_argument(
        "--noise", type=float, default=0.05, metavar="SHARE", help="share of labels to flip (default: %(default)s)"
    )
    demo.add_argument("--seed", type=int, default=0, help="seed of the random flips (default: %(default)s)")
    demo.add_argument("--quiet", action="store_true", help="write the files and print nothing")
    demo.set_defaults(run=_run_demo)


def _run_demo(options: argparse.Namespace) -> None:
    from pivotal.demo import run_demo

    echo: Callable[[str], object] = (lambda _: None) if options.quiet else print
    run_demo(options.out, k=options.k, noise=options.noise, seed=options.seed, echo=echo)


def _add_bench(commands: argparse._SubParsersAction[_Parser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="time this library beside its peers on the same data",
        description="Time this library and every peer that is installed on the same points in one run, check that "
        "their values agree where they play the same game, print a table and write the figures as JSON.",
        allow_abbrev=False,
    )
    bench.add_argument("--n", type=int, help="training points (default: 30000; 1000 with --quick)")
    bench.add_argument("--queries", type=int, help="queries (default: 100; 10 with --quick)")
    bench.add_argument("--dim", type=int, default=32, help="features (default: %(default)s)")
    bench.add_argument("-k", "--k", type=int, default=5, help="number of neighbours (default: %(default)s)")
    bench.add_argument("--peers", nargs="+", metavar="PEER", help="which peers (default: all)")
    bench.add_argument(
        "--python",
        action="append",
        default=[],
        type=_peer_and_python,
        metavar="PEER=PATH",
        help="the Python of the environment in which a peer lives; may be given more than once",
    )
    bench.add_argument(
        "--limit",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="leave out who would take longer, going by a small run (default: %(default)s)",
    )
    bench.add_argument("--memory", action="store_true", help="everybody in a process of its own, its memory watched")
    bench.add_argument("--out", default="bench.json", metavar="FILE", help="where to write (default: %(default)s)")
    bench.add_argument("--quick", action="store_true", help="little data, one run each")
    bench.add_argument("--seed", type=int, default=0, help="seed of the points (default: %(default)s)")
    bench.set_defaults(run=_run_bench)


def _peer_and_python(text: str) -> tuple[str, str]:
    peer, found, path = text.partition("=")
    if not (peer and found and path):
        raise argparse.ArgumentTypeError(f"expected PEER=PATH; got {text!r}")
    return peer, path


def _run_bench(options: argparse.Namespace) -> None:
    from pivotal.bench import run_bench, write_json
    from pivotal.bench.report import check_rich, check_target, print_table

    check_rich()
    check_target(options.out)
    n, queries, rounds = (1000, 10, 1) if options.quick else (30_000, 100, 3)
    report = run_bench(
        n if options.n is None else options.n,
        queries if options.queries is None else options.queries,
        options.dim,
        options.k,
        peers=options.peers,
        pythons=dict(options.python),
        limit=options.limit,
        rounds=rounds,
        memory=options.memory,
        seed=options.seed,
        echo=lambda line: print(line, file=sys.stderr),
    )
    print_table(report)
    write_json(report, options.out)
    print(f"Written: {options.out}")
