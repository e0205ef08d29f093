"""`pivotal check`: everything that is wrong with a table, on one page."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_names, add_output, add_running, add_table, output
from pivotal.cli._parser import Parser, UsageError, names
from pivotal.cli._screen import Screen
from pivotal.cli._work import Data, check_report, load, roles_of

if TYPE_CHECKING:
    import pandas as pd

    from pivotal.analysis.checkup import CheckUp

_EXAMPLES: Final = """\
examples:
  pivotal check train.csv --label species
  pivotal check train.csv --test test.csv --label species --report check.html -o findings.csv
  pivotal check train.csv --label species --fail-on 'leakage,conflicts,label_errors>0.02' --quiet
  pivotal check train.csv --label species --threshold outliers=0.2,class_imbalance=0.3
  pivotal check houses.csv --label price --regression --all -o scores.parquet
"""
FAILED: Final = 1  # exit code of --fail-on when a condition holds


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = (
        "pivotal check TABLE --label COLUMN [--test TABLE] [--report FILE.html] [--fail-on NAME,...] [options]"
    )
    parser.description = (
        "Look for wrong labels, exact and near duplicates, duplicates with different labels, training rows in the test "
        "set, outliers, rare classes, groups that are predicted badly, an order that is not random, rows of no value, "
        "rows that do harm, missing cells, and empty, constant and id-like columns. Each finding says what to do about "
        "it."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to check")
    add_columns(parser, owner="whose row it is: a way to group rows")
    group = parser.add_argument_group("findings")
    add_file(group, "--test", metavar="TABLE", help="test rows: training rows among them are leakage")
    group.add_argument("--regression", action="store_true", help="the label is a number to be predicted")
    group.add_argument("--only", type=names, metavar="NAME,...", help="what to look for (default: everything)")
    add_names(group, "--skip", "NAME,...", "what not to look for")
    group.add_argument(
        "--threshold",
        type=_numbers,
        default={},
        metavar="NAME=NUMBER,...",
        help="what scores below it is found; the names are those of the findings",
    )
    group.add_argument("-k", "--k", type=int, default=5, help="number of neighbours that vote (default: %(default)s)")
    add_names(
        group,
        "--fail-on",
        "NAME,...",
        f"exit with code {FAILED} when one of these is found; any is all of them, label_errors>20 allows 20, "
        "label_errors>0.01 one percent",
    )
    add_file(group, "--report", type=output, metavar="FILE.html", help="write one page with everything")
    add_file(group, "--json", type=output, metavar="FILE.json", help="write everything as one object")
    group.add_argument("--all", action="store_true", help="list every row in -o, with all of its scores")
    add_output(parser, "a line for each finding of each row")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look for everything, and write and print what was asked for."""
    from pivotal.analysis.checkup import CheckUp, check

    screen = Screen(options)
    check_report(options.report, "check.html")
    if options.json is not None and not options.json.lower().endswith(".json"):
        raise UsageError(f"--json writes a JSON file, for example --json check.json; got {options.json}.")
    if options.all and options.out is None:
        raise UsageError("--all is about the list that -o writes; say where, for example -o scores.csv.")
    CheckUp.check_conditions(options.fail_on)
    options.utility = "regression" if options.regression else None
    data = load(
        options,
        screen,
        targets=(options.out, options.report, options.json),
        results=options.out,
        instead_of_numbers="say --regression if they are amounts to be predicted, or --classes if they name classes",
    )
    ready = data.prepared
    found = check(
        ready.X,
        ready.y,
        ready.X_test,
        ready.y_test,
        owners=ready.owners,
        columns=_columns(options, data),
        task="regression" if data.regression else "classification",
        only=options.only,
        skip=options.skip,
        thresholds=options.threshold,
        k=options.k,
        ids=ready.ids,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
    )
    _tell(screen, found)
    _write(options, screen, data, found)
    failed = found.failures(options.fail_on)
    for sentence in failed:
        screen.note(f"failed on {sentence}")
    return FAILED if failed else 0


def _columns(options: argparse.Namespace, data: Data) -> pd.DataFrame:
    """Return the columns as they were written, numbers as numbers, gaps as gaps."""
    import pandas as pd

    from pivotal.tables.columns import as_numbers, as_text, holds

    roles = roles_of(options, data.label)
    taken = {data.label, roles.id, roles.owner}
    columns: dict[str, Any] = {}
    for name in data.table.columns:
        if name in taken or name in roles.ignore or holds(data.table, name) or data.table.matrix_shape(name):
            continue
        numbers, wrong = as_numbers(data.table, name, roles.gaps)
        columns[name] = as_text(data.table, name, roles.gaps) if len(wrong) else numbers
    return pd.DataFrame(columns, index=range(len(data.table)))


def _tell(screen: Screen, found: CheckUp) -> None:
    """Print a paragraph for each finding, and one line for all that is well."""
    present = found.present
    screen.tell(f"{len(present)} of {len(found)} checks found something in {len(found.ids)} rows.")
    for finding in present:
        screen.tell(f"\n{finding.title} ({finding.name})\n  {finding.sentence}\n  {finding.advice}")
    clean = [finding.name for finding in found.values() if not finding.present and not finding.skipped]
    if clean:
        screen.tell(f"\nNothing to do: {', '.join(clean)}.")
    for finding in found.values():
        if finding.skipped:
            screen.tell(f"Not looked for: {finding.name}, as {finding.skipped}")


def _write(options: argparse.Namespace, screen: Screen, data: Data, found: CheckUp) -> None:
    if options.out is not None:
        from pivotal.tables import write_frame

        frame = found.to_frame().reset_index() if options.all else found.found()
        write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
        screen.wrote(options.out, "all rows" if options.all else f"{len(frame)} lines")
    if options.json is not None:
        found.save(options.json)
        screen.wrote(options.json)
    if options.report is not None:
        found.report(options.report, text=data.prepared.text, title=f"Check-up of {data.table.name}")
        screen.wrote(options.report)


def _numbers(text: str) -> dict[str, float]:
    """Cut NAME=NUMBER,... into a mapping."""
    found = {}
    for part in names(text):
        name, equals, number = part.partition("=")
        try:
            found[name.strip().replace("-", "_")] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise argparse.ArgumentTypeError(f"expected NAME=NUMBER such as outliers=0.2; got {part!r}")
    return found
