"""Files to tables: CSV, TSV, Parquet, Feather, JSON, npz, pairs of npy; patterns and URLs of them; CSV from a pipe."""

from __future__ import annotations

import contextlib
import glob
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from pivotal._types import AnyArray
from pivotal.tables import _remote
from pivotal.tables._remote import RemoteFile, is_pattern, is_url, link_of
from pivotal.tables._text import read_csv, read_json
from pivotal.tables.table import Table, from_arrays

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
    paths: Sequence[str], *, max_rows: int = MAX_ROWS, delimiter: str | None = None, encoding: str = "utf-8"
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
        Of text files.

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
        tables.append(read(file, max_rows=room, delimiter=delimiter, encoding=encoding, limit=max_rows))
    return _together(tables, " ".join(paths)), [file if isinstance(file, str) else file.name for file in files]


def read(
    path: str | RemoteFile,
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    limit: int | None = None,
) -> Table:
    """Read one file.

    Parameters
    ----------
    path : str or RemoteFile
        File name, pair of them, URL, or `-`.
    max_rows, delimiter, encoding
        As in `read_many`.
    limit : int, optional
        What the message calls the limit, when other files have used some of it.
    """
    allowed = _Limit(max_rows, max_rows if limit is None else limit)
    if path == "-":
        cells, cut = read_csv(sys.stdin.buffer, "standard input", delimiter, encoding, allowed)
        return _with_rows(Table(cells, "standard input", "csv", cut))
    file = _place(path) if isinstance(path, str) else path
    name = path if isinstance(path, str) else path.name
    kind = format_of(name)
    if is_pair(name):
        return _with_rows(_read_pair(name, allowed))
    with _said(file, name):
        try:
            return _with_rows(_READERS[kind](file, name, kind, delimiter, encoding, allowed))
        except pa.ArrowInvalid as error:
            raise ValueError(f"{name} is not a {kind} file, or damaged ({_first_line(error)}).") from error


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
    except OSError as error:
        kind = FileNotFoundError if isinstance(error, FileNotFoundError) else OSError
        raise kind(f"cannot read {name}: {error.strerror or _first_line(error)}.") from error


class _Limit:
    """How many rows may be read, and what to say when there are more."""

    def __init__(self, room: int, limit: int) -> None:
        self.room, self.limit = room, limit

    def check(self, n_rows: int, name: str) -> None:
        if n_rows > self.room:
            raise ValueError(
                f"{name} has more than {self.limit:,} rows, the most that --max-rows allows; raise it if they fit into "
                "memory, pass a sample, or call pivotal.value with the features in a .npy or Parquet file, which it "
                "reads chunk by chunk."
            )


def _read_delimited(file: File, path: str, kind: str, delimiter: str | None, encoding: str, limit: _Limit) -> Table:
    with _opened(file) as stream:
        wanted = "\t" if kind == "tsv" and delimiter is None else delimiter
        cells, cut = read_csv(stream, path, wanted, encoding, limit)
    return Table(cells, path, kind, cut, folder=_folder(file))


def _read_json(file: File, path: str, kind: str, _: str | None, encoding: str, limit: _Limit) -> Table:
    with _opened(file) as stream:
        cells, lines = read_json(stream, path, encoding, limit)
    return Table(cells, path, kind, lines=lines, folder=_folder(file))


@contextlib.contextmanager
def _opened(file: File) -> Iterator[IO[bytes]]:
    with file.open("rb") if isinstance(file, Path) else file.open() as stream:
        if file.suffix.lower() == ".gz":
            import gzip

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


def _read_parquet(file: File, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    with _for_arrow(file) as source, pq.ParquetFile(source) as parquet:
        limit.check(parquet.metadata.num_rows, path)
        return Table(parquet.read(), path, kind, folder=_folder(file))


def _read_feather(file: File, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    with _for_arrow(file) as source:
        cells = pyarrow.feather.read_table(source)
    limit.check(cells.num_rows, path)
    return Table(cells, path, kind, folder=_folder(file))


def _read_npz(file: File, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    arrays = {}
    try:
        # Opened here, because NumPy leaves a broken archive open.
        with _opened(file) as stream, np.load(stream, allow_pickle=False) as archive:
            for name in archive.files:
                arrays[name] = archive[name]
    except (ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise _not_arrays(path, error) from error
    return _from_checked(arrays, path, kind, _folder(file), limit)


def _read_npy(file: File, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    return _from_checked({"X": _load_npy(file, path)}, path, kind, _folder(file), limit)


def _read_pair(path: str, limit: _Limit) -> Table:
    names = path.split(",")
    files = [_place(name) for name in names]
    arrays = []
    for file, name in zip(files, names, strict=True):
        with _said(file, name):
            arrays.append(_load_npy(file, name))
    return _from_checked(dict(zip("Xy", arrays, strict=True)), path, "npy", _folder(files[0]), limit)


def _load_npy(file: File, path: str) -> AnyArray:
    try:
        with _opened(file) as stream:
            loaded: AnyArray = np.load(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise _not_arrays(path, error) from error
    return loaded


def _not_arrays(path: str, error: Exception) -> ValueError:
    return ValueError(
        f"{path} is no file of plain NumPy arrays ({_first_line(error)}); save it again with numpy.savez."
    )


def _from_checked(arrays: dict[str, AnyArray], path: str, kind: str, folder: Path | None, limit: _Limit) -> Table:
    lengths = {name: array.shape[0] for name, array in arrays.items() if array.ndim}
    if not lengths:
        raise ValueError(f"{path} holds no array with a row per point; give one such as X of shape (n, d).")
    n_rows = max(lengths.values())
    odd = [name for name, length in lengths.items() if length != n_rows]
    if odd:
        raise ValueError(
            f"{path} must hold arrays of one length; {odd[0]} has {lengths[odd[0]]} rows and another has {n_rows}. "
            "Keep test points in a file of their own."
        )
    limit.check(n_rows, path)
    wrong = [name for name in lengths if arrays[name].dtype.kind not in "biufUSMm"]
    if wrong:
        raise ValueError(f"{path} must hold real numbers or text; {wrong[0]} has dtype {arrays[wrong[0]].dtype}.")
    return from_arrays({name: arrays[name] for name in lengths}, path, kind, folder)


_READERS: Final[dict[str, Callable[[File, str, str, str | None, str, _Limit], Table]]] = {
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
        raise ValueError(f"{name} must have the same types in every file ({_first_line(error)}).") from error
    lines = None
    if all(table.lines is not None for table in tables):
        lines = pa.concat_arrays([table.lines for table in tables])
    return Table(cells, name, first.format, first.delimiter, lines, first.folder)


def _with_rows(table: Table) -> Table:
    twice = [name for position, name in enumerate(table.columns) if name in table.columns[:position]]
    if twice:
        raise ValueError(f"{table.name} must have a name for each column; {twice[0]!r} occurs twice. Rename one.")
    if len(table) == 0:
        raise ValueError(f"{table.name} has no rows; give at least one beside the header.")
    return table


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
