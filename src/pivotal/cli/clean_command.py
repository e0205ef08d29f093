"""`pivotal clean`: labels that the other rows contradict, and how many are wrong."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

from pivotal.cli._options import add_columns, add_file, add_output, add_running, add_table, output
from pivotal.cli._parser import Parser, UsageError, names
from pivotal.cli._screen import Screen
from pivotal.cli._work import Data, check_report, given, load, roles_of

_EXAMPLES: Final = """\
examples:
  pivotal clean train.csv --label species
  pivotal clean train.csv --label species --share 0.05 -o suspects.csv
  pivotal clean train.csv --label species --all -o scores.csv
  pivotal clean train.csv --label species --fix corrected.csv --drop kept.csv
  pivotal clean train.csv --label species --owner annotator --counts counts.csv
  pivotal clean houses.csv --label price --utility regression --report suspects.html
  pivotal clean films.csv --labels drama,comedy,horror --fix corrected.csv
  pivotal clean train.csv --label species --apply decisions.csv --fix cleaned.csv
  pivotal clean train.csv --label species --check --quiet || echo "look at the labels"
"""
_SHOWN: Final = 20
_COUNTED: Final = 10  # lines on where wrong labels are expected
_INSTEAD: Final = "say --utility regression to look for wrong numbers, or --classes if they name classes"
FOUND: Final = 1  # exit code of --check when there are suspects


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal clean TABLE --label COLUMN [--fix FILE] [--drop FILE] [-o FILE] [options]"
    parser.description = (
        "List rows whose label is probably wrong, the label that the other rows suggest, and why; estimate how many "
        "labels are wrong, and where. Labels are classes, with --utility regression numbers, or with --labels many. "
        "The table itself is never changed: --fix writes a corrected copy, --drop one without the suspects."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to clean")
    add_columns(parser, owner="who labelled the row: wrong labels are counted for each")
    group = parser.add_argument_group("suspects")
    group.add_argument(
        "--labels",
        type=names,
        metavar="COLUMN,...",
        help="many labels: a column of 0 and 1 for each, instead of --label",
    )
    group.add_argument(
        "--utility", choices=("regression",), help="labels are numbers to be predicted, rather than classes"
    )
    group.add_argument(
        "--voters",
        type=names,
        metavar="NAME,...",
        help="voters: neighbors, forest, linear, rbf, laplace (default: all but neighbors; of text, all but rbf)",
    )
    group.add_argument("-k", "--k", type=int, help="number of nearest rows that vote, or are shown (default: 20)")
    group.add_argument(
        "--trees",
        type=int,
        metavar="N",
        help="trees of the forest that votes; with 0 the nearest rows alone vote, which is quicker (default: 100)",
    )
    group.add_argument(
        "--odds",
        type=float,
        help="suspect a row when another label has this many times the votes of its own, or a number when it is this "
        "many times as likely wrong as right (default: 2)",
    )
    number = group.add_mutually_exclusive_group()
    number.add_argument("-n", "--n", type=int, metavar="N", help="number of suspects (default: decided by --odds)")
    number.add_argument("--share", type=float, metavar="SHARE", help="this share of the rows, such as 0.05")
    group.add_argument("--top", type=int, metavar="N", help=f"how many to print (default: {_SHOWN})")
    group.add_argument("--all", action="store_true", help="list every row in -o, most suspicious first")
    group.add_argument("--check", action="store_true", help=f"exit with code {FOUND} when there are suspects")
    add_file(
        group,
        "--counts",
        type=output,
        metavar="FILE",
        help="how many wrong labels are expected: in all, by class, by --owner, and given against suggested",
    )
    add_file(group, "--report", type=output, metavar="FILE.html", help="write one page: how many, where, and suspects")
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
    screen = Screen(options)
    if options.top is not None and options.top < 0:
        raise ValueError(f"--top must be an integer of at least 0; got {options.top}.")
    if options.all and options.out is None:
        raise UsageError("--all is about the list that -o writes; say where, for example -o scores.csv.")
    check_report(options.report, "suspects.html")
    if options.labels is not None:
        check_labels(options)
    if options.apply is not None:
        return apply(options, screen)
    targets = (options.out, options.fix, options.drop, options.counts, options.report)
    data = load_labels(options, screen, targets)
    from pivotal.analysis.label_errors import find_label_errors
    from pivotal.cli._clean_files import describe_count, rounded, suspect_frame, table_of_labels, write_suspects

    many = options.labels is not None
    targets_of = table_of_labels(data.table, options.labels, roles_of(options, data.label).gaps) if many else None
    found = find_label_errors(
        data.prepared.X,
        data.prepared.y if targets_of is None else targets_of,
        task="multilabel" if many else "regression" if data.regression else "classification",
        ids=data.prepared.ids,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
        **given(options, "k", "n", "share", "odds", "voters", n_trees="trees"),
    )
    if len(data.prepared.unknown):
        from pivotal.analysis.label_errors.clean import set_aside

        found = set_aside(found, data.prepared.unknown)
        screen.note(f"{len(data.prepared.unknown)} of these rows have no text or image to judge them by: no suspects.")
    screen.tell(describe_count(found))
    screen.detail(f"votes: {', '.join(f'{name} {weight:.2f}' for name, weight in found.settings['weights'].items())}")
    top = options.top if options.top is not None else 0 if options.quiet else _SHOWN
    if top and len(found.suspects):
        first = suspect_frame(found, data, found.suspects[:top])
        screen.show("Most suspicious first", first.drop(columns="score"), widest=200)
    if data.prepared.owners is not None and not options.quiet:
        screen.show("Wrong labels expected, by owner", rounded(found.by_group(data.prepared.owners))[:_COUNTED])
    write_suspects(options, data, found)
    for path, what in (
        (options.out, "all rows" if options.all else "suspects"),
        (options.counts, "how many are wrong"),
        (options.fix, "corrected"),
        (options.drop, "without the suspects"),
        (options.report, "one page"),
    ):
        screen.wrote(path, what)
    return FOUND if options.check and len(found.suspects) else 0


def check_labels(options: argparse.Namespace) -> None:
    """Turn down many labels beside options that are about one, or that are not many."""
    single = {"--label": options.label, "--utility": options.utility, "--apply": options.apply}
    beside = next((name for name, choice in single.items() if choice is not None), None)
    if beside is not None:
        raise UsageError(
            f"--labels names a column for each of many labels, and {beside} is about one; omit one of them."
        )
    if len(set(options.labels)) < max(2, len(options.labels)):
        raise UsageError(
            f"--labels must name at least two different columns; got {', '.join(options.labels)}. Use --label for one."
        )


def load_labels(options: argparse.Namespace, screen: Screen, targets: tuple[str | None, ...]) -> Data:
    """Read the table; where labels turn out to be numbers, ask whether wrong numbers are meant."""
    how: dict[str, Any] = {"targets": targets, "results": options.out, "instead_of_numbers": _INSTEAD}
    if options.labels is not None:
        options.label = options.labels[0]
        how["no_features"] = [("--labels", name) for name in options.labels[1:]]
    try:
        return load(options, screen, **how)
    except ValueError as error:
        if _INSTEAD not in str(error) or options.quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        print(f"{error}\nLook for wrong numbers? [Y/n] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
            raise
    options.utility = "regression"
    return load(options, screen, **how)


def apply(options: argparse.Namespace, screen: Screen) -> int:
    """Write the table with the decisions of a review applied."""
    from pivotal.review import apply_decisions
    from pivotal.tables import read_many, write_table

    said = {"--drop": options.drop, "-o": options.out, "-n": options.n, "--share": options.share}
    said |= {"--counts": options.counts, "--utility": options.utility, "--report": options.report}
    said |= {"--check": options.check or None, "--all": options.all or None}
    odd = next((name for name, choice in said.items() if choice is not None), None)
    if odd is not None:
        raise UsageError(f"{odd} is about suspects, and --apply takes decisions instead; omit one of them.")
    if options.fix is None:
        raise UsageError("say where to write the table with the decisions applied, for example --fix cleaned.csv.")
    data = load(options, screen, targets=(options.fix,), instead_of_numbers=_INSTEAD)
    decisions, _ = read_many([options.apply])
    cleaned, counts = apply_decisions(data.table, data.label, data.prepared.y, decisions)
    write_table(cleaned, options.fix, safe=options.safe_csv, form=options.format)
    screen.tell(f"{counts['changed']} labels changed, {counts['dropped']} rows dropped, as {options.apply} says.")
    screen.wrote(options.fix, "cleaned")
    return 0
