"""What every embedder is: `fit` and `transform`, on lists of texts or of images."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any, Literal, Self

import numpy as np

from pivotal.core.pictures import NotShown, describe_missing
from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_count
from pivotal.embed._batches import halving
from pivotal.embed._items import ImageItems, Items, TextItems, digest, load_all
from pivotal.embed._vector_cache import EmbeddingCache, ModelVectors

Modality = Literal["text", "image", "any"]


class Embedder(ABC):
    """Turns texts or images into vectors.

    Parameters
    ----------
    missing : {"raise", "fill"}
        What to do about images that are missing or damaged: raise, or give each a vector that is about as far from all
        others as these are from each other, so that it is near to none. Missing texts are empty texts.
    root : path-like, optional
        Folder that paths of images are relative to, and outside of which no file is opened.
    progress : bool, default=False
        Whether to show a progress bar, with its rate.

    Attributes
    ----------
    modality : {"text", "image", "any"}
        What is embedded.
    missing_ : dict of str to int
        How many items of the last call were missing, by the reason.
    absent_ : int64 array
        The items of the last call that have no vector of their own: images that are missing, texts without words.
    """

    modality: Modality = "any"

    def __init__(
        self,
        *,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        if missing not in ("raise", "fill"):
            raise ValueError(f"missing must be raise or fill; got {missing!r}.")
        self.missing, self.root, self.progress = missing, root, progress
        self.missing_: dict[str, int] = {}
        self.absent_: IndexArray = np.empty(0, dtype=np.int64)
        self._mean: AnyArray | None = None
        self._radius = 0.0
        self._random = np.random.default_rng(0)

    def fit(self, items: Any, y: Any = None) -> Self:
        """Learn from items what has to be learned; `y` is not looked at.

        Parameters
        ----------
        items : sequence of str, or of paths, Pillow images or arrays
        y : ignored
        """
        self.fit_transform(items)
        return self

    @abstractmethod
    def fit_transform(self, items: Any, y: Any = None) -> Any:
        """Learn from items, and return their vectors: an array, or a CSR matrix, of shape (n_items, n_features)."""

    @abstractmethod
    def transform(self, items: Any) -> Any:
        """Return the vectors of items: an array, or a CSR matrix, of shape (n_items, n_features)."""

    @property
    @abstractmethod
    def note(self) -> str:
        """What is done, in words; complete after `fit`."""

    def _count_missing(self, reasons: list[str], n_items: int) -> None:
        """Count the items that are missing; raise if any may be an error, and if all are missing."""
        self.missing_ = dict(Counter(reasons))
        omitted = describe_missing(self.missing_, "embedded")
        if reasons and self.missing == "raise":
            raise ValueError(f"images must all be there; {omitted} Use missing='fill'.")
        if len(reasons) == n_items:
            raise ValueError(f"none of the {n_items} images can be read: {omitted}")

    def _fill(self, vectors: AnyArray, absent: IndexArray, *, learn: bool) -> AnyArray:
        """Put items that are missing as far from the mean as those that `fit` saw, each in a direction of its own.

        At the mean itself they would be nearer to every item than the others are, and be everything's neighbours.
        """
        if learn or self._mean is None:
            there = np.delete(vectors, absent, axis=0) if len(absent) else vectors
            self._mean = there.mean(axis=0, dtype=np.float64)
            self._radius = float(np.sqrt(np.einsum("ij,ij->", off := there - self._mean, off) / len(there)))
            self._random = np.random.default_rng(0)
        self.absent_ = absent
        if len(absent):
            directions = unit_rows(self._random.normal(size=(len(absent), vectors.shape[1])))
            vectors[absent] = self._mean + self._radius * directions
        return vectors


class ModelEmbedder(Embedder):
    """Embeds item by item with a model that is ready, in batches, and remembers what it has embedded.

    Subclasses load a model (`_load`), call it (`_encode`) and say what it is (`_identity`).

    Parameters
    ----------
    batch_size : int or "auto"
        Items per call; halved where the device has too little memory.
    device : str, default="auto"
        Where to compute: "cpu", "cuda", "cuda:1", "mps"; the fastest there is by default.
    normalize : bool
        Whether vectors get length 1, so that Euclidean distance orders as cosine similarity does.
    cache : bool, path-like or EmbeddingCache
        Whether, or where, to keep vectors on disk, by the content of items and model.
    missing, root, progress
        As in `Embedder`.
    """

    _default_batch = 32
    _side = 256  # pixels that images are needed with

    def __init__(
        self,
        *,
        batch_size: int | Literal["auto"] = "auto",
        device: str = "auto",
        normalize: bool = True,
        cache: bool | str | os.PathLike[str] | EmbeddingCache = True,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(missing=missing, root=root, progress=progress)
        self.batch_size = self._default_batch if batch_size == "auto" else check_count(batch_size, "batch_size")
        self.device, self.normalize = device, normalize
        if isinstance(cache, EmbeddingCache) or cache is False:
            self.cache = cache or None
        else:
            self.cache = EmbeddingCache(None if cache is True else cache)
        self._model: Any = None
        self._digest = ""
        self.n_computed_ = 0

    @property
    def model(self) -> Any:
        """The model, loaded when it is first needed."""
        if self._model is None:
            self._model = self._load()
        return self._model

    def fit_transform(self, items: Any, y: Any = None) -> AnyArray:
        return self._vectors(items, learn=True)

    def transform(self, items: Any) -> AnyArray:
        return self._vectors(items, learn=False)

    def fit(self, items: Any = None, y: Any = None) -> Self:
        """Load the model; with items, also learn what missing ones are given."""
        if items is None or self.missing == "raise":
            _ = self.model
            return self
        return super().fit(items)

    @abstractmethod
    def _load(self) -> Any:
        """Return the model."""

    @abstractmethod
    def _encode(self, batch: list[Any]) -> Any:
        """Return the vectors of a batch."""

    @abstractmethod
    def _identity(self) -> list[bytes]:
        """Return what the model's answers depend on: weights, settings, versions."""

    def _cached_vectors(self) -> ModelVectors | None:
        if self.cache is None:
            return None
        if not self._digest:
            self._digest = digest(type(self).__name__.encode(), *self._identity()).hex()
        return self.cache.for_model(self._digest, self.note.removeprefix("by ").removeprefix("the "))

    def _vectors(self, given: Any, *, learn: bool) -> AnyArray:
        """Return the vectors of items: those on disk, and those that are computed now and then put there."""
        items = TextItems(given) if self.modality == "text" else ImageItems(given, self.root, self._side)
        reasons: dict[int, str] = {}
        stored = self._cached_vectors()
        keys = _keys(items, reasons) if stored is not None else [None] * len(items)
        work = _Vectors(len(items))
        found = {} if stored is None else stored.look_up(keys)
        work.put([[place] for place in found], found.values())
        rows_of: dict[Any, list[int]] = {}
        for place in range(len(items)):
            if place not in reasons and not work.there[place]:
                rows_of.setdefault(place if keys[place] is None else keys[place], []).append(place)
        self.n_computed_ = len(rows_of)
        self._compute(items, list(rows_of.items()), work, stored, reasons)
        self._count_missing(list(reasons.values()), len(items))
        assert work.vectors is not None
        absent = ~work.there
        if self.normalize and self.missing == "fill":  # zeros, as of empty texts, would be near to every row
            absent |= ~work.vectors.any(axis=1)
        return self._fill(work.vectors, np.flatnonzero(absent), learn=learn)

    def _compute(
        self,
        items: Items,
        todo: list[tuple[Any, list[int]]],
        work: _Vectors,
        stored: ModelVectors | None,
        reasons: dict[int, str],
    ) -> None:
        n_done = len(items) - sum(len(rows) for _, rows in todo)
        bar = tqdm(total=len(items), initial=n_done, desc="embedding", unit="item", disable=not self.progress)
        with stored or nullcontext(), bar:  # what is done is kept, whatever stops the rest
            for start in range(0, len(todo), self.batch_size):
                some = todo[start : start + self.batch_size]
                first = {rows[0]: (key, rows) for key, rows in some}
                batch, there, missing = load_all(items, first)
                reasons |= {row: why for place, why in missing for row in first[place][1]}
                if batch:
                    vectors = np.concatenate(halving(self._encode, batch))
                    vectors = unit_rows(vectors) if self.normalize else vectors
                    work.put([first[place][1] for place in there], vectors)
                    if stored is not None:
                        stored.add([first[place][0] for place in there], vectors)
                bar.update(sum(len(rows) for _, rows in some))


def _keys(items: Items, reasons: dict[int, str]) -> list[bytes | None]:
    keys: list[bytes | None] = []
    for place in range(len(items)):
        try:
            keys.append(items.key(place))
        except NotShown as reason:
            keys.append(None)
            reasons[place] = str(reason)
    return keys


class _Vectors:
    """Vectors of some items, in one array, made when the first says how long they are."""

    def __init__(self, n_items: int) -> None:
        self.vectors: AnyArray | None = None
        self.there = np.zeros(n_items, dtype=bool)

    def put(self, rows: Iterable[list[int]], vectors: Iterable[AnyArray]) -> None:
        """Write each vector to all rows that have it."""
        for own, vector in zip(rows, vectors, strict=True):
            if self.vectors is None:
                self.vectors = np.zeros((len(self.there), len(vector)), dtype=vector.dtype)
            if self.vectors.shape[1] != len(vector):
                raise ValueError(
                    f"model must return vectors of one length; got {self.vectors.shape[1]} and then {len(vector)}."
                )
            self.vectors[own] = vector
            self.there[own] = True


def unit_rows(vectors: AnyArray) -> AnyArray:
    """Return vectors of length 1, between which Euclidean distance orders as cosine similarity does; 0 stays 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(vectors.dtype, copy=False)
