"""Any ONNX file: its inputs say whether it takes images, tokens or texts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.types import AnyArray
from pivotal.core.validation import check_count
from pivotal.embed._embedder import Modality, ModelEmbedder
from pivotal.embed._items import digest
from pivotal.embed._vector_cache import EmbeddingCache

_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, on which most networks are trained
_DEFAULT_SIDE: Final = 224
_LONGEST: Final = 512  # tokens


class OnnxModel(ModelEmbedder):
    """A model in an ONNX file, run by onnxruntime. Needs the extra `onnx`.

    What it takes is told by its first input: four dimensions of numbers are images, channels first or last; integers
    named like `input_ids` are tokens, made by the `tokenizer.json` beside the file; strings are texts. Outputs with a
    vector per token are averaged over the tokens, and feature maps over the pixels.

    Parameters
    ----------
    file : path-like
        The model, or a folder with one .onnx file in it.
    mean, deviation : sequence of float
        Of the colours between 0 and 1, by which images are standardised; those of ImageNet by default.
    size : int, optional
        Side of images, where the model does not say.
    output : str, optional
        Which output; the first by default.
    batch_size, device, normalize, cache, missing, root, progress
        As in `ModelEmbedder`; vectors are not scaled by default.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        mean: tuple[float, ...] = _MEAN,
        deviation: tuple[float, ...] = _DEVIATION,
        size: int | None = None,
        output: str | None = None,
        batch_size: int | Literal["auto"] = "auto",
        device: str = "auto",
        normalize: bool = False,
        cache: bool | str | os.PathLike[str] | EmbeddingCache = True,
        missing: Literal["raise", "fill"] = "raise",
        root: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            device=device,
            normalize=normalize,
            cache=cache,
            missing=missing,
            root=root,
            progress=progress,
        )
        self.file = _find(Path(file))
        self.mean, self.deviation = _per_colour(mean, "mean"), _per_colour(deviation, "deviation")
        self.size, self.output = None if size is None else check_count(size, "size"), output
        self._tokenizer: Any = None
        self._input = self.model.get_inputs()[0]
        outputs = [one.name for one in self.model.get_outputs()]
        if output is not None and output not in outputs:
            raise ValueError(f"output must be one of {', '.join(outputs)}, which {self.file} has; got {output!r}.")
        self._kind = self._kind_of_input()
        self.modality: Modality = "image" if self._kind == "image" else "text"

    @property
    def note(self) -> str:
        return f"by the model in {self.file.name}"

    def _load(self) -> Any:
        with needed("ONNX files need onnxruntime", "onnx"):
            import onnxruntime
        providers = [name for name in onnxruntime.get_available_providers() if self._wanted(name)]
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(self.file), settings, providers=providers)
        except Exception as error:  # its errors have no base of their own
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise ValueError(f"{self.file} must be an ONNX model that onnxruntime can run; {first}") from error

    def _wanted(self, provider: str) -> bool:
        if provider == "CPUExecutionProvider":
            return True
        return self.device != "cpu" and provider in ("CUDAExecutionProvider", "CoreMLExecutionProvider")

    def _kind_of_input(self) -> str:
        if self._input.type == "tensor(string)":
            return "strings"
        if "int" in self._input.type and len(self._input.shape) == 2:
            self._tokenizer = _load_tokenizer(self.file)
            return "tokens"
        if self._input.type in ("tensor(float)", "tensor(float16)", "tensor(uint8)") and len(self._input.shape) == 4:
            return "image"
        raise ValueError(
            f"{self.file} must take images, tokens or strings; its input {self._input.name!r} is "
            f"{self._input.type} of shape {self._input.shape}. Wrap it in a function and use CallableModel."
        )

    def _encode(self, batch: list[Any]) -> Any:
        if self._kind == "image":
            feed, mask = {self._input.name: self._as_images(batch)}, None
        elif self._kind == "tokens":
            feed, mask = self._as_tokens(batch)
        else:
            texts = np.array(batch, dtype=object)
            feed, mask = {self._input.name: texts.reshape(-1, *[1] * (len(self._input.shape) - 1))}, None
        fixed = self._input.shape[0]
        if isinstance(fixed, int) and fixed != len(batch):  # exported for one batch size
            return self._one_by_one(feed, mask, fixed, len(batch))
        return self._run(feed, mask)

    def _run(self, feed: dict[str, AnyArray], mask: AnyArray | None) -> AnyArray:
        names = None if self.output is None else [self.output]
        return _pooled(np.asarray(self.model.run(names, feed)[0]), mask)

    def _one_by_one(self, feed: dict[str, AnyArray], mask: AnyArray | None, size: int, n: int) -> AnyArray:
        parts = []
        for start in range(0, n, size):
            rows = np.arange(start, start + size) % n  # the last batch is filled up
            part = self._run({name: array[rows] for name, array in feed.items()}, None if mask is None else mask[rows])
            parts.append(part[: n - start])
        return np.concatenate(parts)

    def _as_images(self, batch: list[Any]) -> AnyArray:
        shape = self._input.shape
        last = shape[3] in (1, 3) and shape[1] not in (1, 3)  # channels last
        high, wide = (shape[1], shape[2]) if last else (shape[2], shape[3])
        side = self.size or _DEFAULT_SIDE
        size = (wide if isinstance(wide, int) else side, high if isinstance(high, int) else side)
        grey = (shape[3] if last else shape[1]) == 1
        pixels = np.stack([np.asarray(image.resize(size, 3).convert("L" if grey else "RGB")) for image in batch])
        pixels = pixels[..., np.newaxis] if grey else pixels
        if self._input.type == "tensor(uint8)":
            return np.ascontiguousarray(pixels if last else pixels.transpose(0, 3, 1, 2))
        mean, deviation = np.asarray(self.mean, np.float32), np.asarray(self.deviation, np.float32)
        if grey:
            mean, deviation = mean.mean(keepdims=True), deviation.mean(keepdims=True)
        scaled = (pixels.astype(np.float32) / 255.0 - mean) / deviation
        scaled = scaled if last else scaled.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(scaled, dtype=np.float16 if self._input.type == "tensor(float16)" else np.float32)

    def _as_tokens(self, batch: list[Any]) -> tuple[dict[str, AnyArray], AnyArray]:
        encoded = self._tokenizer.encode_batch(list(batch))
        columns = {
            "mask": np.array([one.attention_mask for one in encoded]),
            "type": np.array([one.type_ids for one in encoded]),
            "position": np.broadcast_to(np.arange(len(encoded[0].ids)), (len(encoded), len(encoded[0].ids))),
        }
        feed: dict[str, AnyArray] = {}
        for one in self.model.get_inputs():
            kind = next((kind for kind in columns if kind in one.name), None)
            dtype = np.int32 if one.type == "tensor(int32)" else np.int64
            array = np.array([row.ids for row in encoded]) if kind is None else columns[kind]
            feed[one.name] = np.ascontiguousarray(array, dtype=dtype)
        return feed, columns["mask"]

    def _identity(self) -> list[bytes]:
        beside = sorted(self.file.parent.glob(f"{self.file.name}*data"))  # weights of more than 2 GB
        parts = [digest(file.read_bytes()) for file in (self.file, *beside)]
        words = b"" if self._tokenizer is None else self._tokenizer.to_str().encode()
        options = (self.mean, self.deviation, self.size, self.output, self.normalize)
        return [*parts, words, repr(options).encode()]


def _per_colour(numbers: Any, name: str) -> tuple[float, ...]:
    """Return one number for each colour."""
    try:
        found = tuple(float(one) for one in numbers)
    except (TypeError, ValueError):
        found = ()
    if len(found) != 3 or not np.isfinite(found).all() or (name == "deviation" and min(found) <= 0.0):
        more = ", more than 0" if name == "deviation" else ""
        raise ValueError(f"{name} must be three numbers, for red, green and blue{more}; got {numbers!r}.")
    return found


def _find(path: Path) -> Path:
    if path.is_dir():
        found = sorted(path.rglob("*.onnx"))
        if len(found) != 1:
            raise ValueError(f"{path} must hold one .onnx file; it holds {len(found)}. Name the file itself.")
        return found[0]
    if not path.is_file():
        raise FileNotFoundError(f"file must be an ONNX model; there is no file {path}.")
    return path


def _load_tokenizer(file: Path) -> Any:
    """Return the tokenizer beside a model, which pads and cuts as the model needs it."""
    places = [folder / "tokenizer.json" for folder in (file.parent, file.parent.parent)]
    beside = next((place for place in places if place.is_file()), None)
    if beside is None:
        raise ValueError(f"{file} takes tokens and needs the tokenizer.json that belongs to it; put it beside it.")
    with needed("tokens need tokenizers", "onnx"):
        from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(beside))
    settings = beside.with_name("tokenizer_config.json")
    options = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    tokenizer.enable_truncation(int(min(options.get("model_max_length", _LONGEST), _LONGEST)))
    if tokenizer.padding is None:
        tokenizer.enable_padding()
    return tokenizer


def _pooled(answer: AnyArray, mask: AnyArray | None) -> AnyArray:
    """Return one vector per item: a mean over tokens that are there, or over pixels."""
    if answer.ndim == 3 and mask is not None:
        weight = mask[..., np.newaxis].astype(answer.dtype)
        return np.asarray((answer * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1))
    return answer.mean(axis=(2, 3)) if answer.ndim == 4 else answer
