"""Features of images: by a real ResNet where torchvision is installed, else by pixels, and named as what they are."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pivotal.datasets import image_features, load


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def some_images(shape=(6, 20, 16, 3), seed=0):
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


def test_without_weights_the_pixels_are_the_features(digits):
    result = image_features(digits.images)
    assert result.kind == "pixels"
    assert "for want of weights" in result.note
    assert result.features.dtype == np.float32
    assert np.allclose(result.features, digits.X / 16)


def test_bytes_keep_their_scale_whatever_they_hold():
    dark = np.full((2, 4, 4), 51, dtype=np.uint8)
    assert np.allclose(image_features(dark).features, 0.2)
    assert np.allclose(image_features(dark.astype(float)).features, 0.0)  # nothing says what is white
    assert np.allclose(image_features(np.where(np.eye(4), 255.0, 51.0)[np.newaxis]).features.min(), 0.2)


def test_principal_components_keep_what_tells_digits_apart(digits):
    result = image_features(digits.images, fallback="pca", n_components=20)
    assert (result.kind, result.features.shape) == ("pca", (1797, 20))
    assert result.note.startswith("20 principal components of the pixels, 8")
    score = KNeighborsClassifier().fit(result.features[:1200], digits.y[:1200]).score
    assert score(result.features[1200:], digits.y[1200:]) > 0.9
    assert np.array_equal(image_features(digits.images, fallback="pca", n_components=20).features, result.features)


def test_there_are_no_more_components_than_images_or_pixels():
    assert image_features(some_images((6, 5, 5)), fallback="pca").features.shape == (6, 6)
    assert image_features(some_images((50, 2, 2)), fallback="pca").features.shape == (50, 4)
    assert image_features(some_images((40, 40, 40)), fallback="pca", n_components=8).features.shape == (40, 8)


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((4, 4)), {}, r"images must have the shape \(n, height, width\) .*; got \(4, 4\)"),
        (np.zeros((2, 3, 4, 4)), {}, r"with 1 or 3 channels; got \(2, 3, 4, 4\)"),
        (np.zeros((0, 4, 4)), {}, r"images must have the shape .*; got \(0, 4, 4\)"),
        (np.full((2, 4, 4), np.nan), {}, r"images must be finite \(no NaN, no infinity\); got 32 such entries"),
        (np.array([["a.png"]]), {}, r"images must hold numbers; got dtype <U5. Read image files into an array first"),
        (np.zeros((2, 4, 4)), {"model": "vgg16"}, "model must name a ResNet of torchvision such as resnet18; got 'vgg"),
        (np.zeros((2, 4, 4)), {"model": None}, "model must name a ResNet of torchvision such as resnet18; got None"),
        (np.zeros((2, 4, 4)), {"fallback": "guess"}, "fallback must be pixels or pca; got 'guess'"),
        (np.zeros((2, 4, 4)), {"batch_size": 0}, "batch_size must be a whole number of at least 1; got batch_size=0"),
        (np.zeros((2, 4, 4)), {"size": 8}, "size must be a whole number of at least 32; got size=8"),
        (np.zeros((2, 4, 4)), {"n_components": 0}, "n_components must be a whole number of at least 1"),
    ],
)
def test_nonsense_is_refused(images, options, message):
    with pytest.raises(ValueError, match=message):
        image_features(images, **options)


def test_a_network_without_torch_says_what_to_install():
    code = (
        "import sys; sys.modules['torch'] = None; import numpy; from pivotal.datasets import image_features;"
        "image_features(numpy.zeros((2, 8, 8)), weights='resnet18.pt')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: features of a resnet18 need torch and torchvision; "
        "install them with: pip install 'pivotal[images]'"
    )


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("torchvision", reason="torchvision is not installed")
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def weights(torch, tmp_path_factory):
    """Random weights in a file, and the network that they belong to."""
    from torchvision import models

    torch.manual_seed(0)
    network = models.resnet18(weights=None).eval()
    path = tmp_path_factory.mktemp("weights") / "resnet18.pt"
    torch.save(network.state_dict(), path)
    return path, network


def test_features_come_from_the_layer_before_the_last(torch, weights):
    path, network = weights
    result = image_features(some_images(), weights=path, size=64, batch_size=4)
    assert (result.kind, result.features.shape) == ("resnet18", (6, 512))
    assert result.note == "last layer but one of a resnet18 with the weights in resnet18.pt"
    assert result.features.std() > 0
    images = torch.from_numpy(some_images()).permute(0, 3, 1, 2).float() / 255
    images = torch.nn.functional.interpolate(images, (64, 64), mode="bilinear", antialias=True)
    mean, spread = (torch.tensor(three).view(1, 3, 1, 1) for three in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    with torch.inference_mode():
        logits = network((images - mean) / spread)
        ours = network.fc(torch.from_numpy(result.features))
    assert torch.allclose(ours, logits, atol=1e-4)


def test_features_do_not_depend_on_the_batches(weights):
    one, many = (image_features(some_images(), weights=weights[0], size=32, batch_size=b).features for b in (1, 6))
    assert np.allclose(one, many, atol=1e-5)


def test_grey_images_are_shown_in_all_channels(weights):
    grey = some_images((3, 32, 32))
    colour = np.repeat(grey[..., np.newaxis], 3, axis=-1)
    one, same = (image_features(images, weights=weights[0], size=32).features for images in (grey, colour))
    assert np.allclose(one, same, atol=1e-6)


def test_weights_of_several_cards_and_of_other_classes_fit(torch, weights, tmp_path):
    path, network = weights
    state = {f"module.{name}": tensor for name, tensor in network.state_dict().items()}
    state["module.fc.weight"], state["module.fc.bias"] = torch.zeros(7, 512), torch.zeros(7)
    torch.save({"state_dict": state, "epoch": 3}, tmp_path / "other.pt")
    one, same = (image_features(some_images(), weights=p, size=32).features for p in (path, tmp_path / "other.pt"))
    assert np.array_equal(one, same)


def test_weights_must_be_there_and_fit(torch, weights, tmp_path):
    path, _ = weights
    with pytest.raises(
        FileNotFoundError, match=r"weights must name a file with the weights of a resnet18; there is no"
    ):
        image_features(some_images(), weights=tmp_path / "none.pt")
    with pytest.raises(ValueError, match=r"resnet18.pt must hold the weights of a resnet34, all of them"):
        image_features(some_images(), model="resnet34", weights=path)
    with pytest.raises(ValueError, match=r"model must name a ResNet of torchvision such as resnet18; got 'resnet19'"):
        image_features(some_images(), model="resnet19", weights=path)
    for content in (b"", b"not weights", path.read_bytes()[:1000]):
        (tmp_path / "bad.pt").write_bytes(content)
        with pytest.raises(ValueError, match=r"bad.pt holds no weights that torch can read safely") as caught:
            image_features(some_images(), weights=tmp_path / "bad.pt")
        assert "\n" not in str(caught.value)
    for held in ([1, 2], {"conv1.weight": 3}, {}):
        torch.save(held, tmp_path / "bad.pt")
        with pytest.raises(ValueError, match=r"bad.pt must hold the weights of a resnet18"):
            image_features(some_images(), weights=tmp_path / "bad.pt")


def test_weights_that_would_run_code_are_refused(torch, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    torch.save({"conv1.weight": Trap()}, tmp_path / "trap.pt")
    with pytest.raises(ValueError, match=r"trap.pt holds no weights that torch can read safely"):
        image_features(some_images(), weights=tmp_path / "trap.pt")
    assert not (tmp_path / "sprung").exists()
