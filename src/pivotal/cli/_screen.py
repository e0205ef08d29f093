"""What commands say, and where: notes on stderr, results on stdout unless the data go there."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from pivotal.core.types import AnyArray
    from pivotal.tables import Treatment

_CELL = 60  # characters of a cell that are shown
_MANY = 14  # columns above which those alike are summed up
_MOST = 100  # lines about columns


class Screen:
    """Where the words of one run go."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.quiet, self.verbose = options.quiet, options.verbose
        targets = [getattr(options, name, None) for name in ("out", "fix", "drop", "report")]
        self.out: IO[str] = sys.stderr if "-" in targets else sys.stdout

    @property
    def progress(self) -> bool:
        """Whether to show bars: to people, not to files."""
        return not self.quiet and sys.stderr.isatty()

    def note(self, line: str) -> None:
        """Say what is done along the way."""
        if not self.quiet:
            print(line, file=sys.stderr)

    def detail(self, line: str) -> None:
        """Say what only some want to know."""
        if self.verbose:
            print(line, file=sys.stderr)

    def tell(self, line: str) -> None:
        """Say what came out."""
        if not self.quiet:
            print(line, file=self.out)

    def wrote(self, path: str | None, what: str = "") -> None:
        """Say that a file was written."""
        if path not in (None, "-"):
            self.tell(f"Written: {path}{f' ({what})' if what else ''}")

    def show(self, title: str, frame: pd.DataFrame, *, widest: int = _CELL) -> None:
        """Print a table that was asked for."""
        print_table(title, list(frame.columns), frame.itertuples(index=False, name=None), self.out, widest=widest)

    def note_unknown(self, known: AnyArray, asked: AnyArray) -> None:
        """Say which labels of test rows no training row has."""
        import numpy as np
        import pandas as pd

        strange = ~np.isin(asked, pd.unique(known))
        if strange.any():
            names = pd.unique(asked[strange])
            few = ", ".join(_cell(repr(name)) for name in names.tolist()[:3]) + (", ..." if len(names) > 3 else "")
            self.note(
                f"{int(strange.sum())} of {len(asked)} test rows have a label that no training row has ({few}); no row "
                "can help to predict it."
            )

    def columns(self, treatments: Sequence[Treatment]) -> None:
        """Say what was done to each column."""
        lines = _summed_up(treatments)
        for line in lines[:_MOST]:
            self.note(line)
        if lines[_MOST:]:
            self.note(f"  ... and {len(lines) - _MOST} more lines on other columns")


def print_table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    file: IO[str] | None = None,
    *,
    widest: int = _CELL,
) -> None:
    """Print a table, by way of rich where it is installed and a person looks, else in plain columns.

    The title may be empty; cells longer than `widest` are cut.
    """
    cells = [[_cell(cell, widest) for cell in row] for row in rows]
    right = [all(_is_number(row[place]) for row in cells) for place in range(len(header))]
    out = sys.stdout if file is None else file
    if not (out.isatty() and _print_richly(title, header, cells, right, out)):
        for line in _plain(title, header, cells, right):
            print(line, file=out)


def _print_richly(
    title: str, header: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], out: IO[str]
) -> bool:
    """Print with rich; whether it is there."""
    try:
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for name, is_right in zip(header, right, strict=True):
        table.add_column(name, justify="right" if is_right else "left", no_wrap=is_right)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=out, highlight=False).print(table)
    return True


def _plain(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterable[str]:
    if title:
        yield title
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    for row in (header, *rows):
        cells = zip(row, widths, right, strict=True)
        yield "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width) for cell, width, is_right in cells
        ).rstrip()


def _cell(cell: Any, widest: int = _CELL) -> str:
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:.6g}"
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in str(cell)).split())
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text
    return True


def _summed_up(treatments: Sequence[Treatment]) -> list[str]:
    """Return a line per column, or per run of columns that were treated alike when there are many."""
    runs: list[list[Treatment]] = []
    for one in treatments:
        alike = runs and (runs[-1][-1].kind, runs[-1][-1].done) == (one.kind, one.done)
        if alike and len(treatments) > _MANY:
            runs[-1].append(one)
        else:
            runs.append([one])
    names = [
        _cell(run[0].column or "(no name)") + (f" ... {_cell(run[-1].column)} ({len(run)})" if run[1:] else "")
        for run in runs
    ]
    width = max(map(len, names), default=0)
    return [
        f"  {name.ljust(width)}  {run[0].kind.ljust(8)}  {run[0].done}" for name, run in zip(names, runs, strict=True)
    ]
