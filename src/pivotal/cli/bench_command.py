"""`pivotal bench`: this library beside others, on the same data."""

from __future__ import annotations

import argparse
import sys

from pivotal.cli._parser import Parser


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Time this library and every other library that is installed on the same points in one run, check that "
        "their values agree where they play the same game, print a table and write the figures as JSON."
    )
    parser.epilog = "example:\n  pivotal bench --quick --out bench.json"
    parser.add_argument("--n", type=int, help="training points (default: 30000; 1000 with --quick)")
    parser.add_argument("--queries", type=int, help="queries (default: 100; 10 with --quick)")
    parser.add_argument("--dim", type=int, default=32, help="features (default: %(default)s)")
    parser.add_argument("-k", "--k", type=int, default=5, help="number of neighbours (default: %(default)s)")
    parser.add_argument("--peers", nargs="+", metavar="PEER", help="which libraries (default: all)")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        type=_peer_and_python,
        metavar="PEER=PATH",
        help="the Python of the environment in which a library is installed; may be given more than once",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="skip libraries estimated to take longer (default: %(default)s)",
    )
    parser.add_argument(
        "--memory", action="store_true", help="run each library in a process of its own and measure its memory"
    )
    parser.add_argument("--out", default="bench.json", metavar="FILE", help="where to write (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="little data, one run each")
    parser.add_argument("--seed", type=int, default=0, help="seed of the points (default: %(default)s)")
    parser.set_defaults(run=run)


def _peer_and_python(text: str) -> tuple[str, str]:
    peer, found, path = text.partition("=")
    if not (peer and found and path):
        raise argparse.ArgumentTypeError(f"expected PEER=PATH; got {text!r}")
    return peer, path


def run(options: argparse.Namespace) -> None:
    """Run the benchmark."""
    from pivotal.research.bench import run_bench, write_json
    from pivotal.research.bench.bench_report import check_rich, check_target, print_table

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
