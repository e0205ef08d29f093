"""Running an experiment: measure what is missing, then write table, figures and page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pivotal.core.validation import check_count
from pivotal.research.bench.markdown import machine
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.experiments._bits_experiment import BITS
from pivotal.research.experiments._contenders import CONTENDERS
from pivotal.research.experiments._curve_experiments import FLIP, REMOVAL, SELECTION
from pivotal.research.experiments._experiment import Experiment
from pivotal.research.experiments._illustration import ILLUSTRATION
from pivotal.research.experiments._index_page import write_index
from pivotal.research.experiments._mislabel import MISLABEL
from pivotal.research.experiments._removal_ablations import IMBALANCE, NEIGHBOURS
from pivotal.research.experiments._result_cells import DataSource, ResultCache, measure_all
from pivotal.research.experiments._sampling_experiment import MONTE_CARLO
from pivotal.research.experiments._scalability import SCALABILITY
from pivotal.research.experiments._setup import Setup, as_datasets, as_methods, keep_setup, kept_setups, look_up
from pivotal.research.experiments._setup_page import write_setup_page
from pivotal.research.experiments._write_up import find_table, write_page, write_table

if TYPE_CHECKING:
    import pandas as pd

_FIRST: Final = (ILLUSTRATION, MISLABEL, REMOVAL, SELECTION, FLIP)
_OTHERS: Final = (NEIGHBOURS, BITS, IMBALANCE, MONTE_CARLO, SCALABILITY)
EXPERIMENTS: Final = MappingProxyType({one.name: one for one in (*_FIRST, *_OTHERS)})
"""All experiments by name, in the order in which `all` runs them."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What one experiment came to.

    Parameters
    ----------
    name : str
        The experiment.
    frame : pandas.DataFrame
        All figures, a row each.
    measured : int
        Cells that were measured now; the others were in the cache.
    files : tuple of Path
        What was written.
    """

    name: str
    frame: pd.DataFrame
    measured: int
    files: tuple[Path, ...]


def reproduce(
    name: str,
    out: str | os.PathLike[str] = "reproduction",
    *,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    runs: int | None = None,
    quick: bool = False,
    seed: int = 0,
    budget: float = 60.0,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
    measure: bool = True,
    n_jobs: int | None = -1,
    progress: bool = False,
    echo: Callable[[str], object] = print,
) -> list[Reproduction]:
    """Run an experiment of the paper and write what came out beside what the paper says.

    Parameters
    ----------
    name : str
        An experiment, or ``"all"``.
    out : path-like, default="reproduction"
        Folder for the pages, tables and figures, and for the cells: what was measured before is not measured again.
    datasets : sequence of str, optional
        Which data sets; the paper's twelve by default. Those that are not here are omitted.
    methods : sequence of str, optional
        Which contenders; all by default.
    runs : int, optional
        Repetitions; 5 as in the paper, or 2 where `quick`.
    quick : bool, default=False
        Little data, few samples: shows in a few minutes that all works.
    seed : int, default=0
        Where random numbers start.
    budget : float, default=60.0
        Seconds after which `scalability` tries no larger data.
    data_home : path-like, optional
        Folder with data files; the environment variable PIVOTAL_DATA when None.
    download : bool, default=True
        Whether OpenML may be asked.
    measure : bool, default=True
        Whether to measure what is missing, or to write up what was measured so far: the cells in the folder or, where
        there are none, its tables. The latter needs no data.
    n_jobs : int, default=-1
        Cells measured at once, each in a process with one thread; those that are timed run alone.
    progress : bool, default=False
        Whether to show a progress bar.
    echo : callable, default=print
        Gets a line for each thing that is done or omitted.

    Returns
    -------
    list of Reproduction
    """
    if name != "all" and name not in EXPERIMENTS:
        raise ValueError(f"name must be an experiment; got {name!r}. Use one of {', '.join(EXPERIMENTS)} or all.")
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS[name]]
    runs, seed = check_count((2 if quick else 5) if runs is None else runs, "runs"), check_count(seed, "seed", 0)
    if not 0.0 < budget < float("inf"):
        raise ValueError(f"budget must be a number of seconds above 0; got budget={budget!r}.")
    names, wanted = as_datasets(datasets, quick=quick), as_methods(methods)
    source = DataSource(None if data_home is None else str(Path(data_home).resolve()), download)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    kept = kept_setups(folder)
    outcomes: Iterable[Reproduction | None]
    if not measure and kept and not (folder / "cells").is_dir():
        outcomes = (_write_table_up(one, kept.get(one.name), folder, echo) for one in chosen)
    else:
        data = {}
        if any(one.needs_data for one in chosen):
            data = look_up(names, source, echo)
            if not data:
                raise FileNotFoundError(
                    "none of the data sets is here; name a folder with data_home or PIVOTAL_DATA, go online, or use "
                    "quick."
                )
            for lack in filter(None, (CONTENDERS[method].missing() for method in wanted)):
                echo(lack)
            wanted = tuple(method for method in wanted if not CONTENDERS[method].missing())
        setup = Setup(data, wanted, runs, quick, seed, budget, source)
        outcomes = (_run(one, setup, folder, n_jobs, measure=measure, progress=progress, echo=echo) for one in chosen)
    done = []
    for outcome in filter(None, outcomes):
        for file in outcome.files:
            echo(f"Written: {file}")
        done.append(outcome)
    with_data = [setup for setup, _ in kept_setups(folder).values() if setup.data]
    if with_data:
        write_setup_page(folder, with_data)
    write_index(folder, EXPERIMENTS)
    return done


def _write_table_up(
    one: Experiment, kept: tuple[Setup, str] | None, folder: Path, echo: Callable[[str], object]
) -> Reproduction | None:
    """Write the page of an experiment whose table and setup are in the folder."""
    table = find_table(folder, one.name)
    if table is None or kept is None:
        echo(f"{one.name}: no table is there.")
        return None
    files = write_page(one, table, kept[0], folder, machine=kept[1], echo=echo)
    return Reproduction(one.name, table, 0, tuple(files))


def _run(
    one: Experiment,
    setup: Setup,
    folder: Path,
    n_jobs: int | None,
    *,
    measure: bool,
    progress: bool,
    echo: Callable[[str], object],
) -> Reproduction | None:
    cells = one.cells(setup)
    if not cells:
        echo(f"{one.name}: nothing to measure with these methods.")
        return None
    cache = ResultCache(folder / "cells")
    measured = 0
    if measure:
        watch = Stopwatch()
        jobs = 1 if one.alone else n_jobs
        measured = measure_all(cells, one.measure, setup.source, cache, n_jobs=jobs, progress=progress)
        known = len(cells) - measured
        before = f"; {known} had been measured before" if known else ""
        echo(f"{one.name}: {measured} of {len(cells)} cells measured in {watch.seconds:.0f} s{before}.")
    results = [(cell, kept) for cell in cells if (kept := cache.get(cell)) is not None]
    if not measure:
        echo(f"{one.name}: {len(results)} of {len(cells)} cells are there.")
        # Times are shown together or not at all; the others do with less.
        if not results or (one.alone and len(results) < len(cells)):
            return None
    frame = one.gather(results)
    file, table = write_table(one.tabulate(frame), folder / one.name)
    measured_on = machine("pivotal", "numpy", "numba", "scikit-learn")
    keep_setup(folder, one.name, setup, measured_on)
    missing = len(cells) - len(results)
    files = [file, *write_page(one, table, setup, folder, machine=measured_on, missing=missing, echo=echo)]
    return Reproduction(one.name, frame, measured, tuple(files))
