"""How a file is written, by the end of its name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pivotal.core.urls import is_url, link_of
from pivotal.tables._databases import parts_of
from pivotal.tables._packed import PACKED

FORMATS: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".arrows": "stream",
    ".ipc": "stream",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".npz": "npz",
    ".npy": "npy",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
}

_MAY_BE_PACKED: Final = ("csv", "tsv", "jsonl", "json")
_CONVERT: Final = {
    ".zip": "unpack it first",
    ".tar": "unpack it first",
    ".xls": "save it as .xlsx",
    ".ods": "save it as .xlsx",
    ".pkl": "pickles can run code and are not read; write it with to_parquet in Python",
    ".pickle": "pickles can run code and are not read; write it with to_parquet in Python",
    ".dta": "write it anew with pandas.read_stata and to_parquet",
    ".sav": "write it anew with pandas.read_spss and to_parquet",
    ".h5": "write it anew with pandas.read_hdf and to_parquet",
    ".orc": "write it anew with pandas.read_orc and to_parquet",
    ".txt": "rename it to .csv, or to .tsv if there are tabs between the cells",
}


def format_of(path: str) -> str:
    """Return the format that the end of a file name stands for."""
    name = path.split(",")[0] if is_pair(path) else parts_of(path)[0]
    suffixes = [suffix.lower() for suffix in Path(link_of(name) if is_url(name) else name).suffixes]
    packed = suffixes[-1:] != [] and suffixes[-1] in PACKED
    last = suffixes[-2 if packed else -1 :][:1]
    found = FORMATS.get(last[0]) if last else None
    if found is None or (packed and found not in _MAY_BE_PACKED):
        known = ", ".join(FORMATS)
        fix = "unpack it" if packed and found else _CONVERT.get(last[0] if last else "", "rename it, or convert it")
        raise ValueError(f"{path} must end in one of {known}, which say how it is written; {fix}.")
    return found


def is_pair(path: str) -> bool:
    """Whether a path is two, `X.npy,y.npy`."""
    parts = path.split(",")
    return len(parts) == 2 and all(part.endswith(".npy") for part in parts)
