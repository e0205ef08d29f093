"""Timing one contender on one task, in this process."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pivotal.core.types import FloatArray
from pivotal.research.bench.contender import Contender
from pivotal.research.bench.memory import available_bytes, forget_peak, peak_bytes, resident_bytes
from pivotal.research.bench.stopwatch import Stopwatch, timed
from pivotal.research.bench.task import Task

__all__ = ["Limits", "Outcome", "Status", "measure"]

Status = Literal["ran", "missing", "skipped", "failed"]

# Part of the free memory that a contender may be expected to take.
_SHARE_OF_MEMORY = 0.8
# A run that took longer than this is not repeated. Not less: what allocates gigabytes may be much faster when repeated.
_LONG = 60.0


@dataclass(frozen=True)
class Limits:
    """How often to run, and how long at most."""

    rounds: int = 3  # of which the fastest counts
    seconds: float = 120.0  # longest run that is started, going by smaller ones
    memory: bool = False  # whether to look at this process's memory: in one run only, so that nothing else is seen


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of it."""

    status: Status
    reason: str = ""  # why there are no values
    seconds: float | None = None  # of the fastest run
    megabytes: float | None = None  # most memory held during the run, above what was held before it
    version: str = ""  # of the contender's package
    values: FloatArray | None = None  # shape (n_train,)


def measure(contender: Contender, task: Task, limits: Limits) -> Outcome:
    """Run a contender if it is there and will not take too long.

    Whatever goes wrong inside a contender is told in its outcome, not raised.
    """
    if reason := contender.missing():
        return Outcome("missing", reason)
    version = contender.version()
    needed, free = contender.bytes_needed(task.n_train, task.n_queries), available_bytes()
    if free is not None and needed > _SHARE_OF_MEMORY * free:
        reason = f"needs about {needed / 2**30:.1f} GB of memory, and {free / 2**30:.1f} GB are free"
        return Outcome("skipped", reason, version=version)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a peer's warnings are its own affair
            expected = _estimate_seconds(contender, task)
            if expected > limits.seconds:
                reason = f"would take about {_rounded(expected)} s, more than the limit of {limits.seconds:g} s"
                return Outcome("skipped", reason, version=version)
            return _run(contender, task, limits, version)
    except Exception as error:  # noqa: BLE001  other people's code may fail in any way
        return Outcome("failed", f"{type(error).__name__}: {error}", version=version)


def _estimate_seconds(contender: Contender, task: Task) -> float:
    """Seconds that the task will take, from two smaller ones; 0 if the task is no larger than those."""
    n_train, n_queries = contender.trial
    whole, half = task.head(n_train, n_queries), task.head(n_train // 2, n_queries)
    _seconds(contender, half)  # imports and compiles
    if task.n_train <= n_train and task.n_queries <= max(n_queries, whole.n_queries):
        return 0.0
    shorter, longer = (min(_seconds(contender, part) for _ in range(2)) for part in (half, whole))
    work = [contender.work(part.n_train, part.n_queries) for part in (half, whole, task)]
    # Two sizes, so that what every run costs is not taken for what every point costs.
    rate = max(longer - shorter, 0.0) / max(work[1] - work[0], 1.0)
    return longer + rate * max(work[2] - work[1], 0.0)


def _run(contender: Contender, task: Task, limits: Limits, version: str) -> Outcome:
    before = None
    if limits.memory:
        forget_peak()
        before = resident_bytes()
    seconds = np.inf
    for _ in range(1 if limits.memory else limits.rounds):
        with Stopwatch() as watch:
            values = np.asarray(contender.play(task), dtype=np.float64)
        seconds = min(seconds, watch.seconds)
        if seconds > _LONG:
            break
    peak = peak_bytes() if limits.memory else None
    megabytes = None if peak is None or before is None else max(peak - before, 0) / 2**20
    return Outcome("ran", "", float(seconds), megabytes, version, values)


def _seconds(contender: Contender, task: Task) -> float:
    return timed(lambda: contender.play(task))[1]


def _rounded(seconds: float) -> str:
    """Two digits, as an extrapolation is worth no more."""
    return f"{float(f'{seconds:.2g}'):,.0f}" if seconds < 1e6 else f"{seconds:.1e}"
