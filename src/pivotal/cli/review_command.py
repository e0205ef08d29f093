"""`pivotal review`: a page on which a person decides about suspects."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_columns, add_file, add_running, add_table, output
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._work import given, load

if TYPE_CHECKING:
    from pivotal.review import ReviewService

_EXAMPLES: Final = """\
examples:
  pivotal review train.csv --label species
  pivotal review train.csv --label species -o cleaned.csv --decisions decisions.csv --report before-after.html
  pivotal review photos.csv --label breed --image file --reviewer ann
  pivotal clean train.csv --label species --apply decisions.csv --fix cleaned.csv
"""
_K: Final = 20
_INSTEAD: Final = "wrong labels are found among classes; pivotal review is for those"


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal review TABLE --label COLUMN [-o FILE] [--decisions FILE] [--report FILE] [options]"
    parser.description = (
        "Open a page in the browser, on this machine, that shows suspects one by one: keep the label, fix it, choose "
        "another, drop the row. Every decision goes to a journal beside the table and the queue follows at once. The "
        "table itself is never changed. Stop and start again to continue."
    )
    parser.epilog = _EXAMPLES
    add_table(parser, "table to review")
    add_columns(parser, owner="whose row it is, to filter by")
    group = parser.add_argument_group("suspects")
    group.add_argument("-k", "--k", type=int, help=f"number of nearest rows that vote (default: {_K})")
    group.add_argument(
        "--trees", type=int, metavar="N", help="trees of the forest that votes too; 0 is quicker (default: 100)"
    )
    group.add_argument("--odds", type=float, help="suspect a row when another label has this many times its votes")
    number = group.add_mutually_exclusive_group()
    number.add_argument("-n", "--n", type=int, metavar="N", help="number of suspects (default: decided by --odds)")
    number.add_argument("--share", type=float, metavar="SHARE", help="this share of the rows, such as 0.05")
    group.add_argument(
        "--neighbors", metavar="NAME", help="how neighbours are found: auto, brute, kd_tree, faiss-hnsw, ..."
    )
    group.add_argument(
        "--truth", metavar="COLUMN", help="labels known to be right, which are not shown: count the wrong ones caught"
    )
    add_file(group, "--test", metavar="TABLE", help="rows to compare before and after on")
    group = parser.add_argument_group("review")
    group.add_argument("--reviewer", metavar="NAME", help="who decides (default: the name of the user)")
    add_file(group, "--journal", metavar="FILE", help="where decisions are kept (default: TABLE.review.db)")
    group.add_argument("--port", type=int, default=0, help="port of the page (default: one that is free)")
    group.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at; any but the default lets other machines in: anyone with the link can read the "
        "table and decide, and the connection is not encrypted",
    )
    group.add_argument("--no-open", action="store_true", help="print the address and open no browser")
    group = parser.add_argument_group("output (written when the review is finished)")
    add_file(group, "-o", "--out", type=output, metavar="FILE", help="the cleaned table")
    add_file(group, "--decisions", type=output, metavar="FILE", help="who decided what, when and why")
    add_file(group, "--report", type=output, metavar="FILE.html", help="a page that compares before and after")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve the page until the review is finished, and write what was asked for."""
    from pivotal.review import Server, need_server

    need_server()
    screen = Screen(options)
    if not 0 <= options.port < 2**16:
        raise ValueError(f"--port must be an integer from 0 to {2**16 - 1}; got {options.port}.")
    service = _service(options, screen)
    with Server(service, options.host, options.port) as server:
        print(f"Review at {server.url}", flush=True)
        if server.is_public:
            screen.note(
                f"Listening at {options.host}: every machine that reaches this one can open the page if it has the "
                "link, read the table and decide. The connection is not encrypted; use a network you trust."
            )
        screen.note("Finish on the page, or press Ctrl-C here. Decisions are kept as they are taken.")
        if not options.no_open:
            server.open()
        try:
            server.wait(until_closed=False)
        except KeyboardInterrupt:
            screen.note("")
        if service.session is None:
            screen.tell("Stopped before the page was ready; no decision was taken.")
            return
        _write(options, screen, service)


def _service(options: argparse.Namespace, screen: Screen) -> ReviewService:
    from pivotal.core.validation import check_k
    from pivotal.review import TableReview, user_name
    from pivotal.tables.read import is_pair

    if options.truth is not None:
        options.ignore = [*options.ignore, options.truth]
    targets = (options.out, options.decisions, options.report)
    data = load(options, screen, targets=targets, results=options.decisions, instead_of_numbers=_INSTEAD)
    if options.truth is not None:
        data.table.check_column(options.truth, "--truth")
    here = [Path(part) for file in data.files for part in (file.split(",") if is_pair(file) else [file])]
    here = [file if file.exists() else Path(str(file).partition("::")[0]) for file in here]  # a sheet, a query
    if not all(file.exists() for file in here):
        raise UsageError("pivotal review needs a table in a file of this machine, as its journal is kept beside it.")
    journal = Path(options.journal) if options.journal else here[0].with_name(f"{here[0].name}.review.db")

    k = _K if options.k is None else check_k(options.k)

    def find(rows: Any, labels: Any, index: Any) -> Any:
        from pivotal.analysis.label_errors import find_with_voters

        return find_with_voters(
            index.rows_held,
            labels,
            k=k,
            neighbors=index,
            ids=data.prepared.ids[rows],
            random_state=options.seed,
            n_jobs=options.jobs,
            **given(options, "n", "share", "odds", n_trees="trees"),
        )

    search = {"n_jobs": options.jobs} | ({} if options.neighbors is None else {"neighbors": options.neighbors})
    review = TableReview(
        data.table, data.prepared, data.label, [str(file) for file in here], find, k, options.truth, search, options.id
    )
    return review.service(journal, options.reviewer or user_name())


def _write(options: argparse.Namespace, screen: Screen, service: ReviewService) -> None:
    """Write what was asked for, and say how the review stands."""
    from pivotal.core.atomic import check_file, write_text

    session, outputs, views = service.session, service.outputs, service.views
    assert session is not None
    assert outputs is not None
    assert views is not None
    strip = views.strip()
    screen.tell(
        f"{strip['decided']} decided: {strip['changed']} labels changed, {strip['dropped']} rows dropped, "
        f"{strip['kept']} kept, {strip['unsure']} unsure. Journal: {session.journal.path}"
    )
    caught = strip["caught"]
    if caught is not None:
        screen.tell(
            f"Of {caught['planted']} wrong labels that were planted, {caught['found']} were caught, {caught['right']} "
            f"of them with the right label; {caught['harmed']} right labels were changed."
        )
    if options.out is not None:
        outputs.write_cleaned(options.out)
        screen.wrote(options.out, "cleaned")
    if options.decisions is not None:
        outputs.write_decisions(options.decisions)
        screen.wrote(options.decisions, "decisions")
    if options.report is not None:
        write_text(check_file(options.report, "before-after.html"), outputs.page(), options.report)
        screen.wrote(options.report, "before and after")
    if strip["decided"] and not (options.out or options.decisions):
        screen.note(
            "To write the result: pivotal review ... -o cleaned.csv --decisions decisions.csv, or the page itself."
        )
