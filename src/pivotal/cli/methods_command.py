"""`pivotal methods`: all methods of valuation by name."""

from __future__ import annotations

import argparse
from typing import Final

from pivotal.cli._parser import Parser

_WIDTH: Final = 80  # of a terminal


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = "List every name that --method takes: what it computes, what it needs and what it costs."
    parser.epilog = "example:\n  pivotal methods"
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    """Print the table."""
    import textwrap

    from pivotal.core.methods import methods

    found = methods()
    wide = [max(len(getattr(one, column)) for one in found) + 2 for column in ("name", "kind")]
    print(f"{'name'.ljust(wide[0])}{'kind'.ljust(wide[1])}what it computes, needs and costs")
    for one in found:
        parts = [one.title, f"needs: {', '.join(one.needs)}" if one.needs else "", f"cost: {one.cost}"]
        lines = [line for part in parts for line in textwrap.wrap(part, _WIDTH - sum(wide), break_on_hyphens=False)]
        print(f"{one.name.ljust(wide[0])}{one.kind.ljust(wide[1])}{lines[0]}")
        for line in lines[1:]:
            print(" " * sum(wide) + line)
