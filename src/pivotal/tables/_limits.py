"""How much may be read: rows, bytes of one row, memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

LONGEST_ROW: Final = 1 << 26  # bytes


class Limit:
    """How many rows may still be read, and what the message calls the limit where other files have used some of it."""

    def __init__(self, room: int, limit: int | None = None) -> None:
        self.room, self.limit = room, room if limit is None else limit

    def check(self, n_rows: int, name: str) -> None:
        """Raise when there are more rows."""
        if n_rows > self.room:
            raise ValueError(
                f"{name} has more than {self.limit:,} rows, the most that --max-rows allows; raise it if they fit into "
                "memory, pass a sample, or call pivotal.value with the features in a .npy or Parquet file, which it "
                "reads chunk by chunk."
            )


def check_memory(n_bytes: int, name: str) -> None:
    """Raise when a table that is about to be unpacked does not fit into the memory that is free."""
    free = _free_memory()
    if free is not None and n_bytes > free:
        raise ValueError(
            f"{name} unpacks to {n_bytes / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB of memory are free; pass fewer "
            "rows or columns, or call pivotal.value with the features in a .npy or Parquet file, which it reads chunk "
            "by chunk."
        )


def collect_batches(reader: Any, name: str, limit: Limit) -> pa.Table:
    """Read Arrow batches, as long as there are not too many rows and there is memory for them."""
    batches, n_rows, n_bytes = [], 0, 0
    for batch in reader:
        batches.append(batch)
        n_rows += batch.num_rows
        n_bytes += batch.nbytes
        limit.check(n_rows, name)
        check_memory(n_bytes, name)
    return pa.Table.from_batches(batches, reader.schema)


def _free_memory() -> int | None:
    """Return how many bytes can be had without swapping, None where the system does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
