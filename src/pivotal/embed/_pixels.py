"""Images by their pixels, or by histograms of their colours and gradients, reduced to principal components.

Nothing is downloaded. These are not learned features and are not called so: they tell digits, textures and colours
apart, not breeds of dogs.
"""

from __future__ import annotations

import os
from typing import Any, Final, Literal

import numpy as np

from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count
from pivotal.embed._embedder import Embedder
from pivotal.embed._items import ImageItems, load_all

_AT_ONCE: Final = 512  # images held at a time
_ORIENTATIONS: Final = 9
_COLOUR_BINS: Final = 8
_CLIP: Final = 0.2  # of a normalised histogram, as Dalal and Triggs have it


class _PrincipalComponents(Embedder):
    """Descriptors of images scaled to one size, reduced to principal components."""

    modality: Literal["image"] = "image"
    _what = ""

    def __init__(
        self,
        n_components: int | None = 64,
        *,
        size: int = 32,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(missing=missing, root=root, progress=progress)
        self.n_components = None if n_components is None else check_count(n_components, "n_components")
        self.size = check_count(size, "size", 8)
        self._pca: Any = None
        self._n_features = 0

    @property
    def note(self) -> str:
        if self._pca is None:
            return self._what
        share = float(self._pca.explained_variance_ratio_.sum())
        return f"{self._pca.n_components_} principal components of {self._what}, {share:.0%} of their variance"

    def fit_transform(self, items: Any, y: Any = None) -> AnyArray:
        described, absent = self._descriptors(items)
        there = np.delete(described, absent, axis=0) if len(absent) else described
        self._n_features, self._pca = described.shape[1], None
        if self.n_components is not None and len(there) > 1:
            from sklearn.decomposition import PCA

            n_components = min(self.n_components, *there.shape)
            solver = "covariance_eigh" if there.shape[1] <= 2048 and len(there) > there.shape[1] else "auto"
            self._pca = PCA(n_components, svd_solver=solver, random_state=0).fit(there)
        return self._fill(self._reduced(described), absent, learn=True)

    def transform(self, items: Any) -> AnyArray:
        if not self._n_features:
            raise ValueError("an embedder must learn the principal components first; call fit with training images.")
        described, absent = self._descriptors(items)
        return self._fill(self._reduced(described), absent, learn=False)

    def _reduced(self, described: AnyArray) -> AnyArray:
        reduced: AnyArray = described if self._pca is None else self._pca.transform(described)
        return reduced.astype(np.float32)

    def _descriptors(self, given: Any) -> tuple[AnyArray, Any]:
        """Return the descriptors of images, zeros for those that are missing, and the places of these."""
        items = ImageItems(given, self.root, self.size)
        parts: list[AnyArray] = []
        absent: list[int] = []
        reasons: list[str] = []
        with tqdm(total=len(items), desc="images", unit="image", disable=not self.progress) as bar:
            for start in range(0, len(items), _AT_ONCE):
                places = range(start, min(start + _AT_ONCE, len(items)))
                pictures, there, missing = load_all(items, places)
                pixels = np.zeros((len(places), self.size, self.size, 3), dtype=np.float32)
                for place, picture in zip(there, pictures, strict=True):
                    pixels[place - start] = np.asarray(picture.resize((self.size, self.size), 2), dtype=np.float32)
                parts.append(self._describe(pixels / np.float32(255.0)))
                absent += [place for place, _ in missing]
                reasons += [why for _, why in missing]
                bar.update(len(places))
        self._count_missing(reasons, len(items))
        return np.concatenate(parts), np.array(absent, dtype=np.int64)

    def _describe(self, pixels: AnyArray) -> AnyArray:
        raise NotImplementedError


class ImagePixels(_PrincipalComponents):
    """Pixels between 0 and 1, reduced to principal components.

    Parameters
    ----------
    n_components : int or None, default=64
        Number of principal components at most; None keeps the pixels as they are.
    size : int, default=32
        Side to which images are scaled.
    missing, root, progress
        As in `Embedder`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pivotal.embed import ImagePixels
    >>> ImagePixels(16).fit_transform(load_digits().images).shape
    (1797, 16)
    """

    @property
    def _what(self) -> str:  # type: ignore[override]
        return f"pixels at {self.size} x {self.size}"

    def _describe(self, pixels: AnyArray) -> AnyArray:
        return pixels.reshape(len(pixels), -1)


class ImageHistograms(_PrincipalComponents):
    """Histograms of gradients in overlapping blocks, and of colours in quarters, reduced to principal components.

    Gradients are counted by orientation in cells, four to a block, as in Dalal and Triggs (2005); colours by luminance
    and the two colour differences. Both parts have the same say.

    Parameters
    ----------
    n_components : int or None, default=128
        Number of principal components at most; None keeps the histograms as they are.
    size : int, default=32
        Side to which images are scaled; a multiple of 8.
    missing, root, progress
        As in `Embedder`.
    """

    _what = "histograms of gradients and colours"

    def __init__(
        self,
        n_components: int | None = 128,
        *,
        size: int = 32,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(n_components, size=size, missing=missing, root=root, progress=progress)
        if self.size % 8:
            raise ValueError(f"size must be a multiple of 8, as cells are an eighth of it; got {size}.")

    def _describe(self, pixels: AnyArray) -> AnyArray:
        gradients, colours = _gradients(pixels), _colours(pixels)
        # Blocks of length 1 each: as many times their number is what all of them weigh.
        gradients /= np.float32(np.sqrt(gradients.shape[1] // (4 * _ORIENTATIONS)))
        return np.concatenate([gradients, colours], axis=1)


def _gradients(pixels: AnyArray) -> AnyArray:
    """Return histograms of oriented gradients, shape (n, 49 blocks * 4 cells * 9 orientations)."""
    n, side = len(pixels), pixels.shape[1]
    across, down = np.zeros_like(pixels), np.zeros_like(pixels)
    across[:, :, 1:-1] = pixels[:, :, 2:] - pixels[:, :, :-2]
    down[:, 1:-1] = pixels[:, 2:] - pixels[:, :-2]
    strength = np.hypot(across, down)
    strongest = strength.argmax(axis=-1)[..., np.newaxis]  # of the three colours
    strength = np.take_along_axis(strength, strongest, -1)[..., 0]
    across, down = (np.take_along_axis(one, strongest, -1)[..., 0] for one in (across, down))
    turn = np.arctan2(down, across) / np.pi % 1.0 * _ORIENTATIONS  # the direction's sign does not count
    low = np.floor(turn).astype(np.int64)
    part = (turn - low).astype(np.float32)
    cells = np.zeros((n, 8, 8, _ORIENTATIONS), dtype=np.float32)
    width = side // 8
    for bin_, weight in ((low % _ORIENTATIONS, 1 - part), ((low + 1) % _ORIENTATIONS, part)):
        for orientation in range(_ORIENTATIONS):
            counted = np.where(bin_ == orientation, weight * strength, np.float32(0.0))
            cells[..., orientation] += counted.reshape(n, 8, width, 8, width).sum(axis=(2, 4))
    blocks = np.concatenate([cells[:, i : i + 7, j : j + 7] for i in (0, 1) for j in (0, 1)], axis=-1)
    blocks /= np.linalg.norm(blocks, axis=-1, keepdims=True) + np.float32(1e-2)
    blocks = np.minimum(blocks, np.float32(_CLIP))
    blocks /= np.linalg.norm(blocks, axis=-1, keepdims=True) + np.float32(1e-6)
    return np.ascontiguousarray(blocks).reshape(n, -1)


def _colours(pixels: AnyArray) -> AnyArray:
    """Return square roots of the shares of colours in the four quarters, length 1 in all."""
    n, half = len(pixels), pixels.shape[1] // 2
    red, green, blue = np.moveaxis(pixels, -1, 0)
    light = 0.299 * red + 0.587 * green + 0.114 * blue
    channels = (light, (blue - light) * 0.564 + 0.5, (red - light) * 0.713 + 0.5)
    parts = []
    for channel in channels:
        bins = np.clip((channel * _COLOUR_BINS).astype(np.int64), 0, _COLOUR_BINS - 1)
        for bin_ in range(_COLOUR_BINS):
            share = (bins == bin_).reshape(n, 2, half, 2, half).mean(axis=(2, 4), dtype=np.float32)
            parts.append(share.reshape(n, 4))
    shares = np.concatenate(parts, axis=1)
    return np.sqrt(shares / np.float32(len(channels) * 4))
