"""Climbing a ladder of sizes within a time budget, in a process that can be stopped."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from multiprocessing.connection import Connection
from typing import Any, Final

from pivotal.research.bench.stopwatch import timed

_ENOUGH: Final = 0.2  # seconds of repetitions after which a time is believed
_MOST_ROUNDS: Final = 5
_LONG: Final = 5.0  # seconds of a first run that no compilation takes; shorter ones may be just that
_GRACE: Final = 10.0  # seconds that a stopped process has to leave by itself

Step = Callable[[int], Callable[[], object]]
"""From a size to what is timed; what it does beforehand is not."""


def time_scaling(
    make: Callable[..., Step], arguments: tuple[Any, ...], sizes: Sequence[int], budget: float, *, apart: bool = True
) -> dict[int, float]:
    """Time one algorithm on larger and larger data until one size takes longer than the budget in seconds.

    `make` is a function of a module; called with `arguments`, it returns the step. `apart` runs it in a process of its
    own, which is stopped when the time is up. What comes back is the fastest of up to five repetitions, for the sizes
    that were done in time.
    """
    if not apart:
        times = (seconds for seconds in _climb(make(*arguments), sizes, budget) if seconds is not None)
        return dict(takewhile(lambda done: done[1] <= budget, zip(sizes, times, strict=False)))
    done: dict[int, float] = {}
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_time_in_child, args=(theirs, make, arguments, tuple(sizes), budget), daemon=True)
    process.start()
    theirs.close()
    try:
        for size in sizes:
            mine.recv()  # the data is ready, and the clock runs
            if not mine.poll(budget):
                break
            fastest = mine.recv()
            if fastest > budget:
                break
            done[size] = fastest
    except EOFError as error:
        process.join(_GRACE)
        raise RuntimeError(f"a timed process ended without an answer, exit code {process.exitcode}.") from error
    finally:
        _stop(process, terminate=len(done) == len(sizes))
        mine.close()
    return done


def _stop(process: multiprocessing.process.BaseProcess, *, terminate: bool) -> None:
    """End a process; one that is asked to end returns what it borrowed from the system."""
    if not terminate:
        process.terminate()
    process.join(_GRACE)
    if process.is_alive():
        process.kill()
        process.join()


def _time_in_child(
    pipe: Connection, make: Callable[..., Step], arguments: tuple[Any, ...], sizes: tuple[int, ...], budget: float
) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    for message in _climb(make(*arguments), sizes, budget):
        pipe.send(message)


def _climb(step: Step, sizes: Sequence[int], budget: float) -> Iterator[float | None]:
    """Yield None when the data of a size is ready, and then its seconds."""
    step(sizes[0])()  # imports and compiles
    for size in sizes:
        job = step(size)
        yield None
        yield _fastest(job, budget)


def _fastest(job: Callable[[], object], budget: float) -> float:
    """Return the shortest of some runs; a long one is believed at once."""
    fastest, total = float("inf"), 0.0
    for n_runs in range(1, _MOST_ROUNDS + 1):
        _, taken = timed(job)
        fastest, total = min(fastest, taken), total + taken
        # Every size may be the first to need some kernel, so that one run alone is believed only if it is long.
        if total > min(_ENOUGH, budget) and (n_runs > 1 or taken > min(_LONG, budget / 4)):
            break
    return fastest
