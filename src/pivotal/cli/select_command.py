"""`pivotal select`: few rows that a model learns from nearly as well as from all."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_held_out, add_output, add_running, add_table, add_valuation
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._test_scores import TestScores
from pivotal.cli._work import OF_VALUES, Data, choosing, flags_given, given, load, need_output, value_rows

if TYPE_CHECKING:
    from pivotal.analysis.selection import Selection
    from pivotal.core.types import AnyArray, IndexArray
    from pivotal.results.values import Values

_EXAMPLES: Final = """\
examples:
  pivotal select train.csv --label species --size 10% -o small.csv
  pivotal select train.csv --label species --keep 0.99 --report page.html -o small.csv
  pivotal select train.parquet --label y --group hospital --size 2000 -o few.parquet
  pivotal select train.csv --label y -n 500 --method value --utility soft --split 0.2 -o best.csv
"""
# Options that a ranking by value does not have.
_OF_SELECTION: Final = ("keep", "quotas", "class_weight", "group", "price", "budget", "include", "exclude", "report")
_YES: Final = {"1", "1.0", "true", "yes", "y", "x", "t"}


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal select TABLE --size SIZE --label COLUMN -o FILE [options]"
    parser.description = (
        "Write few rows of a table that models learn from nearly as well as from all, with all their columns, in the "
        "order they had; and say what to expect of them, by cross-validation, beside as many rows at random and all of "
        "them. --method value takes the rows of highest value instead, which on other rows is often worse than chance."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to select from")
    group = parser.add_argument_group("selection")
    size = group.add_mutually_exclusive_group()
    size.add_argument("--size", metavar="SIZE", help="how many rows to keep: a number, a share such as 0.1, or 10%%")
    size.add_argument("-n", "--n", type=int, metavar="N", help="how many rows to keep, as a number")
    size.add_argument(
        "--keep",
        type=float,
        metavar="SHARE",
        help="keep the fewest rows that have this share of the accuracy of all, such as 0.99, as estimated",
    )
    size.add_argument("--budget", type=float, metavar="AMOUNT", help="keep rows that cost at most this, see --price")
    group.add_argument(
        "--method",
        dest="selector",
        default="exchange",
        metavar="NAME",
        help="exchange, random, stratified, herding, nash, ...; value ranks by value (default: %(default)s)",
    )
    group.add_argument("--quotas", choices=("data", "balanced"), help="shares of the classes, held exactly")
    group.add_argument("--class-weight", choices=("balanced",), help="let rows of all classes count the same in all")
    group.add_argument("--group", metavar="COLUMN", help="rows with one content are kept all or none")
    group.add_argument("--price", metavar="COLUMN", help="what each row costs")
    group.add_argument("--include", metavar="COLUMN", help="rows that must be kept: those with 1, yes, true or x")
    group.add_argument("--exclude", metavar="COLUMN", help="rows that must not be kept")
    group.add_argument(
        "--for-test", action="store_true", help="serve the test rows: they are the queries, and no longer fresh"
    )
    group.add_argument("--no-estimate", action="store_true", help="do not cross-validate, which takes most of the time")
    group.add_argument(
        "--warm-start",
        type=int,
        default=0,
        metavar="N",
        help="with --method value: begin with N rows drawn at random (default: %(default)s)",
    )
    group.add_argument(
        "--by-class", action="store_true", help="take from each class in proportion to its rows, as --quotas data"
    )
    add_columns(parser, owner=None)
    add_held_out(
        parser,
        "rows to measure the selection on; they take no part in it, unless --for-test",
        "hold out this share of the table for the same purpose, such as 0.2",
    )
    add_valuation(parser, method="--value-method")
    add_output(parser, "the selected rows", rows=True)
    add_file(parser, "--report", metavar="FILE.html", help="write what to expect of several sizes as a page")
    add_running(parser)
    parser.set_defaults(run=run, rows_value_each_other=True)


def run(options: argparse.Namespace) -> None:
    """Select the rows, write them, and say what to expect of them."""
    screen = Screen(options)
    need_output(options)
    ranking = options.selector == "value"
    _check_options(options, ranking)
    named = {f"--{name}": getattr(options, name) for name in ("group", "price", "include", "exclude")}
    no_features = [(option, column) for option, column in named.items() if column is not None]
    instead = None if ranking else "rank them with --method value --utility regression"
    data = load(
        options, screen, targets=(options.out, options.report), instead_of_numbers=instead, no_features=no_features
    )
    if options.for_test and data.prepared.X_test is None:
        raise UsageError("--for-test serves test rows; name some with --test, or hold some out with --split 0.2.")
    if ranking:
        _rank(options, screen, data)
    else:
        _select(options, screen, data)


def _check_options(options: argparse.Namespace, ranking: bool) -> None:
    """Turn down options that the method does not have."""
    from pivotal.analysis.selection import METHODS

    if options.selector not in METHODS:
        raise UsageError(f"--method must be one of {', '.join(METHODS)}; got {options.selector!r}.")
    if all(getattr(options, name) is None for name in ("n", "size", "keep", "budget")):
        raise UsageError("say how many rows to keep, for example --size 10% or -n 1000; see pivotal select --help.")
    wrong = flags_given(options, _OF_SELECTION if ranking else OF_VALUES)
    if not ranking and options.warm_start:
        wrong.append("--warm-start")
    if wrong:
        first = "--value-method" if wrong[0] == "--method" else wrong[0]
        fix = "omit it" if ranking else "add --method value, or omit it"
        which = "no part of" if ranking else "only for"
        raise UsageError(f"{first} is {which} a ranking by value; {fix}.")
    if (options.price is None) != (options.budget is None):
        raise UsageError("--price and --budget go together; give both or neither.")


def _select(options: argparse.Namespace, screen: Screen, data: Data) -> None:
    """Select by a method that looks at the rows together."""
    import numpy as np

    from pivotal.analysis.selection import select
    from pivotal.tables import write_table

    ready = data.prepared
    marks = given(options, "include", "exclude")
    wished: dict[str, Any] = {name: _marked(data, column, f"--{name}") for name, column in marks.items()}
    served = {"X_test": ready.X_test, "y_test": ready.y_test} if options.for_test else {}
    chosen = select(
        ready.X,
        ready.y,
        _size(options),
        method=options.selector,
        keep=options.keep,
        budget=options.budget,
        prices=None if options.price is None else _numbers(data, options.price),
        groups=None if options.group is None else _cells(data, options.group, "--group"),
        quotas="data" if options.by_class and options.quotas is None else options.quotas,
        class_weight=options.class_weight,
        ids=ready.ids,
        **choosing(options, screen),
        **wished,
        **served,
    )
    write_table(data.table.take(data.rows[chosen.indices]), options.out, safe=options.safe_csv, form=options.format)
    _tell(options, screen, chosen)
    if ready.X_test is not None and not options.for_test:
        TestScores(options, screen, data).tell_selection(np.empty(0, np.int64), chosen.indices)
    if options.report is not None and not chosen.facts.get("interrupted"):
        from pivotal.report.selection_page import write_selection

        write_selection(chosen, options.report, title=f"Selection from {data.name}")
        screen.wrote(options.report)
    screen.wrote(options.out, f"{len(chosen)} of {len(data.rows)} rows")


def _tell(options: argparse.Namespace, screen: Screen, chosen: Selection) -> None:
    """Say what was selected, and what to expect of it."""
    interrupted = bool(chosen.facts.get("interrupted"))
    stopped = "; interrupted, this is what was reached" if interrupted else ""
    groups = f" of {chosen.facts['n_groups']} groups" if chosen.facts.get("n_groups") else ""
    cost = "" if options.budget is None else f" for {chosen.facts['spent']:.6g} of {options.budget:g}"
    screen.tell(
        f"Selected {len(chosen)} of {chosen.n_rows} rows ({100 * chosen.share:.3g} %){groups}{cost} by {chosen.method}"
        f"{stopped}."
    )
    if not (options.no_estimate or interrupted):
        sentence = str(chosen.expected)
        screen.tell(f"{sentence[0].upper()}{sentence[1:]}.")


def _size(options: argparse.Namespace) -> Any:
    """Return the size that was asked for: a number, a share, a percentage, or None."""
    if options.n is not None or options.size is None:
        return options.n
    text = str(options.size).strip()
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    return text  # a percentage, or what the library turns down, and says why


def _cells(data: Data, column: str, option: str) -> list[Any]:
    """Return the cells of a column, for the rows that are selected from."""
    cells: list[Any] = data.table.column(data.table.check_column(column, option)).to_pylist()
    return [cells[row] for row in data.rows.tolist()]


def _marked(data: Data, column: str, option: str) -> AnyArray:
    import numpy as np

    return np.array([str(cell).strip().lower() in _YES for cell in _cells(data, column, option)])


def _numbers(data: Data, column: str) -> AnyArray:
    import numpy as np

    numbers = []
    for cell in _cells(data, column, "--price"):
        try:
            numbers.append(float(cell))
        except (TypeError, ValueError):
            raise ValueError(f"--price must name a column of numbers; got {cell!r} in {column!r}. Fill it.") from None
    return np.array(numbers)


def _rank(options: argparse.Namespace, screen: Screen, data: Data) -> None:
    """Take the rows of highest value."""
    from pivotal.analysis.selection import as_number
    from pivotal.tables import write_table

    n_rows = len(data.rows)
    if options.n is not None and not 1 <= options.n <= n_rows:
        raise ValueError(f"-n must be between 1 and the {n_rows} rows there are to select from; got {options.n}.")
    n = as_number(_size(options), n_rows)
    if not 0 <= options.warm_start <= n:
        raise ValueError(f"--warm-start must be between 0 and the {n} rows to keep; got {options.warm_start}.")
    values = value_rows(options, screen, data, against_test=options.for_test)
    if options.by_class and data.regression:
        raise ValueError("--by-class needs classes, and --utility regression has none; omit one of them.")
    classes = data.prepared.y if options.by_class else None
    warm, added = choose(values, n, options.warm_start, options.seed, classes)
    chosen = data.rows[sorted([*warm.tolist(), *added.tolist()])]
    write_table(data.table.take(chosen), options.out, safe=options.safe_csv, form=options.format)
    if data.prepared.X_test is not None:
        TestScores(options, screen, data).tell_selection(warm, added)
    screen.wrote(options.out, f"{n} of {n_rows} rows")


def choose(
    values: Values, n: int, n_warm: int, seed: int, classes: AnyArray | None = None
) -> tuple[IndexArray, IndexArray]:
    """Draw `n_warm` rows at random, and add the most valuable of the others, n in all; return both as training indices.

    With `classes`, the labels, each class is given its share.
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
