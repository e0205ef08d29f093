"""The metric of a valuation: in the settings with its parameters, and the same in the report."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flat
import pivotal
from pivotal.core.metric_settings import read_metric
from pivotal.neighbors import BruteIndex
from pivotal.report import write_report
from pivotal.results.values import Values

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 3)) * [1.0, 5.0, 0.2]
Y = np.arange(40) % 2
Q, T = X[:6] + 0.01, Y[:6]


def payload_of(path: Path) -> dict[str, Any]:
    found = re.findall(r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    page: dict[str, Any] = json.loads(found[0])
    return page


def neighbours(page: dict[str, Any]) -> np.ndarray:
    packed = page["points"]["neighbours"]
    return np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}").reshape(40, -1)


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1.0, "w": np.array([0.0, 0.01, 50.0])}),
        ("minkowski", {"p": np.inf}),
        ("seuclidean", {"V": np.array([9.0, 0.1, 1.0])}),
        ("seuclidean", None),
        ("mahalanobis", {"VI": np.diag([0.1, 7.0, 1.0])}),
        ("chebyshev", None),
    ],
)
def test_parameters_are_kept_and_used_in_the_report(metric: str, parameters: Any, tmp_path: Path) -> None:
    values = flat.value(X, Y, Q, T, metric=metric, metric_params=parameters, k=3)
    values.save(tmp_path / "v.parquet")
    loaded = Values.load(tmp_path / "v.parquet")
    name, again = read_metric(loaded.settings)
    assert name == metric
    assert (again is None) == (parameters is None)
    for key, content in (parameters or {}).items():
        np.testing.assert_array_equal((again or {})[key], content)
    page = payload_of(write_report(loaded, tmp_path / "page.html", X=X, y=Y, X_test=Q, y_test=T, suspects=False))
    true = BruteIndex(X, metric, metric_params=parameters).search_self(0, 40, 5)[0]
    np.testing.assert_array_equal(neighbours(page), true)
    assert page["curves"] is not None
    owners = flat.value_owners(X, Y, Q, T, Y, metric=metric, metric_params=parameters, k=3)
    assert owners.settings["metric"] == values.settings["metric"]


def test_a_function_is_not_replaced_by_the_euclidean_metric(tmp_path: Path) -> None:
    def manhattan(a: Any, b: Any) -> float:  # the name of a metric, and another one
        return float(abs(a[0] - b[0]))

    values = pivotal.value(X, Y, Q, T, metric=manhattan, k=3)
    with pytest.warns(UserWarning, match="the metric manhattan is a function, or has large parameters"):
        path = write_report(values, tmp_path / "page.html", X=X, y=Y, X_test=Q, y_test=T)
    page = payload_of(path)
    assert "neighbours" not in page["points"]
    assert page["suspects"] is page["curves"] is None
    left_out = " ".join(map(str, page["left_out"]))
    assert left_out.count("the metric manhattan is a function") == 3
    suspects = pivotal.find_label_errors(X, Y, metric=manhattan, k=3, n_trees=0)
    with pytest.warns(UserWarning, match="is a function"):
        path = write_report(values, tmp_path / "page.html", X=X, y=Y, suspects=suspects)
    assert payload_of(path)["suspects"] is not None


def test_a_report_without_points_needs_no_metric(tmp_path: Path) -> None:
    values = pivotal.value(X, Y, Q, T, metric=lambda a, b: float(abs(a - b).sum()), k=3)
    write_report(values, tmp_path / "page.html")  # warnings are errors here


def test_what_was_not_kept_is_said() -> None:
    big = str(pivotal.Metric("mahalanobis", VI=np.eye(200)))
    with pytest.raises(ValueError, match="the metric mahalanobis is a function, or has large parameters"):
        read_metric({"metric": big})
    with pytest.raises(ValueError, match="metric was <mahalanobis>, which settings do not keep"):
        pivotal.value(X, Y, Q, T, metric=big)
    assert read_metric({"metric": "cosine"}) == ("cosine", None)
    assert read_metric({}) == ("euclidean", None)


def test_a_fitted_models_metric_is_recorded() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(n_neighbors=3, metric="minkowski", p=4).fit(X, Y)
    values = pivotal.value(X_test=Q, y_test=T, model=model)
    assert values.settings["metric"] == "minkowski(p=4)"
