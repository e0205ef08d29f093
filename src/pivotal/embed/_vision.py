"""Images by networks that were trained on others: timm and open_clip, from files of weights or from a hub."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pivotal.core.extras import needed
from pivotal.embed._embedder import ModelEmbedder
from pivotal.embed._torch import choose_device, import_package, not_only_weights, state_digest
from pivotal.embed._vector_cache import EmbeddingCache


class _Network(ModelEmbedder):
    """A network, by its name or the folder it is in, and what it does to images first."""

    modality: Literal["image"] = "image"
    _package = ""

    def __init__(
        self,
        name: str | os.PathLike[str],
        weights: str | os.PathLike[str] | None = None,
        *,
        batch_size: int | Literal["auto"] = "auto",
        device: str = "auto",
        normalize: bool = True,
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
        self.name, self.weights = os.fspath(name), None if weights is None else Path(weights)
        if self.weights is not None and not self.weights.is_file() and not self._may_be_tag(self.weights):
            raise FileNotFoundError(
                f"weights must name a file with the weights of {self.name}; there is no file {self.weights}."
            )
        self._transform: Any = None
        self._torch: Any = None

    @property
    def note(self) -> str:
        inside = "in " if self.weights is not None and self.weights.is_file() else ""
        whose = f" with the weights {inside}{self.weights.name}" if self.weights is not None else ""
        name = Path(self.name).name if Path(self.name).is_dir() else self.name
        return f"by the {self._package} network {name}{whose}"

    def _load(self) -> Any:
        with needed(f"{self._package} needs torch", "image-models"):
            import torch
        self._torch = torch
        package = import_package(self._package, "image-models")
        device = choose_device(self._torch, self.device)
        try:
            network, self._transform = self._build(package)
        except pickle.UnpicklingError as error:
            raise not_only_weights(self.name if self.weights is None else str(self.weights)) from error
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise ValueError(f"{self.name} cannot be loaded by {self._package}: {first}") from error
        return network.to(device).eval()

    def _may_be_tag(self, weights: Path) -> bool:
        """Whether weights that are no file may be known to the package by that name."""
        return False

    def _build(self, package: Any) -> tuple[Any, Any]:
        """Return the network, and the function that makes tensors of Pillow images."""
        raise NotImplementedError

    def _call(self, tensors: Any) -> Any:
        return self.model(tensors)

    def _encode(self, batch: list[Any]) -> Any:
        weight = next(self.model.parameters())
        tensors = self._torch.stack([self._transform(image) for image in batch]).to(weight.device, weight.dtype)
        with self._torch.inference_mode():
            return self._call(tensors)

    def _identity(self) -> list[bytes]:
        return [state_digest(self.model), repr(self._transform).encode(), repr(self.normalize).encode()]


class TimmImages(_Network):
    """The layer before the last of a network of timm. Needs the extra `image-models`.

    Parameters
    ----------
    name : path-like
        Folder with a network as timm saves it for a hub (config.json and its weights), or a name that timm knows, such
        as "resnet50", whose weights are in `weights` or are downloaded where that is possible. A network without
        trained weights is never used.
    weights : path-like, optional
        File with a state dictionary, as `torch.save` or safetensors write it. Its last layer, whatever it tells apart,
        is omitted.
    batch_size, device, normalize, cache, missing, root, progress
        As in `ModelEmbedder`.
    """

    _package = "timm"

    def _build(self, package: Any) -> tuple[Any, Any]:
        from timm.data import create_transform, resolve_model_data_config

        local = Path(self.name).is_dir()
        trained = local or self.weights is None
        name = f"local-dir:{self.name}" if local else self.name
        network = package.create_model(name, pretrained=trained, num_classes=0)
        if not trained:
            self._fill_in(network)
        return network, create_transform(**resolve_model_data_config(network), is_training=False)

    def _fill_in(self, network: Any) -> None:
        """Load the weights of all layers but the last."""
        from timm.models import load_state_dict

        given: Mapping[str, Any] = load_state_dict(str(self.weights), weights_only=True)
        last = network.default_cfg.get("classifier") or ()
        heads = tuple(f"{head}." for head in ([last] if isinstance(last, str) else last))
        kept = {name: tensor for name, tensor in given.items() if not (heads and name.startswith(heads))}
        network.load_state_dict(kept, strict=True)


class OpenClipImages(_Network):
    """The image side of a CLIP model. Needs the extra `image-models`.

    Parameters
    ----------
    name : path-like
        Folder with a model as open_clip saves it (open_clip_config.json and its weights), or the name of an
        architecture such as "ViT-B-32".
    weights : path-like or str, optional
        File with weights, or with a name of an architecture the tag of weights that are downloaded where that is
        possible, such as "laion2b_s34b_b79k".
    batch_size, device, normalize, cache, missing, root, progress
        As in `ModelEmbedder`.
    """

    _package = "open_clip"

    def _may_be_tag(self, weights: Path) -> bool:
        return len(weights.parts) == 1 and not weights.suffix

    def _build(self, package: Any) -> tuple[Any, Any]:
        if Path(self.name).is_dir():
            network, _, transform = package.create_model_and_transforms(f"local-dir:{self.name}")
            return network, transform
        if self.weights is None:
            raise ValueError("a CLIP model needs weights; give a file, or a folder with a model.")
        network, _, transform = package.create_model_and_transforms(self.name, pretrained=str(self.weights))
        return network, transform

    def _call(self, tensors: Any) -> Any:
        return self.model.encode_image(tensors)
