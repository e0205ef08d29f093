"""Files to tables: CSV, TSV, Parquet, Feather, JSON, npz, pairs of npy; patterns and URLs of them; CSV from a pipe."""

from __future__ import annotations

import contextlib
import glob
import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import pyarrow as pa

from pivotal.tables import _remote
from pivotal.tables._arrays import as_table, load_npy, load_npz
from pivotal.tables._columnar import read_feather, read_parquet
from pivotal.tables._delimited import Text, read_csv
from pivotal.tables._json_lines import read_json
from pivotal.tables._limits import Limit
from pivotal.tables._remote import RemoteFile, is_pattern, is_url, link_of
from pivotal.tables.table import Table

__all__ = ["FORMATS", "MAX_ROWS", "format_of", "read", "read_many"]

MAX_ROWS: Final = 1_000_000
FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".npz": "npz",
    ".npy": "npy",
}
File = Path | RemoteFile

_PACKED: Final = ("csv", "tsv", "jsonl", "json")  # may end in .gz


def format_of(path: str) -> str:
    """Return the format that the end of a file name stands for."""
    name = path.split(",")[0] if is_pair(path) else path
    suffixes = [suffix.lower() for suffix in Path(link_of(name) if is_url(name) else name).suffixes]
    packed = suffixes[-1:] == [".gz"]
    last = suffixes[-2 if packed else -1 :][:1]
    found = FORMATS.get(last[0]) if last else None
    if found is None or (packed and found not in _PACKED):
        known = ", ".join(FORMATS)
        raise ValueError(f"{path} must end in one of {known}, which say how it is written; rename it, or convert it.")
    return found


def is_pair(path: str) -> bool:
    """Whether a path is two, `X.npy,y.npy`."""
    parts = path.split(",")
    return len(parts) == 2 and all(part.endswith(".npy") for part in parts)


def read_many(
    paths: Sequence[str],
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
) -> tuple[Table, list[str]]:
    """Read files and patterns of files, one after the other, as one table.

    Parameters
    ----------
    paths : sequence of str
        File names, patterns such as `parts/*.csv`, pairs `X.npy,y.npy`, or `-` for CSV from a pipe; also URLs such as
        `s3://bucket/parts/*.csv`, where fsspec and what it needs for them are installed.
    max_rows : int
        More rows than this are an error, raised before they are all in memory.
    delimiter : str, optional
        What stands between the cells of CSV files; found from the header by default.
    encoding : str, default="utf-8"
        Of text files; a byte-order mark knows better.
    decimal : {".", ","}
        What stands before the decimals of numbers in text files.

    Returns
    -------
    table : Table
    files : list of str
        The files that were read.
    """
    files = [file for path in paths for file in _expand(path)]
    tables: list[Table] = []
    for file in files:
        room = max_rows - sum(len(table) for table in tables)
        tables.append(
            read(file, max_rows=room, delimiter=delimiter, encoding=encoding, decimal=decimal, limit=max_rows)
        )
    return _together(tables, " ".join(paths)), [file if isinstance(file, str) else file.name for file in files]


def read(
    path: str | RemoteFile,
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    limit: int | None = None,
) -> Table:
    """Read one file.

    Parameters
    ----------
    path : str or RemoteFile
        File name, pair of them, URL, or `-`.
    max_rows, delimiter, encoding, decimal
        As in `read_many`.
    limit : int, optional
        What the message calls the limit, when other files have used some of it.
    """
    if decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or , as it stands before the decimals; got {decimal!r}.")
    options = _Options(Limit(max_rows, limit), delimiter, encoding, decimal)
    if path == "-":
        text = read_csv(sys.stdin.buffer, "standard input", delimiter, encoding, options.limit)
        return _with_rows(_text_table(text, "standard input", "csv", None, options))
    file = _place(path) if isinstance(path, str) else path
    name = path if isinstance(path, str) else path.name
    kind = format_of(name)
    with _in_one_sentence(name, kind):
        if is_pair(name):
            return _with_rows(_read_pair(name, options.limit))
        with _said(file, name):
            return _with_rows(_READERS[kind](file, name, kind, options))


class _Options(NamedTuple):
    """How to read a file."""

    limit: Limit
    delimiter: str | None
    encoding: str
    decimal: str


@contextlib.contextmanager
def _in_one_sentence(name: str, kind: str) -> Iterator[None]:
    """Say what is wrong with the content of a file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is cut short or damaged ({first_line(error)}); copy or download it again.") from error
    except pa.ArrowMemoryError as error:
        raise MemoryError(str(error)) from error
    except pa.ArrowException as error:
        raise ValueError(f"{name} is not a {kind} file, or damaged ({first_line(error)}).") from error


def _place(path: str) -> File:
    return RemoteFile(path, *_remote.locate(path)) if is_url(path) and not is_pair(path) else Path(path)


@contextlib.contextmanager
def _said(file: File, name: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    if isinstance(file, RemoteFile):
        with _remote.in_words(name):
            yield
        return
    try:
        if not file.exists():
            raise FileNotFoundError(2, "there is no such file")
        if file.is_dir():
            raise IsADirectoryError(21, "it is a directory; name the files in it, for example with a pattern in quotes")
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        raise kind(f"cannot read {name}: {error.strerror or first_line(error)}.") from error


def _read_delimited(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        wanted = "\t" if kind == "tsv" and options.delimiter is None else options.delimiter
        return _text_table(read_csv(stream, path, wanted, options.encoding, options.limit), path, kind, file, options)


def _read_json(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        return _text_table(read_json(stream, path, options.encoding, options.limit), path, kind, file, options)


def _text_table(text: Text, path: str, kind: str, file: File | None, options: _Options) -> Table:
    return Table(
        text.cells,
        path,
        kind,
        text.dialect.delimiter,
        text.lines,
        None if file is None else _folder(file),
        places=text.places,
        dialect=text.dialect,
        decimal=options.decimal,
    )


@contextlib.contextmanager
def _opened(file: File) -> Iterator[IO[bytes]]:
    with file.open("rb") if isinstance(file, Path) else file.open() as stream:
        if file.suffix.lower() == ".gz":
            with gzip.open(stream, "rb") as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield stream


@contextlib.contextmanager
def _for_arrow(file: File) -> Iterator[Any]:
    """Hand a file to Arrow, which opens those of this machine itself."""
    if isinstance(file, Path):
        yield file
    else:
        with file.open() as stream:
            yield stream


def _folder(file: File) -> Path | None:
    return file.parent if isinstance(file, Path) else None


def _read_parquet(file: File, path: str, kind: str, options: _Options) -> Table:
    with _for_arrow(file) as source:
        return Table(read_parquet(source, path, options.limit), path, kind, folder=_folder(file))


def _read_feather(file: File, path: str, kind: str, options: _Options) -> Table:
    with _for_arrow(file) as source:
        return Table(read_feather(source, path, options.limit), path, kind, folder=_folder(file))


def _read_npz(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        return as_table(load_npz(stream, path, options.limit), path, kind, _folder(file))


def _read_npy(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        return as_table({"X": load_npy(stream, path, options.limit)}, path, kind, _folder(file))


def _read_pair(path: str, limit: Limit) -> Table:
    names = path.split(",")
    files = [_place(name) for name in names]
    arrays = []
    for file, name in zip(files, names, strict=True):
        with _said(file, name), _opened(file) as stream:
            arrays.append(load_npy(stream, name, limit))
    return as_table(dict(zip("Xy", arrays, strict=True)), path, "npy", _folder(files[0]))


_READERS: Final[dict[str, Callable[[File, str, str, _Options], Table]]] = {
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "jsonl": _read_json,
    "json": _read_json,
    "parquet": _read_parquet,
    "feather": _read_feather,
    "npz": _read_npz,
    "npy": _read_npy,
}


def _expand(path: str) -> Sequence[str | RemoteFile]:
    """Return the files that a pattern matches, in the order of their names; a name that exists is itself."""
    if path == "-" or is_pair(path):
        return [path]
    if is_url(path):
        return _remote.expand(path)
    if Path(path).exists() or not is_pattern(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  patterns may be absolute
    if not found:
        raise FileNotFoundError(f"cannot read {path}: no file matches the pattern.")
    return found


def _together(tables: list[Table], name: str) -> Table:
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        if set(table.columns) != set(first.columns):
            odd = sorted(set(table.columns) ^ set(first.columns))
            raise ValueError(
                f"files of one table must have the same columns; {first.name} and {table.name} differ in {odd[0]!r}."
            )
    try:
        cells = pa.concat_tables([table.cells for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{name} must have the same types in every file ({first_line(error)}).") from error
    lines = None
    alike = all(_manner(table) == _manner(first) for table in tables)
    if alike and all(table.lines is not None for table in tables):
        lines = pa.chunked_array([chunk for table in tables for chunk in table.lines.chunks])
    return replace(first, cells=cells, name=name, lines=lines, places=None)


def _manner(table: Table) -> tuple[str, str, list[str]]:
    return table.format, table.delimiter, table.columns


def _with_rows(table: Table) -> Table:
    twice = repeated(table.columns)
    if twice:
        raise ValueError(f"{table.name} must have a name for each column; {twice[0]!r} occurs twice. Rename one.")
    if len(table) == 0:
        raise ValueError(f"{table.name} has no rows; give at least one beside the header.")
    return table


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, n_times in Counter(names).items() if n_times > 1]


def first_line(error: Exception) -> str:
    """Return what an error says, in one line without a full stop."""
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
