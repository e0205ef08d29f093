"""Points from models: real sentence-transformers, timm and torch where they are installed, functions anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pivotal
from pivotal.embed import CallableModel, embed
from torch_models import need

WORDS = ["banana", "fig", "papaya", "a", "kiwi"]
SENTENCES = ["the cat sat", "a dog ran", "the dog sat", "a cat ran far", "cat cat cat"]


def describe(words: list[str]) -> list[list[int]]:
    assert isinstance(words, list)
    return [[len(word), word.count("a")] for word in words]


class Encoder:
    """What sentence-transformers, fasttext wrappers and many others look like."""

    def encode(self, words: list[str]) -> np.ndarray:
        return np.array(describe(words), dtype=np.float16)


@pytest.mark.parametrize("batch_size", [1, 2, 5, 64])
@pytest.mark.parametrize(
    "items", [WORDS, tuple(WORDS), pd.Series(WORDS, index=list("vwxyz"))], ids=lambda x: type(x).__name__
)
def test_functions_get_lists_of_any_sequence(items: Any, batch_size: int) -> None:
    points = embed(describe, items, batch_size=batch_size)
    assert points.dtype == np.float64
    assert points.tolist() == describe(WORDS)


def test_iterables_without_length_are_embedded_too(capsys: pytest.CaptureFixture[str]) -> None:
    points = embed(describe, (word for word in WORDS), batch_size=2, progress=True)
    assert points.tolist() == describe(WORDS)
    assert "embedding" in capsys.readouterr().err


def test_arrays_are_handed_on_in_slices() -> None:
    seen = []

    def flat(images: np.ndarray) -> np.ndarray:
        seen.append(images.shape)
        return images.reshape(len(images), -1)

    images = np.arange(40, dtype=np.float32).reshape(5, 2, 2, 2)
    points = embed(flat, images, batch_size=2)
    assert seen == [(2, 2, 2, 2), (2, 2, 2, 2), (1, 2, 2, 2)]
    assert points.dtype == np.float32
    np.testing.assert_array_equal(points, images.reshape(5, 8))


def test_whatever_has_encode_is_asked_to() -> None:
    points = embed(Encoder(), np.array(WORDS), batch_size=3)
    assert points.dtype == np.float32  # halves are too coarse for distances
    assert points.tolist() == describe(WORDS)


def test_feature_maps_of_one_pixel_are_vectors() -> None:
    assert embed(lambda batch: np.ones((len(batch), 4, 1, 1)), WORDS).shape == (5, 4)


def test_points_go_on_to_value() -> None:
    X = embed(describe, WORDS)
    values = pivotal.value(X, [1, 0, 1, 0, 0], embed(describe, ["mango"]), [1], k=1)
    assert values.order()[0] in (0, 2)


def constant(answer: Any) -> Any:
    return lambda _: answer


@pytest.mark.parametrize(
    ("model", "items", "options", "error", "message"),
    [
        (describe, "banana", {}, TypeError, "items must be a sequence of items; got str. Put a single one into a list"),
        (describe, 3, {}, TypeError, "items must be a sequence of items; got int"),
        (describe, np.array(3.0), {}, TypeError, "items must be a sequence of items; got ndarray"),
        (describe, [], {}, ValueError, "items must hold at least one item; got none"),
        (describe, np.empty((0, 2)), {}, ValueError, "items must hold at least one item; got none"),
        (
            describe,
            WORDS,
            {"batch_size": 0},
            ValueError,
            "batch_size must be an integer .*; got batch_size=0",
        ),
        (
            describe,
            WORDS,
            {"batch_size": 2.0},
            ValueError,
            "batch_size must be an integer .*; got batch_size=2.0",
        ),
        (describe, WORDS, {"batch_size": True}, ValueError, "batch_size must be .*; got batch_size=True"),
        ("model", WORDS, {}, TypeError, "model must be a model itself; got the text 'model'. Load it first"),
        (None, WORDS, {}, TypeError, "model must have encode or be callable; got NoneType"),
        (constant([[1.0]]), WORDS, {}, ValueError, r"shape \(5, n_features\); got shape \(1, 1\)"),
        (constant(np.ones((5, 3, 2))), WORDS, {}, ValueError, r"got shape \(5, 3, 2\)\. Pool tokens or pixels first"),
        (constant(np.ones(5)), WORDS, {}, ValueError, r"shape \(5, n_features\); got shape \(5,\)"),
        (constant(np.ones((5, 0))), WORDS, {}, ValueError, r"got shape \(5, 0\)"),
        (constant({"pooled": 1}), WORDS, {}, TypeError, "model must return numbers, one vector per item; got dict"),
        (constant(None), WORDS, {}, TypeError, "model must return numbers, one vector per item; got NoneType"),
        (
            constant([[1.0], [1.0, 2.0]]),
            WORDS,
            {},
            ValueError,
            "vectors of one length; got different ones in one batch",
        ),
        (
            lambda batch: np.ones((len(batch), len(batch))),
            WORDS,
            {"batch_size": 3},
            ValueError,
            "model must return vectors of one length; got 3 and then 2",
        ),
        (
            constant(np.full((5, 2), np.nan)),
            WORDS,
            {},
            ValueError,
            r"finite numbers .*; got 10 such entries in a batch",
        ),
    ],
)
def test_bad_input_is_explained(
    model: Any, items: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        embed(model, items, **options)


def test_torch_modules_run_in_evaluation_mode_and_stay_as_they_were() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    torch.manual_seed(0)
    linear = torch.nn.Linear(4, 3)
    module = torch.nn.Sequential(linear, torch.nn.Dropout(0.9))
    images = np.random.default_rng(0).normal(size=(7, 4))  # float64, while the weights are float32
    images.setflags(write=False)  # as those of a file that is mapped
    points = embed(module, images, batch_size=3)
    expected = images.astype(np.float32) @ linear.weight.detach().numpy().T + linear.bias.detach().numpy()
    np.testing.assert_allclose(points, expected, rtol=1e-5, atol=1e-6)
    assert module.training
    assert linear.weight.requires_grad
    tensors = torch.tensor(images)
    for same in (tensors, list(tensors), tensors.numpy().tolist()):
        np.testing.assert_allclose(embed(module, same, batch_size=3), points, rtol=1e-6)
    with pytest.raises(RuntimeError, match="shapes"):
        embed(module, np.ones((2, 9)))
    assert module.training  # after a failure too


def test_tensors_of_half_precision_come_back_as_float32() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    points = embed(lambda batch: torch.ones(len(batch), 2, dtype=torch.bfloat16, requires_grad=True), WORDS)
    assert points.dtype == np.float32
    listed = embed(lambda batch: [torch.ones(2)] * len(batch), WORDS)  # one tensor per item
    np.testing.assert_array_equal(listed, points)
    table = torch.nn.EmbeddingBag(10, 3)  # takes integers, which stay whole
    assert embed(table, np.array([[1, 2], [3, 4]])).shape == (2, 3)


def test_a_model_of_timm_with_random_weights() -> None:
    timm = need("timm")
    torch = pytest.importorskip("torch", reason="needs torch")
    torch.manual_seed(0)
    model = timm.create_model("resnet10t", pretrained=False, num_classes=0)
    images = np.random.default_rng(0).random((3, 3, 32, 32)).astype(np.float32)
    points = embed(model, images, batch_size=2)
    assert points.shape == (3, model.num_features)
    model.eval()
    with torch.no_grad():
        expected = model(torch.from_numpy(images)).numpy()
    np.testing.assert_allclose(points, expected, rtol=1e-4, atol=1e-5)


def test_sentence_transformers_with_random_weights() -> None:
    package = need("sentence_transformers")
    try:
        from sentence_transformers.sentence_transformer import modules
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer
    except ImportError:  # before version 6
        from sentence_transformers import models as modules
        from sentence_transformers.models.tokenizer import WhitespaceTokenizer
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    weights = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    looked_up = modules.WordEmbeddings(WhitespaceTokenizer(words, stop_words=[]), weights)
    model = package.SentenceTransformer(modules=[looked_up, modules.Pooling(8)], device="cpu")
    points = embed(model, SENTENCES, batch_size=2)
    means = [weights[[words.index(word) for word in sentence.split()]].mean(axis=0) for sentence in SENTENCES]
    np.testing.assert_allclose(points, means, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(points, model.encode(SENTENCES), rtol=1e-5, atol=1e-6)


MODULE = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.factor = {factor}
        self.shift = torch.tensor([{shift}])
        self.register_buffer("unsaved", torch.tensor([{unsaved}]), persistent=False)
    def forward(self, x):
        return self.layer(x) * self.factor + self.shift + self.unsaved {more}
"""


def test_a_module_is_told_by_its_code_and_by_all_that_it_holds() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")

    def digest(**changes: Any) -> bytes:
        torch.manual_seed(0)
        space: dict[str, Any] = {"__name__": "notebook"}
        exec(MODULE.format(**{"factor": 1.0, "shift": 1.0, "unsaved": 1.0, "more": "", **changes}), space)
        return CallableModel(torch.nn.Sequential(space["Net"](), torch.nn.ReLU()))._identity()[0]

    assert digest() == digest()
    others = [digest(), digest(factor=2.0), digest(shift=2.0), digest(unsaved=2.0), digest(more="+ 1")]
    assert len(set(others)) == 5
    module = torch.nn.Linear(2, 2)
    before = CallableModel(module)._identity()
    module.eval()
    assert CallableModel(module)._identity() == before
