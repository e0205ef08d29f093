"""Numbers as people write them: with thousands separators, percent signs, signs of currencies, decimal commas."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pivotal.tables._cells import MONEY, describe_amounts, is_string, without_gaps
from pivotal.tables.columns import type_of
from pivotal.tables.table import Table

__all__ = ["how_read", "look_like_amounts", "parse_amounts", "with_amounts"]

_SIGNS: Final = re.compile(
    rf"""\s*(?P<open>\()?(?P<sign>[+-]?)\s*{MONEY}?\s*(?P<sign2>[+-]?)
    (?P<body>\d[\d.,'’\s]*|[.,]\d+)
    (?P<percent>%)?\s*{MONEY}?\s*(?P<close>\))?\s*""",
    re.VERBOSE,
)
_LONGEST: Final = 64  # characters of a number
_GROUPS: Final = {sign: re.compile(rf"[1-9]\d{{0,2}}(?:[{sign}]\d{{3}})+") for sign in ",."}
# Thousands, or as in India hundreds, are separated all the way or not at all.
_FORM: Final = r"(?:\d+|\d{{1,3}}(?:{other}\d{{2,3}})*{other}\d{{3}})(?:{before}\d*)?|{before}\d+"
_SPACES: Final = re.compile(r"(?<=\d)[\s'’](?=\d{3}(?:\D|$))")


def with_amounts(table: Table, names: Collection[str], gaps: Collection[str], like: Table | None = None) -> Table:
    """Return a table in which some columns of text are the numbers that they spell, however they are written.

    The training table, `like`, decides whether a comma stands before decimals; `table` itself by default.
    """
    cells = table.cells
    for name in names:
        if not is_string(type_of(table, name)):
            continue
        text = without_gaps(table.column(name), gaps)
        deciding = without_gaps((like or table).column(name), gaps)
        before = decimal_sign(deciding.to_pylist(), table.decimal) if is_string(deciding.type) else table.decimal
        numbers, wrong = parse_amounts(text.to_pylist(), table.decimal, before)
        if wrong is not None:
            raise ValueError(
                f"column {name!r} of {table.name}, which --numbers names, must hold numbers; got "
                f"{text[wrong].as_py()!r} in {table.row(wrong)}. Fix it, or say --na for texts that mean a gap."
            )
        place = table.columns.index(name)
        cells = cells.set_column(place, name, pa.array(numbers, pa.float64(), from_pandas=True))
    return replace(table, cells=cells, lines=None)


def how_read(table: Table, read: Table, name: str) -> str:
    """Say what became of a cell of a column that was text: of its longest, which shows most of how it is written."""
    if not is_string(type_of(table, name)):
        return ""
    text = table.column(name)
    row = int(np.argmax(pc.fill_null(pc.utf8_length(pc.utf8_trim_whitespace(text)), -1).to_numpy()))
    number = read.column(name)[row].as_py()
    return "" if number is None else f"{text[row].as_py().strip()!r} is read as {number:.12g}"


def look_like_amounts(table: Table, name: str, gaps: Collection[str]) -> bool:
    """Whether a column of text holds numbers as people write them."""
    if not is_string(type_of(table, name)):
        return False
    present = without_gaps(table.column(name), gaps).drop_null()
    return bool(len(present)) and bool(describe_amounts(present)) and not pc.any(pc.equal(present, "")).as_py()


def parse_amounts(
    texts: Collection[str | None], decimal: str = ".", before: str | None = None
) -> tuple[Any, int | None]:
    """Return texts as numbers, NaN for None, and the place of the first that is not a number.

    Where both a point and a comma occur in a cell, the last of them stands before the decimals. Where only one of them
    does in all cells, it separates thousands if that fits every cell and it is not what `decimal` names. With `before`,
    that is what stands before the decimals, whatever the cells look like.

    >>> parse_amounts(["$1,250.50", "(3.00)", "12%", None])[0].tolist()
    [1250.5, -3.0, 0.12, nan]
    >>> parse_amounts(["1.250,50 €", "3,00 €"])[0].tolist()
    [1250.5, 3.0]
    """
    numbers = np.full(len(texts), np.nan)
    found: list[tuple[int, str, float]] = []
    for place, text in enumerate(texts):
        if text is None:
            continue
        taken = _take_apart(text)
        if taken is None:
            return numbers, place
        found.append((place, *taken))
    before = before or _before_decimals([body for _, body, _ in found], decimal)
    other = "." if before == "," else ","
    form = re.compile(_FORM.format(before=re.escape(before), other=re.escape(other)))
    for place, body, factor in found:
        if not form.fullmatch(body):  # as 1.250,50 in a column that has 1,250.50
            return numbers, place
        numbers[place] = factor * float(body.replace(other, "").replace(before, "."))
    return numbers, None


def decimal_sign(texts: Collection[str | None], decimal: str = ".") -> str:
    """Return what stands before the decimals of numbers as people write them; texts that are none do not count."""
    taken = [_take_apart(text) for text in texts if text is not None]
    return _before_decimals([one[0] for one in taken if one is not None], decimal)


def _take_apart(text: str) -> tuple[str, float] | None:
    """Return the digits of a number with what separates them, and their factor; None if it is not a number."""
    match = _SIGNS.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    minus = (match["sign"] == "-") != (match["sign2"] == "-") or match["open"] is not None
    factor = (-1.0 if minus else 1.0) * (0.01 if match["percent"] else 1.0)
    return _SPACES.sub("", match["body"]).strip(), factor


def _before_decimals(bodies: list[str], decimal: str) -> str:
    """Return the sign that stands before decimals."""
    for body in bodies:
        if "." in body and "," in body:
            return "." if body.rindex(".") > body.rindex(",") else ","
        for sign in ".,":
            if body.count(sign) > 1:  # which no decimals have
                return "," if sign == "." else "."
    for sign, group in _GROUPS.items():
        having = [body for body in bodies if sign in body]
        if having:
            return decimal if all(group.fullmatch(body) for body in having) else sign
    return decimal
