"""Points from anything: texts, images or other items, by a model or a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import ExitStack
from itertools import islice
from typing import Any

import numpy as np

from pivotal._types import AnyArray
from pivotal._validation import check_count, count_not_finite

__all__ = ["embed"]


def embed(model: Any, items: Any, *, batch_size: int = 64, progress: bool = False) -> AnyArray:
    """Turn items into points, batch by batch.

    Parameters
    ----------
    model : object
        One of: an object with `encode`, as in sentence-transformers, which gets a list of items; a torch module, as in
        timm, which gets a tensor on its own device, in evaluation mode and without gradients; any other callable,
        which gets a list, or a slice of `items` where these are an array or a tensor. It must return one vector per
        item, as an array or a tensor.
    items : sequence, array, tensor or iterable
        What to embed.
    batch_size : int, default=64
        Items per call.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    points : array of shape (n_items, n_features)
        float32 or float64, as the model returns them.

    Examples
    --------
    >>> from pivotal.interop import embed
    >>> def describe(words):
    ...     return [[len(word), word.count("a")] for word in words]
    >>> embed(describe, ["banana", "fig", "papaya"], batch_size=2)
    array([[6., 3.], [3., 0.], [6., 3.]])
    """
    from tqdm.auto import tqdm

    batch_size = check_count(batch_size, "batch_size")
    if isinstance(items, str | bytes) or not isinstance(items, Iterable) or getattr(items, "shape", None) == ():
        raise TypeError(f"items must be a sequence of items; got {type(items).__name__}. Put a single one into a list.")
    n_items = len(items) if isinstance(items, Sized) else None
    parts: list[AnyArray] = []
    with ExitStack() as cleanup:
        call = _caller(model, cleanup)
        bar = cleanup.enter_context(tqdm(total=n_items, desc="embedding", unit="item", disable=not progress))
        for batch in _batches(items, int(batch_size)):
            parts.append(_vectors(call(batch), len(batch)))
            if parts[-1].shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"model must return vectors of one length; got {parts[0].shape[1]} and then {parts[-1].shape[1]}."
                )
            bar.update(len(batch))
    if not parts:
        raise ValueError("items must hold at least one item; got none.")
    return np.concatenate(parts)


def _batches(items: Any, size: int) -> Iterator[Any]:
    """Slices of arrays and tensors, lists of anything else."""
    if hasattr(items, "shape") and not hasattr(items, "iloc"):  # a pandas column has a shape, and is a column of items
        yield from (items[start : start + size] for start in range(0, len(items), size))
        return
    waiting = iter(items)
    while batch := list(islice(waiting, size)):
        yield batch


def _caller(model: Any, cleanup: ExitStack) -> Callable[[Any], Any]:
    """Return what to call with a batch; the model is as it was once `cleanup` has run."""
    if isinstance(model, str):  # which can be encoded, too
        raise TypeError(f"model must be a model itself; got the text {model!r}. Load it first.")
    encode = getattr(model, "encode", None)
    if callable(encode):
        return lambda batch: encode(list(batch))
    torch = sys.modules.get("torch")  # without it nothing can be a module of torch's
    if torch is not None and isinstance(model, torch.nn.Module):
        cleanup.callback(model.train, model.training)
        model.eval()
        cleanup.enter_context(torch.inference_mode())
        weight = next(model.parameters(), torch.zeros(0))
        return lambda batch: model(_as_tensor(torch, batch, weight))
    if not callable(model):
        raise TypeError(f"model must have encode or be callable; got {type(model).__name__}.")
    called: Callable[[Any], Any] = model
    return called


def _as_tensor(torch: Any, batch: Any, weight: Any) -> Any:
    """Return a batch as a tensor where the weights of a model are; numbers with a fraction get their precision."""
    if isinstance(batch, list) and isinstance(batch[0], torch.Tensor):
        batch = torch.stack(batch)
    tensor = batch if isinstance(batch, torch.Tensor) else torch.as_tensor(np.array(batch))  # torch wants to own arrays
    return tensor.to(weight.device, weight.dtype if tensor.is_floating_point() else tensor.dtype)


def _vectors(answer: Any, n_items: int) -> AnyArray:
    """Return what a model answered as a table of floats."""
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
