"""Data sets by name, from folders of small files and from the real ones where they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import pivotal
from pivotal.research.datasets import Dataset, describe, load, names
from pivotal.research.datasets._registry import PAPER

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the data files are not here")
VARIANTS = [(entry.name, variant.name) for entry in PAPER.values() for variant in entry.variants]


def made_up(rows: int, features: int, classes: int = 2, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "X": rng.normal(size=(rows, features)).astype(np.float32),
        "y": np.arange(rows, dtype=np.int64) % classes,
    }


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("PIVOTAL_DATA", raising=False)


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "phoneme.npz", **made_up(5404, 5))
    return tmp_path


def test_the_twelve_names_are_those_of_the_paper():
    assert " ".join(names()) == ("phoneme wind cpu vehicle pol fraud 2dplanes apsfail cifar10 mnist creditcard click")
    assert set(names(bundled=True)) - set(names()) == {"iris", "wine", "breast_cancer", "digits"}


def test_a_file_is_loaded_as_it_is(folder):
    dataset = load("phoneme", data_home=folder)
    expected = made_up(5404, 5)
    assert np.array_equal(dataset.X, expected["X"])
    assert np.array_equal(dataset.y, expected["y"])
    assert (dataset.name, dataset.variant, dataset.source) == ("phoneme", "full", "file phoneme.npz")
    assert (len(dataset), dataset.n_features, dataset.n_classes) == (5404, 5, 2)
    assert repr(dataset) == (
        "Dataset(phoneme: 5404 rows, 5 features, 2 classes; file phoneme.npz, features standardised by OpenML)"
    )


def test_the_folder_can_be_named_by_a_variable(folder, monkeypatch):
    monkeypatch.setenv("PIVOTAL_DATA", str(folder))
    assert len(load("phoneme", download=False)) == 5404
    monkeypatch.setenv("PIVOTAL_DATA", str(folder / "nowhere"))
    with pytest.raises(FileNotFoundError, match="PIVOTAL_DATA must name a folder with data files; there is no folder"):
        load("phoneme")
    assert len(load("phoneme", data_home=folder)) == 5404  # the argument comes first


def test_whole_numbers_become_floats(tmp_path):
    held = made_up(5404, 5)
    np.savez(tmp_path / "phoneme.npz", X=np.rint(100 * held["X"]).astype(np.int16), y=held["y"].astype(np.uint8))
    dataset = load("phoneme", data_home=tmp_path)
    assert (dataset.X.dtype, dataset.y.dtype) == (np.float32, np.int64)


def test_a_data_set_cannot_be_changed(folder):
    dataset = load("phoneme", data_home=folder)
    for array in (dataset.X, dataset.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        dataset.name = "other"


def test_the_preferred_variant_comes_first(tmp_path):
    np.savez(tmp_path / "click_balanced_10k.npz", **made_up(10_000, 11))
    assert load("click", data_home=tmp_path).variant == "balanced_10k"
    np.savez(tmp_path / "click_40k.npz", **made_up(39_948, 11))
    dataset = load("click", data_home=tmp_path)
    assert (dataset.variant, len(dataset)) == ("40k", 39_948)
    assert "39 948-row version" in dataset.note
    assert load("click", variant="balanced_10k", data_home=tmp_path).variant == "balanced_10k"


def test_features_of_a_network_are_preferred_to_pixels(tmp_path):
    np.savez(tmp_path / "cifar10_test_resnet56.npz", **made_up(10_000, 64, 10))
    np.savez(tmp_path / "cifar10_10k.npz", X=np.zeros((10_000, 3072), np.uint8), y=np.arange(10_000) % 10)
    features, pixels = load("cifar10", data_home=tmp_path), load("cifar10", variant="10k", data_home=tmp_path)
    assert (features.variant, features.images) == ("resnet56", None)
    assert "trained on the training images" in features.note
    assert pixels.images is not None
    assert pixels.images.shape == (10_000, 32, 32, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name": "wind"},
            r"wind was not found: put wind.npz into a folder .*, or pass download=True",
        ),
        (
            {"name": "fraud"},
            r"put fraud.npz or fraud_10k.npz into a folder .*, or pass download=True",
        ),
        (
            {"name": "fraud", "variant": "10k", "download": True},  # OpenML does not have it, so it is not asked
            r"put fraud_10k.npz into a folder named by data_home= or PIVOTAL_DATA\.$",
        ),
    ],
)
def test_what_is_not_here_says_what_to_do(options, message):
    with pytest.raises(FileNotFoundError, match=message):
        load(**{"download": False, **options})


def test_a_folder_without_the_file_is_named(folder):
    with pytest.raises(FileNotFoundError, match=rf"put wind.npz into {folder}, or pass"):
        load("wind", data_home=folder, download=False)
    with pytest.raises(FileNotFoundError, match=r"data_home must name a folder .* there is no folder .*phoneme.npz"):
        load("phoneme", data_home=folder / "phoneme.npz")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("phonem", {}, r"name must be one of phoneme, .*; got 'phonem'. Did you mean 'phoneme'\?"),
        ("../phoneme", {}, r"name must be one of .*; got '../phoneme'"),
        (None, {}, r"name must be one of .*; got None\.$"),
        ("click", {"variant": "10k"}, r"variant of click must be one of full, 40k, balanced_10k; got '10k'"),
        ("digits", {"variant": "small"}, r"digits comes with scikit-learn in one form only"),
        ("wine", {"version": 1}, r"wine comes with scikit-learn in one form only"),
        ("wind", {"version": 0}, r"version must be an integer of at least 1; got version=0"),
        ("wind", {"version": 2, "variant": "full"}, r"variant and version must not both be given"),
    ],
)
def test_unknown_names_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)


def spoil(path: Path, **changed: object) -> None:
    np.savez(path, **{**made_up(5404, 5), **changed})


HELD = made_up(5404, 5)
WITH_NAN = np.where(np.arange(5404)[:, None] == 7, np.float32("nan"), HELD["X"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": WITH_NAN}, r"phoneme.npz must be finite \(no NaN, no infinity\) in X; got 5 such entries"),
        ({"X": HELD["X"][:, :4]}, r"must hold 5404 rows of 5 features in 2 classes; got 5404 rows of 4 features in 2"),
        ({"X": HELD["X"][:9], "y": HELD["y"][:9]}, r"must hold 5404 rows .*; got 9 rows of 5 features"),
        ({"y": np.arange(5404) % 3}, r"in 2 classes; got 5404 rows of 5 features in 3 classes"),
        ({"y": 1 + np.arange(5404) % 2}, r"must number its classes 0 to 1 in y; got 1 to 2"),
        ({"y": np.linspace(0, 1, 5404)}, r"must hold integers in y, the classes; got dtype float64"),
        ({"X": HELD["X"].astype(str)}, r"must hold numbers in X; got dtype <U"),
        ({"X": HELD["X"].ravel()}, r"must hold a table X and a label y per row; got shapes \(27020,\) and \(5404,\)"),
        ({"y": HELD["y"][:-1]}, r"must hold a table X and a label y per row; got shapes"),
        (
            {"X": np.array([[{}]])},
            r"phoneme.npz is not an .npz file of plain arrays, .* \(Object arrays cannot",
        ),
    ],
)
def test_a_file_must_hold_what_it_should(tmp_path, changed, message):
    spoil(tmp_path / "phoneme.npz", **changed)
    with pytest.raises(ValueError, match=message) as caught:
        load("phoneme", data_home=tmp_path)
    assert "\n" not in str(caught.value)


def test_arrays_need_their_names(tmp_path):
    np.savez(tmp_path / "phoneme.npz", features=HELD["X"], y=HELD["y"])
    with pytest.raises(ValueError, match=r"phoneme.npz must hold the arrays X and y; got features, y\."):
        load("phoneme", data_home=tmp_path)


@pytest.mark.parametrize("damage", ["cut", "bits", "text", "empty", "npy", "pickle"])
def test_a_damaged_file_is_said_to_be(folder, damage):
    path = folder / "phoneme.npz"
    whole = path.read_bytes()
    if damage == "npy":
        with path.open("wb") as file:
            np.save(file, HELD["X"])
    elif damage == "pickle":
        path.write_bytes(b"\x80\x04N.")
    else:
        bits = whole[:5000] + bytes(255 - byte for byte in whole[5000:5100]) + whole[5100:]
        path.write_bytes({"cut": whole[: len(whole) // 2], "bits": bits, "text": b"X,y\n1,2\n", "empty": b""}[damage])
    with pytest.raises(
        ValueError, match=r"phoneme.npz (is not an .npz file of plain arrays|must hold the arrays X)"
    ) as caught:
        load("phoneme", data_home=folder)
    assert "\n" not in str(caught.value)


def test_the_table_lists_every_variant(folder):
    table = describe(folder)
    assert list(zip(table["name"], table["variant"], strict=True))[: len(VARIANTS)] == VARIANTS
    phoneme = table.set_index("name").loc["phoneme"]
    assert (phoneme["rows"], phoneme["features"], phoneme["openml"], phoneme["here"]) == (5404, 5, 1489, True)
    assert table.loc[~table["kind"].isin(["bundled"]), "here"].sum() == 1
    assert set(table["kind"]) == {"full", "subset", "derived", "bundled"}
    changed = table[table["kind"].isin(["subset", "derived"])]
    assert (changed["note"] != "").all()  # what is not the original says so
    assert changed["openml"].isna().all()


def test_the_registry_keeps_to_the_table_of_the_paper():
    for entry in PAPER.values():
        full = next(variant for variant in entry.variants if variant.name == "full")
        assert entry.in_paper[1:] == (full.features, full.classes)
        if full.rows is not None and entry.name != "creditcard":
            assert full.rows == entry.in_paper[0]


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_bundled_sets_are_always_there(name):
    dataset = load(name, download=False)
    row = describe().set_index("name").loc[name]
    assert (len(dataset), dataset.n_features, dataset.n_classes) == tuple(row[["rows", "features", "classes"]])
    assert dataset.feature_names is not None
    assert len(dataset.feature_names) == dataset.n_features
    assert dataset.labels.startswith("0 = ")


def test_digits_are_images():
    digits = load("digits")
    assert digits.images is not None
    assert np.array_equal(digits.images[5].ravel(), digits.X[5])


def test_a_split_holds_out_each_class_in_proportion():
    dataset = load("breast_cancer")
    split = dataset.split(0.2, random_state=3)
    assert len(split.y_test) == round(0.2 * 569)
    assert abs(split.y_test.mean() - dataset.y.mean()) < 0.01
    assert np.allclose(split.X_train.mean(axis=0), 0)
    assert np.allclose(split.X_train.std(axis=0), 1)
    assert not np.allclose(split.X_test.mean(axis=0), 0, atol=1e-6)  # scaled by the training part, not its own
    raw = dataset.split(0.2, standardize=False, random_state=3)
    together = np.vstack([raw.X_train, raw.X_test])
    assert np.array_equal(np.sort(together, axis=0), np.sort(dataset.X, axis=0))
    scaled = (raw.X_test - raw.X_train.mean(axis=0)) / raw.X_train.std(axis=0)
    assert np.allclose(scaled, split.X_test)


def test_a_split_depends_on_its_seed_alone():
    dataset = load("wine")
    one, same, other = (dataset.split(random_state=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one.X_test, other.X_test)
    rng = np.random.default_rng(5)
    first, second = dataset.split(random_state=rng), dataset.split(random_state=rng)
    assert not np.array_equal(first.X_test, second.X_test)
    assert np.array_equal(first.X_test, dataset.split(random_state=np.random.default_rng(5)).X_test)


def test_a_split_goes_straight_into_value():
    values = pivotal.value(*load("iris").split(0.2), k=3)
    assert (len(values), values.n_queries) == (120, 30)


def test_a_class_of_one_does_not_stop_a_split():
    dataset = Dataset(np.arange(20.0).reshape(10, 2), np.array([0] * 9 + [1]), "small", "here")
    assert len(dataset.split(0.5).y_test) == 5


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan"), "half", 0.001, 0.999])
def test_a_split_needs_both_parts(share):
    with pytest.raises(ValueError, match="test_share must"):
        load("iris").split(share)


def test_a_sample_says_that_it_is_one():
    wine = load("wine")
    few = wine.sample(60, random_state=4)
    assert few.note == "60 of 178 rows, drawn at random"
    assert np.abs(np.bincount(few.y) / 60 - np.bincount(wine.y) / 178).max() < 0.02
    assert wine.sample(178) is wine
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got n=0"):
        wine.sample(0)


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"sklearn", "torch", "numba", "matplotlib"}
    code = f"import sys, pivotal; pivotal.datasets; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@needs_shared
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_the_real_files_are_what_the_registry_says(name, variant):
    row = describe(SHARED).set_index(["name", "variant"]).loc[(name, variant)]
    if not row["here"]:
        pytest.skip(f"{row['file']} is not here")
    dataset = load(name, variant=variant, data_home=SHARED)
    assert dataset.n_features == row["features"]
    assert np.isfinite(dataset.sample(500).split().X_train).all()


@needs_shared
@pytest.mark.parametrize(("name", "accuracy"), [("phoneme", 0.87), ("wind", 0.86), ("cpu", 0.92), ("fraud", 0.99)])
def test_the_labels_of_the_real_files_can_be_learned(name, accuracy):
    X_train, y_train, X_test, y_test = load(name, data_home=SHARED).split()
    assert KNeighborsClassifier().fit(X_train, y_train).score(X_test, y_test) == pytest.approx(accuracy, abs=0.04)


@needs_shared
def test_no_table_is_needed_to_see_what_is_a_stand_in():
    table = describe(SHARED)
    here = table[table["here"] & (table["kind"] != "bundled")]
    assert isinstance(here, pd.DataFrame)
    assert len(here) == 14
    assert set(here["name"]) == set(names())
