"""A checkpoint holds whole blocks of one valuation, on any file system, and says so where it does not."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import fsspec
import numpy as np
import pytest

import flat
import pivotal
from pivotal.valuation.dask.folder import Folder

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, size=200)
Q, T = RNG.normal(size=(30, 3)), RNG.integers(0, 3, size=30)


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def ask(folder: Any, **settings: Any) -> Any:
    chunks = da.from_array(X, chunks=(60, -1))
    return flat.value(chunks, Y, Q, T, **{"block_size": 10, "checkpoint": folder, **settings})


def test_finished_blocks_are_not_computed_again(tmp_path: Path) -> None:
    local = pivotal.value(X, Y, Q, T)
    assert np.array_equal(ask(tmp_path / "kept").compute().values, local.values)
    files = sorted((tmp_path / "kept").iterdir())
    assert [file.name for file in files] == ["block-0.npz", "block-1.npz", "block-2.npz", "valuation.json"]
    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()
    again = ask(tmp_path / "kept").compute()
    assert again.equals(ask(tmp_path / "other").compute())
    assert files[1].exists()
    assert [file.stat().st_mtime_ns for file in files if file != files[1]] == [times[0], times[2], times[3]]


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": "distance"},
        {"query_weights": np.linspace(1, 2, 30)},
        {"semivalue": "shapley", "utility": "soft"},
        {"utility": "regression"},
    ],
)
def test_what_is_kept_comes_back_to_the_last_bit(tmp_path: Path, settings: dict[str, Any]) -> None:
    first = ask(tmp_path, **settings).compute()
    second = ask(tmp_path, **settings)
    assert not any("near" in str(key) for key in second.__dask_graph__())
    assert first.equals(second.compute())
    assert np.array_equal(first.values, flat.value(X, Y, Q, T, **settings).values)


def test_arrays_in_memory_may_have_a_checkpoint_too(tmp_path: Path) -> None:
    values = flat.value(X, Y, checkpoint=tmp_path, block_size=50)
    assert np.array_equal(values.compute().values, pivotal.value(X, Y).values)
    assert len(list(tmp_path.glob("block-*.npz"))) == 4


def test_a_folder_is_found_from_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    lazy = ask("kept")
    monkeypatch.chdir(tmp_path / "elsewhere")  # as workers may be
    lazy.compute()
    assert len(list((tmp_path / "kept").glob("block-*.npz"))) == 3


def test_another_file_system() -> None:
    assert np.array_equal(ask("memory://kept/here").compute().values, pivotal.value(X, Y, Q, T).values)
    system = fsspec.filesystem("memory")
    names = sorted(path.rpartition("/")[2] for path in system.ls("/kept/here", detail=False))
    assert names == ["block-0.npz", "block-1.npz", "block-2.npz", "valuation.json"]
    assert not any("near" in str(key) for key in ask("memory://kept/here").__dask_graph__())


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"k": 3}, r"settings \(k\)"),
        ({"weights": "distance"}, r"settings \(weights\)"),
        ({"weights": lambda distances: np.exp(-2 * distances)}, r"settings \(weights\)"),
        ({"metric": "manhattan", "tol": 1e-3}, r"settings \(metric, tol\)"),
        ({"metric": "minkowski", "metric_params": {"p": 3}}, r"settings \(metric\)"),
        ({"utility": pivotal.Soft(empty=0.25)}, r"settings \(game\)"),
        ({"block_size": 15}, "blocks"),
        ({"class_weight": "balanced"}, "weights of the queries"),
    ],
)
def test_a_checkpoint_belongs_to_one_valuation(tmp_path: Path, settings: dict[str, Any], what: str) -> None:
    ask(tmp_path)
    with pytest.raises(ValueError, match=f"belongs to another valuation, with other {what}. Use another folder"):
        ask(tmp_path, **settings)


def near(distances: Any) -> Any:
    return np.exp(-distances)


def with_constant(scale: float) -> Any:
    """Functions of one name and one code, which differ in what they remember."""

    def weigh(distances: Any) -> Any:
        return np.exp(-scale * distances)

    return weigh


class Mine(pivotal.BetaShapley):
    """A semivalue whose name does not say all."""

    @property
    def name(self) -> str:
        return "mine"


def closeness(order: float) -> Any:
    def distance(one: Any, other: Any) -> float:
        return float((np.abs(one - other) ** order).sum())

    return distance


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        ({"weights": lambda d: np.exp(-d)}, {"weights": lambda d: np.exp(-2 * d)}, "weights"),
        ({"weights": with_constant(1.0)}, {"weights": with_constant(3.0)}, "weights"),
        ({"semivalue": Mine(4, 1)}, {"semivalue": Mine(1, 4)}, "semivalue"),
        ({"metric": closeness(1.0)}, {"metric": closeness(2.0)}, "metric"),
    ],
)
def test_what_is_called_alike_is_told_apart(tmp_path: Path, one: Any, other: Any, what: str) -> None:
    first = ask(tmp_path, **one).compute()
    assert np.array_equal(ask(tmp_path, **one).compute().values, first.values)
    assert not np.array_equal(ask(tmp_path / "other", **other).compute().values, first.values)
    with pytest.raises(
        ValueError, match=rf"belongs to another valuation, with other settings \({what}\)\. Use another"
    ):
        ask(tmp_path, **other)


def test_what_cannot_be_told_apart_is_refused_with_a_checkpoint_alone(tmp_path: Path) -> None:
    lock = threading.Lock()

    def weigh(distances: Any) -> Any:
        with lock:
            return np.exp(-distances)

    with pytest.raises(TypeError, match="cannot be identified by its content"):
        ask(tmp_path, weights=weigh)
    assert not list(tmp_path.iterdir())
    assert ask(None, weights=weigh).compute().values.shape == (200,)


def test_another_version_is_another_valuation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tmp_path).compute()
    monkeypatch.setattr("pivotal.valuation.dask.graph.__version__", "99.0")
    message = rf"with other version of pivotal \({re.escape(pivotal.__version__)}; this is 99\.0\)\. Use another folder"
    with pytest.raises(ValueError, match=message):
        ask(tmp_path)


def test_other_data_are_another_valuation(tmp_path: Path) -> None:
    ask(tmp_path)
    with pytest.raises(ValueError, match="belongs to another valuation, with other X_train"):
        flat.value(da.from_array(X + 1, chunks=(60, -1)), Y, Q, T, block_size=10, checkpoint=tmp_path)


def test_values_that_a_selection_asks_for_are_none_of_the_checkpoint(tmp_path: Path) -> None:
    how: dict[str, Any] = {"method": "value", "n_jobs": 1}
    with pivotal.config_context(checkpoint=tmp_path):
        chosen = pivotal.select(X, Y, 20, **how)
    assert np.array_equal(chosen.indices, pivotal.select(X, Y, 20, **how).indices)
    assert not list(tmp_path.iterdir())


def written_again(path: Path, points: Any) -> None:
    da.to_npy_stack(path, da.from_array(points, chunks=(50, -1)))


CHUNKED: dict[str, tuple[Callable[[Path, Any], None], Callable[[Path], Any]]] = {
    "a stack": (written_again, lambda path: da.from_npy_stack(path)),
    "zarr": (
        lambda path, points: da.to_zarr(da.from_array(points, chunks=(50, -1)), str(path), overwrite=True),
        lambda path: da.from_zarr(str(path)),
    ),
    "a function": (
        lambda path, points: np.save(path.with_suffix(".npy"), points),
        lambda path: da.from_delayed(
            dask.delayed(np.load, pure=True)(path.with_suffix(".npy")), shape=X.shape, dtype=float
        ),
    ),
}


@pytest.mark.parametrize("kind", CHUNKED)
def test_data_that_keep_their_name_and_change_are_other_data(tmp_path: Path, kind: str) -> None:
    if kind == "zarr":
        pytest.importorskip("zarr")
    write, read = CHUNKED[kind]

    def again(k: int = 5) -> Any:
        folder = tmp_path / f"checkpoint{k}"
        return flat.value(read(tmp_path / "data"), Y, Q, T, k=k, block_size=10, checkpoint=folder).compute()

    write(tmp_path / "data", X)
    first = again()
    assert again().equals(first)
    other = X.copy()
    other[150] += 1.0  # in one chunk
    write(tmp_path / "data", other)
    message = r"block-\d\.npz: it belongs to another valuation, or to data that were changed since\. Delete"
    with pytest.raises(OSError, match=message):
        again()
    assert np.array_equal(again(3).values, pivotal.value(other, Y, Q, T, k=3).values)


def test_queries_that_keep_their_name_and_change_are_other_data(tmp_path: Path) -> None:
    def again(queries: Any) -> Any:
        np.save(tmp_path / "q.npy", queries)
        load = dask.delayed(np.load, pure=True)(tmp_path / "q.npy")
        rows = da.from_delayed(load, shape=Q.shape, dtype=float)
        return flat.value(X, Y, rows, T, block_size=10, checkpoint=tmp_path / "checkpoint").compute()

    assert again(Q).equals(again(Q))
    other = Q.copy()
    other[25] += 1.0  # in the last of three blocks
    with pytest.raises(OSError, match=r"block-2\.npz: it belongs to another valuation"):
        again(other)


def test_a_damaged_block_is_named(tmp_path: Path) -> None:
    ask(tmp_path).compute()
    (tmp_path / "block-1.npz").write_bytes((tmp_path / "block-1.npz").read_bytes()[:100])
    with pytest.raises(OSError, match=r"is damaged in .*block-1\.npz.*Delete that file and run again"):
        ask(tmp_path).compute()
    (tmp_path / "block-1.npz").unlink()
    assert np.array_equal(ask(tmp_path).compute().values, pivotal.value(X, Y, Q, T).values)


def test_writes_that_were_cut_short_are_not_taken_for_blocks(tmp_path: Path) -> None:
    ask(tmp_path)
    (tmp_path / ".block-0.npz.0123.tmp").write_bytes(b"half")
    assert np.array_equal(ask(tmp_path).compute().values, pivotal.value(X, Y, Q, T).values)


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    with pytest.raises(OSError, match=r"cannot use .*file as a checkpoint"):
        ask(tmp_path / "file")
    with pytest.raises((ImportError, ValueError), match=r"nowhere"):
        ask("nowhere://folder")


ABOUT = {
    "no json": b"not json",
    "no text": b"\xff\xfe\x00",
    "empty": b"",
    "a list": b"[1]",
    "a number": b"7",
    "deep": b"[" * 100_000,
    "deep object": b'{"a":' * 50_000,
    "huge": b" " * (2**20 + 1),
}


@pytest.mark.parametrize("content", ABOUT.values(), ids=ABOUT)
def test_a_damaged_description_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "valuation.json").write_bytes(content)
    with pytest.raises(OSError, match=r"is damaged in .*valuation\.json: .*\. Delete that file and run again\.$"):
        ask(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["valuation.json"]


@pytest.mark.parametrize("content", [{}, {"settings": 5}, {"settings": {"k": [1]}}, {"X_train": None, "more": {}}])
def test_a_description_of_something_else_is_refused(tmp_path: Path, content: Any) -> None:
    (tmp_path / "valuation.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"belongs to another valuation, with other version of pivotal, format of bl"):
        ask(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["valuation.json", "block-1.npz"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    ask(tmp_path).compute()
    for make in (os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")):
        (tmp_path / name).unlink()
        make(tmp_path / name)
        with pytest.raises(OSError, match=rf"is damaged in .*{re.escape(name)}: it is not a regular file\. Delete"):
            ask(tmp_path).compute()
        if (tmp_path / name).is_dir():
            (tmp_path / name).rmdir()
            (tmp_path / name).touch()


def rewritten(file: Path, **changes: Any) -> None:
    """Write a block again with some of its arrays replaced, or omitted where they are None."""
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays |= {name: change(arrays.get(name)) if callable(change) else change for name, change in changes.items()}
    np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


def at(place: int, entry: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        changed = array.copy()
        changed[place] = entry
        return changed

    return change


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "beyond": ({"points": lambda points: points + 5_000}, "points that their shard does not have"),
    "far beyond": ({"points": lambda points: points + 10**12}, "points that their shard does not have"),
    "below": ({"points": lambda points: -points - 1}, "points that their shard does not have"),
    "another shard": ({"points": at(0, 199)}, "points that their shard does not have"),
    "few values": ({"values": lambda values: values[:10]}, "points and 10 values"),
    "many values": ({"values": lambda values: np.tile(values, 2)}, "points and"),
    "points of reals": ({"points": lambda points: points.astype(float)}, "points must be of type int64"),
    "text": ({"values": lambda values: values.astype(str)}, "values must be of type float64"),
    "objects": ({"values": lambda values: values.astype(object)}, "object|pickle"),
    "one start": ({"starts": np.array([0])}, "starts do not cut"),
    "no start": ({"starts": np.empty(0, np.int64)}, "starts do not cut"),
    "far start": ({"starts": np.array([0, 10**15])}, "starts do not cut"),
    "starts that fall": ({"starts": lambda starts: starts[[0, 2, 1, 3, 4]]}, "starts do not cut"),
    "starts below": ({"starts": at(1, -5)}, "starts do not cut"),
    "a table": ({"values": lambda values: values[:, np.newaxis]}, "values has shape"),
    "nan": ({"values": at(3, np.nan)}, "values is not finite"),
    "infinite": ({"full_utility": at(0, np.inf)}, "full_utility is not finite"),
    "too large": ({"values": at(0, 1e300)}, "values beyond the range"),
    "many of one": ({"points": lambda points: np.zeros_like(points)}, "shard"),
    "few queries": ({"full_utility": np.zeros(3)}, "full_utility has 3 entries for 10 queries"),
    "many queries": ({"dropped": np.zeros(11)}, "dropped has 11 entries for 10 queries"),
    "other weights": ({"weights": np.ones(10)}, "the weights of the queries differ"),
    "an empty set that earns": ({"empty_utility": np.full(10, 0.5)}, "utility of the empty set"),
    "a full set that earns more": ({"full_utility": np.full(10, 7.0)}, "utility of the full set"),
    "range": ({"utility_range": np.float64(1e-9)}, "range of the utility is 1; got 1e-09"),
    "depth": ({"depth": np.int64(201)}, "depth must lie between 0 and 200; got 201"),
    "depth below": ({"depth": np.int64(-1)}, "depth must lie between 0 and 200; got -1"),
    "error": ({"error": np.float64(-1.0)}, "must not be negative"),
    "recall": ({"recall": np.float64(0.5)}, "recall must lie between 0 and 1, for an approximate index alone; got 0.5"),
    "error nan": ({"error": np.float64(np.nan)}, "error is not finite"),
    "dropped": ({"dropped": np.full(10, -1.0)}, "must not be negative"),
    "short": ({"short": np.bool_(True)}, "long enough"),
    "a list of errors": ({"error": np.zeros(2)}, "error has"),
    "gone": ({"starts": None}, "it must hold identity, points"),
    "more": ({"extra": np.zeros(3)}, "it must hold identity, points"),
    "another valuation": ({"identity": np.zeros(32, np.uint8)}, "it belongs to another valuation"),
    "no identity": ({"identity": np.empty(0, np.uint8)}, "it belongs to another valuation"),
}


@pytest.mark.parametrize(("changes", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_block_is_looked_at_before_it_is_believed(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    ask(tmp_path).compute()
    rewritten(tmp_path / "block-1.npz", **changes)
    message = rf"is damaged in .*block-1\.npz: .*({reason}).*Delete that file and run again\.$"
    with pytest.raises(OSError, match=message):
        ask(tmp_path).compute()
    (tmp_path / "block-1.npz").unlink()
    assert np.array_equal(ask(tmp_path).compute().values, pivotal.value(X, Y, Q, T).values)


def test_a_block_with_as_many_values_as_queries_is_the_most(tmp_path: Path) -> None:
    ask(tmp_path).compute()
    with np.load(tmp_path / "block-0.npz") as archive:
        n = int(archive["starts"][1])
    rewritten(tmp_path / "block-0.npz", points=lambda points: np.r_[np.zeros(n, np.int64), points[n:]])
    with pytest.raises(OSError, match="a point has more values than there are queries"):
        ask(tmp_path).compute()


def test_blocks_do_not_unpack_to_any_size(tmp_path: Path) -> None:
    ask(tmp_path).compute()
    file = tmp_path / "block-1.npz"
    with np.load(file) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez_compressed(file, **arrays)
    with pytest.raises(OSError, match="it is compressed, which blocks are not"):
        ask(tmp_path).compute()
    np.savez(file, **arrays)
    content = file.read_bytes()
    header = f"'shape': ({len(arrays['values'])},)".encode()
    assert content.count(header) == 2
    claimed = b"'shape': (9" + b"9" * (len(header) - 13) + b",)"
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member.replace(header, claimed))
    with pytest.raises(OSError, match=r"has shape .* entries"):
        ask(tmp_path).compute()


def test_a_block_of_another_valuation_is_not_taken(tmp_path: Path) -> None:
    ask(tmp_path / "one").compute()
    ask(tmp_path / "other", k=3).compute()
    shutil.copy(tmp_path / "other/block-2.npz", tmp_path / "one/block-2.npz")
    message = r"damaged in .*block-2\.npz: it belongs to another valuation, or .*\. Delete that file"
    with pytest.raises(OSError, match=message):
        ask(tmp_path / "one").compute()
    (tmp_path / "one/valuation.json").unlink()  # the blocks still say whose they are
    with pytest.raises(OSError, match="it belongs to another valuation"):
        ask(tmp_path / "one", k=3).compute()


def test_of_two_that_begin_at_once_one_is_refused(tmp_path: Path) -> None:
    """Both have seen a folder without a description; only one makes it."""
    asked = [{"k": 3}, {"k": 4}]
    barrier = threading.Barrier(2)
    create = Folder.create

    def together(self: Folder, name: str, content: bytes) -> bool:
        barrier.wait(timeout=60)
        return create(self, name, content)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(Folder, "create", together)
        futures = [pool.submit(ask, tmp_path, **settings) for settings in asked]
        errors = [future.exception(timeout=120) for future in futures]
    (refused,) = (error for error in errors if error is not None)
    assert isinstance(refused, ValueError)
    assert re.search(r"belongs to another valuation, with other settings \(k\)", str(refused))
    first = asked[errors.index(None)]
    assert np.array_equal(ask(tmp_path, **first).compute().values, flat.value(X, Y, Q, T, **first).values)


def test_two_runs_of_one_valuation_share_a_folder(tmp_path: Path) -> None:
    one, other = ask(tmp_path), ask(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda lazy: lazy.compute(), (one, other))
    assert first.equals(second)
    assert ask(tmp_path).compute().equals(first)


def test_lists_that_prove_too_short_go_on_in_the_same_folder(tmp_path: Path) -> None:
    labels = np.repeat([0, 1, 2], [5, 300, 300])
    rows = np.arange(605.0)[:, np.newaxis]
    asked = [0, 400]  # the second is content with short lists
    game: dict[str, Any] = {"utility": pivotal.Hard(other_classes="ignore"), "k": 1}
    lazy = flat.value(rows, labels, rows[asked], labels[asked], block_size=1, checkpoint=tmp_path, **game)
    assert np.array_equal(lazy.compute().values, flat.value(rows, labels, rows[asked], labels[asked], **game).values)
    assert len(list(tmp_path.glob("block-*.npz"))) == 2


def test_words_in_a_block_stay_in_one_sentence(tmp_path: Path) -> None:
    ask(tmp_path).compute()
    with zipfile.ZipFile(tmp_path / "block-1.npz", "a") as archive:
        archive.writestr("two\nlines\x1b[31m and \u202e more.npy", b"")
    with pytest.raises(OSError, match=r"it must hold identity, points.*Delete that file and run again\.$") as caught:
        ask(tmp_path).compute()
    assert str(caught.value).isprintable()
