"""Tables as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["table"]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(table(["data", "n"], [["iris", 150]]))
    | data | n |
    |---|---|
    | iris | 150 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"|{'|'.join(map(str, line))}|" if number == 1 else f"| {' | '.join(map(str, line))} |"
        for number, line in enumerate(lines)
    )
