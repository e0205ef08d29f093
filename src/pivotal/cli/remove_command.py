"""`pivotal remove`: a table without its least valuable rows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from pivotal.cli._options import add_columns, add_held_out, add_output, add_running, add_table, add_valuation

if TYPE_CHECKING:
    from pivotal.cli._parser import Parser

_EXAMPLES: Final = """\
examples:
  pivotal remove train.csv --share 0.1 --label species -o kept.csv
  pivotal remove train.csv -n 50 --test test.csv --label species --utility soft -o kept.csv
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal remove TABLE (-n N | --share SHARE) --label COLUMN -o FILE [options]"
    parser.description = (
        "Write a table without its least valuable rows, all columns and the order kept. The rows value "
        "each other; test rows are only there to say what a model makes of it, beside removing as many at random. "
        "Rows held out by --split have no value and stay."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to remove from")
    group = parser.add_argument_group("removal").add_mutually_exclusive_group()
    group.add_argument("-n", "--n", type=int, metavar="N", help="how many rows to remove")
    group.add_argument("--share", type=float, metavar="SHARE", help="which share of the rows to remove, such as 0.1")
    add_columns(parser, owner=None)
    add_held_out(
        parser,
        "rows to measure the removal on; they take no part in it",
        "hold out this share of the table for the same purpose, such as 0.2",
    )
    add_valuation(parser)
    add_output(parser, "the rows that stay", rows=True)
    add_running(parser)
    parser.set_defaults(run=run, rows_value_each_other=True)


def run(options: argparse.Namespace) -> None:
    """Remove the rows, write the others, and measure the difference."""
    import numpy as np

    from pivotal.cli._judge import Judge
    from pivotal.cli._screen import Screen
    from pivotal.cli._work import load, need_output, value_rows

    screen = Screen(options)
    need_output(options)
    data = load(options, screen, targets=(options.out,))
    n = how_many(options, len(data.rows))
    values = value_rows(options, screen, data, against_test=False)
    gone = data.rows[values.order()[::-1][:n]]
    from pivotal.tables import write_table

    kept = np.setdiff1d(np.arange(len(data.table)), gone)
    write_table(data.table.take(kept), options.out, safe=options.safe_csv, form=options.format)
    if data.prepared.X_test is not None:
        Judge(options, screen, data).tell_removal(values, n)
    screen.wrote(options.out, f"{len(kept)} of {len(data.table)} rows")


def how_many(options: argparse.Namespace, n_rows: int) -> int:
    """Return how many of the rows are to be removed; at least one stays."""
    from pivotal.cli._parser import UsageError

    if options.n is None and options.share is None:
        raise UsageError("say how many rows to remove, for example --share 0.1 or -n 50; see pivotal remove --help.")
    if options.share is not None and not 0.0 < options.share < 1.0:
        raise ValueError(f"--share must be between 0 and 1, such as 0.1; got {options.share}.")
    n: int = options.n if options.n is not None else round(options.share * n_rows)
    if not 1 <= n < n_rows:
        raise ValueError(f"the rows to remove must be between 1 and {n_rows - 1}, one less than there are; got {n}.")
    return n
