"""How many labels are wrong: the interval holds what was planted, chances sum to it, and tables add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from sklearn.datasets import load_iris, make_blobs, make_classification, make_gaussian_quantiles, make_moons
from sklearn.preprocessing import scale

from pivotal.analysis.label_errors import ErrorCount, LabelErrors, find_label_errors
from pivotal.analysis.label_errors._counts import chances_that_sum, count_errors, error_chances, sum_of_counts


def made(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Data that no constant was fitted to; the form of the rule was chosen with a look at them."""
    if name == "iris":
        X, y = load_iris(return_X_y=True)
    elif name == "moons":
        X, y = make_moons(400, noise=0.25, random_state=seed)
    elif name == "blobs":
        X, y = make_blobs(400, centers=5, cluster_std=2.0, random_state=seed)
    elif name == "quantiles":
        X, y = make_gaussian_quantiles(n_samples=400, n_features=4, n_classes=3, random_state=seed)
    else:
        X, y = make_classification(
            400, 12, n_informative=5, n_classes=2, class_sep=1.0, flip_y=0.0, weights=[0.75], random_state=seed
        )
    return scale(X), y


def planted(y: np.ndarray, share: float, kind: str, rng: np.random.Generator) -> np.ndarray:
    wrong = rng.choice(len(y), round(share * len(y)), replace=False)
    noisy, n_classes = y.copy(), int(y.max()) + 1
    step = 1 if kind == "one" else rng.integers(1, n_classes, len(wrong))
    noisy[wrong] = (y[wrong] + step) % n_classes
    return noisy


@pytest.fixture(scope="module")
def studied() -> list[tuple[LabelErrors, np.ndarray]]:
    """Label errors of many data sets, and which labels are wrong."""
    found = []
    for seed, name in enumerate(("iris", "moons", "blobs", "quantiles", "classes")):
        X, y = made(name, seed)
        for share in (0.03, 0.1, 0.2):
            for kind in ("any", "one"):
                noisy = planted(y, share, kind, np.random.default_rng(seed))
                found.append((find_label_errors(X, noisy, n_trees=30), noisy != y))
    return found


def test_the_interval_holds_what_was_planted_nine_times_in_ten(studied: Any) -> None:
    inside = [errors.n_wrong.low <= wrong.sum() <= errors.n_wrong.high for errors, wrong in studied]
    assert np.mean(inside) >= 0.85  # of 30; 24 of 30 have a chance of 7 % where 9 in 10 is the truth
    ratios = [errors.n_wrong.count / wrong.sum() for errors, wrong in studied]
    assert 0.8 < np.exp(np.mean(np.log(ratios))) < 1.25


def test_of_clean_labels_nearly_none_are_said_to_be_wrong() -> None:
    shares = []
    for seed, name in enumerate(("iris", "moons", "quantiles", "classes")):  # of blobs, two classes are one
        X, y = made(name, seed)
        n_wrong = find_label_errors(X, y, n_trees=30).n_wrong
        shares.append(n_wrong.count / len(y))
        assert n_wrong.low < 0.02 * len(y)
    assert np.mean(shares) < 0.02


def test_chances_are_shares_of_wrong_labels(studied: Any) -> None:
    """Of labels that are said to be wrong with a chance, about such a share is; over all tasks, in five bins."""
    chances = np.concatenate([errors.error_chances for errors, _ in studied])
    wrong = np.concatenate([wrong for _, wrong in studied])
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 1.01)):
        some = (chances >= low) & (chances < high)
        assert some.sum() > 50
        assert float(wrong[some].mean()) == pytest.approx(float(chances[some].mean()), abs=0.12)


def test_the_interval_is_narrow_where_classes_are_far_apart_and_open_where_they_are_not() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    noisy = planted(y, 0.1, "any", rng)
    apart, mixed = (
        find_label_errors(rng.normal(size=(400, 3)) + gap * y[:, np.newaxis], noisy, n_trees=20).n_wrong
        for gap in (6.0, 0.5)
    )
    assert apart.low <= 40 <= apart.high
    assert not apart.upper_bound_only
    # Chance at 40 wrong labels, 1.5 / sqrt(41) either way, and 10 % make a factor of 1.95. The rest is at the lower
    # end: that one label in ten disagrees may also mean that it is rare, and a narrower interval would deny it.
    assert apart.high / apart.low < 3.0
    assert mixed.upper_bound_only
    assert mixed.low == 0.0
    assert mixed.high >= 40


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_that_features_do_not_predict_are_not_counted_as_wrong(noise: float, seed: int) -> None:
    """Labels by chance, and rare ones: nothing says how many are wrong, and the sentence says so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    for rarity in (0.5, 0.1):
        y = (rng.random(400) < rarity).astype(int)
        errors = find_label_errors(X, planted(y, noise, "any", rng), n_trees=20)
        assert errors.n_wrong.upper_bound_only
        assert errors.n_wrong.low == 0.0 <= noise * 400 <= errors.n_wrong.high
        assert str(errors.n_wrong) == f"at most {np.ceil(errors.n_wrong.high):.0f}"
        sentence = errors.n_wrong.sentence
        assert sentence.startswith(f"{errors.n_wrong} are wrong: features hardly predict the labels")
        assert f"at most {np.ceil(errors.n_wrong.high):.0f} wrong" in repr(errors)
        assert (errors.by_group(np.arange(400) % 3)["low"] == 0.0).all()


def test_a_part_without_disagreement_bounds_the_estimate() -> None:
    """Half of the rows are never outvoted: whatever the other half does, few labels are wrong."""
    rng = np.random.default_rng(0)
    own = np.concatenate([rng.uniform(0.97, 1.0, 200), rng.uniform(0.2, 0.96, 200)])
    codes = np.repeat([0, 1], 200).astype(np.int32)
    predicted = np.where(own < 0.5, 1 - codes, codes).astype(np.int32)
    counted = count_errors(own, 1.0 - own, codes, predicted)
    limit = float(beta.ppf(0.9, 1, 200)) * 400  # none of the 200 surest, by Clopper and Pearson
    assert counted.count <= limit + 1e-9
    assert counted.low == 0.0
    assert counted.high >= counted.count


def test_the_expected_precision_is_near_the_true_one(studied: Any) -> None:
    expected = np.array([errors.precision(int(wrong.sum())) for errors, wrong in studied])
    true = np.array([wrong[errors.order[: wrong.sum()]].mean() for errors, wrong in studied])
    assert abs(float((expected - true).mean())) < 0.08
    assert float(np.abs(expected - true).mean()) < 0.2


def test_chances_sum_to_the_estimate_and_rise_with_suspicion(studied: Any) -> None:
    for errors, _ in studied[::5]:
        assert errors.error_chances.sum() == pytest.approx(errors.n_wrong.count)
        assert errors.precision() == pytest.approx(float(errors.error_chances[errors.suspects].mean()))
        if errors.settings["n_classes"] == 2:
            assert (np.diff(errors.error_chances[errors.order]) <= 1e-12).all()


def test_tables_add_up_to_the_estimate(studied: Any) -> None:
    errors, _ = studied[12]
    total = errors.n_wrong.count
    by_class, confusion = errors.by_class(), errors.confusion()
    assert by_class["wrong"].sum() == pytest.approx(total)
    assert by_class["suspects"].sum() == errors.suspects.size
    assert by_class["rows"].sum() == errors.scores.size
    assert confusion.to_numpy().sum() == pytest.approx(total)
    assert np.diag(confusion).tolist() == [0.0] * len(confusion)
    assert confusion.sum(axis=1).loc[by_class.index].tolist() == pytest.approx(by_class["wrong"].tolist())
    assert (by_class["low"] <= by_class["wrong"]).all()
    assert (by_class["wrong"] <= by_class["high"]).all()


def test_the_confusion_table_knows_which_class_is_taken_for_which() -> None:
    X, y = made("blobs", 3)
    X = X + 2.0 * scale(make_blobs(5, random_state=1)[0])[y]
    noisy = planted(y, 0.15, "one", np.random.default_rng(0))
    confusion = find_label_errors(X, noisy, n_trees=30).confusion()
    for label in range(5):
        assert int(confusion.loc[label].idxmax()) == (label - 1) % 5


def test_a_careless_annotator_is_found() -> None:
    who = np.array(["ann", "bob", "eve", None], dtype=object)[np.arange(400) % 4]
    inside, others, ratios = [], [], []
    for seed in range(12):
        X, y = made("moons", seed)
        noisy = np.where((who == "eve") & (np.random.default_rng(seed).random(400) < 0.4), 1 - y, y)
        errors = find_label_errors(X, noisy, n_trees=30)
        table = errors.by_group(who)
        assert table.index[0] == "eve"
        assert len(table) == 4  # rows without a name are a group
        assert table["wrong"].sum() == pytest.approx(errors.n_wrong.count)
        assert table.loc["eve", "share"] > 5 * table.loc["ann", "share"]
        true = int((noisy != y).sum())
        inside.append(table.loc["eve", "low"] <= true <= table.loc["eve", "high"])
        others += [table.loc[name, "low"] < 0.5 for name in ("ann", "bob")]
        ratios.append(table.loc["eve", "wrong"] / true)
    assert sum(inside) >= 9  # 9 of 12 or more have a chance of 97 % where 9 in 10 is the truth
    assert np.mean(others) >= 0.8
    assert 0.85 < np.exp(np.mean(np.log(ratios))) < 1.15


def test_groups_that_err_alike_are_counted_alike() -> None:
    X, y = made("moons", 0)
    errors = find_label_errors(X, planted(y, 0.1, "any", np.random.default_rng(0)), n_trees=30)
    table = errors.by_group(np.arange(400) % 4)
    assert table["wrong"].max() < 3 * table["wrong"].min()
    assert table["wrong"].sum() == pytest.approx(errors.n_wrong.count)
    one = errors.by_group(np.zeros(400))
    assert one.loc[0.0, "wrong"] == pytest.approx(errors.n_wrong.count)


@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 99))
def test_chances_can_sum_to_anything(n: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = rng.random(n)
    chances = error_chances(own, 1.0 - own, share * n)
    assert float(chances.sum()) == pytest.approx(share * n, abs=1e-6)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert np.array_equal(chances_that_sum(rng.normal(size=n), 0.0), np.zeros(n))


def test_counts_by_hand() -> None:
    own = np.array([0.9, 0.9, 0.8, 0.1, 0.7, 0.6, 0.4, 0.95])
    given = np.zeros(8, np.int32)
    predicted = np.array([0, 0, 0, 1, 0, 0, 1, 0], np.int32)
    counted = count_errors(own, 1.0 - own, given, predicted)
    # The surest half, shares of 0.95, 0.9, 0.9 and 0.9: one of four is outvoted. By far: one of two outvoted.
    # Votes and labels agree in 6 of 8, and would by chance: kappa is 0.
    # At that, nothing is known but how many are wrong at most.
    assert counted.count == pytest.approx(8 * (1 / 4 + 1 / 16) * (1.5 / 2.5) ** 0.4 * np.exp(0.3 - 0.5))
    assert counted.low == 0.0 < counted.count < counted.high <= 8
    assert counted.upper_bound_only
    nothing = count_errors(np.ones(4), np.zeros(4), given[:4], given[:4])
    assert (nothing.count, nothing.low, nothing.high) == (0.0, 0.0, 0.0)
    assert str(ErrorCount(661.4, 589.6, 730.2)) == "661 (590 to 730)"
    few, bound = ErrorCount(1.0, 0.5, 2.0), ErrorCount(2.0, 0.0, 3.0, upper_bound_only=True)
    assert sum_of_counts([few, few, few]) == ErrorCount(3.0, 1.5, 6.0)
    assert sum_of_counts([few, bound]) == ErrorCount(3.0, 0.5, 5.0, upper_bound_only=True)
    assert sum_of_counts([few, few, few, bound]) == ErrorCount(5.0, 1.5, 9.0)


def test_what_cannot_be_counted_is_refused() -> None:
    errors = find_label_errors([[0.0], [0.1], [0.2], [5.0]], ["a", "a", "b", "b"], k=1, n_trees=0)
    with pytest.raises(ValueError, match=r"m must be an integer from 0 to 4, the number of rows; got 5"):
        errors.precision(5)
    with pytest.raises(ValueError, match=r"groups must name one for each of the 4 rows .* got shape \(2,\)"):
        errors.by_group(["x", "y"])
    assert np.isnan(errors.precision(0))
