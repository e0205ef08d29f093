"""Cells: the smallest pieces of an experiment, each measured once and kept in a small file.

A run that was stopped resumes where it stopped: what is in the cache is not measured again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pivotal.core.atomic import write_text
from pivotal.core.progress import tqdm
from pivotal.core.threads import count_threads
from pivotal.core.version import __version__
from pivotal.research.bench.stopwatch import timed
from pivotal.research.datasets import Dataset, load

Result = dict[str, Any]
"""What a cell measured: JSON values under their names, `seconds` among them."""


@dataclass(frozen=True)
class Cell:
    """One measurement: which study, on what, by which method, in which run, with which settings.

    Examples
    --------
    >>> cell = Cell("noise", "iris", "bv-uw", 0, {"k": 5})
    >>> cell.file
    'noise/iris/bv-uw-run0-7861d0d6db.json'
    """

    study: str  # what is measured; experiments that need the same measurement share a study
    data: str
    method: str
    run: int  # which of the repetitions; split, noise and samples depend on it
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)  # JSON: all else that the result depends on

    @property
    def key(self) -> dict[str, Any]:
        """All that tells the cell from others."""
        return {**vars(self), "settings": dict(self.settings)}

    @property
    def file(self) -> str:
        """Where it lies on a shelf."""
        digest = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:10]
        data, method = (re.sub(r"[^\w.-]+", "_", name) for name in (self.data, self.method))
        return f"{self.study}/{data}/{method}-run{self.run}-{digest}.json"


@dataclass(frozen=True)
class DataSource:
    """Where data sets come from: a folder, that of the environment variable PIVOTAL_DATA when None, and OpenML."""

    data_home: str | None = None
    download: bool = True  # whether OpenML may be asked

    def load(self, name: str) -> Dataset:
        """Load a data set, or take the one loaded last."""
        return _load(name, self.data_home, self.download)


@lru_cache(maxsize=1)  # one at a time: cells come in order of their data, and the largest take gigabytes
def _load(name: str, data_home: str | None, download: bool) -> Dataset:
    return load(name, data_home=data_home, download=download)


@dataclass(frozen=True)
class ResultCache:
    """A folder with a file for each cell that was measured; created when the first one is put there."""

    folder: Path

    def get(self, cell: Cell) -> Result | None:
        """Return what was measured; None if nothing was, by another version, or if the file is not whole."""
        try:
            kept = json.loads((self.folder / cell.file).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        identity = {"cell": json.loads(json.dumps(cell.key)), "version": __version__}
        if not isinstance(kept, dict) or {name: kept.get(name) for name in identity} != identity:
            return None
        return cast(Result, kept["result"])

    def put(self, cell: Cell, result: Result) -> None:
        """Keep a result: the file is there as a whole or not at all."""
        target = self.folder / cell.file
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, json.dumps({"cell": cell.key, "version": __version__, "result": result}, allow_nan=False))


Measure = Callable[[Cell, DataSource], Result]
"""What measures one cell; a function of a module, so that processes can be sent it."""


def measure_all(
    cells: Sequence[Cell],
    measure: Measure,
    source: DataSource,
    cache: ResultCache,
    *,
    n_jobs: int | None = 1,
    progress: bool = False,
) -> int:
    """Measure the cells that are not in the cache yet, in `n_jobs` processes of one thread, and return how many.

    Each is put there as soon as it is done.
    """
    left = [cell for cell in cells if cache.get(cell) is None]
    n_processes = min(count_threads(n_jobs), len(left))
    bar = tqdm(total=len(cells), initial=len(cells) - len(left), unit="cell", disable=not progress)
    with bar:
        if n_processes <= 1:
            for cell in left:
                bar.set_postfix_str(f"{cell.data} {cell.method}")
                _measure_one(measure, cell, source, cache)
                bar.update()
            return len(left)
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=n_processes, return_as="generator_unordered", batch_size=1, inner_max_num_threads=1)
        for cell in pool(delayed(_measure_one)(measure, cell, source, cache) for cell in left):
            bar.set_postfix_str(f"{cell.data} {cell.method}")
            bar.update()
    return len(left)


def _measure_one(measure: Measure, cell: Cell, source: DataSource, cache: ResultCache) -> Cell:
    """Measure a cell and keep the result; the process that measured it writes it, so that no other need live on."""
    result, seconds = timed(lambda: measure(cell, source))
    cache.put(cell, {"seconds": seconds, **result})
    return cell
