"""`pivotal clean`: labels that the other rows contradict, and how many are wrong."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_output, add_running, add_table, output
from pivotal.cli._parser import names

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
  pivotal clean train.csv --label species --owner annotator --counts counts.csv
  pivotal clean houses.csv --label price --utility regression
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
        "labels are wrong, and where. Labels are classes, or with --utility regression numbers. "
        "The table itself is never changed: --fix writes a corrected copy, --drop one without the suspects."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to clean")
    add_columns(parser, owner="who labelled the row: wrong labels are counted for each")
    group = parser.add_argument_group("suspects")
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

    screen = Screen(options)
    if options.top is not None and options.top < 0:
        raise ValueError(f"--top must be an integer of at least 0; got {options.top}.")
    if options.all and options.out is None:
        raise UsageError("--all is about the list that -o writes; say where, for example -o scores.csv.")
    if options.apply is not None:
        return apply(options, screen)
    targets = (options.out, options.fix, options.drop, options.counts)
    data = load_labels(options, screen, targets)
    from pivotal.analysis.label_errors import find_label_errors

    chosen = {
        "k": options.k,
        "n": options.n,
        "share": options.share,
        "odds": options.odds,
        "n_trees": options.trees,
        "voters": options.voters,
    }
    found = find_label_errors(
        data.prepared.X,
        data.prepared.y,
        task="regression" if data.regression else "classification",
        ids=data.prepared.ids,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=screen.progress,
        **{name: choice for name, choice in chosen.items() if choice is not None},
    )
    screen.tell(describe_count(found))
    screen.detail(f"votes: {', '.join(f'{name} {weight:.2f}' for name, weight in found.settings['weights'].items())}")
    top = options.top if options.top is not None else 0 if options.quiet else _SHOWN
    if top and len(found.suspects):
        first = label_frame(found, data, found.suspects[:top])
        screen.show("Most suspicious first", first.drop(columns="score"), widest=200)
    if data.prepared.owners is not None and not options.quiet:
        screen.show("Wrong labels expected, by owner", rounded(found.by_group(data.prepared.owners))[:_COUNTED])
    write(options, data, found)
    for path, what in (
        (options.out, "all rows" if options.all else "suspects"),
        (options.counts, "how many are wrong"),
        (options.fix, "corrected"),
        (options.drop, "without the suspects"),
    ):
        if path is not None:
            screen.wrote(path, what)
    return FOUND if options.check and len(found.suspects) else 0


def load_labels(options: argparse.Namespace, screen: Screen, targets: tuple[str | None, ...]) -> Data:
    """Read the table; where labels turn out to be numbers, ask whether wrong numbers are meant."""
    import sys

    from pivotal.cli._work import load

    how: dict[str, Any] = {"targets": targets, "results": options.out, "instead_of_numbers": _INSTEAD}
    try:
        return load(options, screen, **how)
    except ValueError as error:
        asked = _INSTEAD in str(error) and not options.quiet and sys.stdin.isatty() and sys.stderr.isatty()
        if not asked:
            raise
        print(f"{error}\nLook for wrong numbers? [Y/n] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
            raise
    options.utility = "regression"
    return load(options, screen, **how)


def apply(options: argparse.Namespace, screen: Screen) -> int:
    """Write the table with the decisions of a review applied."""
    from pivotal.cli._parser import UsageError
    from pivotal.cli._work import load
    from pivotal.review import apply_decisions
    from pivotal.tables import read_many, write_table

    given = {"--drop": options.drop, "-o": options.out, "-n": options.n, "--share": options.share}
    given |= {"--counts": options.counts, "--utility": options.utility}
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


def describe_count(found: LabelErrors) -> str:
    """Say how many are suspects and how many are wrong: of as many suspects as were asked for, not all need be."""
    n, n_rows = len(found.suspects), len(found.scores)
    what = "numbers" if found.settings["task"] == "regression" else "labels"
    if found.fixed_size:
        many = f"The {'' if n == 1 else f'{n} '}most suspicious of {n_rows} {what}"
    else:
        many = f"{n} of {n_rows} {what} {'is a suspect' if n == 1 else 'are suspects'}"
    if n > 1:
        at_most = "at most " if found.n_wrong.upper_bound_only else ""
        many += f", {at_most}{found.precision():.0%} of them expected to be wrong"
    return f"{many}; {found.n_wrong.sentence}."


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return counts by group as they are printed."""
    shown = frame.reset_index(names="owner")
    return shown.assign(
        **{name: shown[name].round(1) for name in ("wrong", "low", "high")}, share=shown["share"].round(3)
    )


def counts_frame(found: LabelErrors, data: Data) -> pd.DataFrame:
    """Return expected numbers of wrong labels: in all, by class, by owner, and by label given and suggested."""
    import pandas as pd

    n = found.n_wrong
    total = {"rows": len(found.scores), "suspects": len(found.suspects), "wrong": n.count, "low": n.low, "high": n.high}
    parts = [pd.DataFrame([{"by": "all", "name": "", "suggested": "", **total}])]
    if not data.regression:
        parts.append(found.by_class().reset_index(names="name").assign(by="class", suggested=""))
    if data.prepared.owners is not None:
        parts.append(found.by_group(data.prepared.owners).reset_index(names="name").assign(by="owner", suggested=""))
    if not data.regression:
        pairs = found.confusion().rename_axis(index="name").reset_index().melt("name", value_name="wrong")
        pairs = pairs[pairs["name"] != pairs["suggested"]].sort_values("wrong", ascending=False, kind="stable")
        parts.append(pairs.assign(by="pair"))
    columns = ["by", "name", "suggested", "rows", "suspects", "wrong", "low", "high"]
    whole = pd.concat([part.astype({"name": object}).reindex(columns=columns) for part in parts], ignore_index=True)
    return whole.astype({"rows": "Int64", "suspects": "Int64"})


def label_frame(found: LabelErrors, data: Data, rows: IndexArray) -> pd.DataFrame:
    """Return a line for each of some rows: its id, its label, the label suggested, how sure, and why."""
    import pandas as pd

    ready = data.prepared
    columns: dict[str, Any] = {
        "id": [ready.ids[row] for row in rows],
        "label": [ready.y[row] for row in rows],
        "suggested": [found.suggested[row] for row in rows],
        "confidence": [float(found.confidence[row]) for row in rows],
        "error_chance": [float(found.error_chances[row]) for row in rows],
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
    if options.counts is not None:
        write_frame(counts_frame(found, data), options.counts, safe=options.safe_csv, form=options.format)
    if options.fix is not None:
        labels = found.suggested[suspects].tolist()
        if data.regression:
            labels = numbers_as_written(labels, found, decimal=options.decimal if data.table.written else None)
        fixed = data.table.replaced(
            data.label, suspects, cells_of_labels(data.table, data.label, data.prepared.y, labels)
        )
        write_table(fixed, options.fix, safe=options.safe_csv, form=options.format)
    if options.drop is not None:
        kept = np.setdiff1d(np.arange(len(data.table)), suspects)
        write_table(data.table.take(kept), options.drop, safe=options.safe_csv, form=options.format)


def numbers_as_written(numbers: list[float], found: LabelErrors, *, decimal: str | None) -> list[Any]:
    """Return suggested numbers as cells: six digits, integers where all are, text for text files.

    Parameters
    ----------
    numbers : list of float
    found : LabelErrors
        With the numbers as given.
    decimal : str or None
        What text files write before decimals; None for typed tables.
    """
    integers = bool((found.given % 1 == 0).all())
    known = set(found.given.tolist())
    # A suspect that keeps its number keeps how it is written.
    cells = [one if one in known else int(one) if integers else float(f"{one:.6g}") for one in numbers]
    return cells if decimal is None else [one if one in known else str(one).replace(".", decimal) for one in cells]
