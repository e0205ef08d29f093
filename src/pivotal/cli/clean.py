"""`pivotal clean`: labels that their neighbours contradict."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_output, add_running, add_table

if TYPE_CHECKING:
    import pandas as pd

    from pivotal._types import AnyArray
    from pivotal.cli._parser import Parser
    from pivotal.cli._work import Data

_EXAMPLES: Final = """\
examples:
  pivotal clean train.csv --label species
  pivotal clean train.csv --label species --share 0.05 -o suspects.csv
  pivotal clean train.csv --label species --fix corrected.csv --drop kept.csv
  pivotal clean train.csv --label species --check --quiet || echo "look at the labels"
"""
_SHOWN: Final = 20
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
        help="suspect a row when another label has so many times the votes of its own (default: 2)",
    )
    number = group.add_mutually_exclusive_group()
    number.add_argument("-n", "--n", type=int, metavar="N", help="so many suspects (default: found from the data)")
    number.add_argument("--share", type=float, metavar="SHARE", help="this share of the rows, such as 0.05")
    group.add_argument("--top", type=int, default=_SHOWN, metavar="N", help="how many to print (default: %(default)s)")
    group.add_argument("--check", action="store_true", help=f"exit with code {FOUND} when there are suspects")
    add_file(group, "--fix", metavar="FILE", help="write the table with the suggested labels")
    add_file(group, "--drop", metavar="FILE", help="write the table without the suspects")
    add_output(parser, "the suspects: row, label, suggested label and why")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Find the suspects, and write and print what was asked for."""
    from pivotal.cli._screen import Screen
    from pivotal.cli._work import load

    screen = Screen(options)
    if options.top < 0:
        raise ValueError(f"--top must be a whole number of at least 0; got {options.top}.")
    data = load(options, screen, targets=(options.out, options.fix, options.drop), results=options.out)
    from pivotal.cleaning import find_label_errors

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
    frame = suspects_frame(found, data)
    screen.tell(f"{len(frame)} of {len(data.rows)} labels are probably wrong.")
    if len(frame) and options.top and not options.quiet:
        screen.show("Most suspicious first", frame.head(options.top), widest=200)
    write(options, data, found, frame)
    for path, what in ((options.out, "suspects"), (options.fix, "corrected"), (options.drop, "without the suspects")):
        if path is not None:
            screen.wrote(path, what)
    return FOUND if options.check and len(frame) else 0


def suspects_frame(found: Any, data: Data) -> pd.DataFrame:
    """Return a row per suspect: its id, its label, the label suggested, how sure, and why."""
    import pandas as pd

    ready = data.prepared
    rows = [int(row) for row in found.suspects]
    columns: dict[str, Any] = {
        "id": [ready.ids[row] for row in rows],
        "label": [ready.y[row] for row in rows],
        "suggested": [found.suggested[row] for row in rows],
        "confidence": [float(found.confidence[row]) for row in rows],
    }
    if ready.text is not None:
        columns["text"] = [ready.text[row] for row in rows]
    return pd.DataFrame({**columns, "why": [found.explain(row) for row in rows]})


def write(options: argparse.Namespace, data: Data, found: Any, frame: pd.DataFrame) -> None:
    """Write the list of suspects, the corrected table and the table without them."""
    import numpy as np

    from pivotal.tables import write_frame, write_table

    if options.out is not None:
        write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
    suspects = np.asarray(found.suspects, dtype=np.int64)
    if options.fix is not None:
        fixed = data.table.replaced(data.label, suspects, cells_of(data, found.suggested[suspects]))
        write_table(fixed, options.fix, safe=options.safe_csv, form=options.format)
    if options.drop is not None:
        kept = np.setdiff1d(np.arange(len(data.table)), suspects)
        write_table(data.table.take(kept), options.drop, safe=options.safe_csv, form=options.format)


def cells_of(data: Data, labels: AnyArray) -> list[Any]:
    """Return labels as the table writes them: as in the first row that has them."""
    import pandas as pd

    column = data.table.column(data.label)
    first = pd.Series(data.prepared.y).drop_duplicates()
    written = {label: column[place].as_py() for place, label in first.items()}
    return [written[label] for label in labels]
