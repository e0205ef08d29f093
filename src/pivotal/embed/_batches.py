"""Batches in, vectors out: what a model answers is checked before anything is built on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.core.validation import count_not_finite


def batches(items: Any, size: int) -> Iterator[Any]:
    """Yield slices of arrays and tensors, lists of anything else."""
    if hasattr(items, "shape") and not hasattr(items, "iloc"):  # a pandas column has a shape, and is a column of items
        yield from (items[start : start + size] for start in range(0, len(items), size))
        return
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


def halving(encode: Callable[[Any], Any], batch: Any) -> list[AnyArray]:
    """Encode a batch; where the device has too little memory for it, in halves."""
    try:
        return [as_vectors(encode(batch), len(batch))]
    except RuntimeError as error:
        # torch's own class is not named here: a function of the user's may wrap any device.
        if "out of memory" not in str(error).lower() or len(batch) < 2:
            raise
    middle = len(batch) // 2
    return [*halving(encode, batch[:middle]), *halving(encode, batch[middle:])]


def as_vectors(answer: Any, n_items: int) -> AnyArray:
    """Return what a model answered, one finite vector per item, as an array of floats, shape (n_items, n_features)."""
    if isinstance(answer, list | tuple) and answer and hasattr(answer[0], "detach"):
        answer = [_off_device(part) for part in answer]
    if hasattr(answer, "detach"):
        answer = _off_device(answer)
    try:
        vectors = np.asarray(answer)
    except ValueError:
        raise ValueError("model must return vectors of one length; got different ones in one batch.") from None
    if vectors.dtype.kind not in "fiub":
        raise TypeError(
            f"model must return numbers, one vector per item; got {type(answer).__name__}. "
            "Wrap it in a function that returns an array."
        )
    if vectors.ndim > 2 and vectors.shape[1] == vectors[0].size:
        vectors = vectors.reshape(vectors.shape[:2])  # feature maps of one pixel
    if vectors.ndim != 2 or vectors.shape[0] != n_items or vectors.shape[1] == 0:
        raise ValueError(
            f"model must return one vector per item, shape ({n_items}, n_features); got shape {vectors.shape}. "
            "Pool tokens or pixels first."
        )
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)
    bad = count_not_finite(vectors)
    if bad:
        raise ValueError(f"model must return finite numbers (no NaN, no infinity); got {bad} such entries in a batch.")
    return vectors


def _off_device(tensor: Any) -> AnyArray:
    """Return a tensor as an array, those of half precision as float32."""
    tensor = tensor.detach().cpu()
    return np.asarray((tensor.float() if tensor.element_size() < 4 and tensor.is_floating_point() else tensor).numpy())
