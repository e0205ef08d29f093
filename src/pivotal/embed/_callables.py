"""Functions, torch modules and anything with `encode`: models of the user's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sized
from contextlib import ExitStack
from typing import Any, Literal

import numpy as np

from pivotal.core.identity import token
from pivotal.core.progress import tqdm
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count
from pivotal.embed._batches import batches, halving
from pivotal.embed._embedder import Modality, ModelEmbedder
from pivotal.embed._torch import state_digest
from pivotal.embed._vector_cache import EmbeddingCache


def embed(model: Any, items: Any, *, batch_size: int = 64, progress: bool = False) -> AnyArray:
    """Turn items of any kind into vectors, batch by batch, by a model that is there.

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
    vectors : array of shape (n_items, n_features)
        float32 or float64, as the model returns them.

    Examples
    --------
    >>> from pivotal.embed import embed
    >>> def describe(words):
    ...     return [[len(word), word.count("a")] for word in words]
    >>> embed(describe, ["banana", "fig", "papaya"], batch_size=2)
    array([[6., 3.], [3., 0.], [6., 3.]])
    """
    batch_size = check_count(batch_size, "batch_size")
    if isinstance(items, str | bytes) or not isinstance(items, Iterable) or getattr(items, "shape", None) == ():
        raise TypeError(f"items must be a sequence of items; got {type(items).__name__}. Put a single one into a list.")
    n_items = len(items) if isinstance(items, Sized) else None
    parts: list[AnyArray] = []
    with ExitStack() as cleanup:
        call = _caller(model, cleanup)
        bar = cleanup.enter_context(tqdm(total=n_items, desc="embedding", unit="item", disable=not progress))
        for batch in batches(items, batch_size):
            parts += halving(call, batch)
            if parts[-1].shape[1] != parts[0].shape[1]:
                raise ValueError(
                    f"model must return vectors of one length; got {parts[0].shape[1]} and then {parts[-1].shape[1]}."
                )
            bar.update(len(batch))
    if not parts:
        raise ValueError("items must hold at least one item; got none.")
    return np.concatenate(parts)


class CallableModel(ModelEmbedder):
    """A model of the user's own: a function of a list, a torch module, or an object with `encode`.

    Parameters
    ----------
    model : object
        As in `embed`. A torch module gets images as a tensor of shape (n, 3, height, width) between 0 and 1, all of
        one size; anything else gets a list of texts, or of Pillow images in RGB.
    modality : {"text", "image"}
        What it embeds.
    batch_size, normalize, cache, missing, root, progress
        As in `ModelEmbedder`; vectors are neither scaled nor cached by default. To be cached, a model must be told by
        its content: a module by its weights, a function by its code.
    """

    _default_batch = 64

    def __init__(
        self,
        model: Any,
        modality: Literal["text", "image"] = "text",
        *,
        batch_size: int | Literal["auto"] = "auto",
        normalize: bool = False,
        cache: bool | str | os.PathLike[str] | EmbeddingCache = False,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        if modality not in ("text", "image"):
            raise ValueError(f"modality must be text or image; got {modality!r}.")
        super().__init__(
            batch_size=batch_size, normalize=normalize, cache=cache, missing=missing, root=root, progress=progress
        )
        self.modality: Modality = modality
        self._given = model
        with ExitStack() as cleanup:
            _caller(model, cleanup)  # says what is wrong with it, before any work

    @property
    def note(self) -> str:
        return f"by {getattr(self._given, '__name__', type(self._given).__name__)}, a custom model"

    def _load(self) -> Any:
        return self._given

    def _encode(self, batch: list[Any]) -> Any:
        with ExitStack() as cleanup:
            call = _caller(self._given, cleanup)
            if self.modality == "image" and _is_module(self._given):
                return call(np.stack([np.asarray(one, dtype=np.float32).transpose(2, 0, 1) / 255.0 for one in batch]))
            return call(batch)

    def _identity(self) -> list[bytes]:
        scaled = repr((self.modality, self.normalize)).encode()
        try:
            if _is_module(self._given):
                return [state_digest(self._given), scaled]
            return [repr(token(self._given)).encode(), scaled]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"a model cannot be identified by its content for the cache ({error}); use cache=False."
            ) from error


def _is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # without it nothing can be a module of torch's
    return torch is not None and isinstance(model, torch.nn.Module)


def _caller(model: Any, cleanup: ExitStack) -> Callable[[Any], Any]:
    """Return what to call with a batch; the model is as it was once `cleanup` has run."""
    if isinstance(model, str):  # which can be encoded, too
        raise TypeError(f"model must be a model itself; got the text {model!r}. Load it first.")
    encode = getattr(model, "encode", None)
    if callable(encode):
        return lambda batch: encode(list(batch))
    if _is_module(model):
        torch = sys.modules["torch"]
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
