"""cleanlab's Datalab with our values and label errors in its tables and its report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pivotal
from pivotal import Values
from pivotal.interop import add_to_datalab, to_datalab


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(["ant", "bee"], 30)
    X = rng.normal(size=(60, 2)) + 6.0 * (y == "bee")[:, np.newaxis]
    wrong = np.array([3, 17, 40, 55])
    y[wrong] = np.where(y[wrong] == "ant", "bee", "ant")
    return X, y, wrong


@pytest.fixture
def lab(data: Any) -> Any:
    pytest.importorskip("datasets")
    cleanlab = pytest.importorskip("cleanlab")
    return cleanlab.Datalab({"label": data[1].tolist()}, label_name="label", verbosity=0)


def test_values_score_as_in_datalab(data: Any) -> None:
    X, y, wrong = data
    values = pivotal.value(X, y)
    table = to_datalab(values)
    assert list(table.columns) == ["is_data_valuation_issue", "data_valuation_score"]
    np.testing.assert_allclose(table["data_valuation_score"], (1 + values.values) / 2)
    assert np.array_equal(np.flatnonzero(table["is_data_valuation_issue"]), np.flatnonzero(values.values < 0))
    assert table["is_data_valuation_issue"][wrong].sum() >= 3
    assert to_datalab(values, y)["given_label"].tolist() == y.tolist()
    assert not to_datalab(values, threshold=0.0)["is_data_valuation_issue"].any()
    wide = to_datalab(Values([4.0, -2.0, 0.0], n_queries=1))  # of a regression, say
    assert wide["data_valuation_score"].tolist() == [1.0, 0.25, 0.5]
    assert wide["is_data_valuation_issue"].tolist() == [False, True, False]


def test_label_errors_have_datalabs_columns(data: Any) -> None:
    X, y, wrong = data
    errors = pivotal.find_label_errors(X, y)
    table = to_datalab(errors)
    assert list(table.columns) == ["is_label_issue", "label_score", "given_label", "predicted_label"]
    assert set(wrong) <= set(np.flatnonzero(table["is_label_issue"]))
    assert table["given_label"].tolist() == y.tolist()
    assert (table["predicted_label"][wrong] != y[wrong]).all()
    assert table["label_score"].between(0, 1).all()
    assert to_datalab(errors, np.arange(60))["given_label"].tolist() == list(range(60))


def test_tables_join_those_of_a_datalab(data: Any, lab: Any) -> None:
    X, y, _ = data
    lab.find_issues(features=X, issue_types={"outlier": {}, "data_valuation": {"k": 5}})
    theirs, ours = lab.get_issues("data_valuation"), to_datalab(pivotal.value(X, y))
    assert list(theirs.columns) == list(ours.columns)
    assert theirs.dtypes.tolist() == ours.dtypes.tolist()
    both = lab.get_issues().join(ours.add_prefix("pivotal_"))
    assert len(both) == 60
    assert both["pivotal_data_valuation_score"].tolist() == ours["data_valuation_score"].tolist()


def test_values_go_into_the_report(data: Any, lab: Any, capsys: Any) -> None:
    X, y, _ = data
    values = pivotal.value(X, y)
    add_to_datalab(lab, values)
    pd.testing.assert_frame_equal(lab.get_issues("data_valuation"), to_datalab(values))
    n_negative = int((values.values < 0).sum())
    summary = lab.get_issue_summary("data_valuation")
    assert summary["num_issues"].tolist() == [n_negative]
    lab.report(verbosity=4)
    printed = capsys.readouterr().out
    assert "data_valuation issues" in printed
    assert f"Number of examples with this issue: {n_negative}" in printed


def test_label_errors_go_into_the_report(data: Any, lab: Any, tmp_path: Any, capsys: Any) -> None:
    X, y, _ = data
    errors = pivotal.find_label_errors(X, y)
    lab.find_issues(features=X, issue_types={"outlier": {}})
    add_to_datalab(lab, errors)
    add_to_datalab(lab, pivotal.value(X, y))
    table = lab.get_issues("label")
    assert table["given_label"].tolist() == y.tolist()
    assert table["predicted_label"].tolist() == errors.suggested.tolist()
    assert np.array_equal(np.flatnonzero(table["is_label_issue"]), np.sort(errors.suspects))
    np.testing.assert_array_equal(table["label_score"], errors.scores)
    assert set(lab.get_issue_summary()["issue_type"]) == {"outlier", "label", "data_valuation"}
    lab.report()
    assert "label issues" in capsys.readouterr().out
    lab.save(str(tmp_path / "lab"), force=True)
    capsys.readouterr()


def test_values_of_a_regression_go_into_a_report_of_one(lab: Any) -> None:
    numbers = type(lab)({"label": [0.5, 1.5, 9.0]}, label_name="label", task="regression", verbosity=0)
    add_to_datalab(numbers, Values([0.3, 0.1, -4.0], n_queries=1))
    assert numbers.get_issues("data_valuation")["is_data_valuation_issue"].tolist() == [False, False, True]


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Datalab's, of pandas 3.1
def test_a_second_result_replaces_the_first(data: Any, lab: Any) -> None:
    X, y, _ = data
    add_to_datalab(lab, pivotal.value(X, y))
    other = pivotal.value(X, y, k=1, semivalue="shapley")
    with pytest.warns(UserWarning, match="Overwriting"):
        add_to_datalab(lab, other)
    pd.testing.assert_frame_equal(lab.get_issues("data_valuation"), to_datalab(other))
    assert len(lab.get_issue_summary()) == 1


def test_what_does_not_fit_is_refused(data: Any, lab: Any) -> None:
    X, y, _ = data
    values = Values([0.1, 0.2], n_queries=1)
    with pytest.raises(ValueError, match="lab must hold the rows that were valued, 2; got 60"):
        add_to_datalab(lab, values)
    strange = pivotal.find_label_errors(X, np.where(y == "ant", "cat", "dog"))
    with pytest.raises(ValueError, match=r"lab must know every label; it has no '(cat|dog)' among 'ant', 'bee'"):
        add_to_datalab(lab, strange)


def test_bad_input_is_explained() -> None:
    values = Values([0.1, 0.2], n_queries=1)
    with pytest.raises(TypeError, match=r"result must be pivotal\.Values or pivotal\.LabelErrors; got list"):
        to_datalab([0.1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"labels must have one entry for each of the 2 rows; got shape \(3,\)"):
        to_datalab(values, [1, 2, 3])
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\]; got 2"):
        to_datalab(values, threshold=2)
    with pytest.raises(TypeError, match=r"lab must be a cleanlab\.Datalab; got dict"):
        add_to_datalab({}, values)
