"""A checkpoint holds whole blocks of one valuation, on any file system, and says so where it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import fsspec
import numpy as np
import pytest

import pivotal

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, size=200)
Q, T = RNG.normal(size=(30, 3)), RNG.integers(0, 3, size=30)


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def ask(folder: Any, **settings: Any) -> pivotal.Values:
    chunks = da.from_array(X, chunks=(60, -1))
    return pivotal.value(chunks, Y, Q, T, **{"block_size": 10, "checkpoint": folder, **settings})


def test_finished_blocks_are_not_computed_again(tmp_path: Path) -> None:
    local = pivotal.value(X, Y, Q, T)
    assert np.array_equal(ask(tmp_path / "kept").values, local.values)
    files = sorted((tmp_path / "kept").iterdir())
    assert [file.name for file in files] == ["block-0.npz", "block-1.npz", "block-2.npz", "valuation.json"]
    times = [file.stat().st_mtime_ns for file in files]
    files[1].unlink()
    again = ask(tmp_path / "kept")
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
    assert np.array_equal(first.values, pivotal.value(X, Y, Q, T, **settings).values)


def test_arrays_in_memory_may_have_a_checkpoint_too(tmp_path: Path) -> None:
    values = pivotal.value(X, Y, checkpoint=tmp_path, block_size=50)
    assert np.array_equal(values.values, pivotal.value(X, Y).values)
    assert len(list(tmp_path.glob("block-*.npz"))) == 4


def test_a_folder_is_found_from_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    lazy = ask("kept")
    monkeypatch.chdir(tmp_path / "elsewhere")  # as workers may be
    lazy.compute()
    assert len(list((tmp_path / "kept").glob("block-*.npz"))) == 3


def test_another_file_system() -> None:
    assert np.array_equal(ask("memory://kept/here").values, pivotal.value(X, Y, Q, T).values)
    system = fsspec.filesystem("memory")
    names = sorted(path.rpartition("/")[2] for path in system.ls("/kept/here", detail=False))
    assert names == ["block-0.npz", "block-1.npz", "block-2.npz", "valuation.json"]
    assert not any("near" in str(key) for key in ask("memory://kept/here").__dask_graph__())


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"k": 3}, "settings"),
        ({"weights": "distance"}, "settings"),
        ({"metric": "manhattan"}, "settings"),
        ({"block_size": 15}, "blocks"),
        ({"class_weight": "balanced"}, "weights of the queries"),
    ],
)
def test_a_checkpoint_belongs_to_one_valuation(tmp_path: Path, settings: dict[str, Any], what: str) -> None:
    ask(tmp_path)
    with pytest.raises(ValueError, match=f"belongs to another valuation, with other {what}. Use another folder"):
        ask(tmp_path, **settings)


def test_other_data_are_another_valuation(tmp_path: Path) -> None:
    ask(tmp_path)
    with pytest.raises(ValueError, match="belongs to another valuation, with other X_train"):
        pivotal.value(da.from_array(X + 1, chunks=(60, -1)), Y, Q, T, block_size=10, checkpoint=tmp_path)


def test_a_damaged_block_is_named(tmp_path: Path) -> None:
    ask(tmp_path).compute()
    (tmp_path / "block-1.npz").write_bytes((tmp_path / "block-1.npz").read_bytes()[:100])
    with pytest.raises(OSError, match=r"is damaged in .*block-1\.npz.*Delete that file and run again"):
        ask(tmp_path).compute()
    (tmp_path / "block-1.npz").unlink()
    assert np.array_equal(ask(tmp_path).values, pivotal.value(X, Y, Q, T).values)


def test_writes_that_were_cut_short_are_not_taken_for_blocks(tmp_path: Path) -> None:
    ask(tmp_path)
    (tmp_path / ".block-0.npz.0123.tmp").write_bytes(b"half")
    assert np.array_equal(ask(tmp_path).values, pivotal.value(X, Y, Q, T).values)


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    with pytest.raises(OSError, match=r"cannot use .*file as a checkpoint"):
        ask(tmp_path / "file")
    (tmp_path / "valuation.json").write_text("not json")
    with pytest.raises(OSError, match="as a checkpoint: Expecting value"):
        ask(tmp_path)
    (tmp_path / "valuation.json").write_text(json.dumps([1]))
    with pytest.raises(ValueError, match="belongs to another valuation"):
        ask(tmp_path)
    with pytest.raises((ImportError, ValueError), match=r"nowhere"):
        ask("nowhere://folder")


def test_lists_that_prove_too_short_go_on_in_the_same_folder(tmp_path: Path) -> None:
    labels = np.repeat([0, 1, 2], [5, 300, 300])
    rows = np.arange(605.0)[:, np.newaxis]
    asked = [0, 400]  # the second is content with short lists
    game: dict[str, Any] = {"utility": pivotal.Hard(third_class="absent"), "k": 1}
    lazy = pivotal.value(rows, labels, rows[asked], labels[asked], block_size=1, checkpoint=tmp_path, **game)
    assert np.array_equal(lazy.values, pivotal.value(rows, labels, rows[asked], labels[asked], **game).values)
    assert len(list(tmp_path.glob("block-*.npz"))) == 2
