"""`pivotal methods`: all methods of valuation by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pivotal.cli._parser import Parser


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = "List every name that --method takes: what it computes, what it needs and what it costs."
    parser.epilog = "example:\n  pivotal methods"
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print the table."""
    from pivotal._methods import methods
    from pivotal.cli._screen import print_table

    rows = [(one.name, one.kind, one.title, ", ".join(one.needs), one.cost) for one in methods()]
    print_table("", ("name", "kind", "what it computes", "needs", "cost"), rows, widest=200)
