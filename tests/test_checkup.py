"""The check-up: planted faults are found and little else, sentences count right, and conditions fail as they say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import scale

import pivotal
from pivotal.analysis.checkup import KINDS, CheckUp
from pivotal.analysis.checkup._nearest_rows import vote
from pivotal.analysis.checkup._row_order import _closeness
from pivotal.neighbors import KeptLists, as_index

QUICK = ("label_errors", "weak_groups")


def blobs(n: int = 400, d: int = 6, seed: int = 0, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Classes around centres, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((classes, d))[y], y


def test_clean_data_have_no_findings_about_rows():
    """Nothing is planted, so nothing that rests on a test or a fence may fire, in any dimension."""
    for seed, d in enumerate((1, 2, 5, 20)):
        X, y = blobs(500, d, seed)
        found = pivotal.check(X, y, skip=["label_errors", "no_value", "weak_groups", "harmful"])
        assert [finding.name for finding in found.present if finding.name != "outliers"] == []
        assert len(found["outliers"]) <= 10


def test_fifty_contradicting_pairs_are_found():
    X, _ = blobs(50)
    found = pivotal.check(np.repeat(X, 2, axis=0), np.tile([0, 1], 50), skip=QUICK)
    assert len(found["conflicts"]) == 100
    assert found["conflicts"].sentence.startswith("100 rows in 50 groups of copies have different labels; 100 of them")
    assert (found["conflicts"].scores == 0.5).all()
    assert found["conflicts"].to_frame()["group"].nunique() == 50


def test_exact_and_near_duplicates_are_told_apart():
    X, y = blobs(400)
    rng = np.random.default_rng(1)
    exact, near = X[:10], X[20:30] + 1e-4 * rng.standard_normal((10, 6))
    rows, labels = np.concatenate([X, exact, near]), np.concatenate([y, y[:10], y[20:30]])
    found = pivotal.check(rows, labels, skip=QUICK)
    assert sorted(found["duplicates"].rows) == [*range(10), *range(400, 410)]
    assert sorted(found["near_duplicates"].rows) == [*range(20, 30), *range(410, 420)]
    assert not found["conflicts"].present
    by_row = found["near_duplicates"].to_frame()
    assert by_row.loc[20, "nearest"] == 410
    assert by_row.loc[20, "distance"] == pytest.approx(np.linalg.norm(rows[20] - rows[410]))


def test_a_crowd_of_near_duplicates_is_found():
    """Every one of them has its ten nearest within the crowd, so distances there look alike."""
    X, y = blobs(400)
    crowd = X[:1] + 1e-6 * np.random.default_rng(2).standard_normal((25, 6))
    found = pivotal.check(np.concatenate([X, crowd]), np.concatenate([y, [0] * 25]), skip=QUICK)
    assert set(range(400, 425)) <= set(found["near_duplicates"].rows.tolist())


def test_near_duplicates_that_disagree_are_in_conflict():
    X, y = blobs(300)
    rows = np.concatenate([X, X[:5] + 1e-5])
    labels = np.concatenate([y, y[:5] + 1])
    found = pivotal.check(rows, labels, skip=QUICK)["conflicts"]
    assert sorted(found.rows) == [*range(5), *range(300, 305)]
    assert "0 of them are equal" in found.sentence


def test_rows_of_the_test_set_are_found():
    X, y = blobs(300)
    fresh, _ = blobs(80, seed=9)
    test = np.concatenate([fresh, X[:7], X[10:15] + 1e-6])
    found = pivotal.check(X, y, test, skip=QUICK)["leakage"]
    assert sorted(found.rows) == [*range(7), *range(10, 15)]
    assert "7 of 92 test rows (7.6%)" in found.sentence
    assert found.to_frame().loc[3, "test_row"] == 83
    assert (found.scores[:7] == 0.0).all()
    # More copies than lists have places are all found.
    many = pivotal.check(np.concatenate([X, np.repeat(X[:1], 70, axis=0)]), np.r_[y, [0] * 70], X[:1], skip=QUICK)
    assert len(many["leakage"]) == 71


def test_leakage_is_not_looked_for_without_test_rows():
    X, y = blobs(60)
    found = pivotal.check(X, y, skip=QUICK)["leakage"]
    assert found.skipped == "there are no test rows; pass X_test."
    assert not found.present


def test_planted_outliers_are_found_and_scored_by_distance():
    X, y = blobs(400)
    X[5] += 40.0
    X[6] += 80.0
    found = pivotal.check(X, y, skip=QUICK)["outliers"]
    assert found.rows[:2].tolist() == [6, 5]
    assert len(found) <= 4
    distances = NearestNeighbors(n_neighbors=11).fit(X).kneighbors(X)[0][:, 1:].mean(axis=1)
    np.testing.assert_allclose(found.scores, np.minimum(1.0, np.median(distances) / distances))


def test_rare_classes():
    y = np.array(["a"] * 190 + ["b"] * 200 + ["c"] * 5)
    X = blobs(395)[0]
    found = pivotal.check(X, y, only="class_imbalance")["class_imbalance"]
    assert found.rows.tolist() == [390, 391, 392, 393, 394]
    assert "the rarest is c with 5 rows (1.27%)" in found.sentence
    assert found.scores[0] == 1.0
    assert found.scores[-1] == pytest.approx(3 * 5 / 395)


def test_columns_that_say_nothing():
    n = 50
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.standard_normal(n),
            "empty": [None] * n,
            "constant": ["same"] * n,
            "number": rng.permutation(n) + 100,
            "user_id": rng.choice(10**6, n, replace=False),
            "amount": rng.choice(10**6, n, replace=False),
            "gaps": [np.nan] * 3 + [1.0] * 20 + [2.0] * (n - 23),
        }
    )
    found = pivotal.check(rng.standard_normal((n, 2)), rng.integers(0, 2, n), columns=frame, skip=QUICK)
    assert found["empty_columns"].ids[found["empty_columns"].rows].tolist() == ["empty"]
    assert found["constant_columns"].ids[found["constant_columns"].rows].tolist() == ["constant"]
    assert found["id_columns"].ids[found["id_columns"].rows].tolist() == ["number", "user_id"]
    assert found["missing"].rows.tolist() == [0, 1, 2]
    assert found["missing"].sentence.startswith(
        "3 cells in 3 rows and 1 column are missing, most of them in gaps (6.0%)"
    )


def test_gaps_are_found_and_filled():
    X, y = blobs(200)
    X[3, 2] = X[7, 1] = np.nan
    found = pivotal.check(pd.DataFrame(X), y, skip=QUICK)
    assert sorted(found["missing"].rows) == [3, 7]
    assert not found["outliers"].flagged[[3, 7]].any()


def test_order_by_class_and_drift_are_found_and_shuffled_rows_are_not():
    X, y = blobs(300)
    by_class = np.argsort(y, kind="stable")
    for rows, labels in ((X[by_class], y[by_class]), (X + np.linspace(0, 8, 300)[:, np.newaxis], y)):
        found = pivotal.check(rows, labels, only="order")["order"]
        assert found.present
        assert "not random (p < 1e-12)" in found.sentence
    sure = pivotal.check(X[by_class], y[by_class], only="order")["order"]
    assert "of the rows have the label of the row before" in sure.sentence
    p_values = [
        pivotal.check(*blobs(200, seed=seed), only="order")["order"].table["p_value"].min() for seed in range(20)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.35  # two tests each
    assert min(p_values) > 1e-4


def test_closeness_is_the_share_of_rows_that_stand_no_farther():
    """By counting, for every pair of a small table."""
    n = 7
    near = np.array([[j for j in range(n) if j != i] for i in range(n)])
    found = _closeness(np.arange(n), np.arange(n), near, np.ones(near.shape, bool))
    for i in range(n):
        expected = []
        for j in near[i]:
            gaps = np.array([abs(i - other) for other in range(n) if other != i])
            expected.append(((gaps < abs(i - j)).sum() + 0.5 * (gaps == abs(i - j)).sum()) / (n - 1))
        assert found[i] == pytest.approx(np.mean(expected))
        assert found[i] == pytest.approx(0.5)


def test_groups_that_are_predicted_badly():
    X, y = blobs(900, seed=3)
    owners = np.array(["ann", "bob", "cy"])[np.arange(900) % 3]
    rng = np.random.default_rng(0)
    labels = y.copy()
    labels[owners == "bob"] = rng.permutation(y[owners == "bob"])
    found = pivotal.check(X, labels, owners=owners, only="weak_groups")["weak_groups"]
    assert found.table.iloc[0]["group"] == "bob"
    assert found.flagged[owners == "bob"].all()
    assert "owner bob" in found.sentence
    fair = pivotal.check(X, y, owners=owners, only="weak_groups")["weak_groups"]
    assert not fair.present
    model = KNeighborsClassifier(5).fit(X, y)
    near = model.kneighbors(return_distance=False)
    right = [np.bincount(y[row]).argmax() == label for row, label in zip(near, y, strict=True)]
    assert fair.table["good"].mean() == pytest.approx(np.mean(right), abs=0.02)


def test_votes_count_and_ties_go_to_the_nearest():
    codes = np.array([0, 1, 1, 2], dtype=np.int32)
    near = np.array([[3, 0, 1, 2], [0, 3, 1, 2], [3, 0, 0, 3], [0, 3, 3, 0]])
    assert vote(near, codes, 3).tolist() == [1, 1, 2, 0]


def test_rows_of_no_value_change_no_prediction():
    X, y = blobs(300)
    test, _ = blobs(40, seed=4)
    found = pivotal.check(X, y, test, only="no_value", k=3)["no_value"]
    kept = np.setdiff1d(np.arange(300), found.rows)
    before = KNeighborsClassifier(3).fit(X, y).predict(test)
    after = KNeighborsClassifier(3).fit(X[kept], y[kept]).predict(test)
    assert (before == after).all()
    assert len(kept) == len(np.unique(NearestNeighbors(n_neighbors=3).fit(X).kneighbors(test)[1]))


@pytest.mark.parametrize("by_test", [False, True])
def test_rows_that_do_harm_have_wrong_labels(by_test):
    """Beside many queries, flipped labels are told to harm, hardly any other is, and values are those of `value`."""
    X, y = blobs(400, seed=5)
    labels = y.copy()
    labels[:20] = (y[:20] + 1) % 3
    test, targets = (X[200:], y[200:]) if by_test else (None, None)
    if by_test:
        X, labels = X[:200], labels[:200]
    found = pivotal.check(X, labels, test, targets, only="harmful")["harmful"]
    assert len(found) >= 5
    assert np.mean(found.rows < 20) >= 0.9
    values = pivotal.value(X, labels, test, targets, utility="soft")
    np.testing.assert_allclose(found.details["value"], values.values, atol=1e-8)
    np.testing.assert_allclose(found.details["standard_error"], values.query_standard_error, atol=1e-8)
    assert f"the sign cannot be told from {200 if by_test else 400} queries" in found.sentence


def test_wrong_labels_are_found_with_the_lists_that_are_kept():
    """The same as without them, and no list is searched twice."""
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    y[[3, 77]] = [1, 0]
    found = pivotal.check(X, y)
    alone = pivotal.find_label_errors(X, y, random_state=int(np.random.default_rng(0).integers(2**31)))
    assert {3, 77} <= set(found["label_errors"].rows.tolist())
    np.testing.assert_array_equal(found.label_errors.scores, alone.scores)
    assert sorted(found["label_errors"].rows) == sorted(alone.suspects)


def test_lists_are_searched_once():
    X, _ = blobs(200)
    kept = KeptLists(as_index("brute", X), 20)
    inner = kept._index
    calls = []
    search = inner.search_self
    inner.search_self = lambda *what: calls.append(what) or search(*what)
    deep, _ = kept.search_self(0, 200, 50)
    short, far = kept.search_self(10, 30, 20)
    kept.fill(None, progress=False)
    assert calls == [(0, 200, 50)]
    assert deep.shape == (200, 50)
    np.testing.assert_array_equal(short, search(10, 30, 20)[0])
    np.testing.assert_array_equal(far, search(10, 30, 20)[1])


def test_thresholds_decide_and_scores_stay():
    X, y = blobs(300)
    usual = pivotal.check(X, y, only="outliers")["outliers"]
    strict = pivotal.check(X, y, only="outliers", thresholds={"outliers": 0.9})["outliers"]
    np.testing.assert_array_equal(usual.scores, strict.scores)
    np.testing.assert_array_equal(strict.flagged, usual.scores < 0.9)
    assert len(strict) > len(usual)


def test_frames_queues_and_files(tmp_path):
    X, y = blobs(120)
    X[:5] = X[5:10]
    names = [f"row {i}" for i in range(120)]
    found = pivotal.check(X, y, ids=names, skip=QUICK)
    frame = found.to_frame()
    assert frame.shape[0] == 120
    assert frame["is_duplicates"].sum() == 10
    assert frame.index[0] == "row 0"
    lines = found.found()
    assert set(lines[lines["finding"] == "duplicates"]["id"]) == {f"row {i}" for i in range(10)}
    (queue,) = [queue for queue in found.queues() if queue.name == "duplicates"]
    assert queue.rows.tolist() == list(range(10))
    assert queue.sentence == found["duplicates"].sentence
    written = json.loads(found.save(tmp_path / "all.json").read_text())
    assert [one["name"] for one in written["findings"]] == list(found)
    pd.testing.assert_frame_equal(
        pd.read_csv(found.save(tmp_path / "all.csv"), keep_default_na=False), lines, check_dtype=False
    )
    pd.testing.assert_frame_equal(pd.read_parquet(found.save(tmp_path / "all.parquet")), lines, check_dtype=False)
    with pytest.raises(ValueError, match=r"\.json, \.csv or \.parquet"):
        found.save(tmp_path / "all.txt")


def test_the_page_shows_what_was_found_and_nothing_of_it_is_markup(tmp_path):
    X, y = blobs(100)
    X[:3] = X[3:6]
    labels = np.array(["<script>alert(1)</script>", "b", "c"])[y]
    found = pivotal.check(X, labels, skip=QUICK)
    page = found.report(tmp_path / "check.html", text=[f"<i>{i}" for i in range(100)], title="<b>mine").read_text()
    assert "<script" not in page
    assert "<i>" not in page
    assert "&lt;i&gt;3" in page
    assert "6 rows of 100 occur more than once (3 groups)." in page
    assert found["duplicates"].advice.split(",")[0] in page
    with pytest.raises(ValueError, match="each of the 100 rows; got 1"):
        found.report(tmp_path / "check.html", text=["one"])


def test_conditions():
    X, y = blobs(100)
    X[:3] = X[3:6]
    found = pivotal.check(X, y, skip=QUICK)
    assert found.failures(["duplicates"])[0].startswith("duplicates, 6 where 0 are allowed: 6 rows of 100")
    assert found.failures(["duplicates>6", "duplicates>0.06", "leakage", "near_duplicates"]) == []
    assert len(found.failures(["duplicates>5", "duplicates>0.05"])) == 2
    assert len(found.failures(["any"])) == len(found.present)
    for bad, what in (
        ("duplicate", "Did you mean 'duplicates'"),
        ("outliers<3", "a condition"),
        ("order>-1", "at least 0"),
    ):
        with pytest.raises(ValueError, match=what):
            found.failures([bad])


def test_numbers_to_predict():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(300)
    X[:3], y[:3] = X[3:6], y[3:6] + 5.0
    owners = np.where(np.arange(300) % 4 == 0, "noisy", "fine")
    y[owners == "noisy"] = rng.permutation(y[owners == "noisy"])
    found = pivotal.check(X, y, owners=owners)
    assert set(range(6)) & set(found["conflicts"].rows.tolist())
    assert found["class_imbalance"].skipped == "the labels are numbers, not classes."
    assert found["weak_groups"].table.iloc[0]["group"] == "noisy"
    assert found.settings["task"] == "regression"


def test_integers_to_predict_need_a_word():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.round(100 * X[:, 0] + 500).astype(int)
    y[7] *= 10
    with pytest.raises(ValueError, match=r'look like amounts\. Pass task="regression"'):
        pivotal.check(X, y)
    found = pivotal.check(X, y, task="regression", only=["label_errors", "conflicts", "weak_groups"])
    assert found["label_errors"].rows[0] == 7
    assert found.label_errors.settings["task"] == "regression"
    assert found.settings["task"] == "regression"
    names = pivotal.check(X, y, task="classification", only=["class_imbalance"])
    assert names.settings["n_classes"] == len(np.unique(y))
    with pytest.raises(ValueError, match=r"task must be one of auto, classification, regression; got 'multilabel'\."):
        pivotal.check(X, y, task="multilabel")


def test_without_labels_and_with_sparse_rows():
    X, _ = load_digits(return_X_y=True)
    rows = sparse.csr_array(X[:200])
    found = pivotal.check(rows)
    dense = pivotal.check(X[:200])
    for name in ("duplicates", "near_duplicates", "outliers", "no_value"):
        np.testing.assert_array_equal(found[name].flagged, dense[name].flagged)
    assert found["label_errors"].skipped == "there are no labels; pass y."
    assert "sparse" in found["id_columns"].skipped
    assert dense["constant_columns"].present


def test_small_tables():
    for n in (1, 2, 3, 5, 12):
        X, y = blobs(n)
        found = pivotal.check(X, y, skip=["label_errors"])
        assert list(found) == [name for name in KINDS if name != "label_errors"]
        assert isinstance(repr(found), str)
    same = pivotal.check(np.zeros((30, 2)), [0, 1] * 15, skip=["label_errors"])
    assert len(same["duplicates"]) == 30
    assert not same["outliers"].present


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"only": "outlier"}, "Did you mean 'outliers'"),
        ({"skip": ["nothing"]}, "skip must name findings"),
        ({"thresholds": {"outliers": "far"}}, "finite number; got 'far'"),
        ({"thresholds": {"outliers": -1.0}}, "at least 0"),
        ({"metric": "precomputed"}, "compares rows of features"),
        ({"columns": pd.DataFrame({"a": [1]})}, "each of the 40 rows of X; got 1"),
        ({"k": 0}, "k must be"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
    ],
)
def test_bad_input_gets_a_sentence(what, message):
    X, y = blobs(40)
    with pytest.raises(ValueError, match=message):
        pivotal.check(X, y, **what)


def test_what_was_not_asked_for_is_said():
    X, y = blobs(40)
    found = pivotal.check(X, y, only=["outliers"])
    assert isinstance(found, CheckUp)
    assert list(found) == ["outliers"]
    with pytest.raises(KeyError, match="was not asked for"):
        found["duplicates"]


def in_the_plane(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) + 2.0 * rng.standard_normal((10, 2))[rng.integers(0, 10, n)]


def test_near_duplicates_are_found_in_two_dimensions_where_rows_are_close_by_chance():
    """As many as within Datalab's default radius, 0.13 of the usual distance to the nearest, and fewer others."""
    X = in_the_plane(3000, 0)
    X[:40] = X[40:80] + 5e-4 * np.random.default_rng(1).standard_normal((40, 2))
    found = pivotal.check(X, only=["near_duplicates"])["near_duplicates"]
    assert set(range(80)) <= set(found.rows.tolist())
    assert len(found) <= 160  # at least half of them are more than chance


def test_rows_that_chance_brings_together_are_no_near_duplicates():
    for seed in range(5):
        assert len(pivotal.check(in_the_plane(1000, seed), only=["near_duplicates"])["near_duplicates"]) == 0


def test_a_threshold_of_near_duplicates_finds_all_that_are_so_near_of_the_usual():
    X = in_the_plane(1000, 3)
    found = pivotal.check(X, only=["near_duplicates"], thresholds={"near_duplicates": 0.13})["near_duplicates"]
    nearest = NearestNeighbors(n_neighbors=2).fit(X).kneighbors(X)[0][:, 1]
    assert set(np.flatnonzero(nearest < 0.13 * np.median(nearest))) <= set(found.rows.tolist())


def test_rows_that_are_close_by_chance_do_not_contradict_each_other():
    X, rng = in_the_plane(3000, 0), np.random.default_rng(2)
    X[:40] = X[40:80] + 5e-4 * rng.standard_normal((40, 2))
    y = rng.integers(0, 5, 3000)
    y[:40] = y[40:80]
    assert len(pivotal.check(X, y, only=["conflicts"])["conflicts"]) <= 8


def test_the_sentence_on_labels_claims_no_more_than_is_known() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    by_chance = pivotal.check(X, rng.integers(0, 2, 300), only=["label_errors"])["label_errors"].sentence
    assert "at most" in by_chance
    assert "features hardly predict the labels" in by_chance
    numbers = X @ [2.0, 1.0, 0.0, 0.0] + 0.1 * rng.normal(size=300)
    numbers[7] += 9.0
    found = pivotal.check(X, numbers, only=["label_errors"])
    assert found["label_errors"].sentence.startswith("1 number of 300 looks wrong by the votes of the other rows; ")
    assert found["label_errors"].rows.tolist() == [7]
