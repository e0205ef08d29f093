"""`pivotal remove`: a table without the rows that do harm."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from pivotal.cli._options import add_columns, add_held_out, add_output, add_running, add_table, add_valuation
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._test_scores import TestScores
from pivotal.cli._work import OF_VALUES, Data, choosing, flags_given, load, need_output, value_rows

if TYPE_CHECKING:
    from pivotal.core.types import IndexArray

_EXAMPLES: Final = """\
examples:
  pivotal remove train.csv --label species -o kept.csv
  pivotal remove train.csv --share 0.1 --label species -o kept.csv
  pivotal remove train.csv -n 50 --test test.csv --label species --utility hard -o kept.csv
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal remove TABLE --label COLUMN -o FILE [options]"
    parser.description = (
        "Write a table without the rows that do harm, all columns and the order kept: rows of negative value whose "
        "label their neighbours reject, if cross-validation shows that models are better off without such rows; "
        "otherwise nothing is removed, and that is said. With -n or --share, as many rows of lowest value are removed "
        "in any case. Values are self-values; test rows are only there to say what a model makes of it, beside "
        "removing as many at random. Rows held out by --split have no value and stay."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to remove from")
    group = parser.add_argument_group("removal").add_mutually_exclusive_group()
    group.add_argument("-n", "--n", type=int, metavar="N", help="how many rows to remove in any case")
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

    from pivotal.tables import write_table

    screen = Screen(options)
    need_output(options)
    counted = options.n is not None or options.share is not None
    flags = flags_given(options, OF_VALUES)
    if flags and not counted:
        raise UsageError(f"{flags[0]} is for removing a number of rows; add --share 0.1 or -n 50, or omit it.")
    data = load(options, screen, targets=(options.out,))
    gone = _lowest(options, screen, data) if counted else _harmful(options, screen, data)
    kept = np.setdiff1d(np.arange(len(data.table)), data.rows[gone])
    write_table(data.table.take(kept), options.out, safe=options.safe_csv, form=options.format)
    if data.prepared.X_test is not None and len(gone):
        TestScores(options, screen, data).tell_removal(gone)
    screen.wrote(options.out, f"{len(kept)} of {len(data.table)} rows")


def _lowest(options: argparse.Namespace, screen: Screen, data: Data) -> IndexArray:
    """Return the rows of lowest value, as many as were asked for."""
    n = how_many(options, len(data.rows))
    values = value_rows(options, screen, data, against_test=False, defaults={"utility": "soft"})
    return values.order()[::-1][:n]


def _harmful(options: argparse.Namespace, screen: Screen, data: Data) -> IndexArray:
    """Return the rows that do harm, if that is shown."""
    from pivotal.analysis.selection import remove_harmful

    if len(data.rows) < 2:
        raise ValueError(f"{data.name} has 1 row, and self-valuation needs at least two; add rows.")
    found = remove_harmful(data.prepared.X, data.prepared.y, **choosing(options, screen))
    sentence = str(found)
    screen.tell(f"{sentence[0].upper()}{sentence[1:]}.")
    return found.indices


def how_many(options: argparse.Namespace, n_rows: int) -> int:
    """Return how many of the rows are to be removed; at least one stays."""
    if options.share is not None and not 0.0 < options.share < 1.0:
        raise ValueError(f"--share must be between 0 and 1, such as 0.1; got {options.share}.")
    n: int = options.n if options.n is not None else round(options.share * n_rows)
    if not 1 <= n < n_rows:
        raise ValueError(f"the rows to remove must be between 1 and {n_rows - 1}, one less than there are; got {n}.")
    return n
