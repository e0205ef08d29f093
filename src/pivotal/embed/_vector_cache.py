"""Vectors that were computed before, on disk: found again by what was embedded and by which model.

A model has a folder, named by the digest of its content. In it are shards, files that are written once and never
changed: each holds the digests of some items and their vectors. Processes that run at the same time write shards of
their own, so none waits for another and none can spoil what another wrote; an item that two of them embed is stored
twice, which does no harm. A shard that is damaged is as good as none.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pivotal.core.atomic import atomic_open
from pivotal.core.notices import logger, notify
from pivotal.core.types import AnyArray

__all__ = ["DIGEST_BYTES", "EmbeddingCache", "ModelVectors", "default_folder"]

DIGEST_BYTES: Final = 16
_SHARD_ROWS: Final = 4096  # rows after which a shard is written
_SHARD_SECONDS: Final = 5.0  # or time, so that an interruption costs little
_FORMAT: Final = "2"  # pictures are turned as cameras say, and 16 bits are scaled, since 2


def default_folder() -> Path:
    """Return where embeddings are kept: `PIVOTAL_CACHE`, or the user's folder for such files."""
    chosen = os.environ.get("PIVOTAL_CACHE")
    if chosen:
        return Path(chosen) / "embeddings"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pivotal" / "embeddings"


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

    def for_model(self, model: str) -> ModelVectors:
        """Return what is known of one model.

        Parameters
        ----------
        model : str
            Digest of its content, in hexadecimal digits.
        """
        return ModelVectors(self.folder / f"v{_FORMAT}" / model)

    def size(self) -> int:
        """Return how many bytes all embeddings take."""
        return sum(file.stat().st_size for file in self.folder.rglob("*.npz"))

    def clear(self) -> None:
        """Delete all embeddings, those of earlier versions too."""
        for folder in self.folder.glob("v[0-9]*"):
            shutil.rmtree(folder, ignore_errors=True)


class ModelVectors:
    """The vectors of one model; a context in which what was added is written at the end, whatever happens.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._keys: list[bytes] = []
        self._vectors: list[AnyArray] = []
        self._since = time.monotonic()
        self._failed = False

    def __enter__(self) -> ModelVectors:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def look_up(self, keys: Sequence[bytes | None]) -> dict[int, AnyArray]:
        """Return the vectors that are known, by the places of their keys; all of one length and type.

        Parameters
        ----------
        keys : sequence of bytes or None
            Digests of items; None is never found.
        """
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
