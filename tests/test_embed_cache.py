"""Vectors on disk: found by content of item and model, whole after any interruption, safe for processes that race."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pivotal.cli import main
from pivotal.cli.cache_command import _size as in_words
from pivotal.embed import CallableModel, EmbeddingCache
from pivotal.embed import _vector_cache as storage

WORDS = [f"word {number % 40}" for number in range(100)]


class Counting:
    """Embeds texts by two numbers, and counts how many it was given."""

    def __init__(self, factor: float = 1.0, stop_at: int | None = None) -> None:
        self.factor, self.stop_at, self.n_seen = factor, stop_at, 0

    def __call__(self, texts: list[str]) -> np.ndarray:
        self.n_seen += len(texts)
        if self.stop_at is not None and self.n_seen > self.stop_at:
            raise KeyboardInterrupt
        return np.array([[self.factor * len(text), hash_of(text)] for text in texts], dtype=np.float32)


def hash_of(text: str) -> float:
    return float(sum(ord(letter) * place for place, letter in enumerate(text, 1)))


def embedder(model: Any, folder: Path, key: bytes = b"model", **options: Any) -> CallableModel:
    made = CallableModel(model, cache=folder, **options)
    made._identity = lambda: [key]  # type: ignore[method-assign]  # a counter's state changes, the model does not
    return made


def test_what_was_embedded_is_not_embedded_again(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    X = embedder(first, tmp_path, batch_size=7).fit_transform(WORDS)
    assert first.n_seen == 40  # each word once, however often it occurs
    again = embedder(second, tmp_path)
    np.testing.assert_array_equal(again.transform(WORDS[::-1]), X[::-1])
    assert (second.n_seen, again.n_computed_) == (0, 0)
    again.transform([*WORDS, "new"])
    assert second.n_seen == 1
    np.testing.assert_array_equal(X, Counting()(WORDS))


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    embedder(Counting(), tmp_path).fit_transform(WORDS)
    other = Counting(2.0)
    X = embedder(other, tmp_path, b"other").fit_transform(WORDS)
    assert other.n_seen == 40
    np.testing.assert_array_equal(X, Counting(2.0)(WORDS))


def test_interrupted_work_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        embedder(Counting(stop_at=25), tmp_path, batch_size=5).fit_transform(WORDS)
    rest = Counting()
    X = embedder(rest, tmp_path, batch_size=5).fit_transform(WORDS)
    assert rest.n_seen == 15
    np.testing.assert_array_equal(X, Counting()(WORDS))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x93NUMPY"])
def test_damaged_files_are_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    X = embedder(Counting(), tmp_path).fit_transform(WORDS)
    (shard,) = tmp_path.rglob("*.npz")
    shard.write_bytes(content)
    anew = Counting()
    np.testing.assert_array_equal(embedder(anew, tmp_path).transform(WORDS), X)
    assert anew.n_seen == 40


@pytest.mark.parametrize(
    "arrays",
    [
        {"keys": np.zeros((2, 16), np.uint8)},
        {"keys": np.zeros((2, 15), np.uint8), "vectors": np.zeros((2, 3))},
        {"keys": np.zeros((2, 16), np.uint8), "vectors": np.zeros((3, 3))},
        {"keys": np.zeros((2, 16), np.uint8), "vectors": np.full((2, 3), np.nan)},
        {"keys": np.zeros((2, 16), np.int64), "vectors": np.zeros((2, 3))},
        {"keys": np.zeros((2, 16), np.uint8), "vectors": np.zeros((2, 3), dtype="U2")},
    ],
)
def test_files_that_hold_something_else_are_ignored(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    stored = EmbeddingCache(tmp_path).for_model("00")
    with stored:
        stored.add([b"b" * 16], np.ones((1, 3)))
    (known,) = tmp_path.rglob("*.npz")
    np.savez(known.with_name("0.npz"), **arrays)
    found = EmbeddingCache(tmp_path).for_model("00").look_up([bytes(16), b"b" * 16])
    assert set(found) == {1}


def test_threads_that_write_at_once_do_not_disturb_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_SHARD_ROWS", 3)
    results: list[Any] = []

    def work() -> None:
        results.append(embedder(Counting(), tmp_path, batch_size=2).fit_transform(WORDS))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for result in results:
        np.testing.assert_array_equal(result, Counting()(WORDS))
    last = Counting()
    np.testing.assert_array_equal(embedder(last, tmp_path).transform(WORDS), results[0])
    assert last.n_seen == 0
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.faults
def test_processes_that_are_killed_leave_whole_shards_behind(tmp_path: Path) -> None:
    script = tmp_path / "embed.py"
    script.write_text(
        "import sys, time, numpy as np\n"
        "from pivotal.embed import CallableModel, _vector_cache\n"
        "_vector_cache._SHARD_ROWS = 4\n"
        "def slow(texts):\n"
        "    time.sleep(0.05)\n"
        "    return np.array([[len(text), 1.0] for text in texts])\n"
        "CallableModel(slow, cache=sys.argv[1], batch_size=4).fit_transform([f'{n:04}' for n in range(4000)])\n"
    )
    for more in (3, 6, 9):  # 4000 texts take 50 seconds: each pair is killed long before it is through
        started = [subprocess.Popen([sys.executable, script, str(tmp_path / "cache")]) for _ in range(2)]
        try:
            while len(list((tmp_path / "cache").rglob("*.npz"))) < more:
                assert all(process.poll() is None for process in started)
                time.sleep(0.02)
        finally:
            for process in started:
                process.kill()
        assert [process.wait() for process in started] == [-signal.SIGKILL] * 2
    shards = list((tmp_path / "cache").rglob("*.npz"))
    assert shards
    for shard in shards:
        with np.load(shard) as arrays:
            assert len(arrays["keys"]) == len(arrays["vectors"])


def test_functions_are_told_apart_by_their_code(tmp_path: Path) -> None:
    one = CallableModel(lambda texts: [[len(text)] for text in texts], cache=tmp_path)
    same = CallableModel(lambda texts: [[len(text)] for text in texts], cache=tmp_path)
    other = CallableModel(lambda texts: [[len(text) + 1] for text in texts], cache=tmp_path)
    assert one.fit_transform(["a"]).tolist() == [[1.0]]
    assert same.fit_transform(["a"]).tolist() == [[1.0]]
    assert same.n_computed_ == 0
    assert other.fit_transform(["a"]).tolist() == [[2.0]]


def test_size_and_clearing(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path)
    assert cache.size() == 0
    embedder(Counting(), tmp_path).fit_transform(WORDS)
    assert cache.size() > 0
    cache.clear()
    assert cache.size() == 0


def test_those_of_earlier_versions_are_cleared_too(tmp_path: Path) -> None:
    (tmp_path / "v1" / "0f").mkdir(parents=True)
    (tmp_path / "v1" / "0f" / "shard.npz").write_bytes(b"old")
    EmbeddingCache(tmp_path).clear()
    assert EmbeddingCache(tmp_path).size() == 0


def describe(texts: list[str]) -> list[list[float]]:
    return [[float(len(text))] for text in texts]


def two_models(folder: Path) -> None:
    CallableModel(describe, cache=folder).fit_transform(WORDS)
    embedder(Counting(), folder, b"other").fit_transform(WORDS[:3])


def test_models_are_listed_with_what_is_kept_of_them(tmp_path: Path) -> None:
    two_models(tmp_path)
    found = {one.name: one for one in EmbeddingCache(tmp_path).models()}
    assert {name: one.n_vectors for name, one in found.items()} == {
        "describe, a custom model": 40,
        "Counting, a custom model": 3,
    }
    for one in found.values():
        assert one.folder == tmp_path / "v2" / one.key
        assert one.is_current
        assert one.n_bytes == sum(file.stat().st_size for file in one.folder.iterdir())
        assert abs(one.written - time.time()) < 100
    assert EmbeddingCache(tmp_path).size() == sum(one.n_bytes for one in found.values())


@pytest.mark.parametrize("content", ["", "[" * 100_000, '{"model": 3}', "[1]", '{"name": "x"}'])
def test_a_file_that_does_not_name_a_model_leaves_it_without_a_name(tmp_path: Path, content: str) -> None:
    two_models(tmp_path)
    for file in tmp_path.rglob("model.json"):
        file.write_text(content)
    for shard in tmp_path.rglob("*.npz"):
        shard.write_bytes(b"damaged")
    assert [(one.name, one.n_vectors) for one in EmbeddingCache(tmp_path).models()] == [("", 0)] * 2


def test_only_files_of_the_cache_are_deleted(tmp_path: Path) -> None:
    two_models(tmp_path)
    kept = [tmp_path / "v2" / "notes" / "a.npz", tmp_path / "v1.0" / "0f" / "a.npz", tmp_path / "data" / "a.npz"]
    for file in kept:
        file.parent.mkdir(parents=True)
        file.write_bytes(b"of the user")
    outside = tmp_path / "outside" / "0f" / "a.npz"
    outside.parent.mkdir(parents=True)
    outside.write_bytes(b"of the user")
    (tmp_path / "v3").symlink_to(tmp_path / "outside")
    beside = next(tmp_path.rglob("model.json")).with_name("thesis.txt")
    beside.write_text("of the user")
    left_over = beside.with_name(".0123.npz.abcdef.tmp")  # by a run that was killed
    left_over.write_bytes(b"half a shard")
    EmbeddingCache(tmp_path).clear()
    assert all(file.exists() for file in (*kept, outside, beside))
    assert not left_over.exists()
    assert EmbeddingCache(tmp_path).size() == 0


def test_the_command_lists_and_deletes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIVOTAL_CACHE", str(tmp_path))
    assert main(["cache", "--path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'embeddings'}\n"
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'embeddings'}: 0 vectors of 0 models, 0 bytes\n"
    two_models(tmp_path / "embeddings")
    (tmp_path / "embeddings" / "v1" / "0f").mkdir(parents=True)
    (tmp_path / "embeddings" / "v1" / "0f" / "0.npz").write_bytes(bytes(1500))
    assert main(["cache"]) == 0
    first, header, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{tmp_path / 'embeddings'}: 43 vectors of 3 models, ")
    assert first.endswith(" kB")
    assert header.split() == ["model", "key", "vectors", "size", "last", "written"]
    listed = {row.split("  ")[0]: row.split("  ")[1:] for row in rows}
    assert set(listed) == {
        "describe, a custom model",
        "Counting, a custom model",
        "of an earlier version, not used any more",
    }
    assert main(["cache", "--model", "DESCRIBE", "--clear"]) == 0
    assert ": 40 vectors of 1 model, " in capsys.readouterr().out
    key = next(one.key for one in EmbeddingCache().models() if one.name.startswith("Counting"))
    assert main(["cache", "--model", key[:8]]) == 0
    assert ": 3 vectors of 1 model, " in capsys.readouterr().out
    assert main(["cache", "--model", "nothing"]) == 2
    assert "no model in" in capsys.readouterr().err
    assert main(["cache", "--clear"]) == 0
    assert ": 3 vectors of 2 models, " in capsys.readouterr().out
    assert EmbeddingCache().models() == []


def test_the_command_looks_where_vectors_were_put(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_models(tmp_path / "mine")
    assert main(["cache", "--embed-cache", str(tmp_path / "mine"), "--clear"]) == 0
    assert ": 43 vectors of 2 models, " in capsys.readouterr().out
    assert EmbeddingCache(tmp_path / "mine").size() == 0
    assert main(["cache", "--clear", "--path"]) == 2


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (9_960, "10 kB"), (123_456, "123 kB"), (10**13, "10 TB")],
)
def test_sizes_in_words(n_bytes: int, text: str) -> None:
    assert in_words(n_bytes) == text


def test_a_folder_that_cannot_be_written_to_is_said_once_and_costs_no_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_SHARD_ROWS", 4)
    (tmp_path / "cache").write_text("a file where the folder should be")
    model = embedder(Counting(), tmp_path / "cache", batch_size=2)
    with pytest.warns(UserWarning, match="embeddings are not cached, so that they are computed again") as said:
        X = model.fit_transform(WORDS)
    np.testing.assert_array_equal(X, Counting()(WORDS))
    assert len(said) == 1


def test_where_embeddings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIVOTAL_CACHE", str(tmp_path))
    assert EmbeddingCache().folder == tmp_path / "embeddings"
    monkeypatch.delenv("PIVOTAL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert EmbeddingCache().folder == tmp_path / "xdg" / "pivotal" / "embeddings"


def test_a_batch_too_large_for_the_device_is_halved() -> None:
    sizes = []

    def small(texts: list[str]) -> np.ndarray:
        sizes.append(len(texts))
        if len(texts) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        return np.array([[len(text)] for text in texts])

    X = CallableModel(small, batch_size=10).fit_transform(WORDS[:10])
    assert X[:, 0].tolist() == [len(word) for word in WORDS[:10]]
    assert max(sizes) == 10
    assert min(sizes) <= 3
