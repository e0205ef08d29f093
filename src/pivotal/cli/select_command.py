"""`pivotal select`: the rows worth keeping."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from pivotal.cli._options import add_columns, add_held_out, add_output, add_running, add_table, add_valuation

if TYPE_CHECKING:
    from pivotal.cli._parser import Parser
    from pivotal.core.types import AnyArray, IndexArray
    from pivotal.results.values import Values

_EXAMPLES: Final = """\
examples:
  pivotal select train.csv -n 1000 --label species -o best.csv
  pivotal select train.parquet -n 500 --by-class --warm-start 100 --split 0.2 --label y -o best.parquet
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal select TABLE -n N --label COLUMN -o FILE [options]"
    parser.description = (
        "Write the n most valuable rows of a table, with all their columns, in the order they had. The "
        "rows value each other; test rows are only there to say what a model makes of the selection."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to select from")
    group = parser.add_argument_group("selection")
    group.add_argument("-n", "--n", type=int, metavar="N", help="how many rows to keep, the warm start among them")
    group.add_argument(
        "--warm-start",
        type=int,
        default=0,
        metavar="N",
        help="begin with N rows drawn at random, then add the most valuable (default: %(default)s)",
    )
    group.add_argument(
        "--by-class", action="store_true", help="take from each class in proportion to its rows, not just the best"
    )
    add_columns(parser, owner=None)
    add_held_out(
        parser,
        "rows to measure the selection on; they take no part in it",
        "hold out this share of the table for the same purpose, such as 0.2",
    )
    add_valuation(parser)
    add_output(parser, "the selected rows", rows=True)
    add_running(parser)
    parser.set_defaults(run=run, rows_value_each_other=True)


def run(options: argparse.Namespace) -> None:
    """Select the rows, write them, and measure what they are good for."""
    from pivotal.cli._judge import Judge
    from pivotal.cli._parser import UsageError
    from pivotal.cli._screen import Screen
    from pivotal.cli._work import load, need_output, value_rows

    screen = Screen(options)
    need_output(options)
    if options.n is None:
        raise UsageError("say how many rows to keep, for example -n 1000; see pivotal select --help.")
    data = load(options, screen, targets=(options.out,))
    n_rows = len(data.rows)
    if not 1 <= options.n <= n_rows:
        raise ValueError(f"-n must be between 1 and the {n_rows} rows there are to select from; got {options.n}.")
    if not 0 <= options.warm_start <= options.n:
        raise ValueError(f"--warm-start must be between 0 and the {options.n} of -n; got {options.warm_start}.")
    values = value_rows(options, screen, data, against_test=False)
    if options.by_class and data.regression:
        raise ValueError("--by-class needs classes, and --utility regression has none; leave one of them out.")
    classes = data.prepared.y if options.by_class else None
    warm, added = choose(values, options.n, options.warm_start, options.seed, classes)
    from pivotal.tables import write_table

    chosen = data.rows[sorted([*warm.tolist(), *added.tolist()])]
    write_table(data.table.take(chosen), options.out, safe=options.safe_csv, form=options.format)
    if data.prepared.X_test is not None:
        Judge(options, screen, data).tell_selection(warm, added)
    screen.wrote(options.out, f"{options.n} of {n_rows} rows")


def choose(
    values: Values, n: int, n_warm: int, seed: int, classes: AnyArray | None = None
) -> tuple[IndexArray, IndexArray]:
    """Draw the warm start, and add the most valuable of the other rows.

    Parameters
    ----------
    values : Values
    n, n_warm, seed : int
        How many rows in all, how many of them at random, and the seed of these.
    classes : array of shape (n_train,), optional
        Labels, where each class is to be given its share.

    Returns
    -------
    warm, added : int arrays
        Training indices, n in all.
    """
    import numpy as np

    warm = np.sort(np.random.default_rng(seed).permutation(len(values))[:n_warm])
    best = values.order()
    best = best[~np.isin(best, warm)]
    if classes is None:
        return warm, best[: n - n_warm]
    _, codes = np.unique(classes[best].astype(str), return_inverse=True)
    fair = (n - n_warm) * np.bincount(codes) / max(1, len(best))
    shares = np.floor(fair).astype(int)
    shares[np.argsort(shares - fair, kind="stable")[: n - n_warm - shares.sum()]] += 1  # the largest remainders
    taken = [best[codes == code][:share] for code, share in enumerate(shares)]
    return warm, np.concatenate([*taken, best[:0]])
