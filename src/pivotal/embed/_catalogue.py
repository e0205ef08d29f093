"""Embedders by name, as the command line and `read_table` take them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from pivotal.embed._callables import CallableModel
from pivotal.embed._embedder import Embedder
from pivotal.embed._onnx import OnnxModel
from pivotal.embed._pixels import ImageHistograms, ImagePixels
from pivotal.embed._sentences import Model2VecText, SentenceTransformerText
from pivotal.embed._tfidf import TfidfText
from pivotal.embed._vision import OpenClipImages, TimmImages


class Entry(NamedTuple):
    """An embedder that has a name."""

    name: str
    modality: str
    what: str
    extra: str
    kind: type[Embedder]
    make: Callable[..., Embedder]


def _named_network(kind: type[TimmImages] | type[OpenClipImages]) -> Callable[..., Embedder]:
    def make(argument: str, **options: Any) -> Embedder:
        name, _, weights = argument.partition("@")
        return kind(name, weights or None, **options)

    return make


def _from_python(argument: str, **options: Any) -> Embedder:
    """Make an embedder of `module:function` or `file.py:function`."""
    home, _, name = argument.rpartition(":")
    if not home or not name:
        raise ValueError(f"python: must be followed by module:function or file.py:function; got {argument!r}.")
    try:
        if home.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(home).stem, home)
            if spec is None or spec.loader is None or not Path(home).is_file():
                raise FileNotFoundError(f"there is no file {home}")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(home)
        model = getattr(module, name)
    except (ImportError, OSError, AttributeError, SyntaxError, NameError, TypeError) as error:
        raise ValueError(f"python:{argument} cannot be imported: {str(error).rstrip('.')}.") from error
    return CallableModel(model, getattr(model, "modality", options.pop("modality", "text")), **options)


def _entry(name: str, modality: str, what: str, extra: str, kind: type[Embedder]) -> Entry:
    return Entry(name, modality, what, extra, kind, kind)


_ENTRIES: Final = (
    _entry("tfidf", "text", "TF-IDF of words and character n-grams; tfidf:256 reduces it by SVD", "", TfidfText),
    _entry("pixels", "image", "principal components of the pixels; pixels:32 keeps 32", "", ImagePixels),
    _entry("histograms", "image", "principal components of histograms of gradients and colours", "", ImageHistograms),
    _entry(
        "sentence-transformers",
        "text",
        "a folder or name, as in sentence-transformers:my-model",
        "text-models",
        SentenceTransformerText,
    ),
    _entry("model2vec", "text", "a folder or name, as in model2vec:my-model", "model2vec", Model2VecText),
    Entry(
        "timm",
        "image",
        "a folder, or a name and weights, as in timm:resnet18@resnet18.pt",
        "image-models",
        TimmImages,
        _named_network(TimmImages),
    ),
    Entry(
        "open_clip",
        "image",
        "a folder, or a name and weights, as in open_clip:ViT-B-32@clip.pt",
        "image-models",
        OpenClipImages,
        _named_network(OpenClipImages),
    ),
    _entry("onnx", "any", "a file, as in onnx:model.onnx", "onnx", OnnxModel),
    Entry(
        "python",
        "any",
        "a function of yours, as in python:my_module:embed or python:my.py:embed",
        "",
        CallableModel,
        _from_python,
    ),
)
_COUNT: Final = re.compile(r"\d+")
_ELSEWHERE: Final = ("missing", "root", "progress")  # given by what reads tables
_FOR_ALL: Final = ("batch_size", "device", "cache", *_ELSEWHERE)


def catalogue() -> tuple[Entry, ...]:
    """Return the embedders that have a name."""
    return _ENTRIES


def as_embedder(embedder: Any, **options: Any) -> Embedder:
    """Return an embedder by its name, or a model of the user's as one.

    Parameters
    ----------
    embedder : Embedder, str or model
        An embedder is itself. A name is one of `catalogue`, with what it is to load after a colon: "tfidf",
        "tfidf:256", "histograms", "timm:resnet18@weights.pt", "onnx:model.onnx". Anything else is taken as by
        `CallableModel`.
    **options
        Arguments of the embedder. Of batch_size, device, cache, missing, root and progress, those that it does not
        have are omitted; any other must be one of its own.

    Examples
    --------
    >>> from pivotal.embed import as_embedder
    >>> as_embedder("tfidf:100").fit(["a good film", "a bad film"]).note
    'TF-IDF of words and character n-grams, 12 features'
    """
    if isinstance(embedder, Embedder):
        return embedder
    if not isinstance(embedder, str):
        return CallableModel(embedder, **_known(CallableModel, "a custom model", options))
    name, colon, argument = embedder.partition(":")
    entry = next((one for one in _ENTRIES if one.name == name), None)
    if entry is None:
        raise ValueError(f"embed must be one of {', '.join(one.name for one in _ENTRIES)}; got {embedder!r}.")
    if entry.name in ("tfidf", "pixels", "histograms"):
        if colon and not _COUNT.fullmatch(argument):
            raise ValueError(f"{name}: must be followed by a number of components; got {embedder!r}.")
        count = {"n_components": int(argument)} if colon else {}
        return entry.make(**count, **_known(entry.kind, name, options))
    if not argument:
        raise ValueError(f"embed must say what {name} is to load: {entry.what}; got {embedder!r}.")
    return entry.make(argument, **_known(entry.kind, name, options))


def _known(kind: type[Embedder], name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that an embedder takes; raise for one that is not for all and that it does not have."""
    own = [
        one.name
        for one in inspect.signature(kind).parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY or one.name == "modality"
    ]
    strange = next((option for option in options if option not in own and option not in _FOR_ALL), None)
    if strange is not None:
        ours = ", ".join(option for option in own if option not in _ELSEWHERE)
        raise ValueError(f"{name} has no option {strange!r}; it has {ours or 'none'}.")
    return {option: content for option, content in options.items() if option in own}
