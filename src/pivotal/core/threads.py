"""Spreading work over threads, with the linear algebra beneath kept to one thread each."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from pivotal.core.validation import is_integer

_Task = TypeVar("_Task")

_limiting = threading.Lock()
_WORTH_A_THREAD = 2**21  # multiplications, about a millisecond; starting a pool of threads takes some tenths of it


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that n_jobs asks for, as scikit-learn reads it: -1 is one per processor.

    Threads are those of this machine, also where the user chose a backend of joblib whose workers are elsewhere.
    """
    _check_jobs(n_jobs)
    if n_jobs == 1:
        return 1
    if chosen_backend() is None:
        return int(effective_n_jobs(n_jobs))
    with parallel_config("threading"):
        return int(effective_n_jobs(n_jobs))


def count_workers(n_jobs: int | None) -> int:
    """Return how many tasks joblib would run at once: in processes, or on the cluster that the user chose."""
    _check_jobs(n_jobs)
    return int(effective_n_jobs(n_jobs))


def chosen_backend() -> Any | None:
    """Return the backend of joblib that the user chose, if its workers are elsewhere; None if work stays in threads.

    Chosen is what ``joblib.parallel_config`` names: processes ("loky", "multiprocessing"), a cluster ("dask", "ray"),
    or any other backend that does not share our memory.
    """
    backend, _ = get_active_backend(prefer="threads")  # threads, then, unless a backend is named
    return None if getattr(backend, "supports_sharedmem", False) else backend


def _check_jobs(n_jobs: int | None) -> None:
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be an integer other than 0, or None; got {n_jobs!r}. Use -1 for one per processor."
        )


def slices(n_items: int, max_items: int, n_threads: int, cost: float = math.inf) -> list[slice]:
    """Cut `n_items` into slices of at most `max_items` and nearly equal size, as many for each thread.

    All of them are one slice where the operations that an item costs add up to less than starting threads does.
    """
    n_slices = max(1, -(-n_items // max(1, max_items)))
    if n_slices == 1 and n_items * cost < _WORTH_A_THREAD:
        return [slice(0, n_items)]
    n_slices = min(n_items, -(-n_slices // n_threads) * n_threads)
    bounds = [n_items * i // n_slices for i in range(n_slices + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


class Cancelled(Exception):  # noqa: N818  # only the thread catches it that is stopped
    """Raised in a thread whose work is no longer wanted."""


_job = threading.local()


class Threads:
    """Threads that stay for several rounds of work: starting them takes longer than a short round."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=failure is None, cancel_futures=True)

    def run(self, work: Callable[[_Task], object], tasks: Sequence[_Task]) -> None:
        """Run `work` on every task.

        When a task fails, or the user interrupts, tasks that have not begun are dropped and the others end at their
        next `check_cancelled`, so control returns at once. Tasks should be short, or call it often.
        """
        if self._pool is None or len(tasks) == 1:
            for task in tasks:
                work(task)
            return
        stop = threading.Event()

        def work_until_cancelled(task: _Task) -> None:
            _job.stop = stop
            check_cancelled()
            work(task)

        jobs = [self._pool.submit(work_until_cancelled, task) for task in tasks]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise


def run_all(work: Callable[[_Task], object], tasks: Sequence[_Task], n_threads: int) -> None:
    """Run `work` on every task, in `n_threads` threads, as `Threads.run` does."""
    with Threads(max(1, min(n_threads, len(tasks)))) as threads:
        threads.run(work, tasks)


def check_cancelled() -> None:
    """End this thread's work here if it is no longer wanted; long tasks call it every now and then."""
    stop: threading.Event | None = getattr(_job, "stop", None)
    if stop is not None and stop.is_set():
        raise Cancelled


@lru_cache(maxsize=1)
def _blas(n_modules: int) -> list[Any]:  # noqa: ARG001  # a package that was imported since may have brought its own
    """Find the libraries, once for all modules that are loaded: it takes longer than a small search."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep matrix products to the thread that asks for them.

    The setting belongs to the process, and the thread that makes it must undo it. A search that finds another one under
    way leaves it alone: if each undid what it found, the last to leave could restore the setting of the first.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    # What `ThreadpoolController.limit` does, without describing every library on the way.
    libraries = [(library, library.num_threads) for library in _blas(len(sys.modules))]
    try:
        for library, _ in libraries:
            library.set_num_threads(1)
        yield
    finally:
        for library, n_threads in libraries:
            library.set_num_threads(n_threads)
        _limiting.release()
