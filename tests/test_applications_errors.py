"""Curves and repairs explain what is wrong with their input."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from pivotal.analysis import removal_curve, repair, selection_curve

X, Y, QUERIES, TARGETS = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 1], [[0.5, 0.5]], [1]
DATA = {"values": [0.1, 0.2, 0.3], "X_train": X, "y_train": Y, "X_test": QUERIES, "y_test": TARGETS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [0.1, 0.2]}, "values must be one number for each of the 3 training points; got 2"),
        ({"values": [[0.1, 0.2, 0.3]]}, r"values must be one number per training point.*got shape \(1, 3\)"),
        ({"values": [0.1, np.nan, 0.3]}, "values must be finite; got nan at training index 1"),
        ({"values": ["a", "b", "c"]}, "values must be numbers, or a pivotal.Values; got dtype"),
        ({"values": None}, 'order="lowest" needs values; got None'),
        ({"order": "best"}, "order must be one of lowest, highest, random, or training indices; got 'best'"),
        ({"order": [0, 3]}, "order must hold training indices from 0 to 2; got 3"),
        ({"order": [0, 0]}, "order must name each training point at most once; got 0 twice"),
        ({"order": [0.5, 1.0]}, "order must be training indices or a boolean mask"),
        ({"steps": 0}, "steps must be an integer of at least 1"),
        ({"steps": 0.5}, "steps must be an integer of at least 1, or counts or shares in a list; got 0.5"),
        ({"steps": [4]}, "steps as counts must lie between 0 and 3; got 4"),
        ({"steps": [0.5, 1.5]}, r"steps as shares must lie in \[0, 1\]; got 1.5"),
        ({"steps": [np.nan]}, r"steps as shares must lie in \[0, 1\]; got nan"),
        ({"steps": []}, "steps must be counts or shares in a list"),
        ({"steps": ["a"]}, "steps must be counts or shares in a list"),
        ({"k": 0}, "k must be an integer of at least 1; got k=0"),
        ({"weights": "loud"}, "weights must be one of"),
        ({"metric": "taxi"}, "metric must be a callable or one of"),
        ({"metric": "precomputed"}, "precomputed X_test must have a distance to each of the 3 training points; got 2"),
        ({"scoring": "beauty"}, "scoring must be the name of a scorer of scikit-learn, such as accuracy"),
        ({"scoring": "roc_auc"}, "scoring roc_auc must be content with predictions"),
        ({"y_train": [0.5, 1.0, 2.0]}, 'scoring="accuracy" needs class labels; got fractions such as 0.5'),
        ({"scoring": "r2"}, 'scoring="r2" needs at least two test points'),
        ({"y_train": [0, 1]}, "X_train and y_train must have the same length; got 3 rows and 2 labels"),
        ({"y_test": [0, 1]}, "X_test and y_test must have the same length; got 1 rows and 2 labels"),
        ({"y_test": ["cat"]}, "labels of one type"),
        ({"X_train": [[0.0, np.inf], [1, 1], [2, 2]]}, "X_train must be finite"),
        ({"X_test": [[np.nan, 0.0]]}, "X_test must be finite"),
        ({"X_test": [[1.0]]}, "X_test must have as many columns as the training points, 2; got 1"),
        ({"X_train": [[1e200, 0.0], [1, 1], [2, 2]]}, "X_train must stay within"),
        ({"X_test": [[1e200, 0.0]]}, "X_test must stay within"),
        ({"random_state": "x", "order": "random"}, "random_state must be an integer of at least 0"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"model": KNeighborsClassifier(), "k": 3}, "k, weights and metric are taken from the model; got k=3"),
        ({"model": KNeighborsClassifier(3), "k": 5}, "taken from the model; got k=5"),  # what it is by default
        ({"model": GaussianNB(), "y_train": [0, 1]}, "X_train and y_train must have the same length"),
        ({"model": GaussianNB(), "y_test": ["cat"]}, "labels of one type"),
    ],
    ids=lambda change: "-".join(change) if isinstance(change, dict) else "",
)
@pytest.mark.parametrize("function", [removal_curve, selection_curve])
def test_bad_input_is_explained(function, change, message):
    if function is selection_curve:
        message = message.replace('order="lowest"', 'order="highest"')
    with pytest.raises(ValueError, match=message) as caught:
        function(**{**DATA, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "change", "error", "message"),
    [
        (selection_curve, {"warm_start": 4}, ValueError, "warm_start must be an integer up to the 3 training"),
        (selection_curve, {"warm_start": -0.5}, ValueError, r"or a share in \[0, 1\]; got -0.5"),
        (selection_curve, {"warm_start": True}, ValueError, "warm_start must be an integer"),
        (selection_curve, {"warm_start": [5]}, ValueError, "warm_start must hold training indices from 0 to 2; got 5"),
        (removal_curve, {"model": "knn"}, TypeError, "model must be an estimator of scikit-learn's kind.*got str"),
        (removal_curve, {"model": GaussianNB}, TypeError, "got GaussianNB, a class"),
        (repair, {"share": 1.5}, ValueError, "share must be an integer up to the 3 training points, or a share"),
        (repair, {"share": 2, "how": "guess"}, ValueError, "how must be one of flip, neighbors, a function or"),
        (
            repair,
            {"share": 2, "how": [0, 1]},
            ValueError,
            "how must hold the true labels of all 3 training points; got 2",
        ),
        (
            repair,
            {"share": 2, "how": lambda _: [1]},
            ValueError,
            "how must return a label for each of the 2 points",
        ),
        (repair, {"share": 1, "y_train": [1, 1, 1]}, ValueError, 'how="flip" needs at least two classes'),
        (
            repair,
            {"share": 1, "y_train": [0.5, 1.0, 2.0], "scoring": "neg_mean_squared_error"},
            ValueError,
            'how="flip" needs classes; got numbers',
        ),
        (
            repair,
            {"share": 1, "values": [1.0], "X_train": X[:1], "y_train": [1]},
            ValueError,
            'how="flip" needs at least two training points; got 1',
        ),
    ],
)
def test_more_bad_input_is_explained(function, change, error, message):
    with pytest.raises(error, match=message):
        function(**{**DATA, **change})
