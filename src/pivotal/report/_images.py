"""Thumbnails as data URIs, from arrays or files, as many as a budget of bytes allows."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from pivotal._types import AnyArray

__all__ = ["Images"]

_SIDE: Final = 56  # pixels of the longer side
_SHARP: Final = 32  # images up to this size keep every pixel


class Images:
    """The images of the training points, checked.

    Parameters
    ----------
    images : array of shape (n_train, height, width) or (n_train, height, width, channels), or n_train file paths
        Arrays of bytes or booleans are taken as they are; other numbers are scaled so that the smallest of all
        is black and the largest white.
    n_train : int
    """

    def __init__(self, images: Any, n_train: int) -> None:
        try:
            from PIL import Image
        except ImportError:
            raise ImportError("images need Pillow; install it with: pip install 'pivotal[report]'") from None
        self._pillow = Image
        self._paths: list[Path] | None = None
        items = list(images) if not hasattr(images, "ndim") else images
        if len(items) != n_train:
            raise ValueError(f"images must be one per training point, {n_train}; got {len(items)}.")
        if getattr(items, "ndim", 1) == 1 and all(isinstance(item, str | os.PathLike) for item in items):
            self._paths = [Path(item) for item in items]
            missing = next((path for path in self._paths if not path.is_file()), None)
            if missing is not None:
                raise FileNotFoundError(f"images must name files that exist; there is no {missing}.")
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

    def thumbnails(self, order: Iterable[int], budget: int) -> dict[int, str]:
        """Return data URIs of small copies, in this order of training indices, until `budget` characters are used."""
        made: dict[int, str] = {}
        for index in order:
            uri = self._thumbnail(int(index))
            budget -= len(uri) + 10  # its key and the quotes
            if budget < 0:
                break
            made[int(index)] = uri
        return made

    @property
    def sharp(self) -> bool:
        """Whether they are so small that pixels should be seen as squares."""
        return self._paths is None and max(self._array.shape[1:3]) <= _SHARP

    def _thumbnail(self, index: int) -> str:
        if self._paths is None:
            picture = self._pillow.fromarray(self._as_bytes(self._array[index]))
        else:
            try:
                with self._pillow.open(self._paths[index]) as opened:
                    picture = opened.convert(
                        "RGBA" if "A" in opened.getbands() or "transparency" in opened.info else "RGB"
                    )
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"images must be files that Pillow reads; {self._paths[index]} is not: {error}."
                ) from None
        sharp = max(picture.size) <= _SHARP
        picture.thumbnail((_SIDE, _SIDE))
        if sharp or picture.mode == "RGBA":
            return _as_uri(picture, "png", optimize=True)
        return _as_uri(picture, "jpeg", quality=72, optimize=True)

    def _as_bytes(self, pixels: AnyArray) -> AnyArray:
        scaled = (pixels.astype(np.float64) - self._low) / self._range
        return np.squeeze(np.rint(255 * scaled).astype(np.uint8), axis=2 if pixels.shape[2:] == (1,) else ())


def _as_uri(picture: Any, kind: str, **options: Any) -> str:
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
