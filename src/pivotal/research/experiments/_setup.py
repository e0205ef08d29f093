"""What one run of an experiment is made of: data sets, methods, repetitions, sizes; and its note beside the tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from pivotal.core.atomic import write_text
from pivotal.research.datasets import names
from pivotal.research.experiments._contenders import CONTENDERS
from pivotal.research.experiments._result_cells import Cell, DataSource

K: Final = 5  # the paper's number of neighbours
_QUICK_DATA: Final = ("breast_cancer", "wine")


@dataclass(frozen=True)
class Facts:
    """What a data set is, for the pages and for the names of cells."""

    rows: int
    features: int
    classes: int
    variant: str  # which form of the data
    note: str  # what is not as in the original


@dataclass(frozen=True)
class Setup:
    """What one run of an experiment is made of."""

    data: Mapping[str, Facts] = field(hash=False)  # the data sets that are here
    methods: tuple[str, ...]  # the contenders that are here
    runs: int = 5  # repetitions; split, noise and samples differ
    quick: bool = False  # whether to show in a minute that all works, on little data
    seed: int = 0  # where random numbers start
    budget: float = 60.0  # seconds after which an algorithm tries no larger data, where time is measured
    source: DataSource = field(default_factory=DataSource)

    @property
    def rows(self) -> int:
        """Size of the sample on which all methods are compared; the paper speaks of several thousand points."""
        return 200 if self.quick else 2000

    @property
    def n_samples(self) -> int:
        """Samples of the methods that sample."""
        return 50 if self.quick else 1000

    def sizes(self, name: str) -> dict[str, int]:
        """Return the sizes at which a data set is used: a sample for all, and all rows for those that can."""
        rows = self.data[name].rows
        sizes = {"sample": min(self.rows, rows)}
        if rows > self.rows and not self.quick:
            sizes["full"] = rows
        return sizes

    def task_cells(
        self,
        study: str,
        methods: Sequence[str] | None = None,
        *,
        full: bool = True,
        variations: Sequence[Mapping[str, Any]] = ({},),
    ) -> list[Cell]:
        """Return a cell for each data set, size, run, variation and method, of all if None, that can take the size."""
        cells = []
        for name, facts in self.data.items():
            for size, rows in self.sizes(name).items():
                if size == "full" and not full:
                    continue
                for variation in variations:
                    settings = {
                        "size": size,
                        "rows": rows,
                        "of": [facts.variant, facts.rows, facts.features],
                        "k": K,
                        "n_samples": self.n_samples,
                        "seed": self.seed,
                        **variation,
                    }
                    for run in range(self.runs):
                        for method in self.methods if methods is None else methods:
                            most = CONTENDERS[method].max_rows
                            if most is None or rows <= most:
                                cells.append(Cell(study, name, method, run, settings))
        return cells


def as_datasets(chosen: Sequence[str] | None, *, quick: bool) -> tuple[str, ...]:
    """Return the data sets asked for, else the paper's twelve, or two that are always there."""
    if chosen is None:
        return _QUICK_DATA if quick else names()
    known = names(bundled=True)
    for name in chosen:
        if name not in known:
            raise ValueError(f"datasets must be known by name; got {name!r}. Use some of {', '.join(known)}.")
    return tuple(dict.fromkeys(chosen))


def as_methods(chosen: Sequence[str] | None) -> tuple[str, ...]:
    """Return the contenders asked for, else all, in the order of the paper's tables."""
    if chosen is None:
        return tuple(CONTENDERS)
    for name in chosen:
        if name not in CONTENDERS:
            raise ValueError(f"methods must be those of the paper; got {name!r}. Use some of {', '.join(CONTENDERS)}.")
    return tuple(name for name in CONTENDERS if name in chosen)


def look_up(chosen: Sequence[str], source: DataSource, echo: Callable[[str], object]) -> dict[str, Facts]:
    """Return what is known of the data sets that are here, and say which are not."""
    found = {}
    for name in chosen:
        try:
            data = source.load(name)
        except (OSError, ImportError) as error:
            echo(f"{name} is omitted: {' '.join(str(error).split())}")
            continue
        found[name] = Facts(len(data), data.n_features, data.n_classes, data.variant, data.note)
    return found


_FILE: Final = "setup.json"


def keep_setup(folder: Path, experiment: str, setup: Setup, machine: str) -> None:
    """Note beside its table with which setup an experiment was measured, and on what machine."""
    about = asdict(setup)
    del about["source"]
    known = {**_read(folder), experiment: {**about, "machine": machine}}
    write_text(folder / _FILE, json.dumps(known, indent=1) + "\n")


def kept_setups(folder: Path) -> dict[str, tuple[Setup, str]]:
    """Return the setup and the machine of every experiment that was measured in this folder."""
    found = {}
    for name, kept in _read(folder).items():
        data = {key: Facts(**facts) for key, facts in kept["data"].items()}
        options = {key: kept[key] for key in ("runs", "quick", "seed", "budget")}
        found[name] = Setup(data, tuple(kept["methods"]), **options), str(kept["machine"])
    return found


def _read(folder: Path) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return kept
