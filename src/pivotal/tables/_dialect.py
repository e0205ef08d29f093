"""How a text file is written, so that what is written back looks the same: encoding, mark, line ends, cells."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

_MARKS: Final = (  # the longer before those that they begin with
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: with a codec that writes no byte-order mark of its own, and with this `mark`.

    The header is as it was written, with the end of its line; None where it cannot be repeated, "" without one.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"
    header: str | None = None


class Recoded:
    """The content of a stream as UTF-8, and what it was written in: a byte-order mark knows better than `encoding`.

    The stream need not be seekable; how many bytes are read at a time, `block`, may be changed while reading.
    """

    def __init__(self, stream: IO[bytes], name: str, encoding: str, block: int) -> None:
        self.block = block
        self._stream, self._name = stream, name
        self._codec = _look_up(encoding)
        self._asked = encoding
        self.encoding, self.mark, self.newline = self._codec.name, b"", "\n"

    def __iter__(self) -> Iterator[bytes]:
        first = self._stream.read(self.block)
        for mark, encoding in _MARKS:
            # UTF-8 never begins with the marks of others, and a decoder that needs a mark does not know what it was.
            if first.startswith(mark) and self._codec.name in ("utf-8", "utf-8-sig", "utf-16", "utf-32", encoding):
                self.encoding, self.mark, first = encoding, mark, first[len(mark) :]
                break
        else:
            self.encoding = "utf-8" if self._codec.name == "utf-8-sig" else self._codec.name
        only_returns: bool | None = None
        try:
            decoder = codecs.getincrementaldecoder(self.encoding)()
            block = first
            while block:
                content = decoder.decode(block).encode()
                if only_returns is None and content:
                    only_returns = b"\r" in content and b"\n" not in content  # as some spreadsheets end lines
                    self.newline = "\r" if only_returns else "\r\n" if b"\r\n" in content else "\n"
                yield content.replace(b"\r", b"\n") if only_returns else content
                block = self._stream.read(self.block)
            yield decoder.decode(b"", final=True).encode()
        except UnicodeError as error:
            raise ValueError(
                f"{self._name} is not written in {self._asked}; name its encoding, for example --encoding latin-1."
            ) from error


def _look_up(encoding: str) -> codecs.CodecInfo:
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)  # some turn bytes into bytes
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError) as error:
        raise ValueError(
            f"--encoding must name an encoding of text, such as utf-8, latin-1, cp1252 or utf-16; got {encoding!r}."
        ) from error
    return found


def with_cell(line: str, place: int, content: str, delimiter: str) -> str:
    r"""Return a row of a CSV file with one cell changed, all else as it was written.

    >>> with_cell('1,"a, b",x\r\n', 1, "c", ",")
    '1,"c",x\r\n'
    >>> with_cell("1,a;b\n", 1, "b,c", ",")
    '1,"b,c"\n'
    """
    cell = re.compile(rf'"(?:[^"]|"")*"[^{re.escape(delimiter)}\r\n]*|[^{re.escape(delimiter)}\r\n]*')
    start = 0
    for _ in range(place):
        found = cell.match(line, start)
        start = (start if found is None else found.end()) + 1
    found = cell.match(line, start)
    end = start if found is None else found.end()
    quoted = line.startswith('"', start)
    return line[:start] + _written(content, delimiter, quoted=quoted) + line[end:]


def _written(content: str, delimiter: str, *, quoted: bool) -> str:
    if not content and not quoted:
        return ""  # a lone empty cell is put in quotes by the writer, as it would be a blank line
    out = io.StringIO()
    # What ends a line is put in quotes only where the writer itself ends lines with it, before Python 3.13.
    end = "\r\n"
    csv.writer(
        out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    ).writerow([content])
    return out.getvalue().removesuffix(end)
