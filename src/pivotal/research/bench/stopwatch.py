"""Seconds of a job, by the clock and of processors, and the fastest of several rounds: for everything that measures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["Stopwatch", "fastest", "timed"]


class Stopwatch:
    """Measures what is done within it; until it is left, what has been done so far.

    Examples
    --------
    >>> with Stopwatch() as watch:
    ...     total = sum(range(1000))
    >>> watch.seconds > 0
    True
    """

    def __init__(self) -> None:
        self._start = self._now()
        self._end: tuple[float, float] | None = None

    def __enter__(self) -> Stopwatch:
        self._start = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self._end = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """By the clock."""
        return (self._end or self._now())[0] - self._start[0]

    @property
    def processor_seconds(self) -> float:
        """Of all threads of this process."""
        return (self._end or self._now())[1] - self._start[1]


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a job returns, and how many seconds it took."""
    with Stopwatch() as watch:
        answer = job()
    return answer, watch.seconds


def fastest(*jobs: Callable[[], Any], rounds: int = 3, warm_up: bool = True, processor: bool = False) -> list[float]:
    """Return the seconds of the fastest round of each job.

    Parameters
    ----------
    *jobs : callable
        They take turns, so that what else the machine does is shared by all.
    rounds : int, default=3
        How many count.
    warm_up : bool, default=True
        Whether a round that does not count, as it compiles and loads, comes first.
    processor : bool, default=False
        Whether to count the time of processors instead of the clock's.
    """
    best = [float("inf")] * len(jobs)
    for turn in range(-warm_up, rounds):
        for place, job in enumerate(jobs):
            with Stopwatch() as watch:
                job()
            if turn >= 0:
                best[place] = min(best[place], watch.processor_seconds if processor else watch.seconds)
    return best
