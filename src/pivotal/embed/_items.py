"""What is embedded: texts, and images as paths, Pillow images or arrays, each with a digest of its content."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.pictures import NotShown, Pictures, decode, upright
from pivotal.core.types import AnyArray
from pivotal.embed._vector_cache import DIGEST_BYTES


def digest(*parts: bytes) -> bytes:
    """Return the digest of some bytes; where one part ends and the next begins counts."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def as_list(items: Any, what: str) -> list[Any]:
    """Return items as a list; raise for a single one, and for none."""
    alone = isinstance(items, str | bytes | os.PathLike) or not isinstance(items, Iterable)
    if alone or getattr(items, "shape", None) == ():
        raise TypeError(
            f"{what} must be a sequence of items; got {type(items).__name__}. Put a single one into a list."
        )
    listed = list(items)
    if not listed:
        raise ValueError(f"{what} must hold at least one item; got none.")
    return listed


class TextItems:
    """Texts; None and NaN are gaps and count as empty."""

    def __init__(self, items: Any) -> None:
        self.texts = [_as_text(item, place) for place, item in enumerate(as_list(items, "texts"))]

    def __len__(self) -> int:
        return len(self.texts)

    def key(self, index: int) -> bytes:
        """Return the digest of an item's content."""
        return digest(b"text", self.texts[index].encode("utf-8", "surrogatepass"))

    def load(self, index: int) -> str:
        """Return an item as models take it."""
        return self.texts[index]


def _as_text(item: Any, place: int) -> str:
    if isinstance(item, str):
        return item
    if item is None or (isinstance(item, float) and item != item):
        return ""
    raise TypeError(f"texts must be str, or None for a gap; got {type(item).__name__} at place {place}.")


class ImageItems:
    """Images: paths, bytes of files, Pillow images, and arrays of shape (height, width) or (height, width, channels).

    Numbers other than bytes are scaled so that the smallest of all is black and the largest white, unless they lie
    between 0 and 255 and reach beyond 128. Of the shorter side, `side` pixels are needed: a photograph may be read at
    a fraction of its size.
    """

    def __init__(self, items: Any, root: str | os.PathLike[str] | None, side: int) -> None:
        with needed("images need Pillow", "report"):
            import PIL.Image
        self._pillow, self._side = PIL.Image, side
        if hasattr(items, "shape") and not hasattr(items, "iloc") and np.asarray(items).dtype.kind not in "OUS":
            items = _stack(items)
        self._items = as_list(items, "images")
        paths = [item if _is_path(item) else None for item in self._items]
        self._files = Pictures(paths, root)
        self._scale = _scale_of([item for item in self._items if isinstance(item, np.ndarray)])

    def __len__(self) -> int:
        return len(self._items)

    def key(self, index: int) -> bytes:
        """Return the digest of an image's content. Raises NotShown without an image."""
        item = self._items[index]
        if _is_path(item):
            return digest(b"file", self._files.read(index))
        pixels = np.ascontiguousarray(self.load(index))
        return digest(b"pixels", repr(pixels.shape).encode(), pixels.tobytes())

    def load(self, index: int) -> Any:
        """Return an image of Pillow's in RGB; what is transparent is white. Raises NotShown without an image."""
        item = self._items[index]
        if _is_path(item):
            picture = decode(io.BytesIO(self._files.read(index)), self._side)
        elif isinstance(item, np.ndarray):
            picture = self._pillow.fromarray(_as_bytes(item, *self._scale))
        elif isinstance(item, self._pillow.Image):
            picture = upright(item)
        else:
            raise TypeError(
                f"images must be paths, bytes, Pillow images or arrays; got {type(item).__name__} at place {index}."
            )
        if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
            picture = picture.convert("RGBA")
            ground = self._pillow.new("RGBA", picture.size, "white")
            picture = self._pillow.alpha_composite(ground, picture)
        return picture.convert("RGB")


Items: TypeAlias = TextItems | ImageItems


def _is_path(item: Any) -> bool:
    return item is None or isinstance(item, str | bytes | os.PathLike) or (isinstance(item, float) and item != item)


def _stack(items: Any) -> AnyArray:
    images = np.asarray(items)
    if images.dtype.kind not in "fiub":
        raise ValueError(f"images must hold numbers; got dtype {images.dtype}.")
    if images.ndim not in (3, 4) or 0 in images.shape or (images.ndim == 4 and images.shape[-1] not in (1, 3, 4)):
        raise ValueError(
            "images must have the shape (n, height, width) or (n, height, width, channels) with 1, 3 or 4 channels; "
            f"got {images.shape}."
        )
    return images


def _scale_of(arrays: Sequence[AnyArray]) -> tuple[float, float]:
    """Return which numbers are black and white."""
    for place, array in enumerate(arrays):
        if array.dtype.kind not in "fiub" or array.ndim not in (2, 3) or not np.isfinite(array).all():
            raise ValueError(
                "images must be finite numbers of shape (height, width[, channels]); got shape "
                f"{array.shape} and dtype {array.dtype} in array {place}."
            )
    if not arrays or all(array.dtype == np.uint8 for array in arrays):
        return 0.0, 255.0
    low = float(min(array.min() for array in arrays))
    high = float(max(array.max() for array in arrays))
    if low >= 0.0 and 128.0 <= high <= 255.0:
        return 0.0, 255.0
    return low, high if high > low else low + 1.0


def _as_bytes(pixels: AnyArray, low: float, high: float) -> AnyArray:
    if pixels.dtype != np.uint8:
        pixels = np.rint(255.0 * np.clip((pixels.astype(np.float64) - low) / (high - low), 0.0, 1.0)).astype(np.uint8)
    return pixels[..., 0] if pixels.ndim == 3 and pixels.shape[-1] == 1 else pixels


def load_all(items: Items, places: Iterable[int]) -> tuple[list[Any], list[int], list[tuple[int, str]]]:
    """Load some items: those that are there, their places, and the places and reasons of those that are not."""
    loaded, there, missing = [], [], []
    for place in places:
        try:
            loaded.append(items.load(place))
            there.append(place)
        except NotShown as reason:
            missing.append((place, str(reason)))
    return loaded, there, missing
