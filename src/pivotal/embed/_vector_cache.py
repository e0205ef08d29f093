"""Vectors that were computed before, on disk: found again by what was embedded and by which model.

A model has a folder, named by the digest of its content. In it are shards, files that are written once and never
changed: each holds the digests of some items and their vectors. Processes that run at the same time write shards of
their own, so none waits for another and none can spoil what another wrote; an item that two of them embed is stored
twice, which does no harm. A shard that is damaged is as good as none. Beside the shards, a small file names the model,
for people who ask what is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.atomic import atomic_open, write_text
from pivotal.core.notices import logger, notify
from pivotal.core.types import AnyArray

DIGEST_BYTES: Final = 16
_SHARD_ROWS: Final = 4096  # rows after which a shard is written
_SHARD_SECONDS: Final = 5.0  # or time, so that an interruption costs little
_FORMAT: Final = "2"  # pictures are turned as cameras say, and 16 bits are scaled, since 2
_NAME_FILE: Final = "model.json"
_VERSION_FOLDER, _MODEL_FOLDER = re.compile(r"v\d+"), re.compile(r"[0-9a-f]+")
_OWN_FILE: Final = re.compile(r"(.+\.npz|model\.json|\..+\.tmp)")  # what runs that were killed left behind, too


def default_folder() -> Path:
    """Return where embeddings are kept: `PIVOTAL_CACHE`, or the user's folder for such files."""
    chosen = os.environ.get("PIVOTAL_CACHE")
    if chosen:
        return Path(chosen) / "embeddings"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pivotal" / "embeddings"


class CachedModel(NamedTuple):
    """What is kept of one model."""

    name: str
    """What it is; empty where that was not written down."""
    key: str
    """Digest of its content, in hexadecimal digits: the name of its folder."""
    n_vectors: int
    n_bytes: int
    written: float
    """When a vector was last added, in seconds since 1970."""
    folder: Path

    @property
    def is_current(self) -> bool:
        """Whether this version of the library uses it."""
        return self.folder.parent.name == f"v{_FORMAT}"


class EmbeddingCache:
    """Embeddings on disk.

    Parameters
    ----------
    folder : path-like, optional
        Where they are; made when the first is written. `PIVOTAL_CACHE` or the user's cache folder by default.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pivotal.embed import EmbeddingCache
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with EmbeddingCache(folder).for_model("0f") as stored:
    ...         stored.add([b"a" * 16], np.array([[1.0, 2.0]]))
    ...     EmbeddingCache(folder).for_model("0f").look_up([b"a" * 16, b"b" * 16])
    {0: array([1., 2.])}
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder)

    def for_model(self, model: str, name: str = "") -> ModelVectors:
        """Return what is known of one model.

        Parameters
        ----------
        model : str
            Digest of its content, in hexadecimal digits.
        name : str, optional
            What `models` calls it.
        """
        return ModelVectors(self.folder / f"v{_FORMAT}" / model, name)

    def models(self) -> list[CachedModel]:
        """Return what is kept, by model, the last written first; those of earlier versions of the library too."""
        found = [_about(folder) for folder in self._model_folders()]
        return sorted(found, key=lambda one: (-one.written, one.key))

    def size(self) -> int:
        """Return how many bytes all embeddings take."""
        return sum(one.n_bytes for one in self.models())

    def clear(self, models: Sequence[CachedModel] | None = None) -> None:
        """Delete embeddings: files of this cache's own, and nothing else that may be in its folder.

        Parameters
        ----------
        models : sequence of CachedModel, optional
            Which; all by default, those of earlier versions of the library too.
        """
        for folder in list(self._model_folders()) if models is None else [one.folder for one in models]:
            for file in _own_files(folder):
                with contextlib.suppress(OSError):  # another run may be deleting it
                    file.unlink(missing_ok=True)
            for emptied in (folder, folder.parent):
                with contextlib.suppress(OSError):  # not empty
                    emptied.rmdir()

    def _model_folders(self) -> Iterator[Path]:
        for version in self.folder.glob("v*"):
            if _VERSION_FOLDER.fullmatch(version.name) and version.is_dir() and not version.is_symlink():
                yield from (one for one in version.iterdir() if _MODEL_FOLDER.fullmatch(one.name) and one.is_dir())


class ModelVectors:
    """The vectors of one model; a context in which what was added is written at the end, whatever happens."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._keys: list[bytes] = []
        self._vectors: list[AnyArray] = []
        self._since = time.monotonic()
        self._failed = False

    def __enter__(self) -> ModelVectors:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def look_up(self, keys: Sequence[bytes | None]) -> dict[int, AnyArray]:
        """Return the vectors that are known, by the places of their keys; all of one length and type."""
        wanted: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            if key is not None:
                wanted.setdefault(key, []).append(place)
        found: dict[int, AnyArray] = {}
        like: tuple[Any, ...] | None = None
        for file in sorted(self._folder.glob("*.npz")) if wanted else []:
            shard = _read(file)
            if shard is None:
                continue
            known, vectors = shard
            if like is None:
                like = (vectors.dtype, vectors.shape[1])
            if like != (vectors.dtype, vectors.shape[1]):
                continue  # of a model whose answers changed, though it did not
            for row, key in enumerate(known):
                for place in wanted.pop(key, ()):
                    found[place] = vectors[row]
            if not wanted:
                break
        return found

    def add(self, keys: Sequence[bytes], vectors: AnyArray) -> None:
        """Keep the vectors of some items, and write them when there are enough or when it is time."""
        self._keys += keys
        self._vectors.append(vectors)
        if len(self._keys) >= _SHARD_ROWS or time.monotonic() - self._since > _SHARD_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what has been added. A folder that cannot be written to costs the cache, not the work."""
        self._since = time.monotonic()
        if not self._keys:
            return
        keys = np.frombuffer(b"".join(self._keys), dtype=np.uint8).reshape(-1, DIGEST_BYTES)
        vectors = np.concatenate(self._vectors)
        self._keys, self._vectors = [], []
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_open((self._folder / f"{secrets.token_hex(8)}.npz").resolve()) as file:
                np.savez(file, keys=keys, vectors=vectors)
            if self._name and not (self._folder / _NAME_FILE).exists():
                write_text((self._folder / _NAME_FILE).resolve(), json.dumps({"model": self._name}) + "\n")
        except OSError as error:
            if not self._failed:
                notify(f"embeddings are not cached, so that they are computed again next time: {error}")
            self._failed = True


def _read(file: Path) -> tuple[list[bytes], AnyArray] | None:
    """Return the keys and vectors of a shard; None for one that is not what it should be."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            keys, vectors = np.asarray(arrays["keys"]), np.asarray(arrays["vectors"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        logger.warning("a file of the embedding cache is ignored: %s (%s)", file, error)
        return None
    good = (
        keys.dtype == np.uint8
        and keys.ndim == vectors.ndim == 2
        and keys.shape == (len(vectors), DIGEST_BYTES)
        and vectors.dtype in (np.float32, np.float64)
        and bool(np.isfinite(vectors).all())
    )
    if not good:
        logger.warning("a file of the embedding cache is ignored: %s does not hold keys and vectors", file)
        return None
    flat = np.ascontiguousarray(keys).tobytes()
    return [flat[at : at + DIGEST_BYTES] for at in range(0, len(flat), DIGEST_BYTES)], vectors


def _own_files(folder: Path) -> list[Path]:
    """Return the files that this cache has made in the folder of a model."""
    try:
        return sorted(one for one in folder.iterdir() if _OWN_FILE.fullmatch(one.name))
    except OSError:  # deleted by another run
        return []


def _about(folder: Path) -> CachedModel:
    n_vectors, n_bytes, written = 0, 0, 0.0
    for file in _own_files(folder):
        try:
            status = file.stat()
        except OSError:
            continue
        n_bytes, written = n_bytes + status.st_size, max(written, status.st_mtime)
        n_vectors += _count(file) if file.suffix == ".npz" else 0
    return CachedModel(_name_in(folder), folder.name, n_vectors, n_bytes, written, folder)


def _count(file: Path) -> int:
    """Return how many vectors a shard holds, by its header alone; 0 for one that is damaged."""
    try:
        with zipfile.ZipFile(file) as shard, shard.open("keys.npy") as keys:
            if np.lib.format.read_magic(keys) != (1, 0):
                return 0
            return int(np.lib.format.read_array_header_1_0(keys)[0][0])
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile):
        return 0


def _name_in(folder: Path) -> str:
    try:
        name = json.loads((folder / _NAME_FILE).read_text(encoding="utf-8"))["model"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""
