"""The report as a table and as JSON."""

from __future__ import annotations

import json
import os
from typing import Any

from pivotal.core.atomic import Target, check_file, write_text
from pivotal.core.extras import needed
from pivotal.research.bench.suite import Report, Row

__all__ = ["check_rich", "check_target", "print_table", "write_json"]


def check_rich() -> Any:
    """Return rich, which draws the table; raise where it is not installed."""
    with needed("bench needs rich for its table", "bench"):
        import rich
    return rich


def check_target(path: str | os.PathLike[str]) -> Target:
    """Return the file to write to; raise where that cannot be done, before hours are spent on what goes in."""
    return check_file(path, "bench.json")


def write_json(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the report to a file, whole or not at all."""
    target = check_target(path)
    write_text(target, json.dumps(report.as_dict(), indent=2, allow_nan=False) + "\n", path)


def print_table(report: Report) -> None:
    """Print the report to stdout, by way of rich."""
    check_rich()
    from rich.console import Console
    from rich.table import Table

    s = report.settings
    sizes = f"n = {s['n']:,}, {s['queries']:,} queries, d = {s['dim']}, k = {s['k']}"
    table = Table(title=f"{sizes}; fastest of {s['rounds']}")
    with_memory = any(row.megabytes is not None for row in report.rows)
    table.add_column("who")
    table.add_column("computes")
    for name in ("seconds", "x ours", "MB")[: 3 if with_memory else 2]:
        table.add_column(name, justify="right")
    table.add_column("values")
    for row in report.rows:
        who = f"{row.package} {row.version}".strip() + f"\n{row.method}"
        size = "" if row.n_train == s["n"] else f", n = {row.n_train:,}"
        cells = [who, f"{row.game}{size}", *_figures(row, report)[: 3 if with_memory else 2]]
        table.add_row(*cells, _verdict(row), style="bold" if row.ours else None)
    console = Console()
    console.print(table)
    for row in report.rows:
        if row.reason or (row.note and row.status == "ran"):
            console.print(f"{row.name}: {row.reason or row.note}", highlight=False, markup=False, soft_wrap=True)


def _figures(row: Row, report: Report) -> list[str]:
    """Seconds, times ours in the same game, megabytes."""
    same = next((own.name for own in report.rows if own.ours and own.game == row.game), "")
    slower = row.times_slower.get(same)
    return [
        row.status if row.seconds is None else f"{row.seconds:.3g}",
        "" if slower is None else f"{slower:.3g}",
        "" if row.megabytes is None else f"{row.megabytes:,.0f}",
    ]


def _verdict(row: Row) -> str:
    if row.agreement is None:
        return "exact" if row.ours and row.status == "ran" else ""
    if row.agreement.agrees is None:
        correlation = row.agreement.correlation
        return "approximate" if correlation is None else f"approximate, correlation {correlation:.3f}"
    if not row.agreement.agrees:
        return "[red]DISAGREE[/red]"
    return f"agree to {row.agreement.largest_difference:.0e}"
