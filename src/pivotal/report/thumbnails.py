"""Thumbnails as data URIs, from arrays or files, as many as a budget of bytes allows."""

from __future__ import annotations

import base64
import io
import math
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.pictures import NotShown, Pictures
from pivotal.core.types import AnyArray

__all__ = ["Images", "Thumbnails"]

_SIDE: Final = 56  # pixels of the longer side
_SHARP: Final = 32  # images up to this size keep every pixel


class Thumbnails(NamedTuple):
    """Small copies of images."""

    uris: dict[int, str]  # by training index
    left_out: Counter[str]  # how many could not be shown, by the reason
    complete: bool  # whether there was room for all


class Images:
    """The images of the training points, checked: of shape (n_train, height, width[, channels]), or file paths.

    Arrays of bytes or booleans are taken as they are; other numbers are scaled so that the smallest of all is black and
    the largest white. Files that cannot be shown leave a blank; paths are relative to a root, outside of which no file
    is opened.
    """

    def __init__(self, images: Any, n_train: int, root: str | os.PathLike[str] | None = None) -> None:
        with needed("images need Pillow", "report"):
            from PIL import Image
        self._pillow = Image
        self._files: Pictures | None = None
        items = list(images) if not hasattr(images, "ndim") else images
        if len(items) != n_train:
            raise ValueError(f"images must be one per training point, {n_train}; got {len(items)}.")
        if getattr(items, "ndim", 1) == 1 and all(_is_path(item) for item in items):
            self._files = Pictures(items, root)
            return
        try:
            self._array: AnyArray = np.asarray(items)
        except ValueError:
            raise ValueError("images must be of one size, or file paths; got arrays of different shapes.") from None
        shape = self._array.shape
        if self._array.dtype.kind not in "biuf" or len(shape) not in (3, 4) or 0 in shape:
            raise ValueError(
                "images must be file paths or numbers of shape (n_train, height, width[, channels]); "
                f"got shape {shape} and dtype {self._array.dtype}."
            )
        if len(shape) == 4 and shape[3] not in (1, 3, 4):
            raise ValueError(f"images must have 1, 3 or 4 channels, in the last place; got shape {shape}.")
        low, high = float(self._array.min()), float(self._array.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError("images must be finite (no NaN, no infinity); replace such pixels by 0.")
        self._low, self._range = (0.0, 255.0) if self._array.dtype == np.uint8 else (low, high - low or 1.0)

    def thumbnails(self, order: Iterable[int], budget: int) -> Thumbnails:
        """Return data URIs of small copies, in this order of training indices, until `budget` characters are used."""
        made: dict[int, str] = {}
        left_out: Counter[str] = Counter()
        for index in order:
            try:
                kind, content = self.encoded(int(index), _SIDE)
            except NotShown as reason:
                left_out[str(reason)] += 1
                continue
            uri = f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
            budget -= len(uri) + 10  # its key and the quotes
            if budget < 0:
                return Thumbnails(made, left_out, complete=False)
            made[int(index)] = uri
        return Thumbnails(made, left_out, complete=True)

    @property
    def sharp(self) -> bool:
        """Whether they are so small that pixels should be seen as squares."""
        return self._files is None and max(self._array.shape[1:3]) <= _SHARP

    def encoded(self, index: int, side: int) -> tuple[str, bytes]:
        """Return a copy of one image, no larger than `side`: its type, such as png, and its bytes.

        Raises
        ------
        NotShown
            If there is none that may, or can, be shown.
        """
        if self._files is None:
            picture = self._pillow.fromarray(self._as_bytes(self._array[index]))
        else:
            picture = self._files.open(index, side)
        sharp = max(picture.size) <= _SHARP
        picture.thumbnail((side, side))
        stream = io.BytesIO()
        if sharp or picture.mode == "RGBA":
            picture.save(stream, "png", optimize=True)
            return "png", stream.getvalue()
        picture.save(stream, "jpeg", quality=72, optimize=True)
        return "jpeg", stream.getvalue()

    def _as_bytes(self, pixels: AnyArray) -> AnyArray:
        scaled = (pixels.astype(np.float64) - self._low) / self._range
        return np.squeeze(np.rint(255 * scaled).astype(np.uint8), axis=2 if pixels.shape[2:] == (1,) else ())


def _is_path(item: Any) -> bool:
    """Whether something is a path, the content of a file, or a gap in a column of them."""
    return item is None or isinstance(item, str | bytes | os.PathLike) or (isinstance(item, float) and math.isnan(item))
