"""Repaired labels vote as if they had been there from the start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from applied import accuracy, blobs, tasks
from effort import examples
from pivotal.analysis import repair, selection_curve


@pytest.mark.kernels
@examples(40)
@given(task=tasks(), share=st.integers(0, 9))
def test_repairing_equals_voting_anew(task, share):
    X, y, queries, targets, scores, k, weights = task
    truth = (y + 1) % 3
    share = min(share, len(y))
    lowest = np.argsort(-np.array(scores), kind="stable")[::-1]
    result = repair(scores, X, y, queries, targets, k=k, weights=weights, share=share, how=truth)
    assert result.order.tolist() == lowest[:share].tolist()
    assert result.changed.all()
    labels, expected = y.copy(), []
    for count in range(share + 1):
        labels[lowest[:count]] = truth[lowest[:count]]
        expected.append(accuracy(X, labels, range(len(y)), queries, targets, k, weights))
    assert result.labels.tolist() == labels.tolist()
    np.testing.assert_allclose(result.curve.scores, expected, rtol=0, atol=1e-15)


def test_many_repairs_equal_voting_anew():
    X, y, queries, targets = blobs(1400, 20)
    order = np.random.default_rng(8).permutation(1400)
    truth = (y + 1) % 3
    data = (X, y, queries, targets)
    steps = [0, 3, 1024, 1025, 1300, 1400]
    for scoring in ("accuracy", "f1_macro"):
        result = repair(None, *data, how=truth, share=1.0, order=order, steps=steps, scoring=scoring)
        for count, score in zip(steps, result.curve.scores, strict=True):
            labels = y.copy()
            labels[order[:count]] = truth[order[:count]]
            fitted = selection_curve(None, X, labels, queries, targets, order=order, steps=[1400], scoring=scoring)
            assert score == pytest.approx(fitted.scores[0], abs=1e-12)


def test_flipping_takes_the_commonest_other_label():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [5.1]])
    y = np.array(["a", "b", "b", "c", "c", "c"])
    result = repair(np.arange(6), X, y, [[0.0]], ["b"], share=1, k=3)
    assert result.labels.tolist() == ["b", "b", "b", "c", "c", "c"]
    assert result.order.tolist() == [0]
    # Among its own kind only, it takes the commonest other label of all; neighbours leave it as it is.
    far = {"order": [5], "share": 1, "k": 2}
    assert repair(None, X, y, [[0.0]], ["b"], **far).labels[5] == "b"
    kept = repair(None, X, y, [[0.0]], ["b"], how="neighbors", **far)
    assert kept.labels[5] == "c"
    assert kept.changed.tolist() == [False]
    two = repair(None, X[:4], [0, 0, 1, 1], [[0.0]], [0], order=[0, 3], share=2, k=1)
    assert two.labels.tolist() == [1, 0, 1, 0]
    assert "2 of 2 labels changed" in repr(two)


def test_an_expert_is_asked_about_the_points_in_order():
    X, y, queries, targets = blobs(30, 10)
    asked = []

    def expert(points):
        asked.extend(points.tolist())
        return np.full(len(points), 9)  # a class that nobody has yet

    result = repair(np.arange(30), X, y, queries, targets, how=expert, share=4)
    assert asked == [0, 1, 2, 3]
    assert result.labels[:4].tolist() == [9] * 4
    assert result.curve.settings["how"] == "expert"
    assert len(repair(np.arange(30), X, y, queries, targets, share=0).curve) == 1


def test_an_expert_may_answer_in_words():
    X, y, queries, targets = blobs(12, 5)
    result = repair(np.arange(12), X, y, queries, targets, how=lambda points: ["spam"] * len(points), share=2)
    assert result.labels[:3].tolist() == ["spam", "spam", y[2]]
    longer = repair(np.arange(3), X[:3], np.array(["a", "b", "c"]), X[:1], ["a"], how=["alpha", "b", "c"], share=1)
    assert longer.labels.tolist() == ["alpha", "b", "c"]


def test_numbers_and_other_models_are_repaired_too():
    X = np.arange(8.0)[:, np.newaxis]
    y = X[:, 0].copy()
    y[3] = 100.0
    result = repair(-y, X, y, X, X[:, 0], how="neighbors", share=1, k=2, scoring="neg_mean_absolute_error")
    assert result.labels[3] == 3.0
    assert result.curve.scores[1] > result.curve.scores[0]
    X, y, queries, targets = blobs(30, 10, n_classes=2)
    result = repair(np.arange(30), X, y, queries, targets, model=GaussianNB(), share=10, steps=[0, 10], n_jobs=1)
    assert result.curve.scores[0] == GaussianNB().fit(X, y).score(queries, targets)
    assert result.curve.scores[1] == GaussianNB().fit(X, result.labels).score(queries, targets)
    model = KNeighborsClassifier(1)
    nearest = repair(np.arange(30), X, y, queries, targets, model=model, share=3)
    np.testing.assert_array_equal(
        nearest.curve.scores, repair(np.arange(30), *blobs(30, 10, 2), k=1, share=3).curve.scores
    )
