"""Picture files that others name and others made: opened only where they may be, decoded only in formats that are safe.

A table of paths is data. What it names may not exist, may be a pipe or a device, may lie outside of the folder it came
with, may be PostScript under the name of a photograph, or may unpack to gigabytes. None of that stops a report.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final

from pivotal.core.regular_files import open_regular
from pivotal.core.urls import is_url

__all__ = ["ENDINGS", "FORMATS", "NotShown", "Pictures", "decode", "describe_missing", "upright"]

FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""All that is ever decoded. Pillow knows forty more, one of which starts another program."""

ENDINGS: Final = (".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".bmp", ".dib", ".webp", ".tif", ".tiff")
"""How the names of such files end."""

_PIXELS: Final = 2**26  # of a picture that is decoded: 256 MB, and more than cameras have
_FILE_BYTES: Final = 2**28  # of a picture's file that is read as a whole
_FORMATS_IN_WORDS: Final = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
_REASONS: Final = {
    "empty": "without a path",
    "elsewhere": "with an address elsewhere, which is not fetched",
    "outside": "outside of the folder of images",
    "missing": "missing",
    "large": f"with more than {_PIXELS // 10**6} million pixels",
    "damaged": f"not readable as {_FORMATS_IN_WORDS}",
}


class NotShown(Exception):  # noqa: N818  # nothing went wrong: the place stays blank
    """A picture that is omitted, with one of the reasons in `describe_missing`."""


def describe_missing(left_out: Mapping[str, int], done: str = "shown") -> str:
    """Return how many pictures, counted by the reason, are not `done`, and why; nothing if none is."""
    n = sum(left_out.values())
    if n == 0:
        return ""
    reasons = ", ".join(f"{left_out[reason]} {words}" for reason, words in _REASONS.items() if left_out.get(reason))
    return f"{n} {'image is' if n == 1 else 'images are'} not {done}: {reasons}."


class Pictures:
    """Paths of picture files; None and "" are no picture, and bytes the content of a picture's file.

    Paths are relative to `root`, and none outside of it is opened, whatever links lead there. Without it every path is
    taken as it is.
    """

    def __init__(self, paths: Iterable[Any], root: str | os.PathLike[str] | None = None) -> None:
        self._paths = [
            path if isinstance(path, bytes) else os.fspath(path) if isinstance(path, str | os.PathLike) else ""
            for path in paths
        ]
        self._root = None if root is None else Path(root).resolve()
        if self._root is not None and not self._root.is_dir():
            raise ValueError(f"image_root must be a folder that exists; got {os.fspath(root or '')!r}.")

    def __len__(self) -> int:
        return len(self._paths)

    def open(self, index: int, side: int) -> Any:
        """Return a picture as `decode` does. Raises NotShown if there is none that may, or can, be shown."""
        with self._opened(index) as file:
            return decode(file, side)

    def read(self, index: int) -> bytes:
        """Return the bytes of a picture's file. Raises as `open`."""
        with self._opened(index) as file:
            content = file.read(_FILE_BYTES + 1)
        if len(content) > _FILE_BYTES:
            raise NotShown("large")
        return content

    def _opened(self, index: int) -> IO[bytes]:
        given = self._paths[index]
        if isinstance(given, bytes):
            return io.BytesIO(given)
        path = self._locate(given)
        try:
            return open_regular(path)
        except FileNotFoundError:
            raise NotShown("missing") from None
        except (OSError, ValueError):
            raise NotShown("damaged") from None

    def _locate(self, name: str) -> Path:
        if not name.strip():
            raise NotShown("empty")
        if is_url(name):
            raise NotShown("elsewhere")
        try:
            if self._root is None:
                return Path(name)
            path = (self._root / name).resolve()
        except (OSError, ValueError, RuntimeError):  # a name that cannot be one, or links in a circle
            raise NotShown("missing") from None
        if not path.is_relative_to(self._root):
            raise NotShown("outside")
        return path


def decode(file: IO[bytes], side: int) -> Any:
    """Return the picture in a file, upright, in RGB or RGBA; one much larger than `side` may come smaller.

    Of moving pictures it is the first frame. Raises NotShown if it is not in one of the formats, is damaged, or has too
    many pixels.
    """
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is odd about a file
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(file, formats=FORMATS) as opened:
                if opened.width * opened.height > _PIXELS:
                    raise NotShown("large")
                opened.draft("RGB", (2 * side, 2 * side))  # photographs are read at a fraction of their size
                return upright(opened)
        except (NotShown, KeyboardInterrupt):
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError):
            raise NotShown("large") from None
        except Exception:  # noqa: BLE001  # whatever a decoder stumbles over in bytes of unknown origin
            raise NotShown("damaged") from None


def upright(picture: Any) -> Any:
    """Return a picture of Pillow's in RGB or RGBA, turned as its camera says; more than 8 bits are scaled to 8.

    Pillow itself would cut numbers above 255 off, which leaves most of a 16-bit picture white.
    """
    from PIL import ImageOps

    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith(("I", "F")):
        picture = _with_bytes(picture)
    clear = "A" in picture.getbands() or "transparency" in picture.info
    return picture.convert("RGBA" if clear else "RGB")


def _with_bytes(picture: Any) -> Any:
    """Return a picture of integers or floats in grey: by the range of its type where it has one, else by its own."""
    import numpy as np
    from PIL import Image

    pixels = np.asarray(picture)
    numbers = np.nan_to_num(pixels.astype(np.float64), posinf=0.0, neginf=0.0)
    low, high = float(numbers.min()), float(numbers.max())
    if pixels.dtype.kind == "f" and low >= 0.0 and high <= 1.0:
        black, white = 0.0, 1.0
    elif low >= 0.0 and high <= 255.0 and pixels.dtype.itemsize > 2:
        black, white = 0.0, 255.0
    elif low >= 0.0 and high <= 65535.0 and pixels.dtype.kind != "f":
        black, white = 0.0, 65535.0
    else:
        black, white = low, max(high, low + 1e-12)
    return Image.fromarray(np.rint(255.0 * (numbers - black) / (white - black)).astype(np.uint8))
