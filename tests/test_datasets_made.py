"""Data that is made, and labels that are harmed: the same for the same seed, and as described."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import pivotal
from pivotal.research.datasets import flip_labels, illustration, imbalance, synthetic, two_d_planes
from pivotal.research.datasets._synthetic import _CHUNK

K = 5
SEEDS = range(8)


def test_synthetic_points_are_gaussian_and_their_classes_flat():
    dataset = synthetic(20_000, n_features=4, noise=0.0, random_state=1)
    assert dataset.X.dtype == np.float32
    assert abs(dataset.X.mean(axis=0)).max() < 0.05
    assert abs(np.cov(dataset.X.T) - np.eye(4)).max() < 0.05
    assert (synthetic(10).n_features, dataset.n_classes) == (32, 2)
    normal = dataset.X[dataset.y == 1].mean(axis=0)
    side = dataset.X @ normal > 0
    assert (side == (dataset.y == 1)).mean() > 0.98


def test_noise_moves_its_share_of_labels():
    clean, noisy = (synthetic(20_000, 3, 4, noise=noise, random_state=2) for noise in (0.0, 0.2))
    assert np.array_equal(clean.X, noisy.X)
    moved = clean.y != noisy.y
    assert moved.mean() == pytest.approx(0.2, abs=0.01)
    shifts = np.bincount((noisy.y - clean.y)[moved] % 4, minlength=4)[1:] / moved.sum()
    assert abs(shifts - 1 / 3).max() < 0.03
    assert noisy.note == "20% of the labels moved to another class"
    assert (synthetic(500, 3, 4, noise=1.0).y != synthetic(500, 3, 4, noise=0.0).y).all()


@pytest.mark.parametrize("n", [1, 1000, _CHUNK - 1, _CHUNK, _CHUNK + 1])
def test_the_first_points_do_not_depend_on_how_many_follow(n):
    more, fewer = synthetic(_CHUNK + 2, 3, 3, random_state=3), synthetic(n, 3, 3, random_state=3)
    assert np.array_equal(more.X[:n], fewer.X)
    assert np.array_equal(more.y[:n], fewer.y)


def test_synthetic_points_depend_on_their_seed():
    assert not np.array_equal(synthetic(10, random_state=0).X, synthetic(10, random_state=1).X)
    rng = np.random.default_rng(0)
    first, second = synthetic(10, random_state=rng), synthetic(10, random_state=rng)
    assert not np.array_equal(first.X, second.X)
    assert np.array_equal(first.X, synthetic(10, random_state=np.random.default_rng(0)).X)
    assert not np.array_equal(synthetic(10, random_state=None).X, synthetic(10, random_state=None).X)


def test_points_on_disk_are_the_points_in_memory(tmp_path):
    path = tmp_path / "points.npy"
    there, here = synthetic(_CHUNK + 100, 3, out=path), synthetic(_CHUNK + 100, 3)
    assert isinstance(there.X, np.memmap)
    assert np.array_equal(there.X, here.X)
    assert np.array_equal(there.y, here.y)
    assert [file.name for file in tmp_path.iterdir()] == ["points.npy"]
    values = pivotal.value(path, there.y, here.X[:3], here.y[:3], k=3)
    assert len(values) == _CHUNK + 100


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    code = (
        "import resource, sys; from pivotal.research.datasets import synthetic;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20));"
        "synthetic(200_000, out=sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "points.npy")], capture_output=True, text=True, timeout=120
    )
    last = done.stderr.splitlines()[-1]
    assert last == f"OSError: cannot write {tmp_path / 'points.npy'}: File too large; the file was left as it was."
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n": 0}, ValueError, "n must be an integer of at least 1; got n=0"),
        ({"n": 10.5}, ValueError, "n must be an integer of at least 1; got n=10.5"),
        ({"n_features": 0}, ValueError, "n_features must be an integer of at least 1"),
        ({"n_classes": 1}, ValueError, "n_classes must be an integer of at least 2; got n_classes=1"),
        ({"noise": 1.5}, ValueError, r"noise must lie in \[0, 1\]; got 1.5"),
        (
            {"random_state": -1},
            ValueError,
            "random_state must be an integer of at least 0, .*; got -1",
        ),
        ({"out": "points.npz"}, ValueError, "out must name a file that ends in .npy; got points.npz"),
        ({"out": "no/such/points.npy"}, FileNotFoundError, "the directory .* does not exist; create it first"),
    ],
)
def test_synthetic_refuses_nonsense(options, error, message):
    with pytest.raises(error, match=message):
        synthetic(**{"n": 10, **options})


def test_planes_follow_their_recipe():
    dataset = two_d_planes(60_000, random_state=1)
    assert dataset.variant == "regenerated"
    assert set(np.unique(dataset.X[:, 0])) == {-1, 1}
    assert set(np.unique(dataset.X[:, 1:])) == {-1, 0, 1}
    for column in range(1, 10):
        assert abs(np.bincount(dataset.X[:, column].astype(int) + 1) / 60_000 - 1 / 3).max() < 0.01
    # Where the noise cannot reach, the label is known: Y = 3 + 3 + 2 + 1 + e is not below 0, nor -9 + e above.
    x = dataset.X
    high = (x[:, 0] == 1) & (x[:, 1] == 1) & (x[:, 2] == 1) & (x[:, 3] == 1)
    low = (x[:, 0] == -1) & (x[:, 4] == -1) & (x[:, 5] == -1) & (x[:, 6] == -1)
    assert high.sum() > 500
    assert low.sum() > 500
    assert (dataset.y[high] == 0).all()
    assert (dataset.y[low] == 1).all()
    assert np.array_equal(two_d_planes(100, random_state=1).y, two_d_planes(100, random_state=1).y)
    with pytest.raises(ValueError, match="n must be an integer of at least 2; got n=1"):
        two_d_planes(1)


def loo(picture, query):
    return pivotal.value(picture.X, picture.y, *picture.query(query), k=K, semivalue="loo").values


def game(picture, query, semivalue):
    return pivotal.value(picture.X, picture.y, *picture.query(query), k=K, semivalue=semivalue).values


@pytest.mark.parametrize("seed", SEEDS)
def test_the_illustration_shows_what_the_paper_says(seed):
    picture = illustration(random_state=seed)
    twice = illustration(duplicate=True, random_state=seed)
    noisy = illustration(noise=160, random_state=seed)
    data = noisy.rows("data")

    assert np.count_nonzero(loo(picture, "boundary")) == 3
    assert not loo(twice, "boundary").any()
    banzhaf, shapley = (game(picture, "boundary", name) for name in ("banzhaf", "shapley"))
    duplicated = game(twice, "boundary", "banzhaf")[: len(banzhaf)]
    strong = abs(banzhaf) > 1e-3
    assert (abs(duplicated[strong]) > 1e-9).mean() > 0.5  # most stay informative
    assert (abs(banzhaf) < 1e-6).sum() > 2 * (abs(shapley) < 1e-6).sum() + 20  # sparser
    assert abs(game(picture, "far", "banzhaf")).max() < 1e-6
    assert abs(game(picture, "far", "shapley")).max() > 1e-3

    with_noise = game(noisy, "boundary", "banzhaf")
    assert abs(with_noise[noisy.rows("noise")]).max() < 1e-12
    assert abs(with_noise[data] - banzhaf).max() < 1e-12
    assert game(noisy, "boundary", "shapley")[data].sum() < 0.75 * shapley.sum()


def test_the_parts_of_the_illustration_have_names():
    picture = illustration(40, noise=30, duplicate=True, random_state=9)
    assert repr(picture) == "Illustration(40 data, 30 noise, 40 copy; queries boundary and far)"
    assert np.array_equal(picture.X[picture.rows("copy")], picture.X[picture.rows("data")])
    assert np.array_equal(picture.y[picture.rows("copy")], picture.y[picture.rows("data")])
    assert np.array_equal(picture.X[picture.rows("data")], illustration(40, random_state=9).X)
    noise = picture.rows("noise")
    assert np.bincount(picture.y[noise]).tolist() == [15, 15]
    corner = picture.X[noise]
    assert (corner[:, 0] < 0).all()
    assert (corner[:, 1] > picture.X[picture.rows("data"), 1].max() - 2).all()
    for name in ("boundary", "far"):
        X_test, y_test = picture.query(name)
        assert (X_test.shape, y_test.tolist()) == ((1, 2), [1])
        away = np.linalg.norm(picture.X - X_test, axis=1)
        assert away[noise].min() > away[picture.rows("data")].max()


def test_unknown_parts_are_refused():
    picture = illustration(20)
    assert len(picture.rows("noise")) == 0
    with pytest.raises(ValueError, match="part must be data, noise or copy; got 'dust'"):
        picture.rows("dust")
    with pytest.raises(ValueError, match="name must be boundary or far; got 'near'"):
        picture.query("near")
    with pytest.raises(ValueError, match="n must be an integer of at least 20; got n=19"):
        illustration(19)
    with pytest.raises(ValueError, match="noise must be an integer of at least 0; got noise=-1"):
        illustration(noise=-1)


labelled = st.lists(st.sampled_from("abcd"), min_size=2, max_size=40).filter(lambda labels: len(set(labels)) > 1)


@given(labels=labelled, share=st.floats(0, 1), per_class=st.booleans(), seed=st.integers(0, 99))
def test_flips_are_as_many_as_asked_for_and_always_wrong(labels, share, per_class, seed):
    before = list(labels)
    noisy, flipped = flip_labels(labels, share, per_class=per_class, random_state=seed)
    truth = np.array(labels, dtype=object)
    assert labels == before
    assert np.array_equal(noisy != truth, flipped)
    assert set(noisy) <= set(truth)
    if per_class:
        for label in set(labels):
            assert flipped[truth == label].sum() == round(share * labels.count(label))
    else:
        assert flipped.sum() == (max(1, round(share * len(labels))) if share > 0 else 0)
    again, _ = flip_labels(labels, share, per_class=per_class, random_state=seed)
    assert np.array_equal(noisy, again)


def test_flips_reach_every_other_class_alike():
    noisy, flipped = flip_labels(np.repeat([0, 1, 2, 3], 3000), 1.0)
    assert flipped.all()
    table = pd.crosstab(np.repeat([0, 1, 2, 3], 3000), noisy).to_numpy()
    assert np.diag(table).tolist() == [0, 0, 0, 0]
    assert abs(table[~np.eye(4, dtype=bool)] - 1000).max() < 120


def test_flips_can_go_one_way():
    y = np.repeat(["cat", "dog", "fox"], 100)
    noisy, flipped = flip_labels(y, 0.2, to={"cat": "dog", "dog": ["cat", "fox"]})
    assert flipped.sum() == 60
    assert not flipped[200:].any()
    assert set(noisy[:100][flipped[:100]]) == {"dog"}
    assert set(noisy[100:200][flipped[100:200]]) == {"cat", "fox"}
    assert noisy.dtype == y.dtype


def test_classes_can_have_shares_of_their_own():
    y = np.repeat([0, 1, 2], 100)
    _, flipped = flip_labels(y, {0: 0.3, 2: 1.0})
    assert [int(flipped[y == label].sum()) for label in range(3)] == [30, 0, 100]
    _, flipped = flip_labels(y, {0: 0.3, 2: 1.0}, to={0: 1})
    assert [int(flipped[y == label].sum()) for label in range(3)] == [30, 0, 0]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1, 1, 1], {}, "y must hold at least two classes, or there is nothing to flip to; got one"),
        ([], {}, "y must hold at least one label; got none"),
        ([0, 1], {"share": 1.1}, r"share must lie in \[0, 1\]; got 1.1"),
        ([0, 1], {"share": float("nan")}, r"share must lie in \[0, 1\]; got nan"),
        ([0, 1], {"share": {2: 0.1}}, r"share must name classes that occur in y \(0, 1\); got 2"),
        ([0, 1], {"share": {1: 2}}, r"share must lie in \[0, 1\]; got 2"),
        ([0, 1], {"to": {0: 7}}, r"to must name classes that occur in y \(0, 1\); got 7"),
        ([0, 1], {"to": {0: 0}}, "to must send each class to another; got 0 for 0"),
        ([0, 1, 1, 1], {"share": 0.5, "to": {0: 1}}, r"share must not exceed .* 1 of 4; got share=0.5"),
        ([0.5, 1], {}, "y must hold class labels"),
        (
            [0, 1],
            {"random_state": "dice"},
            "random_state must be an integer of at least 0, a numpy Generator or None; got 'dice'",
        ),
    ],
)
def test_flips_refuse_nonsense(y, options, message):
    with pytest.raises(ValueError, match=message):
        flip_labels(y, **options)


@given(
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=4),
    ratio=st.floats(0.01, 1),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_imbalance_reaches_its_ratio(sizes, ratio, seed, data):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = np.arange(len(y))[:, np.newaxis]
    minority = data.draw(st.none() | st.integers(0, len(sizes) - 1))
    X_few, y_few, rows = imbalance(X, y, ratio, minority=minority, random_state=seed)
    assert np.array_equal(X_few, X[rows])
    assert np.array_equal(y_few, y[rows])
    assert (np.diff(rows) > 0).all()
    left = np.bincount(y_few, minlength=len(sizes))
    rare = int(np.argmin(sizes)) if minority is None else minority
    most = np.delete(left, rare).max()
    assert left.min() >= 1
    # To the nearest point on the side that was cut.
    assert (
        abs(left[rare] - ratio * most) <= 0.5 + 1e-9 or abs(left[rare] / ratio - most) <= 0.5 + 1e-9 or left[rare] == 1
    )
    # Never both sides at once: one of the two is whole.
    assert left[rare] == sizes[rare] or most == max(np.delete(sizes, rare))


def test_imbalance_takes_frames_and_sparse_matrices():
    y = np.repeat(["a", "b"], 20)
    table = np.arange(80.0).reshape(40, 2)
    _, _, rows = imbalance(table, y, 0.1, minority="b", random_state=1)
    frame, labels, same = imbalance(pd.DataFrame(table), y, 0.1, minority="b", random_state=1)
    assert np.array_equal(same, rows)
    assert frame.index.tolist() == rows.tolist()
    assert (labels == "b").sum() == 2
    few, _, _ = imbalance(sparse.csr_array(table), y, 0.1, minority="b", random_state=1)
    assert np.array_equal(few.toarray(), table[rows])
    assert imbalance(table.tolist(), y, 0.1)[0].shape == (22, 2)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1], {"ratio": 0}, "ratio must be more than 0 and at most 1; got ratio=0"),
        ([0, 1], {"ratio": 2}, r"ratio must lie in \[0, 1\]; got 2"),
        ([0, 0], {"ratio": 0.5}, "y must hold at least two classes to be out of balance; got one"),
        ([0, 1], {"ratio": 0.5, "minority": 5}, r"minority must name classes that occur in y \(0, 1\); got 5"),
        ([0, 1, 1], {"ratio": 0.5}, "X and y must have the same length; got 2 rows and 3 labels"),
    ],
)
def test_imbalance_refuses_nonsense(y, options, message):
    with pytest.raises(ValueError, match=message):
        imbalance(np.eye(2), y, **options)
