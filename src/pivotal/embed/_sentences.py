"""Sentences by models that were trained for it: sentence-transformers and model2vec, from a local folder or a hub."""

from __future__ import annotations

import os
import pickle
from typing import Any, Literal

from pivotal.embed._embedder import ModelEmbedder
from pivotal.embed._torch import choose_device, need_torch, not_only_weights, state_digest
from pivotal.embed._vector_cache import EmbeddingCache

__all__ = ["Model2VecText", "SentenceTransformerText"]


class _NamedTextModel(ModelEmbedder):
    """A text model that is loaded by its folder or name."""

    modality: Literal["text"] = "text"

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        batch_size: int | Literal["auto"] = "auto",
        device: str = "auto",
        normalize: bool = True,
        cache: bool | str | os.PathLike[str] | EmbeddingCache = True,
        progress: bool = False,
    ) -> None:
        super().__init__(batch_size=batch_size, device=device, normalize=normalize, cache=cache, progress=progress)
        self.name = os.fspath(name)


class SentenceTransformerText(_NamedTextModel):
    """A model of sentence-transformers. Needs the extra `text-models`.

    Parameters
    ----------
    name : path-like
        Folder with a model that was saved, or a name on the hub, which is downloaded where that is possible.
    batch_size, device, normalize, cache, progress
        As in `ModelEmbedder`.
    """

    @property
    def note(self) -> str:
        return f"by the sentence-transformers model {_last(self.name)}"

    def _load(self) -> Any:
        torch = need_torch("sentence-transformers", "text-models")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise _missing("sentence-transformers", "text-models", error) from error
        device = choose_device(torch, self.device)
        try:
            return SentenceTransformer(self.name, device=device)
        except pickle.UnpicklingError as error:
            raise not_only_weights(self.name) from error
        except (OSError, ValueError, KeyError) as error:
            raise _not_loaded(self.name, "a model of sentence-transformers", error) from error

    def _encode(self, batch: list[Any]) -> Any:
        return self.model.encode(batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True)

    def _identity(self) -> list[bytes]:
        import sentence_transformers

        model = self.model
        tokenizer: Any = getattr(model, "tokenizer", None)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None:
            words = backend.to_str()
        elif hasattr(tokenizer, "get_vocab"):
            words = repr(sorted(tokenizer.get_vocab().items()))
        else:
            words = repr(getattr(tokenizer, "vocab", None))
        options = (
            sentence_transformers.__version__,
            getattr(model, "max_seq_length", None),
            model.prompts,
            self.normalize,
        )
        return [state_digest(model), words.encode(), repr(options).encode()]


class Model2VecText(_NamedTextModel):
    """A static model of model2vec: fast on any processor. Needs the extra `model2vec`.

    Parameters
    ----------
    name : path-like
        Folder with a model that was saved, or a name on the hub, which is downloaded where that is possible.
    batch_size, normalize, cache, progress
        As in `ModelEmbedder`.
    """

    _default_batch = 1024

    @property
    def note(self) -> str:
        return f"by the model2vec model {_last(self.name)}"

    def _load(self) -> Any:
        try:
            from model2vec import StaticModel
        except ImportError as error:
            raise _missing("model2vec", "model2vec", error) from error
        try:
            return StaticModel.from_pretrained(self.name)
        except (OSError, ValueError, KeyError) as error:
            raise _not_loaded(self.name, "a model of model2vec", error) from error

    def _encode(self, batch: list[Any]) -> Any:
        return self.model.encode(batch, show_progress_bar=False, use_multiprocessing=False)

    def _identity(self) -> list[bytes]:
        model = self.model
        parts = [model.tokenizer.to_str().encode(), repr((model.normalize, self.normalize)).encode()]
        for array in (model.embedding, model.weights, model.token_mapping):
            parts.append(b"" if array is None else repr((array.dtype.str, array.shape)).encode() + array.tobytes())
        return parts


def _last(name: str) -> str:
    return os.path.basename(os.path.normpath(name)) if os.path.isdir(name) else name  # noqa: PTH112, PTH119


def _missing(package: str, extra: str, error: ImportError) -> ImportError:
    why = "" if getattr(error, "name", "") == package.replace("-", "_") else f" ({str(error).splitlines()[0]})"
    return ImportError(f"{package} cannot be imported{why}; install it with: pip install 'pivotal[{extra}]'")


def _not_loaded(name: str, what: str, error: Exception) -> ValueError:
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return ValueError(f"{name} must be a folder that holds {what}, or a name that can be downloaded; {first}")
