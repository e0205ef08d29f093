"""Files to tables: CSV, TSV, Parquet, Feather, JSON, npz, pairs of npy, patterns of them, and CSV from a pipe."""

from __future__ import annotations

import glob
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from pivotal._types import AnyArray
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
_PACKED: Final = ("csv", "tsv", "jsonl", "json")  # may end in .gz


def format_of(path: str) -> str:
    """Return the format that the end of a file name stands for."""
    suffixes = [suffix.lower() for suffix in Path(path.split(",")[0] if is_pair(path) else path).suffixes]
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
        File names, patterns such as `parts/*.csv`, pairs `X.npy,y.npy`, or `-` for CSV from a pipe.
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
    return _together(tables, " ".join(paths)), files


def read(
    path: str,
    *,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    limit: int | None = None,
) -> Table:
    """Read one file.

    Parameters
    ----------
    path, max_rows, delimiter, encoding
        As in `read_many`.
    limit : int, optional
        What the message calls the limit, when other files have used some of it.
    """
    allowed = _Limit(max_rows, max_rows if limit is None else limit)
    if path == "-":
        cells, cut = read_csv(sys.stdin.buffer, "standard input", delimiter, encoding, allowed)
        return _with_rows(Table(cells, "standard input", "csv", cut))
    kind = format_of(path)
    if is_pair(path):
        return _with_rows(_read_pair(path, allowed))
    file = Path(path)
    try:
        if not file.exists():
            raise FileNotFoundError(2, "there is no such file")
        if file.is_dir():
            raise IsADirectoryError(21, "it is a directory; name the files in it, for example with a pattern in quotes")
        return _with_rows(_READERS[kind](file, path, kind, delimiter, encoding, allowed))
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not a {kind} file, or damaged ({_first_line(error)}).") from error
    except OSError as error:
        raise OSError(f"cannot read {path}: {error.strerror or _first_line(error)}.") from error


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


def _read_delimited(file: Path, path: str, kind: str, delimiter: str | None, encoding: str, limit: _Limit) -> Table:
    with _opened(file) as stream:
        wanted = "\t" if kind == "tsv" and delimiter is None else delimiter
        cells, cut = read_csv(stream, path, wanted, encoding, limit)
    return Table(cells, path, kind, cut, folder=file.parent)


def _read_json(file: Path, path: str, kind: str, _: str | None, encoding: str, limit: _Limit) -> Table:
    with _opened(file) as stream:
        cells, lines = read_json(stream, path, encoding, limit)
    return Table(cells, path, kind, lines=lines, folder=file.parent)


def _opened(file: Path) -> Any:
    if file.suffix.lower() == ".gz":
        import gzip

        return gzip.open(file, "rb")
    return file.open("rb")


def _read_parquet(file: Path, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    with pq.ParquetFile(file) as parquet:
        limit.check(parquet.metadata.num_rows, path)
        return Table(parquet.read(), path, kind, folder=file.parent)


def _read_feather(file: Path, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    cells = pyarrow.feather.read_table(file)
    limit.check(cells.num_rows, path)
    return Table(cells, path, kind, folder=file.parent)


def _read_npz(file: Path, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    arrays = {}
    try:
        # Opened here, because NumPy leaves a broken archive open.
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            for name in archive.files:
                arrays[name] = archive[name]
    except (ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise _not_arrays(path, error) from error
    return _from_checked(arrays, path, kind, file.parent, limit)


def _read_npy(file: Path, path: str, kind: str, _d: str | None, _e: str, limit: _Limit) -> Table:
    return _from_checked({"X": _load_npy(file)}, path, kind, file.parent, limit)


def _read_pair(path: str, limit: _Limit) -> Table:
    features, labels = (Path(part) for part in path.split(","))
    return _from_checked({"X": _load_npy(features), "y": _load_npy(labels)}, path, "npy", features.parent, limit)


def _load_npy(file: Path) -> AnyArray:
    try:
        loaded: AnyArray = np.load(file, allow_pickle=False)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"cannot read {file}: there is no such file.") from error
    except (ValueError, EOFError) as error:
        raise _not_arrays(str(file), error) from error
    return loaded


def _not_arrays(path: str, error: Exception) -> ValueError:
    return ValueError(
        f"{path} is no file of plain NumPy arrays ({_first_line(error)}); save it again with numpy.savez."
    )


def _from_checked(arrays: dict[str, AnyArray], path: str, kind: str, folder: Path, limit: _Limit) -> Table:
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


_READERS: Final[dict[str, Callable[[Path, str, str, str | None, str, _Limit], Table]]] = {
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "jsonl": _read_json,
    "json": _read_json,
    "parquet": _read_parquet,
    "feather": _read_feather,
    "npz": _read_npz,
    "npy": _read_npy,
}


def _expand(path: str) -> list[str]:
    """Return the files that a pattern matches, in the order of their names; a name that exists is itself."""
    if path == "-" or Path(path).exists() or not any(sign in path for sign in "*?["):
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
