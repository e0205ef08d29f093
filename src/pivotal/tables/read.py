"""Files to tables: text, Arrow, NumPy, spreadsheets, databases, folders; patterns and URLs; CSV from a pipe."""

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

from pivotal.core.urls import is_url, locate, readable_errors
from pivotal.tables._arrays import as_table, load_npy, load_npz
from pivotal.tables._columnar import read_feather, read_parquet
from pivotal.tables._databases import parts_of, read_duckdb, read_excel, read_sqlite
from pivotal.tables._delimited import read_csv
from pivotal.tables._file_names import FORMATS, format_of, is_pair
from pivotal.tables._folders import folder_kind, from_one_folder, is_dataset, read_dataset, read_images, split_of
from pivotal.tables._json_lines import read_json
from pivotal.tables._limits import Limit
from pivotal.tables._packed import unpacked
from pivotal.tables._phrases import first_line
from pivotal.tables._remote import RemoteFile, expand, is_pattern
from pivotal.tables.table import Table

__all__ = ["FORMATS", "MAX_ROWS", "format_of", "is_pair", "parts_of", "read", "read_many", "with_rows"]

MAX_ROWS: Final = 1_000_000
File = Path | RemoteFile


def read_many(
    paths: Sequence[str],
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    header: bool = True,
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
    header : bool, default=True
        Whether the first line of CSV files names the columns; else they are called c0, c1, ...

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
        tables.append(_read(file, _Options(Limit(room, max_rows), delimiter, encoding, decimal, header)))
    return _together(tables, " ".join(paths)), [file if isinstance(file, str) else file.name for file in files]


def read(
    path: str | RemoteFile,
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    header: bool = True,
) -> Table:
    """Read one file.

    Parameters
    ----------
    path : str or RemoteFile
        File name, pair of them, URL, or `-`; a folder with one folder of images per class; a data set of Hugging
        Face's, as a folder or `hf://name#split`; `book.xlsx::sheet`, `data.sqlite::table`, `data.duckdb::select ...`.
    max_rows, delimiter, encoding, decimal, header
        As in `read_many`.
    """
    return _read(path, _Options(Limit(max_rows), delimiter, encoding, decimal, header))


class _Options(NamedTuple):
    """How to read a file."""

    limit: Limit
    delimiter: str | None
    encoding: str
    decimal: str
    header: bool


def _read(path: str | RemoteFile, options: _Options) -> Table:
    if options.decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or , as it stands before the decimals; got {options.decimal!r}.")
    if path == "-":
        return with_rows(_read_text(sys.stdin.buffer, "standard input", "csv", None, options))
    if isinstance(path, str):
        found = _read_folder(path, options.limit)
        if found is not None:
            return with_rows(found)
        name, file = path, _place(parts_of(path)[0])
    else:
        name, file = path.name, path
    if isinstance(file, Path) and file.is_dir():
        with _readable_errors(file, name):
            pass
    kind = format_of(name)
    with _in_one_sentence(name, kind):
        if is_pair(name):
            return with_rows(_read_pair(name, options.limit))
        with _readable_errors(file, name):
            return with_rows(_READERS[kind](file, name, kind, options))


def _read_folder(path: str, limit: Limit) -> Table | None:
    """Read a folder that is a table, or a data set of the hub's; None for all else."""
    if is_dataset(path):
        return read_dataset(path, limit)
    kind = None if is_url(path) and not path.startswith("file:") else folder_kind(Path(split_of(path)[0]))
    if kind == "hf":
        return read_dataset(path, limit)
    return read_images(Path(path), path, limit) if kind == "images" else None


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
        raise damaged(name, kind, error) from error


def damaged(name: str, kind: str, error: Exception) -> ValueError:
    """Return an error about a file that Arrow cannot read."""
    return ValueError(f"{name} is not a {kind} file, or damaged ({first_line(error)}).")


def _place(path: str) -> File:
    return RemoteFile(path, *locate(path)) if is_url(path) and not is_pair(path) else Path(path)


@contextlib.contextmanager
def _readable_errors(file: File, name: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be read."""
    if isinstance(file, RemoteFile):
        with readable_errors(name):
            yield
        return
    try:
        if not file.exists():
            raise FileNotFoundError(2, "there is no such file" + _several_in(name))
        if file.is_dir():
            raise IsADirectoryError(
                21, "it is a directory without folders of images; name the files in it, or a pattern in quotes"
            )
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        raise kind(f"cannot read {name}: {error.strerror or first_line(error)}.") from error


def _read_text_file(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        return _read_text(stream, path, kind, file, options)


def _read_text(stream: IO[bytes], path: str, kind: str, file: File | None, options: _Options) -> Table:
    if kind in ("json", "jsonl"):
        text = read_json(stream, path, options.encoding, options.limit)
    else:
        delimiter = "\t" if kind == "tsv" and options.delimiter is None else options.delimiter
        text = read_csv(stream, path, delimiter, options.encoding, options.limit, header=options.header)
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
    opened = file.open("rb") if isinstance(file, Path) else file.open()
    with opened as stream, unpacked(stream, file.suffix.lower()) as content:
        yield content


def _folder(file: File) -> Path | None:
    return file.parent if isinstance(file, Path) else None


def _read_columnar(file: File, path: str, kind: str, options: _Options) -> Table:
    read_one = read_parquet if kind == "parquet" else read_feather
    source: Any = contextlib.nullcontext(file) if isinstance(file, Path) else file.open()  # Arrow opens those of here
    with source as content:
        return Table(read_one(content, path, options.limit), path, kind, folder=_folder(file))


def _read_database(file: File, path: str, kind: str, options: _Options) -> Table:
    """Read spreadsheets and databases, which are opened by name."""
    if not isinstance(file, Path):
        raise ValueError(f"{path} must be a file of this machine; copy it here first.")
    if kind == "sqlite":
        with file.open("rb") as stream:
            if stream.read(16) != b"SQLite format 3\0":
                kind = "duckdb"  # .db is what many call their files
    read_one = {"excel": read_excel, "sqlite": read_sqlite, "duckdb": read_duckdb}[kind]
    return Table(read_one(file, path, parts_of(path)[1], options.limit), path, kind, folder=file.parent)


def _read_arrays(file: File, path: str, kind: str, options: _Options) -> Table:
    with _opened(file) as stream:
        limit = options.limit
        arrays = load_npz(stream, path, limit) if kind == "npz" else {"X": load_npy(stream, path, limit)}
        return as_table(arrays, path, kind, _folder(file))


def _read_pair(path: str, limit: Limit) -> Table:
    names = path.split(",")
    files = [_place(name) for name in names]
    arrays = []
    for file, name in zip(files, names, strict=True):
        with _readable_errors(file, name), _opened(file) as stream:
            arrays.append(load_npy(stream, name, limit))
    return as_table(dict(zip("Xy", arrays, strict=True)), path, "npy", _folder(files[0]))


_READERS: Final[dict[str, Callable[[File, str, str, _Options], Table]]] = {
    **dict.fromkeys(("csv", "tsv", "jsonl", "json"), _read_text_file),
    **dict.fromkeys(("parquet", "feather", "stream"), _read_columnar),
    **dict.fromkeys(("npz", "npy"), _read_arrays),
    **dict.fromkeys(("excel", "sqlite", "duckdb"), _read_database),
}


def _expand(path: str) -> Sequence[str | RemoteFile]:
    """Return the files that a pattern matches, in the order of their names; a name that exists is itself."""
    if path == "-" or is_pair(path) or is_dataset(path) or parts_of(path)[1] is not None:
        return [path]
    if is_url(path):
        return expand(path)
    if Path(path).exists() or not is_pattern(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  patterns may be absolute
    if not found:
        raise FileNotFoundError(f"cannot read {path}: no file matches the pattern.")
    return found


def _together(tables: list[Table], name: str) -> Table:
    if len(tables) > 1 and all(table.format == "images" for table in tables):
        tables = from_one_folder(tables)
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        if set(table.columns) != set(first.columns):
            odd = sorted(set(table.columns) ^ set(first.columns))
            vectors = next((one.name for one in (first, table) if one.columns == ["X"]), None)
            fix = f" Vectors of the table's rows go beside it: --embeddings {vectors}." if vectors else ""
            raise ValueError(
                f"files of one table must have the same columns; {first.name} and {table.name} differ in "
                f"{odd[0]!r}.{fix}"
            )
    try:
        cells = pa.concat_tables([table.cells for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"{name} must have the same types in every file ({first_line(error)}).") from error
    lines = None
    alike = {(table.format, table.delimiter, *table.columns) for table in tables}
    if len(alike) == 1 and all(table.lines is not None for table in tables):
        lines = pa.chunked_array([chunk for table in tables for chunk in table.lines.chunks])
    return replace(first, cells=cells, name=name, lines=lines, places=None)


def with_rows(table: Table) -> Table:
    """Return a table that has rows, and a name for each column; raise where it does not."""
    check_names(table.columns, table.name)
    if len(table) == 0:
        raise ValueError(f"{table.name} has no rows; give at least one beside the header.")
    return table


def check_names(columns: Sequence[str], name: str) -> None:
    """Raise where two columns of a table have one name."""
    twice = next((column for column, n_times in Counter(columns).items() if n_times > 1), None)
    if twice is not None:
        raise ValueError(f"{name} must have a name for each column; {twice!r} occurs twice. Rename one.")


def _several_in(name: str) -> str:
    """Say how to name files that were named as one."""
    parts = name.split(",")
    if len(parts) < 2 or not all(Path(part).is_file() for part in parts):
        return ""
    vectors = next((part for part in parts if part.endswith(".npy")), None)
    if vectors is None:
        return "; put blanks, not commas, between the files of a table"
    others = " ".join(part for part in parts if part != vectors)
    return f"; vectors of a table's rows go beside it: {others} --embeddings {vectors}"
