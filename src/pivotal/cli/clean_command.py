"""`pivotal clean`: labels that their neighbours contradict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_output, add_running, add_table, output

if TYPE_CHECKING:
    import pandas as pd

    from pivotal.analysis.label_errors import LabelErrors
    from pivotal.cli._parser import Parser
    from pivotal.cli._screen import Screen
    from pivotal.cli._work import Data
    from pivotal.core.types import IndexArray

_EXAMPLES: Final = """\
examples:
  pivotal clean train.csv --label species
  pivotal clean train.csv --label species --share 0.05 -o suspects.csv
  pivotal clean train.csv --label species --all -o scores.csv
  pivotal clean train.csv --label species --fix corrected.csv --drop kept.csv
  pivotal clean train.csv --label species --apply decisions.csv --fix cleaned.csv
  pivotal clean train.csv --label species --check --quiet || echo "look at the labels"
"""
_SHOWN: Final = 20
_INSTEAD: Final = (
    "wrong labels are found among classes; to rank numbers, use pivotal value --utility regression --bottom 20"
)
FOUND: Final = 1  # exit code of --check when there are suspects


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal clean TABLE --label COLUMN [--fix FILE] [--drop FILE] [-o FILE] [options]"
    parser.description = (
        "List rows whose label is probably wrong, the label that their neighbourhood suggests, and why. "
        "The table itself is never changed: --fix writes a corrected copy, --drop one without the suspects."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to clean")
    add_columns(parser, owner=None)
    group = parser.add_argument_group("suspects")
    group.add_argument("-k", "--k", type=int, help="number of nearest rows that vote (default: 20)")
    group.add_argument(
        "--trees", type=int, metavar="N", help="trees of the forest that votes too; 0 is quicker (default: 100)"
    )
    group.add_argument(
        "--odds",
        type=float,
        help="suspect a row when another label has this many times the votes of its own (default: 2)",
    )
    number = group.add_mutually_exclusive_group()
    number.add_argument("-n", "--n", type=int, metavar="N", help="number of suspects (default: decided by --odds)")
    number.add_argument("--share", type=float, metavar="SHARE", help="this share of the rows, such as 0.05")
    group.add_argument("--top", type=int, metavar="N", help=f"how many to print (default: {_SHOWN})")
    group.add_argument("--all", action="store_true", help="list every row in -o, most suspicious first")
    group.add_argument("--check", action="store_true", help=f"exit with code {FOUND} when there are suspects")
    add_file(group, "--fix", type=output, metavar="FILE", help="write the table with the suggested labels")
    add_file(group, "--drop", type=output, metavar="FILE", help="write the table without the suspects")
    add_file(
        group,
        "--apply",
        metavar="FILE",
        help="apply the decisions that pivotal review wrote, instead of finding suspects; --fix says where to",
    )
    add_output(parser, "the suspects: row, label, suggested label, score and why")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find the suspects, and write and print what was asked for."""
    from pivotal.cli._parser import UsageError
    from pivotal.cli._screen import Screen
    from pivotal.cli._work import load

    screen = Screen(options)
    if options.top is not None and options.top < 0:
        raise ValueError(f"--top must be an integer of at least 0; got {options.top}.")
    if options.all and options.out is None:
        raise UsageError("--all is about the list that -o writes; say where, for example -o scores.csv.")
    if options.apply is not None:
        return apply(options, screen)
    data = load(
        options,
        screen,
        targets=(options.out, options.fix, options.drop),
        results=options.out,
        instead_of_numbers=_INSTEAD,
    )
    from pivotal.analysis.label_errors import find_label_errors

    chosen = {
        "k": options.k,
        "n": options.n,
        "share": options.share,
        "odds": options.odds,
        "n_trees": options.trees,
    }
    found = find_label_errors(
        data.prepared.X,
        data.prepared.y,
        ids=data.prepared.ids,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
        **{name: choice for name, choice in chosen.items() if choice is not None},
    )
    screen.tell(tell_number(found))
    top = options.top if options.top is not None else 0 if options.quiet else _SHOWN
    if top and len(found.suspects):
        first = label_frame(found, data, found.suspects[:top])
        screen.show("Most suspicious first", first.drop(columns="score"), widest=200)
    write(options, data, found)
    for path, what in (
        (options.out, "all rows" if options.all else "suspects"),
        (options.fix, "corrected"),
        (options.drop, "without the suspects"),
    ):
        if path is not None:
            screen.wrote(path, what)
    return FOUND if options.check and len(found.suspects) else 0


def apply(options: argparse.Namespace, screen: Screen) -> int:
    """Write the table with the decisions of a review applied."""
    from pivotal.cli._parser import UsageError
    from pivotal.cli._work import load
    from pivotal.review import apply_decisions
    from pivotal.tables import read_many, write_table

    given = {"--drop": options.drop, "-o": options.out, "-n": options.n, "--share": options.share}
    odd = next((name for name, choice in given.items() if choice is not None), None)
    if odd is not None or options.check or options.all:
        name = odd or ("--check" if options.check else "--all")
        raise UsageError(f"{name} is about suspects, and --apply takes decisions instead; leave one of them out.")
    if options.fix is None:
        raise UsageError("say where to write the table with the decisions applied, for example --fix cleaned.csv.")
    data = load(options, screen, targets=(options.fix,), instead_of_numbers=_INSTEAD)
    decisions, _ = read_many([options.apply])
    cleaned, counts = apply_decisions(data.table, data.label, data.prepared.y, decisions)
    write_table(cleaned, options.fix, safe=options.safe_csv, form=options.format)
    screen.tell(f"{counts['changed']} labels changed, {counts['dropped']} rows dropped, as {options.apply} says.")
    screen.wrote(options.fix, "cleaned")
    return 0


def tell_number(found: LabelErrors) -> str:
    """Say how many labels are probably wrong; those that were asked for by number are only the most suspicious."""
    n, n_rows, n_probable = len(found.suspects), len(found.scores), found.n_probable
    are = "is" if n_probable == 1 else "are"
    if not found.fixed_size:
        return f"{n_probable} of {n_rows} labels {are} probably wrong."
    which = "the most suspicious" if n == 1 else f"the {n} most suspicious"
    return f"{which.capitalize()} of {n_rows} labels; {n_probable} {are} probably wrong by the usual rule."


def label_frame(found: LabelErrors, data: Data, rows: IndexArray) -> pd.DataFrame:
    """Return a line for each of some rows: its id, its label, the label suggested, how sure, and why."""
    import pandas as pd

    ready = data.prepared
    columns: dict[str, Any] = {
        "id": [ready.ids[row] for row in rows],
        "label": [ready.y[row] for row in rows],
        "suggested": [found.suggested[row] for row in rows],
        "confidence": [float(found.confidence[row]) for row in rows],
        "score": [float(found.scores[row]) for row in rows],
    }
    if ready.text is not None:
        columns["text"] = [ready.text[row] for row in rows]
    return pd.DataFrame({**columns, "why": [found.explain(row) for row in rows]})


def write(options: argparse.Namespace, data: Data, found: LabelErrors) -> None:
    """Write the list of suspects, the corrected table and the table without them."""
    import numpy as np

    from pivotal.tables import cells_of_labels, write_frame, write_table

    suspects = np.asarray(found.suspects, dtype=np.int64)
    if options.out is not None:
        frame = label_frame(found, data, found.order if options.all else suspects)
        if options.all:
            frame.insert(4, "suspect", np.isin(found.order, suspects))
        write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
    if options.fix is not None:
        labels = found.suggested[suspects].tolist()
        fixed = data.table.replaced(
            data.label, suspects, cells_of_labels(data.table, data.label, data.prepared.y, labels)
        )
        write_table(fixed, options.fix, safe=options.safe_csv, form=options.format)
    if options.drop is not None:
        kept = np.setdiff1d(np.arange(len(data.table)), suspects)
        write_table(data.table.take(kept), options.drop, safe=options.safe_csv, form=options.format)
