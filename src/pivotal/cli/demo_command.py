"""`pivotal demo`: flipped labels in real data, and who finds them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from pivotal.cli._options import add_folder
from pivotal.cli._parser import Parser


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = (
        "Flip some labels of the handwritten digits that come with scikit-learn, or of another data set, "
        "value every point, and see how many of the flipped labels are among the least valuable points."
    )
    parser.epilog = "examples:\n  pivotal demo --noise 0.1 --out here\n  pivotal demo --data wine"
    parser.add_argument(
        "--data", default="digits", metavar="NAME", help="a name that `pivotal datasets` lists (default: %(default)s)"
    )
    add_folder(parser, "--data-home", help="folder with data files (default: the environment variable PIVOTAL_DATA)")
    add_folder(parser, "--out", default="pivotal-demo", help="where to write (default: %(default)s)")
    parser.add_argument("-k", type=int, default=5, help="number of neighbours (default: %(default)s)")
    parser.add_argument(
        "--noise", type=float, default=0.05, metavar="SHARE", help="share of labels to flip (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random flips (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="write the files and print nothing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Run the demo."""
    from pivotal.research.demo import run_demo

    echo: Callable[[str], object] = (lambda _: None) if options.quiet else print
    run_demo(
        options.out,
        data=options.data,
        data_home=options.data_home,
        k=options.k,
        noise=options.noise,
        seed=options.seed,
        echo=echo,
    )
