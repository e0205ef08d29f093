"""`pivotal reproduce`: the paper's evaluation, experiment by experiment."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from pivotal.cli._options import add_folder
from pivotal.cli._parser import Parser

# Written out, because naming them must not load NumPy; a test compares them with the experiments.
_NAMES: Final = (
    "illustration",
    "mislabel",
    "removal",
    "selection",
    "flip",
    "k",
    "bits",
    "imbalance",
    "monte-carlo",
    "scalability",
    "all",
)


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Run an experiment of the paper and write a table, figures and a page that sets what was measured beside what "
        "the paper says. What was measured before is kept in the folder and not measured again."
    )
    parser.epilog = (
        "examples:\n"
        "  pivotal reproduce all --quick --out try\n"
        "  pivotal reproduce mislabel --datasets phoneme wind --data-home data"
    )
    parser.add_argument("name", choices=_NAMES, metavar="NAME", help=f"one of {', '.join(_NAMES)}")
    parser.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        help="names that `pivotal datasets` lists (default: the paper's twelve)",
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="the paper's abbreviations (default: all)")
    parser.add_argument("--runs", type=int, metavar="N", help="repetitions (default: 5; 2 with --quick)")
    parser.add_argument("--seed", type=int, default=0, help="where random numbers start (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="little data, to see that all works")
    parser.add_argument(
        "--budget",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="scalability: try no larger data after this many seconds (default: %(default)s)",
    )
    add_folder(parser, "--out", default="reproduction", help="where to write (default: %(default)s)")
    add_folder(parser, "--data-home", help="folder with data files (default: the environment variable PIVOTAL_DATA)")
    parser.add_argument("--offline", action="store_true", help="never ask OpenML for data that is not in the folder")
    parser.add_argument("--pages-only", action="store_true", help="write up what was measured so far, measure nothing")
    parser.add_argument(
        "--jobs",
        type=int,
        default=-1,
        metavar="N",
        help="processes (default: one per processor; timed work runs alone)",
    )
    parser.add_argument("--quiet", action="store_true", help="write the files and print nothing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the experiment."""
    from pivotal.research.experiments import reproduce

    reproduce(
        options.name,
        options.out,
        datasets=options.datasets,
        methods=options.methods,
        runs=options.runs,
        quick=options.quick,
        seed=options.seed,
        budget=options.budget,
        data_home=options.data_home,
        download=not options.offline,
        measure=not options.pages_only,
        n_jobs=options.jobs,
        progress=not options.quiet and sys.stderr.isatty(),
        echo=(lambda _: None) if options.quiet else print,
    )
