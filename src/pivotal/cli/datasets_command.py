"""`pivotal datasets`: data sets by name."""

from __future__ import annotations

import argparse

from pivotal.cli._options import add_folder
from pivotal.cli._parser import Parser
from pivotal.cli._screen import print_table


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = "List the data sets that pivotal.datasets.load knows by name, and which of them are here."
    parser.epilog = "examples:\n  pivotal datasets\n  pivotal datasets --data-home data"
    add_folder(parser, "--data-home", help="folder with data files (default: the environment variable PIVOTAL_DATA)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the table."""
    from pivotal.research.datasets import describe

    frame = describe(options.data_home)
    frame["here"] = ["yes" if here else "no" for here in frame["here"]]
    shown = frame.drop(columns=["note"]).astype(object)
    shown = shown.where(shown.notna(), "")
    print_table("", list(shown.columns), shown.itertuples(index=False, name=None))
