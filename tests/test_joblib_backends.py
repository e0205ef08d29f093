"""Backends of joblib: where blocks of queries are solved makes no difference, to the last bit."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import flat
import pivotal
from pivotal.core.threads import chosen_backend, count_threads, count_workers
from pivotal.engine import joblib_backend as spread
from pivotal.engine.exact import SolvedRows
from pivotal.neighbors import BruteIndex

pytestmark = pytest.mark.cluster

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), RNG.integers(0, 3, 80)
QUERIES, TARGETS = RNG.normal(size=(23, 3)), RNG.integers(0, 3, 23)
DATA = (X, Y, QUERIES, TARGETS)

Backend = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two workers with two threads each, as tasks of one worker must not get into each other's way."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["loky", "multiprocessing", "threading", "dask"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Choose a backend; arrays are mapped into the memory of processes unless they are tiny."""
    if request.param == "dask":
        request.getfixturevalue("client")
        return lambda: joblib.parallel_config("dask")
    return lambda: processes_or_threads(request.param)


def processes_or_threads(name: str) -> AbstractContextManager[Any]:
    return joblib.parallel_config(name, n_jobs=2, max_nbytes=100)  # always the same, or loky's workers start again


GAMES: dict[str, dict[str, Any]] = {
    "hard": {},
    "soft": {"utility": "soft", "semivalue": "shapley"},
    "regression": {"utility": "regression", "semivalue": "beta(4,1)"},
    "plurality": {"utility": "plurality", "semivalue": "loo"},
    "weighted": {"weights": "distance", "semivalue": "shapley", "bits": 3},
    "each query": {"per_query": True, "ids": [f"point {i}" for i in range(80)]},
}


@pytest.mark.parametrize("game", GAMES)
def test_games_have_the_same_values(backend: Backend, game: str) -> None:
    plain = flat.value(*DATA, k=3, **GAMES[game])
    with backend():
        assert flat.value(*DATA, k=3, **GAMES[game]).equals(plain)


@pytest.mark.parametrize("block_size", [1, 7, None])
def test_blocks_and_weights_make_no_difference(backend: Backend, block_size: int | None) -> None:
    how: dict[str, Any] = {"query_weights": np.arange(23.0), "k": 3}
    plain = flat.value(*DATA, **how)
    with backend():
        assert flat.value(*DATA, block_size=block_size, **how).equals(plain)


def test_points_that_value_each_other(backend: Backend) -> None:
    plain = pivotal.value(X, Y, metric="manhattan", weights="rbf")
    with backend():
        assert pivotal.value(X, Y, metric="manhattan", weights="rbf").equals(plain)


def test_batches_with_and_without_a_backend_add_up(backend: Backend) -> None:
    plain = flat.KNNValuation(k=3, per_query=True).fit(X, Y).update(QUERIES, TARGETS)
    mixed = flat.KNNValuation(k=3, per_query=True).fit(X, Y).update(QUERIES[:5], TARGETS[:5])
    with backend():
        mixed.update(QUERIES[5:20], TARGETS[5:20], np.ones(15))
    mixed.update(QUERIES[20:], TARGETS[20:])
    assert mixed.result_.equals(plain.result_)


def test_lists_that_turn_out_too_short_are_made_longer(backend: Backend) -> None:
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(2000, 2)), rng.choice(3, 2000, p=[0.9, 0.05, 0.05])
    queries, targets = rng.normal(size=(8, 2)), np.array([0, 0, 0, 0, 0, 0, 1, 2])
    how: dict[str, Any] = {"k": 3, "tol": 1e-6, "utility": pivotal.Hard(other_classes="ignore")}
    model = flat.KNNValuation(**how).fit(points, labels)
    plain = model.update(queries, targets).result_
    with backend():
        other = flat.value(points, labels, queries, targets, block_size=3, **how)
    assert other.equals(plain)
    assert plain.details["depth"] == other.details["depth"] > model._points.engine_for(self_valuation=False).depth


def task_of(points: Any, *, self_valuation: bool) -> Any:
    """What is sent to a worker."""
    engine = points.engine_for(self_valuation=self_valuation)
    small = engine.for_worker()
    voters = points.voters(engine).for_counter(small)
    return spread.WorkerTask(small, points.index.for_worker(23, small.depth), voters)


def _flat(solved: Any) -> list[Any]:
    return [part for item in solved for part in (item if isinstance(item, tuple) else (item,))]


@pytest.mark.parametrize("queries", [QUERIES, None], ids=["test set", "each other"])
def test_a_task_can_be_packed_and_run(queries: Any) -> None:
    model = pivotal.KNNValuation(k=3, weights="distance").fit(X, Y)
    task = task_of(model._points, self_valuation=queries is None)
    targets = model._points.labels[:23]
    parts = spread._pack(task)
    assert parts is not None
    assert max(part.nbytes for part in parts[1:]) == X.nbytes  # arrays are apart from the rest
    found, wanted = spread._run(queries, 0, targets, *parts), task.run(queries, 0, targets)
    np.testing.assert_equal(_flat(found), _flat(wanted))


@pytest.mark.parametrize("queries", [QUERIES, None], ids=["test set", "each other"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_values_of_all_points_come_back_without_lists(queries: Any, weights: Any) -> None:
    model = pivotal.KNNValuation(k=3, semivalue="shapley", weights=weights).fit(X, Y)
    task = task_of(model._points, self_valuation=queries is None)
    targets, first = model._points.labels[5:23], 0 if queries is not None else 5
    some = None if queries is None else queries[: len(targets)]
    rows, listed = task.run(some, first, targets), replace(task, lists=True).run(some, first, targets)
    assert isinstance(rows, SolvedRows)
    scattered = np.zeros_like(rows.rows)
    np.put_along_axis(scattered, listed.indices, listed.values, axis=1)
    np.testing.assert_array_equal(rows.rows, scattered)
    np.testing.assert_equal(_flat(rows[1:]), _flat(listed[2:]))


@pytest.mark.parametrize(
    "how", [{"utility": "soft-k"}, {"utility": "hard", "weights": "distance"}, {"per_query": True}]
)
@pytest.mark.parametrize("each_other", [False, True], ids=["test set", "each other"])
def test_whole_orders_have_the_same_values(backend: Backend, how: dict[str, Any], each_other: bool) -> None:
    data = (X, Y) if each_other else DATA
    more: dict[str, Any] = {} if each_other else {"query_weights": np.linspace(0.0, 2.0, len(QUERIES))}
    plain = flat.value(*data, k=3, semivalue="shapley", **how, **more)
    with backend():
        assert flat.value(*data, k=3, semivalue="shapley", **how, **more).equals(plain)


class Witness:
    """Finds neighbours, and leaves its process number."""

    def __init__(self, points: Any, folder: Path) -> None:
        self.index, self.folder = BruteIndex(points, n_jobs=1), folder

    def search(self, queries: Any, depth: int) -> tuple[Any, Any]:
        with (self.folder / str(os.getpid())).open("a") as file:
            file.write(f"{len(queries)}\n")
        return self.index.search(queries, depth)


class Connected(Witness):
    """Cannot be pickled."""

    def __init__(self, points: Any, folder: Path) -> None:
        super().__init__(points, folder)
        self.lock = threading.Lock()


def processes(folder: Path) -> dict[int, int]:
    """How many queries each process was asked."""
    return {int(file.name): sum(map(int, file.read_text().split())) for file in folder.iterdir()}


def unused(why: str) -> Any:
    """Expect to be told that a backend is not used, if one was chosen whose workers are elsewhere."""
    if chosen_backend() is None:
        return nullcontext()
    return pytest.warns(UserWarning, match=rf"joblib's \w+ was chosen and is not used: {why}.* threads of this process")


def test_blocks_are_solved_elsewhere(backend: Backend, tmp_path: Path) -> None:
    with backend():
        pivotal.value(*DATA, neighbors=Witness(X, tmp_path))
        elsewhere = chosen_backend() is not None
    # What is asked here is the sample that shows how many of the true neighbours were found.
    asked = processes(tmp_path)
    here = asked.pop(os.getpid())
    assert here == (1 if elsewhere else 2) * len(QUERIES)
    assert sum(asked.values()) == (len(QUERIES) if elsewhere else 0)


def test_what_cannot_be_pickled_stays_here(backend: Backend, tmp_path: Path) -> None:
    plain = pivotal.value(*DATA)
    with backend(), unused(r"something cannot be pickled \(TypeError: cannot pickle '_thread.lock'"):
        other = pivotal.value(*DATA, neighbors=Connected(X, tmp_path))
    assert np.array_equal(other.values, plain.values)
    assert set(processes(tmp_path)) == {os.getpid()}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"method": "permutations", "n_samples": 20, "random_state": 0}, "samples are drawn here"),
        ({"utility": "threshold(0.8)"}, "points within a radius are counted here"),
        ({"y_train": np.eye(3, dtype=int)[Y], "y_test": np.eye(3, dtype=int)[TARGETS]}, "many labels per point"),
        ({"X_train": "file"}, "training points in a file are read once"),
    ],
    ids=["sampled", "radius", "many labels", "file"],
)
def test_other_computations_stay_here_and_say_so(
    how: dict[str, Any], why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if "X_train" in how:
        np.save(tmp_path / "points.npy", X)
        how = {"X_train": tmp_path / "points.npy"}
    call = {"X_train": X, "y_train": Y, "X_test": QUERIES, "y_test": TARGETS, **how}
    plain = flat.value(**call)
    with processes_or_threads("loky"), unused(why), caplog.at_level("WARNING", logger="pivotal"):
        assert flat.value(**call).equals(plain)
    assert why in caplog.text


def test_points_that_are_edited_stay_here() -> None:
    plain = flat.KNNValuation(editable=True).fit(X, Y).update(QUERIES, TARGETS).relabel(0, 1)
    with processes_or_threads("loky"):
        model = flat.KNNValuation(editable=True).fit(X, Y)
        with unused("points that may be edited are valued here"):
            model.update(QUERIES, TARGETS)
        other = model.relabel(0, 1)
    assert other.result_.equals(plain.result_)


def test_sweeps_and_owners_stay_here() -> None:
    owners = np.arange(len(Y)) % 3
    with processes_or_threads("loky"):
        with unused("a sweep shares one search"):
            pivotal.sweep(*DATA, k=[1, 2])
        with unused("groups are valued here"):
            flat.value_owners(*DATA, owners, k=2)


@pytest.mark.parametrize("name", ["faiss", "hnswlib", "kd_tree", "fitted", "metric", "sparse", "planted"])
def test_every_kind_of_index_can_be_sent(name: str) -> None:
    rng = np.random.default_rng(2)
    points, queries = rng.normal(size=(400, 3)), QUERIES
    how: dict[str, Any] = {}
    if name in ("faiss", "hnswlib"):
        pytest.importorskip(name)
        how["neighbors"] = "faiss-hnsw" if name == "faiss" else name
    elif name == "kd_tree":
        how["neighbors"] = name
    elif name == "fitted":
        how["neighbors"] = NearestNeighbors(n_jobs=2).fit(points)
    elif name == "metric":
        how["metric"] = lambda one, other: float(np.abs(one - other).max())
    elif name == "sparse":
        points, queries = sparse.csr_array(points), sparse.csr_array(QUERIES)
    else:  # a tree that pays, and is planted here and not by every worker
        points, how["metric"] = rng.normal(size=(21_000, 3)), "manhattan"
    labels = rng.integers(0, 3, points.shape[0])
    model = flat.KNNValuation(**how).fit(points, labels)
    with processes_or_threads("loky"):
        other = flat.KNNValuation(**how).fit(points, labels)
        assert spread._pack(task_of(other._points, self_valuation=False)) is not None
        assert other.update(queries, TARGETS).result_.equals(model.update(queries, TARGETS).result_)


def raise_far_out(distances: Any) -> Any:
    if distances.max() > 50.0:
        raise ValueError("weights of mine are for distances up to 50")
    return 1.0 / (1.0 + distances)


# Not multiprocessing here and below: when it is cut short, Python's own pool waits at times for a worker that it ended.
@pytest.mark.parametrize("backend", ["loky", "threading", "dask"], indirect=True)
def test_errors_in_workers_are_the_users_own_and_what_came_before_counts(backend: Backend) -> None:
    queries = QUERIES.copy()
    queries[13] += 1000.0
    model = pivotal.KNNValuation(k=3, weights=raise_far_out, block_size=2).fit(X, Y)
    with backend(), pytest.raises(ValueError, match="weights of mine are for distances up to 50"):
        model.update(queries, TARGETS)
    counted = model.n_queries_
    assert counted in range(0, 13, 2)
    plain = pivotal.KNNValuation(k=3, weights=raise_far_out).fit(X, Y).update(QUERIES, TARGETS)
    with backend():
        model.update(QUERIES[counted:], TARGETS[counted:])
    assert model.result_.equals(plain.result_)


class Interrupting:
    """Finds neighbours, and has the user press Ctrl-C when a query is far out."""

    def __init__(self, points: Any) -> None:
        self.index, self.user = BruteIndex(points, n_jobs=1), os.getpid()

    def search(self, queries: Any, depth: int) -> tuple[Any, Any]:
        if queries.max() > 500.0:
            os.kill(self.user, signal.SIGINT)
        return self.index.search(queries, depth)


@pytest.fixture
def heeding_ctrl_c() -> Iterator[None]:
    """Let SIGINT interrupt, as it does in any program; test processes that run beside others ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Not loky, whose workers would all start again.
@pytest.mark.usefixtures("heeding_ctrl_c")
@pytest.mark.parametrize("backend", ["threading", "dask"], indirect=True)
def test_an_interruption_keeps_whole_blocks(backend: Backend) -> None:
    queries = QUERIES.copy()
    queries[13] += 1000.0
    model = pivotal.KNNValuation(k=3, neighbors=Interrupting(X), block_size=2).fit(X, Y)
    with backend():
        with pytest.raises(KeyboardInterrupt):
            model.update(queries, TARGETS)
        counted = model.n_queries_
        assert counted in range(0, 23, 2)
        model.update(QUERIES[counted:], TARGETS[counted:])
    plain = pivotal.value(X, Y, np.concatenate([queries[:counted], QUERIES[counted:]]), TARGETS, k=3)
    assert np.array_equal(model.values_, plain.values)


@pytest.mark.usefixtures("client")
def test_threads_are_those_of_this_machine() -> None:
    here = count_threads(-1)
    with joblib.parallel_config("dask"):
        assert count_threads(-1) == here
        assert count_threads(5) == 5
        assert count_threads(None) == 1
        assert count_workers(-1) == count_workers(5) == 4
    with joblib.parallel_config("loky", n_jobs=3):
        assert count_threads(-1) == here
        assert count_threads(None) == count_workers(None) == 3


def test_backends_must_be_chosen() -> None:
    assert chosen_backend() is None
    for hint in ({"n_jobs": 2}, {"prefer": "processes"}, {"backend": "threading"}, {"backend": "sequential"}):
        with joblib.parallel_config(**hint):
            assert chosen_backend() is None
            assert spread.chosen_workers(-1) is None
    with joblib.parallel_config("loky", require="sharedmem"):
        assert chosen_backend() is None
    with joblib.parallel_config("multiprocessing"):
        assert chosen_backend() is not None


def test_the_number_of_workers_is_that_of_the_call_or_of_the_backend() -> None:
    with joblib.parallel_config("loky", n_jobs=3):
        found = {n_jobs: spread.chosen_workers(n_jobs) for n_jobs in (-1, None, 2, 1)}
    assert {n_jobs: workers and workers.n_workers for n_jobs, workers in found.items()} == {
        -1: 3,
        None: 3,
        2: 2,
        1: None,
    }
    with joblib.parallel_config("loky"):
        workers = spread.chosen_workers(-1)
        assert (1 if workers is None else workers.n_workers) == joblib.cpu_count()
        assert spread.chosen_workers(None) is None


def test_little_memory_means_small_blocks_and_many_rounds(backend: Backend) -> None:
    plain = pivotal.value(*DATA, semivalue="shapley")
    with backend():
        assert flat.value(*DATA, semivalue="shapley", max_memory=5000).equals(plain)


def test_block_sizes_are_checked() -> None:
    with processes_or_threads("loky"), pytest.raises(ValueError, match="block_size must be an integer"):
        flat.value(*DATA, block_size=0)


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with processes_or_threads("loky"):
        pivotal.value(*DATA, progress=True)
    assert "valuing: 100%" in capsys.readouterr().err


def test_ray_has_the_same_values() -> None:
    ray = pytest.importorskip("ray")
    joblib_of_ray = pytest.importorskip("ray.util.joblib")
    plain = pivotal.value(*DATA)
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        joblib_of_ray.register_ray()
        with joblib.parallel_config("ray"):
            assert pivotal.value(*DATA).equals(plain)
    finally:
        ray.shutdown()
