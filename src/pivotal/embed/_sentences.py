"""Sentences by models that were trained for it: sentence-transformers and model2vec, from a local folder or a hub."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pivotal.core.extras import needed
from pivotal.embed._embedder import ModelEmbedder
from pivotal.embed._torch import choose_device, import_package, not_only_weights, state_digest
from pivotal.embed._vector_cache import EmbeddingCache


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
    trust_remote_code : bool, default=False
        Whether code that comes with the model may run.
    batch_size, device, normalize, cache, progress
        As in `ModelEmbedder`.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        trust_remote_code: bool = False,
        batch_size: int | Literal["auto"] = "auto",
        device: str = "auto",
        normalize: bool = True,
        cache: bool | str | os.PathLike[str] | EmbeddingCache = True,
        progress: bool = False,
    ) -> None:
        super().__init__(
            name, batch_size=batch_size, device=device, normalize=normalize, cache=cache, progress=progress
        )
        if not isinstance(trust_remote_code, bool):
            raise TypeError(f"trust_remote_code must be True or False; got {trust_remote_code!r}.")
        self.trust_remote_code = trust_remote_code

    @property
    def note(self) -> str:
        return f"by the sentence-transformers model {_last(self.name)}"

    def _load(self) -> Any:
        with needed("sentence-transformers needs torch", "text-models"):
            import torch
        package = import_package("sentence-transformers", "text-models")
        device = choose_device(torch, self.device)
        if not self.trust_remote_code:
            _refuse_code(self.name)
        try:
            with _loading_bars(shown=self.progress):
                return package.SentenceTransformer(self.name, device=device, trust_remote_code=self.trust_remote_code)
        except pickle.UnpicklingError as error:
            raise not_only_weights(self.name) from error
        except (OSError, ValueError, KeyError) as error:
            if "trust_remote_code" in str(error):
                raise _has_code(self.name) from error
            raise _not_loaded(self.name, "a model of sentence-transformers", error) from error

    def _encode(self, batch: list[Any]) -> Any:
        return self.model.encode(batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True)

    def _identity(self) -> list[bytes]:
        model = self.model  # which says what is missing, where it cannot be loaded
        import sentence_transformers

        tokenizer: Any = getattr(model, "tokenizer", None)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None:
            words = backend.to_str()
        elif hasattr(tokenizer, "get_vocab"):
            words = repr(sorted(tokenizer.get_vocab().items()))
        else:
            words = repr(getattr(tokenizer, "vocab", None))
        longest = getattr(model, "max_seq_length", None)
        options = (sentence_transformers.__version__, longest, model.prompts, self.normalize)
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
        package = import_package("model2vec", "model2vec")
        try:
            return package.StaticModel.from_pretrained(self.name)
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


@contextmanager
def _loading_bars(*, shown: bool) -> Iterator[None]:
    """Keep transformers from showing bars of its own, unless bars were asked for."""
    from transformers.utils import logging

    before = logging.is_progress_bar_enabled()
    if not shown:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        if before:
            logging.enable_progress_bar()


def _refuse_code(name: str) -> None:
    """Turn down a folder whose model has modules of its own: some versions of the package would import them."""
    try:
        modules = json.loads((Path(name) / "modules.json").read_text(encoding="utf-8"))
        kinds = [str(one["type"]) for one in modules]
    except (OSError, ValueError, KeyError, TypeError):
        return  # no folder, or none that holds a model, which is said when it is loaded
    if any(not kind.startswith("sentence_transformers.") for kind in kinds):
        raise _has_code(name)


def _has_code(name: str) -> ValueError:
    return ValueError(
        f"{name} brings code of its own, which is not run; where you trust it, use trust_remote_code=True, or "
        "--embed-options trust_remote_code=true on the command line."
    )


def _not_loaded(name: str, what: str, error: Exception) -> ValueError:
    first = next(iter(str(error).splitlines()), type(error).__name__)
    return ValueError(f"{name} must be a folder that holds {what}, or a name that can be downloaded; {first}")
