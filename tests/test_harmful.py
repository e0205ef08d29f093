"""Rows that do harm: values are those of the library, suspects are what they are said to be, and clean data stays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.preprocessing import StandardScaler

import flat
import pivotal


@pytest.fixture(scope="module")
def noisy():
    X, y = make_blobs(200, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    wrong = np.random.default_rng(0).choice(200, 24, replace=False)
    given = y.copy()
    given[wrong] = (given[wrong] + 1) % 3
    return X, given, y, wrong


def test_wrong_labels_are_removed_and_clean_ones_are_not(noisy):
    X, given, true, wrong = noisy
    found = pivotal.remove_harmful(X, given)
    assert np.isin(found.indices, wrong).mean() > 0.8
    assert np.isin(wrong, found.indices).mean() > 0.8
    assert found.gain > 2 * found.gain_error > 0
    assert "do harm" in str(found)
    assert sorted([*found.kept, *found.indices]) == list(range(200))
    clean = pivotal.remove_harmful(X, true)
    assert len(clean) == 0
    assert "nothing is reliably harmful" in repr(clean)
    assert clean.kept.size == 200


def test_values_and_their_errors_are_those_of_single_queries(noisy):
    X, given, _, _ = noisy
    found = pivotal.remove_harmful(X, given, 5)
    values = flat.value(X, given, utility="soft", k=5, per_query=True)
    np.testing.assert_allclose(found.values, values.values, atol=1e-9)
    table = values.queries.matrix.toarray()
    for row in (0, 17, 150):
        others = np.delete(table[:, row], row)
        assert found.standard_errors[row] == pytest.approx(others.std() / np.sqrt(199), rel=1e-3, abs=1e-8)
    np.testing.assert_array_equal(found.indices, values.order()[::-1][:5])
    assert found.requested
    assert "as asked for" in str(found)
    assert found.to_frame()["row"].tolist() == found.indices.tolist()
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 1.0


def test_suspects_have_a_negative_value_and_neighbours_that_reject_them(noisy):
    X, given, _, _ = noisy
    found = pivotal.remove_harmful(X, given)
    apart = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    np.fill_diagonal(apart, np.inf)
    near = given[np.argsort(apart, axis=1, kind="stable")[:, :5]]
    for row in range(200):
        counts = np.bincount(near[row], minlength=3)
        assert found.rejected[row] == (counts[given[row]] < counts.max())
    expected = np.flatnonzero((found.values + found.standard_errors < 0) & found.rejected)
    assert sorted(found.suspects) == expected.tolist()
    assert (np.diff(found.values[found.suspects]) >= 0).all()


def test_rows_are_valued_by_test_data_if_there_is_any(noisy):
    X, given, true, wrong = noisy
    found = pivotal.remove_harmful(X, given, X_test=X[::2] + 0.01, y_test=true[::2])
    values = pivotal.value(X, given, X[::2] + 0.01, true[::2], utility="soft")
    np.testing.assert_allclose(found.values, values.values, atol=1e-9)
    assert np.isin(found.suspects, wrong).mean() > 0.8


def test_iris_as_it_is_stays_whole():
    X, y = load_iris(return_X_y=True)
    found = pivotal.remove_harmful(StandardScaler().fit_transform(X), y)
    assert len(found) == 0
    assert found.suspects.size > 0  # some seem to do harm, and leaving them out does not help
    assert "but without such rows" in str(found)


def test_what_cannot_be_removed_is_said(noisy):
    X, given, _, _ = noisy
    with pytest.raises(ValueError, match="size must be"):
        pivotal.remove_harmful(X, given, 0)
    with pytest.raises(ValueError, match="leave at least one"):
        pivotal.remove_harmful(X, given, 1.0)
    with pytest.raises(ValueError, match="at least two rows"):
        pivotal.remove_harmful([[0.0]], [1])
