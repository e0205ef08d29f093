"""On a real cluster: the same values, a worker that dies costs only time, and a checkpoint outlives everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pytest

import pivotal

if TYPE_CHECKING:
    from distributed import Client

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    from distributed import Client, LocalCluster  # which the run without a cluster does without

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def points(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(0, 3, size=n)


X, Y = points(2_000, 0)
Q, T = points(90, 1)


def test_the_active_client_computes(client: Client) -> None:
    local = pivotal.value(X, Y, Q, T, weights="distance")
    for _ in range(2):
        lazy = pivotal.value(
            da.from_array(X, chunks=(300, -1)), Y, da.from_array(Q, chunks=(20, -1)), T, weights="distance"
        )
        assert np.array_equal(lazy.compute().values, local.values)
    future = client.compute(pivotal.value(da.from_array(X, chunks=(700, -1)), Y, Q, T, weights="distance"))
    assert np.array_equal(future.result().values, local.values)


@pytest.mark.usefixtures("client")
def test_progress_on_the_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    lazy = pivotal.value(da.from_array(X, chunks=(700, -1)), Y, Q, T, progress=True)
    assert np.array_equal(lazy.compute().values, pivotal.value(X, Y, Q, T).values)
    shown = capsys.readouterr()
    assert "Completed" in shown.err
    assert shown.out == ""


@pytest.mark.usefixtures("client")
def test_errors_arrive_as_they_are() -> None:
    broken = X.copy()
    broken[1_999, 0] = np.inf
    with pytest.raises(ValueError, match="X_train, rows 1500 to 1999, must be finite"):
        pivotal.value(da.from_array(broken, chunks=(500, -1)), Y, Q, T).compute()


def _wait_at_the_gate(part: Any, block_info: Any = None) -> Any:
    """Let the first blocks pass; the others wait until the test opens the gate."""
    from distributed import Event

    if block_info[None]["chunk-location"][0] >= 4:
        Event("reached").set()
        Event("open").wait()
    return part


def test_a_worker_that_is_killed_costs_only_time(client: Client) -> None:
    from distributed import Event

    reached, gate = Event("reached"), Event("open")
    queries = da.from_array(Q, chunks=(10, -1)).map_blocks(_wait_at_the_gate, meta=np.empty((0, 4)))
    lazy = pivotal.value(da.from_array(X, chunks=(300, -1)), Y, queries, T)
    before = client.run(os.getpid)
    future = client.compute(lazy)
    assert reached.wait(timeout=120)  # under way, and far from the end
    os.kill(next(iter(before.values())), signal.SIGKILL)
    gate.set()
    assert np.array_equal(future.result(timeout=120).values, pivotal.value(X, Y, Q, T).values)
    client.wait_for_workers(2, timeout=120)
    assert set(client.run(os.getpid).values()) != set(before.values())  # the nanny started another


def _blocks(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("block-*.npz")}


PROGRAM = """
    import sys
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster
    import pivotal

    def stop_here(part, block_info=None):
        if sys.argv[2] == "die" and block_info[None]["chunk-location"][0] == 6:
            import time
            while True:
                time.sleep(1)  # until somebody kills us
        return part

    def points(n, seed):
        rng = np.random.default_rng(seed)
        return rng.normal(size=(n, 4)), rng.integers(0, 3, size=n)

    def main():
        (X, y), (Q, t) = points(2_000, 0), points(90, 1)
        # Two threads in one worker: where the first is held up, the second does all the rest.
        with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster):
            queries = da.from_array(Q, chunks=(10, -1))
            queries = da.map_blocks(stop_here, queries, meta=np.empty((0, 4)), token="queries")
            pivotal.set_config(checkpoint=sys.argv[1])
            values = pivotal.value(da.from_array(X, chunks=(300, -1)), y, queries, t)
            np.save(sys.argv[3], values.compute().values)

    if __name__ == "__main__":
        main()
"""


def test_a_valuation_goes_on_after_driver_and_cluster_were_killed(tmp_path: Path) -> None:
    program, folder, answer = tmp_path / "program.py", tmp_path / "kept", tmp_path / "values.npy"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, str(program), str(folder)]
    run = subprocess.Popen([*command, "die", str(answer)], start_new_session=True)
    try:
        while len(_blocks(folder)) < 3:
            assert run.poll() is None, "it ended by itself"
            with pytest.raises(subprocess.TimeoutExpired):
                run.wait(timeout=0.1)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    kept = _blocks(folder)
    assert 3 <= len(kept) < 9
    assert not answer.exists()
    subprocess.run([*command, "live", str(answer)], check=True)
    assert np.array_equal(np.load(answer), pivotal.value(X, Y, Q, T).values)
    finished = _blocks(folder)
    assert len(finished) == 9
    assert {name: finished[name] for name in kept} == kept  # none of them was computed again
