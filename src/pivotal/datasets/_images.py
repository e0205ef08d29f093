"""Images as points: features of a ResNet whose weights are in a file, or else plain pixels, and named as what they are.

Nothing is downloaded. Without weights a network would give random features that look like learned ones, so there is no
such option: pixels or their principal components are used instead, and the result says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pivotal._types import AnyArray
from pivotal._validation import check_count, count_not_finite

__all__ = ["ImageFeatures", "image_features"]

_FAMILY: Final = re.compile(r"(wide_)?res(net|next)\d+\w*")
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, on which such networks are trained


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """Features of images, and what kind they are.

    Parameters
    ----------
    features : float32 array of shape (n, n_features)
    kind : str
        The network's name, "pixels" or "pca".
    note : str
        How they were made, in words.
    """

    features: npt.NDArray[np.float32]
    kind: str
    note: str


def image_features(
    images: Any,
    *,
    model: str = "resnet18",
    weights: str | os.PathLike[str] | None = None,
    fallback: str = "pixels",
    n_components: int = 64,
    size: int = 224,
    batch_size: int = 64,
    progress: bool = False,
) -> ImageFeatures:
    """Turn images into points between which distances mean something.

    Parameters
    ----------
    images : array-like of shape (n, height, width) or (n, height, width, channels)
        Grey images, or 1 or 3 channels; whole numbers from 0 to 255, or other numbers, which are scaled so that the
        smallest is 0 and the largest 1.
    model : str, default="resnet18"
        A ResNet of torchvision by name, such as "resnet50"; the layer before the last one gives the features.
    weights : path-like, optional
        File with its weights, as `torch.save(network.state_dict(), file)` writes it. Needs the extra `images`. When
        None, `fallback` is used.
    fallback : {"pixels", "pca"}, default="pixels"
        What to use without weights: the pixels themselves, or their first principal components.
    n_components : int, default=64
        Number of principal components at most.
    size : int, default=224
        Side to which the network's input is scaled.
    batch_size : int, default=64
        Images that go through the network together.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    result : ImageFeatures
        With `features` and `kind`.

    Examples
    --------
    >>> from pivotal.datasets import image_features, load
    >>> result = image_features(load("digits").images, fallback="pca", n_components=16)
    >>> result.kind, result.features.shape
    ('pca', (1797, 16))
    """
    if not isinstance(model, str) or not _FAMILY.fullmatch(model):
        raise ValueError(f"model must name a ResNet of torchvision such as resnet18; got {model!r}.")
    if fallback not in ("pixels", "pca"):
        raise ValueError(f"fallback must be pixels or pca; got {fallback!r}.")
    n_components, size = check_count(n_components, "n_components"), check_count(size, "size", 32)
    batch_size = check_count(batch_size, "batch_size")
    pictures, low, high = _as_images(images)
    if weights is not None:
        return _by_network(pictures, low, high, model, Path(weights), size, batch_size, progress=progress)
    pixels = (pictures.reshape(len(pictures), -1).astype(np.float32) - np.float32(low)) / np.float32(high - low)
    if fallback == "pixels":
        return ImageFeatures(pixels, "pixels", "raw pixels between 0 and 1, for want of weights")
    from sklearn.decomposition import PCA

    n_components = min(n_components, *pixels.shape)
    pca = PCA(n_components, svd_solver="covariance_eigh" if pixels.shape[1] <= 1024 else "auto", random_state=0)
    features = pca.fit_transform(pixels).astype(np.float32)
    share = pca.explained_variance_ratio_.sum()
    return ImageFeatures(
        features, "pca", f"{n_components} principal components of the pixels, {share:.0%} of their variance"
    )


def _as_images(images: Any) -> tuple[AnyArray, float, float]:
    """Return images of shape (n, height, width, channels), and which numbers are black and white."""
    pictures = np.asarray(images)
    if pictures.dtype.kind not in "fiu":
        raise ValueError(f"images must hold numbers; got dtype {pictures.dtype}. Read image files into an array first.")
    if pictures.ndim == 3:
        pictures = pictures[..., np.newaxis]
    if pictures.ndim != 4 or 0 in pictures.shape or pictures.shape[-1] not in (1, 3):
        raise ValueError(
            "images must have the shape (n, height, width) or (n, height, width, channels) with 1 or 3 channels; "
            f"got {np.shape(images)}."
        )
    bad = count_not_finite(pictures)
    if bad:
        raise ValueError(f"images must be finite (no NaN, no infinity); got {bad} such entries.")
    low, high = float(pictures.min()), float(pictures.max())
    if pictures.dtype == np.uint8 or (low >= 0.0 and 128.0 <= high <= 255.0):
        return pictures, 0.0, 255.0
    return pictures, low, high if high > low else low + 1.0


def _by_network(
    pictures: AnyArray,
    low: float,
    high: float,
    model: str,
    weights: Path,
    size: int,
    batch_size: int,
    *,
    progress: bool,
) -> ImageFeatures:
    from tqdm.auto import tqdm

    network, torch = _load_network(model, weights)
    mean, spread = (torch.tensor(three).view(1, 3, 1, 1) for three in (_MEAN, _SPREAD))
    parts = []
    with torch.inference_mode():
        for start in tqdm(range(0, len(pictures), batch_size), desc=model, unit="batch", disable=not progress):
            some = np.ascontiguousarray(np.moveaxis(pictures[start : start + batch_size], -1, 1), dtype=np.float32)
            batch = (torch.from_numpy(some) - low) / (high - low)
            batch = batch.expand(-1, 3, -1, -1)
            if batch.shape[2:] != (size, size):
                batch = torch.nn.functional.interpolate(batch, (size, size), mode="bilinear", antialias=True)
            parts.append(network((batch - mean) / spread).numpy())
    return ImageFeatures(
        np.concatenate(parts), model, f"last layer but one of a {model} with the weights in {weights.name}"
    )


def _load_network(model: str, weights: Path) -> tuple[Any, Any]:
    """Return the network without its last layer, with the weights of the file; and torch."""
    try:
        import torch
        from torchvision import models
    except ImportError:
        raise ImportError(
            f"features of a {model} need torch and torchvision; install them with: pip install 'pivotal[images]'"
        ) from None
    except RuntimeError as error:  # built for another torch
        raise ImportError(
            f"torchvision does not fit the torch beside it ({error}); install a matching pair."
        ) from error
    if model not in models.list_models():
        raise ValueError(f"model must name a ResNet of torchvision such as resnet18; got {model!r}.")
    if not weights.is_file():
        raise FileNotFoundError(f"weights must name a file with the weights of a {model}; there is no file {weights}.")
    network = models.get_model(model, weights=None)
    network.fc = torch.nn.Identity()
    try:
        held = torch.load(weights, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever its unpickler or zip reader raised
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"{weights} holds no weights that torch can read safely ({reason}).") from error
    held = held.get("state_dict", held) if isinstance(held, dict) else {}
    # Networks trained on several cards at once carry a prefix; the last layer depends on the classes and is not used.
    held = {str(name).removeprefix("module."): tensor for name, tensor in held.items()}
    held = {name: tensor for name, tensor in held.items() if not name.startswith("fc.")}
    try:
        network.load_state_dict(held)
    except (RuntimeError, AttributeError, TypeError):
        raise ValueError(
            f"{weights} must hold the weights of a {model}, all of them and in their shapes; it does not: "
            "choose another file or name the model that they belong to."
        ) from None
    return network.eval(), torch
