"""Ctrl-C: control returns within a second, and what was finished stays."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from pivotal.core import threads as _threads

pytestmark = pytest.mark.faults


def test_tasks_that_have_not_begun_are_dropped_when_one_fails() -> None:
    begun = []

    def work(task: int) -> None:
        begun.append(task)
        if task == 0:
            raise ValueError("task 0")
        time.sleep(0.05)

    with pytest.raises(ValueError, match="task 0"):
        _threads.run_all(work, range(100), 2)
    assert len(begun) < 10


def test_long_tasks_end_where_they_check() -> None:
    ended = threading.Event()

    def work(task: int) -> None:
        if task == 0:
            time.sleep(0.05)
            raise ValueError("task 0")
        try:
            while True:
                _threads.check_cancelled()
                time.sleep(0.01)
        except _threads.Cancelled:
            ended.set()
            raise

    with pytest.raises(ValueError, match="task 0"):
        _threads.run_all(work, [0, 1], 2)
    assert ended.wait(5)
    _threads.check_cancelled()  # outside of a task there is nothing to stop


SCRIPT = """
import sys, time
import numpy as np
import pivotal
rng = np.random.default_rng(0)
X, y = rng.normal(size=({n}, 8)), rng.integers(0, 2, {n})
queries, targets = rng.normal(size=(200_000, 8)), rng.integers(0, 2, 200_000)
model = pivotal.KNNValuation(n_jobs=2, {options}).fit(X, y)
model.update(queries[:2], targets[:2])  # compiled from here on
print("ready", flush=True)
try:
    model.update(queries, targets)
except KeyboardInterrupt:
    stopped = time.time()
    counted = model.n_queries_
    again = pivotal.KNNValuation(n_jobs=2, {options}).fit(X, y).update(queries[:2], targets[:2])
    if counted > 2:
        again.update(queries[: counted - 2], targets[: counted - 2])
    print(stopped, counted, int(np.array_equal(model.values_, again.values_)), flush=True)
"""


@pytest.mark.parametrize(
    ("n", "options"),
    [(200_000, "block_size=500"), (2000, "semivalue='shapley', weights='distance', block_size=64")],
    ids=["search", "tables"],
)
def test_control_returns_soon_and_finished_blocks_stay(n: int, options: str) -> None:
    code = SCRIPT.format(n=n, options=options)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        interrupted = time.time()
        process.send_signal(signal.SIGINT)
        stopped, counted, same = process.stdout.readline().split()
        assert process.wait(60) == 0
    # It takes about a millisecond; a machine may be busy with other tests.
    assert float(stopped) - interrupted < 3.0
    assert 2 <= int(counted) < 200_000
    assert int(same) == 1
