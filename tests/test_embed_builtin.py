"""Texts and images by what can be counted in them: nothing is downloaded, and the notes say what was done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import KNeighborsClassifier

from pivotal.embed import ImageHistograms, ImagePixels, TfidfText, as_embedder, catalogue
from pivotal.embed._torch import import_package

Image = pytest.importorskip("PIL.Image")

FRUIT = ["ripe red apple pie", "apple pie with cream", "green apples and pears", "a pear tart with cream"]
SPORT = ["they won the football match", "the match was lost", "a football team lost again", "the team won again"]
ODD_SIZES = [(20, 30), (31, 17), (64, 64)]


def picture(size: tuple[int, int], seed: int = 0) -> Any:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8))


def test_texts_on_one_subject_are_near_each_other() -> None:
    X = TfidfText().fit_transform(FRUIT + SPORT)
    assert sparse.issparse(X)
    near = (X @ X.T).toarray()
    assert near[:4, :4].mean() > 2 * near[:4, 4:].mean()
    assert near[4:, 4:].mean() > 2 * near[:4, 4:].mean()


def test_rows_have_length_one_so_that_euclidean_distance_orders_as_the_cosine_does() -> None:
    X = TfidfText().fit_transform(FRUIT + SPORT).toarray()
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    cosine = 1.0 - X @ X.T
    squared = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, 2.0 * cosine, atol=1e-12)


def test_words_alone_are_what_scikit_learn_makes_of_them() -> None:
    own = TfidfText(words=(1, 1), characters=None).fit_transform(FRUIT)
    theirs = TfidfVectorizer(sublinear_tf=True, min_df=2, token_pattern=r"(?u)\b\w+\b").fit_transform(FRUIT)
    np.testing.assert_allclose(own[:, :-1].toarray(), theirs.toarray(), atol=1e-15)
    assert np.array_equal(
        own[:, [-1]].toarray()[:, 0], np.diff(theirs.indptr) == 0
    )  # a text without any of these words


def test_new_texts_are_seen_with_the_words_of_the_old() -> None:
    embedder = TfidfText().fit(FRUIT)
    X = embedder.transform(["an apple pie", "xyzzy", None, float("nan")])
    assert X.shape == (4, embedder.fit_transform(FRUIT).shape[1])
    assert X[[1, 2, 3]].nnz == 0  # nothing is known of them
    with pytest.raises(ValueError, match="call fit with the training texts"):
        TfidfText().transform(FRUIT)


def test_a_singular_value_decomposition_on_request() -> None:
    embedder = TfidfText(3)
    X = embedder.fit_transform(FRUIT + SPORT)
    assert X.shape == (8, 3)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    np.testing.assert_allclose(embedder.transform(FRUIT), X[:4], atol=1e-12)
    assert embedder.note.startswith("TF-IDF of words and character n-grams, ")
    assert embedder.note.endswith(" features, reduced to 3 by SVD")
    assert sparse.issparse(TfidfText(500).fit_transform(FRUIT))  # there is nothing to reduce


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("a text", TypeError, "texts must be a sequence of items; got str. Put a single one into a list"),
        ([], ValueError, "texts must hold at least one item; got none"),
        (["a", 3], TypeError, "texts must be str, or None for a gap; got int at place 1"),
        (["", None], ValueError, "texts must have words in them"),
    ],
)
def test_what_is_not_text_is_refused(texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TfidfText().fit(texts)


def test_texts_in_scripts_without_spaces_have_character_n_grams() -> None:
    X = TfidfText().fit_transform(["我喜欢这部电影", "我喜欢这部小说", "天气很冷", "今天天气很冷"])
    near = (X @ X.T).toarray()
    assert near[0, 1] > near[0, 2]
    assert near[2, 3] > near[1, 3]


@pytest.mark.parametrize("kind", [ImagePixels, ImageHistograms])
def test_paths_pillow_images_and_arrays_are_the_same_images(kind: Any, tmp_path: Path) -> None:
    images = [picture(size, seed) for seed, size in enumerate(ODD_SIZES)]
    for place, image in enumerate(images):
        image.save(tmp_path / f"{place}.png")
    paths = [tmp_path / f"{place}.png" for place in range(3)]
    expected = kind(None).fit_transform(images)
    assert expected.dtype == np.float32
    for same in (paths, [str(path) for path in paths], [np.asarray(image) for image in images], pd.Series(paths)):
        np.testing.assert_array_equal(kind(None).fit_transform(same), expected)
    inside = kind(None, root=tmp_path).fit_transform(["0.png", "1.png", "2.png"])
    np.testing.assert_array_equal(inside, expected)


def test_pixels_are_the_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
    np.testing.assert_allclose(ImagePixels(None).fit_transform(pixels), pixels.reshape(5, -1) / np.float32(255))
    dark = np.full((2, 8, 8), 51, dtype=np.uint8)
    np.testing.assert_allclose(ImagePixels(None, size=8).fit_transform(dark), 0.2)
    fractions = np.stack([np.zeros((8, 8)), np.ones((8, 8))])
    np.testing.assert_allclose(ImagePixels(None, size=8).fit_transform(fractions)[1], 1.0)


def test_what_is_transparent_is_white() -> None:
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    np.testing.assert_allclose(ImagePixels(None, size=8).fit_transform([clear]), 1.0)


@pytest.mark.parametrize(("embedder", "least"), [(ImagePixels(), 0.95), (ImageHistograms(), 0.97)])
def test_digits_are_told_apart(embedder: Any, least: float) -> None:
    digits = load_digits()
    X = embedder.fit_transform(digits.images[:1200])
    assert X.shape[1] == embedder.n_components
    new = embedder.transform(digits.images[1200:])
    assert KNeighborsClassifier().fit(X, digits.target[:1200]).score(new, digits.target[1200:]) > least - 0.03
    again = type(embedder)().fit_transform(digits.images[:1200])
    np.testing.assert_array_equal(again, X)
    assert embedder.note.startswith(f"{embedder.n_components} principal components of ")


def test_gradients_do_not_care_how_bright_an_image_is_and_colours_do() -> None:
    rng = np.random.default_rng(0)
    plain = rng.random((32, 32, 3)) * 100.0
    bright = plain + 100.0
    a, b = ImageHistograms(None).fit_transform(np.stack([plain, bright]))
    n_gradients = 49 * 36
    np.testing.assert_allclose(a[:n_gradients], b[:n_gradients], atol=0.02)
    assert np.abs(a[n_gradients:] - b[n_gradients:]).max() > 0.05
    assert abs(np.linalg.norm(a[n_gradients:]) - 1.0) < 1e-3
    assert abs(np.linalg.norm(a[:n_gradients]) - 1.0) < 0.05


def test_a_horizontal_edge_is_counted_as_one() -> None:
    image = np.zeros((32, 32), dtype=np.uint8)
    image[16:] = 255
    (described,) = ImageHistograms(None).fit_transform([image])
    blocks = described[: 49 * 36].reshape(7, 7, 4, 9)
    by_orientation = blocks.sum(axis=(0, 1, 2))
    # The gradient points down, which is a half of the turn: orientations 4 and 5 of 9.
    assert by_orientation[[4, 5]].sum() > 0.99 * by_orientation.sum()


def test_missing_images_are_counted_and_as_far_from_the_mean_as_others(tmp_path: Path) -> None:
    images = [picture(size, seed) for seed, size in enumerate(ODD_SIZES)]
    for place, image in enumerate(images):
        image.save(tmp_path / f"{place}.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    names = ["0.png", "gone.png", "1.png", "broken.png", None, "2.png", "../outside.png"]
    with pytest.raises(ValueError, match="images must all be there; 4 images are not embedded: 1 without a path"):
        ImagePixels(None, root=tmp_path).fit_transform(names)
    embedder = ImagePixels(None, root=tmp_path, missing="fill")
    X = embedder.fit_transform(names)
    assert embedder.missing_ == {"missing": 1, "damaged": 1, "empty": 1, "outside": 1}
    whole = ImagePixels(None).fit_transform(images)
    np.testing.assert_array_equal(X[[0, 2, 5]], whole)
    radius = np.sqrt(((whole - whole.mean(axis=0)) ** 2).sum(axis=1).mean())
    new = embedder.transform(["gone.png", "1.png"])
    np.testing.assert_array_equal(new[1], whole[1])
    filled = np.vstack([X[[1, 3, 4, 6]], new[:1]]) - whole.mean(axis=0)
    np.testing.assert_allclose(np.linalg.norm(filled, axis=1), radius, rtol=1e-4)
    cosines = (filled @ filled.T)[np.triu_indices(5, 1)] / radius**2
    assert np.abs(cosines).max() < 0.2  # each in a direction of its own, those of later calls too
    np.testing.assert_array_equal(ImagePixels(None, root=tmp_path, missing="fill").fit_transform(names), X)
    with pytest.raises(ValueError, match="none of the 2 images can be read: 2 images are not embedded: 2 missing"):
        embedder.fit(["gone.png", "lost.png"])


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((4, 4)), r"images must have the shape \(n, height, width\) .*; got \(4, 4\)"),
        (np.zeros((2, 4, 4, 2)), r"with 1, 3 or 4 channels; got \(2, 4, 4, 2\)"),
        (np.zeros((0, 4, 4)), r"images must have the shape .*; got \(0, 4, 4\)"),
        (np.full((2, 4, 4), np.nan), r"images must be finite numbers"),
    ],
)
def test_arrays_that_are_no_images_are_refused(images: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImagePixels().fit(images)
    with pytest.raises(TypeError, match="images must be paths, bytes, Pillow images or arrays; got int at place 0"):
        ImagePixels().fit([3])


def test_embedders_by_name(tmp_path: Path) -> None:
    assert isinstance(as_embedder("tfidf"), TfidfText)
    assert as_embedder("tfidf:12").n_components == 12  # type: ignore[attr-defined]
    assert as_embedder("histograms:5", root=tmp_path, device="cpu").root == tmp_path
    own = TfidfText()
    assert as_embedder(own) is own
    assert as_embedder(lambda texts: [[len(text)] for text in texts]).fit_transform(["ab", "c"]).tolist() == [
        [2.0],
        [1.0],
    ]
    assert {entry.modality for entry in catalogue()} == {"text", "image", "any"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("word2vec", "embed must be one of tfidf, pixels, .*; got 'word2vec'"),
        ("tfidf:many", "tfidf: must be followed by a number of components; got 'tfidf:many'"),
        ("timm", "embed must say what timm is to load: .* as in timm:resnet18@resnet18.pt; got 'timm'"),
        ("python:json", "must be followed by module:function"),
        ("python:json:nothing", "cannot be imported: module 'json' has no attribute 'nothing'"),
        ("python:nowhere.py:embed", "cannot be imported: there is no file nowhere.py"),
    ],
)
def test_names_that_stand_for_nothing_are_refused(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_embedder(name)


@pytest.mark.parametrize("name", ["tfidf", "histograms", "python:json:dumps"])
def test_options_that_an_embedder_does_not_have_are_refused(name: str) -> None:
    general = {"batch_size": 3, "device": "cpu", "cache": False, "missing": "fill", "root": None, "progress": False}
    as_embedder(name, **general)
    with pytest.raises(ValueError, match=rf"{name.partition(':')[0]} has no option 'batchsize'; it has "):
        as_embedder(name, batchsize=3)


@pytest.mark.parametrize("kind", [ImagePixels, ImageHistograms])
def test_missing_images_are_neighbours_of_none(kind: type[ImagePixels] | type[ImageHistograms]) -> None:
    rng = np.random.default_rng(0)
    dark = np.repeat([True, False], 40)
    images: list[Any] = [
        Image.fromarray(rng.integers(0, 60, (12, 12, 3), dtype=np.uint8) + np.uint8(60 if one else 150)) for one in dark
    ]
    images[:6] = [None] * 6  # at the mean, these would be among the nearest of every other
    X = kind(missing="fill").fit_transform(images).astype(np.float64)
    distances = ((X[6:, np.newaxis] - X[np.newaxis]) ** 2).sum(axis=2)
    distances[np.arange(74), np.arange(6, 80)] = np.inf
    nearest = np.argsort(distances, axis=1)[:, :5]
    assert (nearest < 6).mean() < 0.01
    assert (dark[nearest] == dark[6:, np.newaxis]).mean() > 0.95


def test_options_reach_their_embedder() -> None:
    assert as_embedder("tfidf", characters=None).fit(["good film", "bad film"]).note.startswith("TF-IDF of words,")
    assert as_embedder("histograms:4", size=16).size == 16  # type: ignore[attr-defined]


def test_a_function_in_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def lengths(texts):\n    return [[len(text)] for text in texts]\n")
    embedder = as_embedder(f"python:{tmp_path / 'mine.py'}:lengths")
    assert embedder.fit_transform(["abc", "d"]).tolist() == [[3.0], [1.0]]
    assert embedder.note == "by lengths, a custom model"


def test_a_folder_with_the_name_of_a_package_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_such_package").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"^no-such-package is not installed; .*: pip install 'pivotal\[x\]'"):
        import_package("no-such-package", "x")


@pytest.mark.parametrize(
    ("code", "package", "extra"),
    [
        ("embed.SentenceTransformerText('x').fit()", "sentence_transformers", "text-models"),
        ("embed.SentenceTransformerText('x').fit_transform(['a'])", "sentence_transformers", "text-models"),
        ("embed.Model2VecText('x').fit_transform(['a'])", "model2vec", "model2vec"),
        ("embed.Model2VecText('x').fit()", "model2vec", "model2vec"),
        ("embed.TimmImages('resnet18').fit()", "timm", "image-models"),
        ("embed.OnnxModel(__file__)", "onnxruntime", "onnx"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(tmp_path: Path, code: str, package: str, extra: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import sys\nsys.modules['{package}'] = None\nfrom pivotal import embed\n{code}\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert f"pip install 'pivotal[{extra}]'" in done.stderr.splitlines()[-1]


def test_texts_all_alike_are_reduced_to_one_place():
    alike = TfidfText(n_components=2).fit_transform(["the same words"] * 12)
    assert np.allclose(alike, alike[0])
    assert np.isfinite(alike).all()
