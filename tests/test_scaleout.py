"""Values on Dask are the values in memory, for any chunks and any workers, and nothing is computed before its time."""

from __future__ import annotations

import copy
import inspect
import pickle
import pprint
import sys
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import flat
import pivotal
from effort import examples
from pivotal.engine import exact
from pivotal.engine.exact import Engine
from pivotal.valuation.dask import LazyValues
from pivotal.valuation.dask.graph import build

GAMES: list[dict[str, Any]] = [
    {},
    {"semivalue": "shapley"},
    {"weights": "distance", "k": 3},
    {"utility": "soft", "weights": "rbf"},
    {"utility": "soft-k", "semivalue": "shapley"},
    {"utility": "plurality", "k": 2},
    {"utility": "regression", "semivalue": "beta(4,1)"},
    {"utility": pivotal.Hard(other_classes="ignore"), "k": 2, "tol": 1e-3},
    {"semivalue": "loo", "k": 1},
]


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def points(n: int, seed: int = 0, *, d: int = 2, classes: int = 3) -> tuple[Any, Any]:
    """Points on a coarse grid, so that many distances are equal and some are 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, size=(n, d)).astype(float), rng.integers(0, classes, size=n)


def cut(X: Any, lengths: Sequence[int]) -> Any:
    return da.from_array(X, chunks=(tuple(lengths), *((length,) for length in X.shape[1:])))


def agree(lazy: Any, local: pivotal.Values) -> None:
    assert isinstance(lazy, LazyValues)
    found = lazy.compute()
    assert isinstance(found, pivotal.Values)
    assert np.array_equal(found.values, local.values)
    for name in ("n_queries", "full_utility", "empty_utility", "error_bound", "vote_resolution"):
        assert getattr(found, name) == getattr(local, name), name
    assert np.array_equal(found.ids, local.ids)
    told = dict(found.details)
    assert told.pop("n_shards") >= 1
    assert told == dict(local.details)
    assert found.settings == local.settings


def cuts(n: int) -> st.SearchStrategy[list[int]]:
    """Ways to cut n rows into chunks."""
    if n == 1:
        return st.just([1])
    return st.sets(st.integers(1, n - 1)).map(lambda at: np.diff([0, *sorted(at), n]).tolist())


@examples(60)
@given(st.data())
def test_any_cut_gives_the_values_in_memory(data: st.DataObject) -> None:
    game = data.draw(st.sampled_from(GAMES))
    n, q = data.draw(st.integers(1, 24)), data.draw(st.integers(1, 7))
    (X, y), (Q, t) = points(n, 1), points(q, 2)
    rows, asked = data.draw(cuts(n)), data.draw(cuts(q))
    size = data.draw(st.none() | st.integers(1, 8))
    lazy = flat.value(cut(X, rows), cut(y, data.draw(cuts(n))), cut(Q, asked), t, block_size=size, **game)
    agree(lazy, flat.value(X, y, Q, t, **game))


@examples(30)
@given(st.data())
def test_any_cut_gives_the_values_of_points_by_each_other(data: st.DataObject) -> None:
    game = data.draw(st.sampled_from(GAMES))
    X, y = points(data.draw(st.integers(2, 20)), 3)
    lazy = flat.value(cut(X, data.draw(cuts(len(X)))), y, block_size=data.draw(st.none() | st.integers(1, 8)), **game)
    agree(lazy, flat.value(X, y, **game))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_the_scheduler_makes_no_difference(scheduler: str) -> None:
    (X, y), (Q, t) = points(300, d=3), points(40, 1, d=3)
    local = pivotal.value(X, y, Q, t, weights="distance")
    for _ in range(2):
        lazy = pivotal.value(cut(X, [70, 200, 30]), y, cut(Q, [25, 15]), t, weights="distance")
        assert np.array_equal(lazy.compute(scheduler=scheduler, num_workers=3).values, local.values)


def test_nothing_is_computed_before_the_values_are_asked_for() -> None:
    (X, y), (Q, t) = points(30), points(5, 1)
    read: list[int] = []

    def look(part: Any) -> Any:
        read.append(len(part))
        return part

    chunks = cut(X, [10, 20]).map_blocks(look, meta=np.empty((0, 2)))
    lazy = pivotal.value(chunks, y, cut(Q, [5]), t)
    assert "not computed yet" in repr(lazy)
    array = lazy.array
    assert (array.shape, array.chunks) == ((30,), ((10, 20),))
    assert read == []
    values = lazy.compute()
    assert np.array_equal(values.values, pivotal.value(X, y, Q, t).values)
    assert sorted(set(read)) == [10, 20]
    n_read = len(read)
    assert lazy.compute() is values  # kept, not computed again
    assert np.asarray(lazy) is not None
    assert len(read) == n_read
    assert repr(lazy).endswith("; computed)")


def explode(_: Any) -> Any:
    """A task that must not run."""
    raise RuntimeError("computed")


LOOKS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "format": lambda lazy: f"{lazy}",
    "html": lambda lazy: getattr(lazy, "_repr_html_", None),
    "dir": lambda lazy: [getattr(lazy, name, None) for name in dir(lazy)],
    "hasattr": lambda lazy: [hasattr(lazy, name) for name in (*dir(pivotal.Values), "shape", "dtype", "__len__")],
    "inspect": lambda lazy: inspect.getmembers_static(lazy),
    "members": lambda lazy: inspect.getmembers(lazy),
    "vars": vars,
    "isinstance": lambda lazy: isinstance(lazy, pivotal.Values | np.ndarray | Sequence),
    "is it a collection": dask.is_dask_collection,
    "token": dask.base.tokenize,
    "equal": lambda lazy: (lazy == lazy, lazy == 1, lazy == np.zeros(3), np.zeros(3) == lazy, lazy != lazy),
    "in": lambda lazy: lazy in [1, lazy],
    "hash": hash,
    "bool": bool,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda lazy: pickle.loads(pickle.dumps(lazy)),
    "cloudpickle": lambda lazy: cloudpickle.loads(cloudpickle.dumps(lazy)),
    "pprint": pprint.pformat,
    "size": sys.getsizeof,
}


@pytest.mark.parametrize("look", LOOKS)
def test_looking_computes_nothing(look: str) -> None:
    (X, y), (Q, t) = points(30), points(5, 1)
    lazy = pivotal.value(cut(X, [10, 20]).map_blocks(explode, meta=np.empty((0, 2))), y, cut(Q, [5]), t)
    LOOKS[look](lazy)
    with pytest.raises(RuntimeError, match="computed"):  # the task would have told
        lazy.compute()
    with pytest.raises(RuntimeError, match="computed"):
        np.asarray(lazy)


def test_what_stands_for_values_says_how_to_get_them() -> None:
    (X, y), (Q, t) = points(30), points(5, 1)
    local = pivotal.value(X, y, Q, t)
    lazy = pivotal.value(cut(X, [10, 20]), y, Q, t)
    assert not isinstance(lazy, pivotal.Values)
    with pytest.raises(AttributeError, match=r"no attribute 'order'; compute the values first: \.compute\(\)\.order"):
        lazy.order()
    with pytest.raises(TypeError, match=r"values must be a pivotal\.Values; got LazyValues. Compute them first"):
        pivotal.write_report(lazy, "report.html")
    with pytest.raises(TypeError):
        len(lazy)
    for other in (copy.copy(lazy), copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert np.array_equal(other.compute().values, local.values)
    assert np.array_equal(np.asarray(lazy), local.values)
    assert np.asarray(lazy, dtype=np.float32).dtype == np.float32


def test_it_is_a_collection_of_dasks() -> None:
    (X, y), (Q, t) = points(30), points(5, 1)
    local = pivotal.value(X, y, Q, t)
    lazy = pivotal.value(cut(X, [10, 20]), y, Q, t)
    assert dask.is_dask_collection(lazy)
    values, best = dask.compute(lazy, lazy.array.max())
    assert np.array_equal(values.values, local.values)
    assert best == local.values.max()
    kept = lazy.persist()
    assert np.array_equal(kept.array.compute(), local.values)
    assert np.array_equal(kept.compute().values, local.values)
    assert dask.base.tokenize(lazy) == dask.base.tokenize(pivotal.value(cut(X, [10, 20]), y, Q, t))
    assert dask.base.tokenize(lazy) != dask.base.tokenize(pivotal.value(cut(X, [10, 20]), y, Q, t, k=3))


def test_no_task_holds_more_than_a_shard_and_a_block() -> None:
    (X, y), (Q, t) = points(300), points(60, 1)
    lazy = flat.value(cut(X, [20] * 15), y, cut(Q, [20] * 3), t, block_size=10)
    problem = lazy._problem
    graph = build(problem, "t")
    rows = set(problem.points.keys) | set(problem.queries.keys)

    def kind(key: Any) -> str:
        return key[0].split("-")[1] if isinstance(key, tuple) and key[0].startswith("pivotal-") else ""

    n_searches = 0
    for key, task in graph.tasks.items():
        needs = dask.core.get_dependencies({**graph.tasks, **dict.fromkeys(rows, 0)}, task=task)
        held = [kind(need) for need in needs if need in rows or kind(need) in ("shard", "queries")]
        assert len(held) <= 2
        if kind(key) == "near":
            n_searches += 1
            assert sorted(held) == ["queries", "shard"]
        elif kind(key) in ("shard", "queries"):
            assert held == [""]  # the one chunk that it is made of
        else:
            assert held == []  # lists and sums, which do not grow with the points
    assert n_searches == 15 * 6


def test_lists_move_and_points_do_not() -> None:
    """What a search hands on does not depend on the number of points."""
    sizes = []
    for n in (1_000, 4_000):
        (X, y), (Q, t) = points(n, d=4), points(20, 1, d=4)
        lazy = pivotal.value(cut(X, [n // 2] * 2), y, Q, t)
        near = dask.get(lazy.__dask_graph__(), ("pivotal-near-" + lazy._token, 0, 1))
        sizes.append(sum(part.nbytes for part in near))
    assert sizes[0] == sizes[1]


def test_dataframes_with_lengths_unknown() -> None:
    (X, y), (Q, t) = points(50, d=3), points(12, 1, d=3)
    names = np.array(["ant", "bee", "cat"])
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=names[y])
    queries = pd.DataFrame(Q, columns=["a", "b", "c"]).assign(label=names[t])
    many, few = dd.from_pandas(frame, npartitions=4), dd.from_pandas(queries, npartitions=2)
    lazy = pivotal.value(many[["a", "b", "c"]], many["label"], few[["a", "b", "c"]], few["label"])
    assert np.isnan(lazy.array.chunks[0]).all()
    agree(lazy, pivotal.value(frame[["a", "b", "c"]], names[y], Q, names[t]))
    agree(pivotal.value(many[["a", "b", "c"]], many[["label"]]), pivotal.value(frame[["a", "b", "c"]], names[y]))


def test_partitions_without_rows() -> None:
    (X, y), (Q, t) = points(40), points(10, 1)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]).assign(label=y, keep=np.arange(40) < 25), npartitions=5)
    kept = frame[frame["keep"]]
    lazy = pivotal.value(kept[["a", "b"]], kept["label"], Q, t)
    assert np.array_equal(lazy.compute().values, pivotal.value(X[:25], y[:25], Q, t).values)
    by_each_other = pivotal.value(kept[["a", "b"]], kept["label"], utility="regression")
    assert np.array_equal(by_each_other.compute().values, pivotal.value(X[:25], y[:25], utility="regression").values)
    asked = pivotal.value(X, y, kept[["a", "b"]], kept["label"])
    assert np.array_equal(asked.compute().values, pivotal.value(X, y, X[:25], y[:25]).values)


def test_from_parquet(tmp_path: Any) -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    for part in range(3):
        own = slice(20 * part, 20 * (part + 1))
        frame = pd.DataFrame(X[own], columns=["a", "b"]).astype(np.float32).assign(label=y[own])
        frame.to_parquet(tmp_path / f"{part}.parquet")
    stored = dd.read_parquet(tmp_path)
    lazy = pivotal.value(stored[["a", "b"]], stored["label"], Q, t)
    agree(lazy, pivotal.value(X.astype(np.float32), y, Q, t))  # the index begins anew in each file and names no row


def test_from_zarr(tmp_path: Any) -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    cut(X, [20] * 3).to_zarr(str(tmp_path / "x.zarr"))
    agree(pivotal.value(da.from_zarr(str(tmp_path / "x.zarr")), y, Q, t), pivotal.value(X, y, Q, t))


def test_chunks_of_columns_and_single_precision() -> None:
    (X, y), (Q, t) = points(60, d=6), points(10, 1, d=6)
    X = (X + 0.1).astype(np.float32)
    agree(pivotal.value(da.from_array(X, chunks=(17, 2)), y, Q, t), pivotal.value(X, y, Q, t))


def test_whole_numbers_and_truth_values() -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    agree(
        pivotal.value(cut(X.astype(np.int16), [30, 30]), cut(y > 0, [60]), Q, t > 0),
        pivotal.value(X.astype(np.int16), y > 0, Q, t > 0),
    )


def test_chunks_of_sparse_rows() -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    chunks = cut(X, [25, 35]).map_blocks(sparse.csr_array)
    agree(pivotal.value(chunks, y, Q, t), pivotal.value(sparse.csr_array(X), y, Q, t))
    agree(pivotal.value(sparse.csr_array(X), y, cut(Q, [4, 6]), t), pivotal.value(sparse.csr_array(X), y, Q, t))


def test_mapped_files(tmp_path: Any) -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.array_equal(pivotal.value(mapped, y, cut(Q, [10]), t).compute().values, pivotal.value(X, y, Q, t).values)


def test_labels_that_training_does_not_have() -> None:
    (X, y), (Q, t) = points(30), points(8, 1)
    labels, targets = [f"c{i}" for i in y], ["never", *(f"c{i}" for i in t[1:])]
    agree(pivotal.value(cut(X, [9, 21]), labels, Q, targets), pivotal.value(X, labels, Q, targets))
    more = ["z", "never", "c0", "c1", "c2"]
    agree(
        pivotal.value(cut(X, [9, 21]), labels, Q, targets, classes=more, utility="soft"),
        pivotal.value(X, labels, Q, targets, classes=more, utility="soft"),
    )


@pytest.mark.parametrize("weights", [{"query_weights": np.arange(10.0)}, {"class_weight": "balanced"}])
def test_queries_that_count_more(weights: dict[str, Any]) -> None:
    (X, y), (Q, t) = points(60), points(10, 1)
    local = flat.value(X, y, Q, t, **weights)
    agree(flat.value(cut(X, [20, 40]), y, cut(Q, [3, 7]), t, block_size=2, **weights), local)
    if "query_weights" in weights:
        own = cut(weights["query_weights"], [5, 5])
        agree(pivotal.value(cut(X, [20, 40]), y, cut(Q, [3, 7]), t, query_weights=own), local)


def test_names_of_points() -> None:
    (X, y), (Q, t) = points(20), points(5, 1)
    ids = np.array([f"row {i}" for i in range(20)])
    frame = pd.DataFrame(X, columns=["a", "b"], index=ids)
    agree(pivotal.value(cut(X, [12, 8]), y, Q, t, ids=ids), pivotal.value(X, y, Q, t, ids=ids))
    agree(pivotal.value(cut(X, [12, 8]), y, Q, t, ids=cut(ids, [20])), pivotal.value(X, y, Q, t, ids=ids))
    stored = dd.from_pandas(frame.assign(label=y), npartitions=2, sort=False)
    lazy = pivotal.value(stored[["a", "b"]], stored["label"], Q, t)
    assert lazy.compute().ids.tolist() == ids.tolist()


def test_indexes_of_each_shard() -> None:
    pytest.importorskip("faiss")
    (X, y), (Q, t) = points(300, d=3), points(20, 1, d=3)
    rng = np.random.default_rng(0)
    X, Q = X + rng.random(X.shape), Q + rng.random(Q.shape)  # no ties, which every index breaks in its own way
    local = pivotal.value(X, y, Q, t)
    for neighbors in ("brute", "kd_tree", "faiss-flat"):
        lazy = pivotal.value(cut(X, [100, 200]), y, Q, t, neighbors=neighbors)
        assert np.allclose(lazy.compute().values, local.values, rtol=0, atol=1e-12)
        assert lazy.compute().neighbors_exact is True
    for approximate in ("faiss-ivf", pivotal.neighbors.FaissHNSW()):
        found = pivotal.value(cut(X, [100, 200]), y, Q, t, neighbors=approximate).compute()
        # Shards of so few points are searched exhaustively.
        assert (found.neighbors_exact, found.recall, found.error_bound) == (False, 1.0, None)
        assert found.bound_given_neighbors == local.error_bound


@pytest.mark.parametrize("each_other", [False, True])
def test_the_recall_of_an_approximate_index_is_measured(each_other: bool, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    X, y, Q = rng.normal(size=(1200, 12)), rng.integers(0, 2, 1200), rng.normal(size=(90, 12))
    queries = () if each_other else (Q, np.arange(90) % 2)
    careless = pivotal.neighbors.FaissIVF(n_lists=32, n_probes=1)
    how = {"neighbors": careless, "k": 3, "block_size": 120 if each_other else 20}
    one = flat.value(cut(X, [1200]), y, *queries, **how).compute()
    here = flat.value(X, y, *queries, **how)
    assert here.recall is not None
    assert one.recall is not None
    assert abs(one.recall - here.recall) < 0.07  # other queries are drawn
    assert here.recall < 0.8
    several = cut(X, [600, 600])
    found = [flat.value(several, y, *queries, checkpoint=tmp_path / "c", **how).compute() for _ in range(2)]
    assert 0.0 < found[0].recall < 1.0
    assert found[0].equals(found[1])  # the second time from the blocks on disk
    assert found[0].error_bound is None


def test_lists_that_prove_too_short_are_made_longer() -> None:
    y = np.repeat([0, 1, 2], [5, 300, 300])  # between the few of the first class and the third lies all of the second
    X = np.arange(605.0)[:, np.newaxis]
    game = {"utility": pivotal.Hard(other_classes="ignore"), "k": 1}
    local = flat.value(X, y, X[:3], y[:3], **game)
    lazy = flat.value(cut(X, [150, 455]), y, X[:3], y[:3], **game)
    assert lazy.compute().details["depth"] > 305
    assert np.array_equal(lazy.compute().values, local.values)
    with pytest.raises(ValueError, match="lists must be longer"):
        flat.value(cut(X, [150, 455]), y, X[:3], y[:3], **game).array.compute()


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    (X, y), (Q, t) = points(20), points(5, 1)
    pivotal.value(cut(X, [12, 8]), y, Q, t, progress=True).compute()
    assert "valuing" in capsys.readouterr().err


def test_a_model_brings_its_settings() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    (X, y), (Q, t) = points(20), points(5, 1)
    model = KNeighborsClassifier(3, weights="distance").fit(X, y)
    agree(pivotal.value(model=model, X_test=cut(Q, [2, 3]), y_test=t), pivotal.value(model=model, X_test=Q, y_test=t))


class _Counted(pivotal.Shapley):
    """A semivalue of the user's, which says how often it was asked."""

    asked = 0

    def joined(self, n: Any, s: int) -> Any:
        type(self).asked += 1
        return super().joined(n, s)


@pytest.mark.parametrize("each_other", [False, True])
def test_what_the_call_knows_is_not_worked_out_block_by_block(
    monkeypatch: pytest.MonkeyPatch, *, each_other: bool
) -> None:
    made: list[str] = []
    start, solver = Engine.__init__, exact.make_solver
    monkeypatch.setattr(Engine, "__init__", lambda *a, **b: (made.append("engine"), start(*a, **b))[1])
    monkeypatch.setattr(exact, "make_solver", lambda *a, **b: (made.append("solver"), solver(*a, **b))[1])
    X, y = points(24)
    queries = () if each_other else points(16, seed=1)
    work = []
    for block_size in (1, 16):
        made.clear()
        _Counted.asked = 0
        with pivotal.config_context(block_size=block_size):
            lazy = pivotal.value(cut(X, (12, 12)), y, *queries, k=3, semivalue=_Counted())
            values = lazy.compute().values
        work.append((tuple(made), _Counted.asked, values))
    assert work[0][:2] == work[1][:2]
    assert work[0][0] == ("engine", "solver")
    np.testing.assert_array_equal(work[0][2], work[1][2])


def test_the_types_say_what_is_lazy() -> None:
    *lazy, in_memory = typing.get_overloads(pivotal.value)
    assert [inspect.signature(one).return_annotation for one in lazy] == ["LazyValues", "LazyValues"]
    said, done = inspect.signature(in_memory), inspect.signature(pivotal.value)
    assert said.return_annotation == "Values"
    assert done.return_annotation == "Values | LazyValues"
    assert said.parameters == done.parameters
