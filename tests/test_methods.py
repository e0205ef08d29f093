"""The registry: every name runs, says what it needs, and is explained in the guide."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import flat
import pivotal
from pivotal.baselines.enumeration import enumerate_coalitions
from pivotal.core.methods import Method, MethodTable, as_method, methods

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "methods.md"
OF_THE_PAPER = {"bf", "bv", "bv-fast", "bv-uw", "bv-mc", "sv", "sv-uw", "sv-soft", "sv-mc", "beta-mc", "loo"}
OF_THE_PAPER |= {"lava", "inf", "rand"}
SETTINGS = set(inspect.signature(pivotal.value).parameters)

every_method = pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)


def small_data(n: int = 7, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(0, 3, n), rng.normal(size=(4, 2)), rng.integers(0, 3, 4)


def test_names() -> None:
    names = [method.name for method in methods()]
    assert len(set(names)) == len(names)
    assert names[:4] == ["exact", "auto", "coalitions", "permutations"]
    every = {*names, *(alias for method in methods() for alias in method.aliases)}
    assert every >= OF_THE_PAPER
    assert len(every) == len(names) + sum(len(method.aliases) for method in methods())
    assert all(as_method(name).name == name for name in names)
    assert isinstance(methods(), MethodTable)


@every_method
def test_every_entry_is_complete(method: Method) -> None:
    assert method.kind in ("exact", "sampled", "heuristic")
    assert method.title
    assert method.cost
    assert not method.title.endswith(".")
    assert method.run in ("exact", "auto", "coalitions", "permutations") or method.is_function
    assert not set(method.presets) & set(method.suggests)
    assert {*method.presets, *method.suggests, *method.takes} <= SETTINGS
    if method.run == "exact":
        assert method.kind == "exact"
    if method.run in ("coalitions", "permutations"):
        assert method.kind == "sampled"


@pytest.mark.parametrize(
    "method", [method for method in methods() if method.is_function], ids=lambda method: method.name
)
def test_functions_take_what_they_are_given(method: Method) -> None:
    given = inspect.signature(method.function()).parameters
    assert list(given)[:4] == ["X_train", "y_train", "X_test", "y_test"]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in given.values()):
        assert {"ids", "random_state", "n_jobs", "progress", *method.takes} <= set(given)
    assert {*method.presets, *method.suggests} <= set(method.takes)


@every_method
def test_a_name_stands_for_its_settings(method: Method) -> None:
    if method.name == "lava":
        pytest.importorskip("ot", reason="needs POT")
    more: dict[str, Any] = {"random_state": 0, **({"n_samples": 60} if method.kind == "sampled" else {})}
    chosen = {**method.presets, **method.suggests, **more}
    if method.is_function:
        by_hand = method.function()(*small_data(), **chosen)
    else:
        by_hand = flat.value(*small_data(), method=method.run, **chosen)
    named = flat.value(*small_data(), method=method.name, **more)
    np.testing.assert_array_equal(named.values, by_hand.values)


@every_method
def test_every_name_values(method: Method) -> None:
    if method.name == "lava":
        pytest.importorskip("ot", reason="needs POT")
    options: dict[str, Any] = {"n_samples": 60} if method.kind == "sampled" else {}
    values = flat.value(*small_data(), method=method.name, random_state=0, n_jobs=1, **options)
    assert len(values) == 7
    assert values.settings["method"].partition("(")[0] == method.name
    assert (values.standard_error is not None) == (method.kind == "sampled")
    for name, text in {**method.presets, **method.suggests}.items():
        assert values.settings[name] == text


def test_general_ways_fix_nothing() -> None:
    for name in ("exact", "coalitions", "permutations"):
        method = as_method(name)
        assert (method.run, dict(method.presets), dict(method.suggests)) == (name, {}, {})


def test_engine_runs_have_no_function() -> None:
    with pytest.raises(ValueError, match="'weighted-knn-banzhaf' is run by the engine, not by a function"):
        as_method("bv").function()


def test_a_method_is_taken_as_it_is() -> None:
    mine = Method(name="mine", title="of my own", kind="heuristic", run="chance:chance")
    assert as_method(mine) is mine
    assert mine.is_function


def test_names_are_read_kindly() -> None:
    assert as_method(" BV_fast ").name == "weighted-knn-banzhaf"
    assert as_method("KNN_Shapley") is as_method("sv-soft")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bv-fats", "Did you mean 'bv-fast'?"),
        ("influenc", "Did you mean 'influence'?"),
        ("randon", "Did you mean 'random'"),
        ("permutation", "Did you mean 'permutations'"),
    ],
)
def test_near_misses_get_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"method must name a method; got '{name}'. {re.escape(hint)}"):
        as_method(name)


def test_far_misses_get_the_list() -> None:
    with pytest.raises(ValueError, match=r"got 'zzz'\. Use one of exact, auto, .*, random\."):
        as_method("zzz")
    with pytest.raises(TypeError, match=r"method must be a name or a Method; got 3\."):
        as_method(3)  # type: ignore[arg-type]


def test_methods_are_frozen() -> None:
    method = as_method("bv")
    with pytest.raises(FrozenInstanceError):
        method.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        method.presets["utility"] = "soft"  # type: ignore[index]
    assert copy.deepcopy(method) == method == pickle.loads(pickle.dumps(method))
    assert len({method, as_method("bv")}) == 1


def test_the_table_prints_one_line_each() -> None:
    lines = repr(methods()).splitlines()
    assert lines[0].split()[:2] == ["method", "kind"]
    assert len(lines) == len(methods()) + 1
    assert max(map(len, lines)) <= 120
    page = methods()._repr_html_()
    assert page.count("<tr>") == len(lines)
    assert "Wang and Jia (2023)" in page


def test_the_guide_has_the_same_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    expected = [(m.name, m.title, m.kind, m.cost, ", ".join(m.needs)) for m in methods()]
    assert [tuple(cell.strip() for cell in row) for row in rows] == expected


# bf


@pytest.mark.parametrize("utility", ["hard", "plurality", "soft", "soft-k", "jia2019"])
@pytest.mark.parametrize("semivalue", ["banzhaf", "shapley"])
def test_enumeration_equals_the_engine(utility: str, semivalue: str) -> None:
    data = small_data()
    options: dict[str, Any] = {"k": 2, "utility": utility, "semivalue": semivalue, "n_jobs": 1}
    listed, computed = enumerate_coalitions(*data, **options), flat.value(*data, **options)
    assert_allclose(listed.values, computed.values, atol=1e-13)
    assert listed.full_utility == pytest.approx(computed.full_utility)
    assert listed.empty_utility == pytest.approx(computed.empty_utility)
    assert listed.n_queries == 4
    assert 0.0 < listed.error_bound < 1e-12


def test_enumeration_with_votes_classes_and_ids() -> None:
    data = small_data(n=5)
    options: dict[str, Any] = {"k": 3, "weights": "distance", "bits": 3, "classes": [0, 1, 2, 3], "metric": "cityblock"}
    listed = enumerate_coalitions(*data, **options, ids=list("abcde"), progress=True)
    computed = flat.value(*data, **options)
    assert_allclose(listed.values, computed.values, atol=1e-13)
    assert listed.vote_resolution == computed.vote_resolution
    assert listed.ids.tolist() == list("abcde")
    assert (listed.settings["bits"], listed.settings["metric"]) == (3, "cityblock")


def test_enumeration_of_regressions() -> None:
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(6, 1)), rng.normal(size=6), rng.normal(size=(3, 1)), rng.normal(size=3))
    for weights in ("uniform", "rbf"):
        options: dict[str, Any] = {"k": 2, "utility": "regression", "weights": weights}
        assert_allclose(enumerate_coalitions(*data, **options).values, flat.value(*data, **options).values, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"bits": 0}, "bits must be"),
        ({"utility": "joy"}, "utility must name a game"),
        ({"semivalue": "joy"}, "semivalue must be one of"),
        ({"weights": "distance", "utility": "soft-k"}, 'utility="soft-k" takes unweighted'),
        ({"ids": [1]}, "ids must have one entry per training point"),
        ({"classes": [0]}, "classes must name every label"),
    ],
)
def test_enumeration_checks_its_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        enumerate_coalitions(*small_data(), **options)


def test_enumeration_takes_few_points() -> None:
    with pytest.raises(ValueError, match=r"at most 20 training points, for each doubles the work; got 21\."):
        enumerate_coalitions(*small_data(n=21))
    X, y, X_test, y_test = small_data()
    with pytest.raises(ValueError, match="X_train and y_train must have the same length"):
        enumerate_coalitions(X, y[:3], X_test, y_test)
    with pytest.raises(ValueError, match="X_test and y_test must have the same length"):
        enumerate_coalitions(X, y, X_test, y_test[:3])
