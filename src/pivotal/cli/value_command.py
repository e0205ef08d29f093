"""`pivotal value`: what each row of a table is worth."""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import (
    add_cluster,
    add_columns,
    add_file,
    add_folder,
    add_held_out,
    add_output,
    add_running,
    add_table,
    add_valuation,
)
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._work import Data, DistributedData, check_outputs, check_report, extreme_rows, load, value_rows

if TYPE_CHECKING:
    from pivotal.results.values import Values

_SHOWN: Final = 5  # rows from each end where nothing else was asked for
_POINTS: Final = 10_000  # of a report
_HINT: Final = (
    "These are values in the default game, which says what predictions hinge on; to find wrong labels, use pivotal "
    "clean, or --utility soft."
)

_EXAMPLES: Final = """\
examples:
  pivotal value train.csv --label species -o values.csv
  pivotal value train.csv --test test.csv --label species --semivalue shapley -o values.parquet
  pivotal value houses.csv --split 0.2 --label price --utility regression --bottom 10
  pivotal value 'parts/*.parquet' --label y --id key -o values.jsonl --report report.html
  pivotal value 's3://bucket/*.parquet' --label y --scheduler tcp://host:8786 -o values.parquet
  cat train.csv | pivotal value - --label species -o - --quiet | sort -t, -k2 -g
"""


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal value TABLE --label COLUMN [--test TABLE | --split SHARE] [-o FILE] [options]"
    parser.description = (
        "Say what each row of a table is worth to a nearest-neighbour model: how much it adds to the "
        "predictions of the test rows, or of all other rows where there are none. Numbers are standardised, categories "
        "one-hot encoded, text and images kept to be looked at; what was done to each column is printed."
    )
    parser.epilog = _EXAMPLES
    add_table(parser)
    add_columns(parser)
    add_held_out(
        parser,
        "rows whose predictions count (default: self-valuation, each row is predicted from the others)",
        "hold out this share of the table at random for the same purpose, such as 0.2",
    )
    add_valuation(parser)
    add_output(parser, "id, value, rank, error bound and standard error of every row")
    group = parser.add_argument_group("to look at")
    group.add_argument("--top", type=int, metavar="N", help="print the N most valuable rows")
    group.add_argument("--bottom", type=int, metavar="N", help="print the N least valuable rows")
    add_file(group, "--report", metavar="FILE.html", help="write one page with charts and tables")
    add_folder(
        group,
        "--images-from",
        help="folder to look for images in, before that of the table; the report shows no file outside of it "
        "(default: the table's folder)",
    )
    group.add_argument(
        "--max-points", type=int, metavar="N", help="points that the report shows one by one (default: 10000)"
    )
    add_cluster(parser)
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Value the rows, and write and print what was asked for."""
    screen = Screen(options)
    for name in ("top", "bottom"):
        n = getattr(options, name)
        if n is not None and n < 0:
            raise ValueError(f"--{name} must be an integer of at least 0; got {n}.")
    check_report(options.report, "report.html")
    if options.max_points is not None and options.max_points < 1:
        raise ValueError(f"--max-points must be an integer of at least 1; got {options.max_points}.")
    if options.images_from is not None and not Path(options.images_from).is_dir():
        raise UsageError(f"--images-from must be a folder; got {options.images_from}.")
    if options.scheduler is None:
        _value_here(options, screen)
    else:
        from pivotal.cli._cluster import check_options, connected, load_distributed_data

        check_options(options)
        check_outputs(options, (options.out,), options.out)
        with connected(options.scheduler, screen):
            _write(options, screen, load_distributed_data(options, screen))
    screen.wrote(options.out)
    screen.wrote(options.report)


def _value_here(options: argparse.Namespace, screen: Screen) -> None:
    """Value rows on this machine, and make the report."""
    data = load(options, screen, targets=(options.out, options.report), results=options.out)
    values = _write(options, screen, data)
    if options.report is not None:
        from pivotal.report import write_report
        from pivotal.tables.prepare import own_columns

        ready = data.prepared
        images, root = _images(options, screen, data)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            write_report(
                values,
                options.report,
                X=ready.X,
                y=ready.y,
                X_test=ready.X_test,
                y_test=ready.y_test,
                owners=ready.owners,
                text=ready.text,
                images=images,
                image_root=root,
                columns=own_columns(data.table.take(data.rows), ready.treatments),
                title=f"Values of {data.table.name}",
                max_points=_POINTS if options.max_points is None else options.max_points,
                random_state=options.seed,
                advice="command line",
            )
        for warning in caught:
            screen.note(str(warning.message))


def _images(options: argparse.Namespace, screen: Screen, data: Data) -> tuple[list[Any] | None, Path | None]:
    """Return the paths of images, and the folder outside of which none is opened."""
    from pivotal.core.urls import is_url

    images, folder, asked = data.prepared.images, data.table.folder, options.images_from
    if images is None:
        return None, folder or Path()
    if asked is None:
        if folder is None and is_url(data.table.name) and not any(isinstance(one, bytes) for one in images):
            screen.note("images are not shown: their table is elsewhere. Say where they are here with --images-from.")
            return None, None
        return images, folder or Path()

    def found(path: Any) -> Any:
        if not isinstance(path, str) or is_url(path) or folder is None:
            return path
        if os.path.exists(Path(asked) / path):  # noqa: PTH110  # pathlib raises for names that cannot be
            return path
        return str(folder.absolute() / path)

    return [found(path) for path in images], Path(asked)


def _write(options: argparse.Namespace, screen: Screen, data: Data | DistributedData) -> Values:
    """Value rows, wherever they are; print and write the values."""
    values = value_rows(options, screen, data)
    top, bottom = options.top, options.bottom
    if options.out is None and options.report is None and top is None and bottom is None and not options.quiet:
        top = bottom = _SHOWN
    if not data.regression and all(choice is None for choice in (options.utility, options.semivalue, options.method)):
        screen.note(_HINT)
    if top:
        screen.show("Most valuable", extreme_rows(values, data, top, best=True))
    if bottom:
        screen.show("Least valuable", extreme_rows(values, data, bottom, best=False))
    if options.out is not None:
        from pivotal.tables import write_values

        write_values(values, options.out, safe=options.safe_csv, form=options.format)
    return values
