"""`pivotal pay`: a budget shared among those the rows came from."""

from __future__ import annotations

import argparse
from typing import Any, Final

from pivotal.cli._options import add_columns, add_held_out, add_output, add_running, add_table, add_valuation
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._work import load, value_rows

_EXAMPLES: Final = """\
examples:
  pivotal pay train.csv --owner clinic --label outcome --budget 1000 -o payouts.csv
  pivotal pay train.csv --test test.csv --owner clinic --label outcome --budget 1000 --non-negative
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal pay TABLE --owner COLUMN --label COLUMN [--budget 1000] [options]"
    parser.description = (
        "Value every row, add up the values of each owner's rows, and share a budget in proportion. "
        "Shapley values are used unless another semivalue is named: they add up to the utility of the full table."
    )
    parser.epilog = _EXAMPLES
    add_table(parser)
    add_columns(parser, owner="to whom each row belongs")
    add_held_out(
        parser,
        "rows whose predictions count (default: self-valuation, each row is predicted from the others)",
        "hold out this share of the table at random for the same purpose; held-out rows are not paid",
    )
    group = parser.add_argument_group("payment")
    group.add_argument(
        "--budget", type=float, default=1.0, metavar="SUM", help="what is shared out (default: %(default)s)"
    )
    group.add_argument("--non-negative", action="store_true", help="clip negative payouts at 0")
    group.add_argument(
        "--interval",
        type=float,
        metavar="LEVEL",
        help="add where payouts lie when the test rows are drawn again, such as 0.95",
    )
    group.add_argument("--decimals", type=int, metavar="N", help="round to N decimals; the sum stays exact")
    add_valuation(parser, semivalue="shapley")
    add_output(parser, "a row per owner")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Value the rows, and share the budget."""
    screen = Screen(options)
    if options.owner is None:
        raise UsageError("say which column names the owners with --owner; see pivotal pay --help.")
    data = load(options, screen, targets=(options.out,), results=options.out)
    usual: dict[str, Any] = {} if options.method else {"semivalue": "shapley"}
    if options.interval is not None:
        if options.method is not None:
            raise UsageError("--interval is about exact values; omit --method.")
        options.params = {**(options.params or {}), "per_query": True}
    values = value_rows(options, screen, data, defaults=usual)
    from pivotal.analysis import payouts

    try:
        shares = payouts(
            values,
            [] if data.prepared.owners is None else data.prepared.owners,
            budget=options.budget,
            non_negative=options.non_negative,
            decimals=options.decimals,
            level=options.interval,
        )
    except ValueError as error:
        raise ValueError(str(error).replace("non_negative=True", "--non-negative")) from error
    frame = shares.reset_index()
    if options.out is None:
        screen.show(f"Shares of {options.budget:g}", frame)
        return
    from pivotal.tables import write_frame

    write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
    screen.wrote(options.out, f"{len(frame)} owners")
