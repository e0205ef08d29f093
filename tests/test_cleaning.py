"""Label errors: planted ones are found, sentences say what is so, and nothing that comes in is changed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

import pivotal
from effort import examples
from pivotal.analysis.label_errors import LabelErrors, find_label_errors
from pivotal.analysis.label_errors._leaves import ask_leaves
from pivotal.analysis.label_errors._nearest import _GRAIN
from pivotal.core.config import Resources

CATS_AND_DOGS = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
ONE_WRONG = ["cat", "cat", "dog", "cat", "dog", "dog", "dog", "dog"]


def with_errors(load: Callable[..., Any], share: float = 0.05, most: int = 600) -> tuple[np.ndarray, ...]:
    """Standardised features, true labels, and labels some of which are wrong."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:most]
    X, y = np.nan_to_num(scale(X[rows])), y[rows]
    wrong = rng.choice(len(y), size=round(share * len(y)), replace=False)
    noisy = y.copy()
    noisy[wrong] = (y[wrong] + rng.integers(1, y.max() + 1, size=len(wrong))) % (y.max() + 1)
    return X, y, noisy


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray, LabelErrors]:
    X, y, noisy = with_errors(load_digits)
    return X, y, find_label_errors(X, noisy, n_trees=30)


# What is found


@pytest.mark.parametrize(("load", "least"), [(load_digits, 0.9), (load_wine, 0.9), (load_breast_cancer, 0.7)])
@pytest.mark.parametrize("n_trees", [0, 30])
def test_planted_errors_are_found(load: Callable[..., Any], least: float, n_trees: int) -> None:
    X, y, noisy = with_errors(load)
    errors = find_label_errors(X, noisy, n_trees=n_trees)
    assert average_precision_score(noisy != y, -errors.scores) > least
    found = (noisy != y)[errors.suspects]
    assert found.sum() >= 0.7 * (noisy != y).sum()
    assert found.mean() >= 0.5
    before, after = (noisy != y).mean(), (errors.corrected() != y).mean()
    assert after < 0.6 * before


def test_a_lone_wrong_label_is_explained() -> None:
    errors = find_label_errors(CATS_AND_DOGS, ONE_WRONG, k=2, n_trees=0)
    assert errors.suspects.tolist() == [2]
    assert errors.suggested[2] == "cat"
    assert errors.explain(2) == (
        "row 2 is labelled dog; 3 of its 5 nearest neighbours say cat; it hurts the predictions for rows 0, 1 and 3"
    )
    assert repr(errors) == f"LabelErrors(1 suspect among 8 rows, {errors.n_wrong} wrong: 2)"
    assert errors.n_wrong.upper_bound_only  # of eight rows, two votes each say little
    assert errors.corrected().tolist() == ["cat"] * 4 + ["dog"] * 4


def test_sentences_say_what_the_arrays_hold(digits: tuple[np.ndarray, np.ndarray, LabelErrors]) -> None:
    _, _, errors = digits
    suspect = int(errors.suspects[0])
    said = sum(errors.given[errors.nearest[suspect]] == errors.suggested[suspect])
    sentence = errors.explain(suspect)
    given, rival = errors.given[suspect], errors.rivals[suspect]
    votes = f"{errors.support[suspect]:.0%} of the votes are for {given}"
    votes += f" and {errors.rival_support[suspect]:.0%} for {rival}"
    assert sentence.startswith(f"row {suspect} is labelled {given}; {votes}; {said} of its 5 nearest neighbours")
    a, b, c = errors.spoiled[suspect]
    assert sentence.endswith(f"say {errors.suggested[suspect]}; it hurts the predictions for rows {a}, {b} and {c}")


def test_a_row_without_neighbours_of_another_label_hurts_nothing() -> None:
    errors = find_label_errors([[0.0], [1.0]], [7, 7], n_trees=0)
    assert errors.explain(0) == "row 0 is labelled 7; its nearest neighbour says 7; it hurts no prediction"
    errors = find_label_errors([[0.0], [1.0]], ["a", "b"], n_trees=0)
    assert errors.explain(0) == "row 0 is labelled a; its nearest neighbour says b; it hurts the prediction for row 1"


# What the numbers mean


@pytest.mark.kernels
@examples(25)
@given(
    labels=st.lists(st.integers(0, 2), min_size=3, max_size=12),
    k=st.integers(1, 15),
    seed=st.integers(0, 5),
)
def test_votes_are_counted_as_described(labels: list[int], k: int, seed: int) -> None:
    n = len(labels)
    X = np.random.default_rng(seed).normal(size=(n, 2))
    errors = find_label_errors(X, labels, k=k, n_trees=0)
    # The same by loops over pairs: what neighbours say, and what those say whose neighbour it is.
    reach = pivotal.Banzhaf().reach(k, n)
    votes = np.zeros((n, 3))
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: float(np.linalg.norm(X[i] - X[j])))
        for rank, j in enumerate(others):
            votes[i, labels[j]] += reach[rank]
            votes[j, labels[i]] += reach[rank]
    votes /= votes.sum(axis=1, keepdims=True)
    own = votes[np.arange(n), labels]
    rival = np.where(np.arange(3) == np.array(labels)[:, np.newaxis], -1.0, votes).max(axis=1)
    assert np.allclose(errors.support, own, atol=n * _GRAIN)
    assert np.allclose(errors.rival_support, np.maximum(rival, 0.0), atol=n * _GRAIN)
    assert np.allclose(errors.scores, (1 + (own - rival) / np.sqrt(own + rival)) / 2, atol=n * _GRAIN)
    assert np.array_equal(errors.scores[errors.order], np.sort(errors.scores))
    assert np.allclose(errors.confidence, votes.max(axis=1), atol=n * _GRAIN)
    assert np.allclose(errors.confidence, votes[np.arange(n), errors.suggested], atol=n * _GRAIN)
    exact = pivotal.value(X, labels, k=k, utility="soft")
    assert np.allclose(errors.values, exact.values, atol=2 * _GRAIN)


@pytest.mark.kernels
@pytest.mark.parametrize("k", [1, 4])
def test_spoiled_predictions_are_those_with_the_lowest_values(k: int) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(15, 2)), rng.integers(0, 3, size=15)
    errors = find_label_errors(X, y, k=k, n_trees=0)
    worth = np.zeros((15, 15))  # of a row, to a query
    for query in range(15):
        others = np.delete(np.arange(15), query)
        one = pivotal.value(X[others], y[others], X[[query]], y[[query]], k=k, utility="soft", classes=[0, 1, 2])
        worth[others, query] = one.values
    for row in range(15):
        harmed = [query for query in np.argsort(worth[row], kind="stable") if worth[row, query] < -1e-9][:3]
        spoiled = errors.spoiled[row][errors.spoiled[row] >= 0]
        assert np.allclose(worth[row, spoiled], worth[row, harmed])


def test_leaves_vote_as_a_forest_does_out_of_bag() -> None:
    X, _, noisy = with_errors(load_wine)
    codes = noisy.astype(np.int32)
    votes = ask_leaves(X, codes, np.eye(3)[codes], n_trees=40, seed=1, resources=Resources(n_jobs=1)).votes
    forest = RandomForestClassifier(40, min_samples_leaf=5, max_samples=len(X), oob_score=True, random_state=1)
    forest.fit(X.astype(np.float32), codes)
    # Votes received are the forest's own; as many are cast as are received, and here one by each row.
    cast = votes - forest.oob_decision_function_
    assert cast.min() > -1e-12
    assert cast.sum() == pytest.approx(len(X))
    assert np.allclose(cast.sum(axis=0), np.bincount(codes))


def test_a_model_is_one_voter_more() -> None:
    X, y, noisy = with_errors(load_breast_cancer, most=300)
    model = GaussianNB()
    without, beside = (find_label_errors(X, noisy, n_trees=10, model=voice) for voice in (None, model))
    assert not hasattr(model, "classes_")  # a clone was fitted
    assert beside.settings["model"] == "GaussianNB"
    assert beside.settings["voters"] == (*without.settings["voters"], "model")
    assert sum(beside.settings["weights"].values()) == pytest.approx(1.0)
    assert not np.array_equal(beside.scores, without.scores)
    assert average_precision_score(noisy != y, -beside.scores) > 0.7
    # A model that knows the truth makes good what neighbours get wrong.
    known = find_label_errors(
        np.column_stack([X, 100.0 * y]), noisy, n_trees=0, model=DecisionTreeClassifier(max_depth=1)
    )
    assert average_precision_score(noisy != y, -known.scores) > 0.95


def test_a_model_may_miss_rare_classes() -> None:
    X = np.arange(12.0)[:, np.newaxis]
    errors = find_label_errors(X, ["a"] * 6 + ["b"] * 5 + ["c"], n_trees=0, model=GaussianNB())
    assert errors.suggested[-1] == "b"
    with pytest.raises(ValueError, match=r"a model needs a label that occurs at least twice"):
        find_label_errors(X, range(12), model=GaussianNB())
    assert find_label_errors(X, ["a"] * 12, model=GaussianNB()).suspects.size == 0


def test_suspects_have_a_rival_with_twice_the_votes() -> None:
    X, _, noisy = with_errors(load_breast_cancer)
    for odds in (1.0, 2.0, 5.0):
        errors = find_label_errors(X, noisy, n_trees=0, odds=odds)
        outvoted = (1.0 - errors.scores >= odds * errors.scores) & (errors.scores < 0.5)
        assert np.array_equal(np.sort(errors.suspects), np.flatnonzero(outvoted))
        assert np.array_equal(errors.suspects, errors.order[: errors.suspects.size])  # with two classes


def test_the_number_of_suspects_can_be_said() -> None:
    X, _, noisy = with_errors(load_wine)
    by_votes = find_label_errors(X, noisy, n_trees=0)
    for options, count in (({"n": 7}, 7), ({"share": 0.1}, 18), ({"n": 0}, 0), ({"share": 1.0}, 178)):
        errors = find_label_errors(X, noisy, n_trees=0, **options)  # type: ignore[arg-type]
        assert np.array_equal(errors.suspects, by_votes.order[:count])
    # A row whose own label has the most votes is not relabelled, though it be called a suspect.
    kept = errors.suggested == errors.given
    assert kept.sum() > 100
    assert np.array_equal(errors.corrected()[kept], noisy[kept])


# Labels, tables, and their odd cases


@pytest.mark.parametrize(
    "rename",
    [
        lambda y: np.array([f"digit {label}" for label in y]),
        lambda y: np.array([f"digit {label}" for label in y], dtype=object),
        lambda y: pd.Series(y).map(lambda label: f"digit {label}").astype("category"),
        lambda y: y.astype(np.uint8),
        lambda y: y.astype(float),
    ],
)
def test_labels_of_any_type(rename: Callable[[Any], Any]) -> None:
    X, _, noisy = with_errors(load_wine)
    plain = find_label_errors(X, noisy, n_trees=10)
    errors = find_label_errors(X, rename(noisy), n_trees=10)
    assert np.array_equal(errors.scores, plain.scores)
    assert np.array_equal(errors.suspects, plain.suspects)
    assert np.array_equal(errors.suggested, np.asarray(rename(plain.suggested)))
    assert errors.corrected().dtype == np.asarray(rename(noisy)).dtype
    assert np.array_equal(errors.corrected(), np.asarray(rename(plain.corrected())))


def test_a_long_label_is_not_cut_short() -> None:
    errors = find_label_errors(CATS_AND_DOGS, [{"cat": "a long name"}.get(a, a) for a in ONE_WRONG], k=2, n_trees=0)
    short = np.array(["ok", "ok", "no", "ok", "no", "no", "no", "no"])
    assert errors.corrected(short)[2] == "a long name"
    assert short.dtype == "<U2"


def test_sparse_features_may_have_long_indices() -> None:
    """As scipy makes them, and as the trees of scikit-learn refuse them."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = csr_array(rng.random((60, 5)) * (rng.random((60, 5)) < 0.4) + y[:, np.newaxis])
    long = csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert long.indices.dtype == np.int64
    found = find_label_errors(long, y, random_state=0)
    assert np.array_equal(found.scores, find_label_errors(X, y, random_state=0).scores)
    assert long.indices.dtype == np.int64  # what the user holds stays as it is


def test_frames_bring_their_index_and_sparse_tables_their_numbers() -> None:
    X, _, noisy = with_errors(load_wine)
    plain = find_label_errors(X, noisy, n_trees=10)
    names = [f"bottle {i}" for i in range(len(X))]
    named = find_label_errors(pd.DataFrame(X, index=names), noisy, n_trees=10)
    assert np.array_equal(named.scores, plain.scores)
    assert named.explain(int(named.suspects[0])).startswith(f"row bottle {named.suspects[0]} is labelled")
    # Sparse or dense is what the matrix holds, not how it came.
    assert np.allclose(find_label_errors(csr_array(X), noisy, n_trees=10).scores, plain.scores, atol=1e-9)


def test_duplicates_vote_as_rows_of_their_own() -> None:
    X = np.repeat([[0.0], [9.0]], 10, axis=0)
    y = np.array([0] * 9 + [1] + [1] * 10)
    errors = find_label_errors(X, y, k=3)
    assert errors.suspects.tolist() == [9]
    assert errors.suggested[9] == 0


def test_one_class_has_no_suspects() -> None:
    errors = find_label_errors(CATS_AND_DOGS, ["cat"] * 8)
    assert errors.suspects.size == 0
    assert np.array_equal(errors.scores, np.ones(8))
    assert set(errors.suggested) == {"cat"}
    assert len(errors.to_frame()) == 0


@pytest.mark.parametrize("n_rows", [2, 3, 5])
@pytest.mark.parametrize("n_trees", [0, 3])
def test_few_rows_and_many_neighbours(n_rows: int, n_trees: int) -> None:
    errors = find_label_errors(np.arange(n_rows)[:, np.newaxis], np.arange(n_rows), k=50, n_trees=n_trees)
    assert (errors.scores < 0.5).all()  # nobody shares a label
    assert errors.suspects.size == n_rows
    assert errors.n_wrong.count <= n_rows
    assert errors.nearest.shape == (n_rows, n_rows - 1)


# The result


def test_the_frame_lists_suspects_or_everyone(digits: tuple[np.ndarray, np.ndarray, LabelErrors]) -> None:
    _, _, errors = digits
    frame = errors.to_frame()
    assert frame.index.tolist() == errors.suspects.tolist()
    assert (frame["given"] != frame["suggested"]).all()
    assert frame["score"].is_monotonic_increasing
    first = frame.iloc[0]
    assert first["nearest_labels"] == errors.given[first["nearest"]].tolist()
    every_row = errors.to_frame(all_rows=True)
    assert every_row.index.tolist() == errors.order.tolist()
    assert set(every_row.index[every_row["suspect"]]) == set(errors.suspects.tolist())
    assert f"{errors.suspects.size} suspects among 600 rows" in errors._repr_html_()


def test_only_confident_corrections(digits: tuple[np.ndarray, np.ndarray, LabelErrors]) -> None:
    _, _, errors = digits
    sure = errors.suspects[errors.confidence[errors.suspects] >= 0.8]
    assert 0 < sure.size < errors.suspects.size
    changed = errors.corrected(confidence=0.8) != errors.given
    assert np.array_equal(np.flatnonzero(changed), np.sort(sure))


def test_nothing_that_comes_in_is_changed_and_nothing_that_comes_out_can_be() -> None:
    X, _, noisy = with_errors(load_wine)
    features, labels = X.copy(), noisy.copy()
    errors = find_label_errors(features, labels, n_trees=5)
    errors.corrected(labels)
    assert np.array_equal(features, X)
    assert np.array_equal(labels, noisy)
    assert labels.flags.writeable
    assert features.flags.writeable
    for name in ("scores", "order", "suspects", "given", "suggested", "confidence", "values", "nearest", "spoiled"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(errors, name)[...] = 0
    with pytest.raises(AttributeError):
        errors.scores = None  # type: ignore[misc]
    with pytest.raises(TypeError):
        errors.settings["k"] = 1  # type: ignore[index]


def test_a_result_survives_pickling(digits: tuple[np.ndarray, np.ndarray, LabelErrors]) -> None:
    _, _, errors = digits
    again = pickle.loads(pickle.dumps(errors))
    assert again.to_frame(all_rows=True).equals(errors.to_frame(all_rows=True))
    assert dict(again.settings) == dict(errors.settings)
    assert not again.scores.flags.writeable


def test_threads_blocks_and_memory_make_no_difference(
    digits: tuple[np.ndarray, np.ndarray, LabelErrors],
) -> None:
    X, _, errors = digits
    again = find_label_errors(X, errors.given, n_trees=30, n_jobs=1, max_memory=100_000)
    for name in ("scores", "order", "suspects", "suggested", "confidence", "values", "nearest", "spoiled"):
        assert np.array_equal(getattr(errors, name), getattr(again, name)), name


def test_the_seed_decides_the_forest() -> None:
    X, _, noisy = with_errors(load_wine)
    one, same, other = (find_label_errors(X, noisy, n_trees=5, random_state=seed).scores for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    from_generator = find_label_errors(X, noisy, n_trees=5, random_state=np.random.default_rng(0)).scores
    assert np.array_equal(one, from_generator)


def test_other_indexes_metrics_and_files(tmp_path: Any) -> None:
    X, _, noisy = with_errors(load_wine)
    plain = find_label_errors(X, noisy, n_trees=0)
    assert np.array_equal(find_label_errors(X, noisy, n_trees=0, neighbors="kd_tree").scores, plain.scores)
    assert not np.array_equal(find_label_errors(X, noisy, n_trees=0, metric="manhattan").scores, plain.scores)
    np.save(tmp_path / "X.npy", X)
    assert np.array_equal(find_label_errors(tmp_path / "X.npy", noisy, n_trees=0).scores, plain.scores)


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    find_label_errors(CATS_AND_DOGS, ONE_WRONG, n_trees=2, progress=True)
    shown = capsys.readouterr().err
    assert "asking neighbours" in shown
    assert "asking leaves" in shown
    find_label_errors(CATS_AND_DOGS, ONE_WRONG, n_trees=2)
    assert capsys.readouterr().err == ""


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, r"k must be an integer of at least 1; got k=0"),
        ({"n_trees": -1}, r"n_trees must be an integer of at least 0; got n_trees=-1"),
        ({"n_trees": 2.5}, r"n_trees must be an integer of at least 0; got n_trees=2.5"),
        ({"odds": 0.5}, r"odds must be a finite number of at least 1; got 0.5"),
        ({"odds": np.nan}, r"odds must be a finite number of at least 1; got nan"),
        ({"share": 1.5}, r"share must lie in \[0, 1\]; got 1.5"),
        ({"n": 9}, r"n must be an integer from 0 to 8, the number of rows; got 9"),
        ({"n": True}, r"n must be an integer from 0 to 8, the number of rows; got True"),
        ({"n": 1, "share": 0.1}, r"both say how many .* got share=0.1 and n=1. Pass one"),
        ({"n_jobs": 0}, r"n_jobs must be an integer other than 0"),
        ({"random_state": -1}, r"random_state must be an integer of at least 0.*; got -1"),
        ({"random_state": "x"}, r"random_state must be an integer of at least 0.*; got 'x'"),
        ({"metric": "precomputed"}, r"with a precomputed metric X holds distances; use n_trees=0 and no model"),
        ({"neighbors": "nonsense"}, r"neighbors must be one of .*got 'nonsense'"),
        ({"ids": ["a"]}, r"ids must have one entry per training point"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_label_errors(CATS_AND_DOGS, ONE_WRONG, **options)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [np.nan]], [0, 1], r"X must be finite .* got 1 such entries"),
        ([[0.0], [np.inf]], [0, 1], r"X must be finite"),
        ([0.0, 1.0], [0, 1], r"X must be two-dimensional"),
        ([[0.0], [1.0]], [0, 1, 1], r"X and y must have the same length; got 2 rows and 3 labels"),
        ([[0.0], [1.0]], [None, "a"], r"y must have a label for every point; got 1 missing"),
        ([[0.0], [1.0]], [], r"y must hold at least one label"),
        ([[0.0]], [0], r"label errors need at least two rows, which vote on each other; got 1"),
        ([[0.0], [1e100]], [0, 1], r"a forest needs numbers within ±3.4e\+38; got 1.0e\+100"),
    ],
)
def test_tables_that_make_no_sense(X: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_label_errors(X, y)


def test_a_file_and_a_forest_do_not_go_together(tmp_path: Any) -> None:
    np.save(tmp_path / "X.npy", np.asarray(CATS_AND_DOGS))
    with pytest.raises(ValueError, match=r"a forest needs X in memory, and this is in a file; load it first, or use"):
        find_label_errors(tmp_path / "X.npy", ONE_WRONG)
    with pytest.raises(ValueError, match=r"a model needs X in memory"):
        find_label_errors(tmp_path / "X.npy", ONE_WRONG, n_trees=0, model=GaussianNB())


def test_questions_that_make_no_sense() -> None:
    errors = find_label_errors(CATS_AND_DOGS, ONE_WRONG, k=2, n_trees=0)
    with pytest.raises(ValueError, match=r"row must lie between 0 and 7; got 8"):
        errors.explain(8)
    with pytest.raises(TypeError, match=r"row must be the position of a row, an integer; got 'a'"):
        errors.explain("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"y must have a label for each of the 8 rows .* got shape \(2,\)"):
        errors.corrected(["cat", "dog"])
    with pytest.raises(
        TypeError, match=r"model must be a scikit-learn classifier with predict_proba; got GaussianNB, a"
    ):
        find_label_errors(CATS_AND_DOGS, ONE_WRONG, model=GaussianNB)
    with pytest.raises(TypeError, match=r"model must be a scikit-learn classifier with predict_proba; got str"):
        find_label_errors(CATS_AND_DOGS, ONE_WRONG, model="logistic")
    with pytest.raises(ValueError, match=r"confidence must lie in \[0, 1\]; got 2"):
        errors.corrected(confidence=2)


def test_as_many_suspects_as_asked_for_are_not_called_probably_wrong() -> None:
    X, y = CATS_AND_DOGS, ONE_WRONG
    usual = find_label_errors(X, y, k=2, n_trees=0)
    assert (usual.n_probable, usual.fixed_size) == (1, False)
    assert np.flatnonzero(usual.probable).tolist() == usual.suspects.tolist()
    asked = find_label_errors(X, y, k=2, n_trees=0, n=5)
    assert (asked.n_probable, asked.fixed_size) == (1, True)
    estimated = f"at most {np.ceil(asked.n_wrong.high):.0f} wrong"
    assert repr(asked).startswith(f"LabelErrors(5 most suspicious of 8 rows, {estimated}: 2, ")
    every = find_label_errors(X, y, k=2, n_trees=0, share=1.0)
    assert repr(every).startswith(f"LabelErrors(8 most suspicious of 8 rows, {estimated}: ")
    np.testing.assert_array_equal(every.probable, usual.probable)


@pytest.mark.parametrize("k", [8, 1000, 2**31 - 1])
def test_more_neighbours_than_rows_say_what_all_others_say(k: int) -> None:
    every = find_label_errors(CATS_AND_DOGS, ONE_WRONG, k=7, n_trees=0)
    more = find_label_errors(CATS_AND_DOGS, ONE_WRONG, k=k, n_trees=0)
    np.testing.assert_array_equal(more.scores, every.scores)
    np.testing.assert_array_equal(more.values, every.values)
    soft = pivotal.value(CATS_AND_DOGS, ONE_WRONG, k=1000, utility="soft").values
    np.testing.assert_allclose(more.values, soft, atol=1e-12)
