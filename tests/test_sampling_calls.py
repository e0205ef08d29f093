"""Calling for a method: what names bring along, what is refused and how, and what Ctrl-C leaves."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import flat
from pivotal import Banzhaf, Hard, KNNValuation, Shapley, value
from pivotal.core.given import default, is_given
from pivotal.core.methods import Method, as_method, methods
from pivotal.core.plan import METHODS
from pivotal.core.spec import Spec
from pivotal.neighbors import BruteIndex
from pivotal.results.values import Values

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.integers(0, 3, 30)
QUERIES, TARGETS = RNG.normal(size=(6, 2)), RNG.integers(0, 3, 6)
DATA = (X, Y, QUERIES, TARGETS)
LISTS = [RNG.permutation(30) for _ in range(6)]


@pytest.mark.parametrize("n_samples", [0, -5, 1, 2.0, 10.5, True, "100", np.nan])
def test_numbers_of_samples_are_checked(n_samples: Any) -> None:
    message = "n_samples must be an integer of at least 2, as one sample cannot show its error; got "
    for call in CALLS:
        with pytest.raises(ValueError, match=message):
            call(method="coalitions", n_samples=n_samples)


@pytest.mark.parametrize("name", ["target_se", "max_time"])
@pytest.mark.parametrize("limit", [0, -1.0, np.nan, np.inf, True, "1 s"])
def test_other_limits_are_checked(name: str, limit: Any) -> None:
    for call in CALLS:
        with pytest.raises(ValueError, match=f"{name} must be a finite number above 0; got .* Omit it for no"):
            call(method="permutations", **{name: limit})


@pytest.mark.parametrize("random_state", [-1, 1.5, True, "0", [1, 2]])
def test_seeds_are_checked(random_state: Any) -> None:
    message = r"random_state must be an integer of at least 0, a numpy Generator or None; got "
    for call in CALLS:
        with pytest.raises(ValueError, match=message):
            call(method="coalitions", random_state=random_state)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_of_either_kind_are_used_and_move_on(make: Any) -> None:
    for call in CALLS:
        random_state = make(0)
        one, other, again = (
            call(method="coalitions", n_samples=20, random_state=state).values
            for state in (random_state, random_state, make(0))
        )
        assert (one == again).all()
        assert (one != other).any()


@pytest.mark.parametrize("limit", [{"n_samples": 100}, {"target_se": 0.1}, {"max_time": 1.0}], ids=str)
def test_exact_values_have_no_samples_to_limit(limit: dict[str, Any]) -> None:
    (name,) = limit
    message = f'{name} is for sampling; got {name}=.* with method="exact".*Omit it, or use method="coalitions"'
    for call in CALLS:
        with pytest.raises(ValueError, match=message):
            call(**limit)
    with pytest.raises(ValueError, match=message):
        flat.value(*DATA, method="bv-uw", **limit)


@pytest.mark.parametrize("method", ["coalition", "monte carlo", "", None, 3])
def test_unknown_methods_list_the_known(method: Any) -> None:
    for call in (from_features, from_lists):
        with pytest.raises((ValueError, TypeError), match=r"method must .* Use one of exact, auto, coalitions"):
            call(method=method)
    with pytest.raises(
        ValueError, match=r"method must be one of 'exact', 'coalitions', 'permutations'; got .*pivotal\.value knows"
    ):
        from_batches(method=method)


def test_a_near_miss_is_recognised() -> None:
    with pytest.raises(ValueError, match="Did you mean 'coalitions'"):
        value(*DATA, method="colitions")
    with pytest.raises(ValueError, match="Did you mean 'permutations'"):
        from_batches(method="permutation")


def from_features(**how: Any) -> Values:
    return flat.value(*DATA, **how)


def from_lists(**how: Any) -> Values:
    return flat.value_from_neighbors(LISTS, Y, TARGETS, **how)


def from_batches(**how: Any) -> Values:
    return flat.KNNValuation(**how).fit(X, Y).update(QUERIES, TARGETS).result_


CALLS = (from_features, from_lists, from_batches)


def test_the_defaults_are_those_of_the_estimator() -> None:
    parameters, shared = inspect.signature(value).parameters, inspect.signature(KNNValuation).parameters
    own = {"X_train", "y_train", "X_test", "y_test", "model", "groups", "ids", "query_weights"}
    estimators = {"metric_params", "block_size", "max_memory"}
    assert set(parameters) == set(shared) - estimators | own
    assert len(parameters) == 20
    assert {name: parameters[name].default for name in shared if name not in estimators} == {
        name: parameter.default for name, parameter in shared.items() if name not in estimators
    }
    assert not [name for name, parameter in parameters.items() if is_given(parameter.default)]


def test_the_engine_runs_all_that_no_function_does() -> None:
    assert {method.run for method in methods() if not method.is_function} == {*METHODS, "auto"}


def test_exact_is_what_it_was() -> None:
    plain = value(*DATA, k=3)
    assert plain.standard_error is None
    assert value(*DATA, k=3, method="exact").equals(plain)
    assert value(*DATA, k=3, method=as_method("exact")).equals(plain)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bv-uw", {"semivalue": "banzhaf"}),
        ("sv-uw", {"semivalue": "shapley"}),
        ("sv-soft", {"semivalue": "shapley", "utility": "soft-k"}),
        ("sv", {"semivalue": "shapley", "weights": "distance"}),
        ("loo", {"semivalue": "loo"}),
    ],
)
def test_names_bring_settings(name: str, settings: dict[str, Any]) -> None:
    by_name, by_hand = value(*DATA, k=3, method=name), flat.value(*DATA, k=3, **settings)
    np.testing.assert_array_equal(by_name.values, by_hand.values)
    assert by_name.settings["method"] == as_method(name).name
    assert by_hand.settings["method"] == "exact"


def test_names_of_samplers() -> None:
    by_name = flat.value(*DATA, k=3, method="sv-mc", n_samples=50, random_state=1)
    by_hand = flat.value(*DATA, k=3, semivalue="shapley", method="permutations", n_samples=50, random_state=1)
    np.testing.assert_array_equal(by_name.values, by_hand.values)
    assert by_name.settings["method"] == "knn-shapley-permutations(n_samples=50, random_state=1)"


def test_a_choice_that_agrees_is_no_contradiction() -> None:
    value(*DATA, method="sv-uw", semivalue="shapley")
    value(*DATA, method="sv-uw", semivalue=Shapley(), utility=Hard())
    suggested = value(*DATA, method="bv", weights="rbf")  # what is merely suggested may be chosen otherwise
    assert suggested.settings["weights"] == "rbf"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"method": "sv-uw", "semivalue": "loo"},
            "method='knn-shapley-hard' stands for semivalue='shapley'; got semivalue='loo'",
        ),
        ({"method": "bv-uw", "weights": "distance"}, "stands for weights='uniform'; got weights='distance'. Omit it"),
        ({"method": "bv", "utility": "soft"}, "stands for utility='hard'; got utility='soft'.*or use method='exact'"),
        ({"method": "sv-retrain", "semivalue": "loo"}, "stands for semivalue='shapley'.*or use another method"),
    ],
    ids=str,
)
def test_contradictions_are_told(how: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        flat.value(*DATA, **how)
    assert "\n" not in str(caught.value)


def test_a_model_is_a_choice() -> None:
    model = KNeighborsClassifier(3).fit(X, Y)
    values = value(X_test=QUERIES, y_test=TARGETS, model=model, method="bv")
    assert values.settings["weights"] == "uniform"  # the model's, not the one that the name suggests
    model = KNeighborsClassifier(3, weights="distance").fit(X, Y)
    with pytest.raises(ValueError, match="method='knn-banzhaf' stands for weights='uniform'; got weights='distance'"):
        value(X_test=QUERIES, y_test=TARGETS, model=model, method="bv-uw")


def test_parameters_are_for_functions() -> None:
    with pytest.raises(TypeError, match=r"method 'coalitions' takes n_samples, .*; got 'lam'"):
        flat.value(*DATA, method="coalitions", method_params={"lam": 1})


def echo(  # its signature is that of every method
    X_train: Any,  # noqa: ARG001
    y_train: Any,
    X_test: Any,
    y_test: Any,  # noqa: ARG001
    *,
    ids: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
    progress: bool = False,  # noqa: ARG001
    k: int = 5,
    semivalue: str = "banzhaf",
    strength: float = 1.0,
) -> Values:
    """A method that tells what it was given."""
    told = {"random_state": random_state, "n_jobs": n_jobs, "k": k, "semivalue": str(semivalue), "strength": strength}
    told["tested"] = X_test is not None
    return Values(np.zeros(len(y_train)), n_queries=1, ids=ids, settings=told)


ECHO = Method(
    name="echo",
    title="tells what it was given",
    kind="heuristic",
    run=echo,
    suggests={"semivalue": "shapley"},
    takes=("k", "semivalue"),
    needs=("a test set",),
)


def test_functions_get_what_they_take() -> None:
    told = flat.value(*DATA, method=ECHO, k=3, random_state=4, n_jobs=1, method_params={"strength": 2.0}, ids=range(30))
    assert dict(told.details) == {
        "random_state": 4,
        "n_jobs": 1,
        "k": 3,
        "semivalue": "shapley",
        "strength": 2.0,
        "tested": True,
    }
    assert dict(told.settings) == {"k": 3, "semivalue": "shapley", "method": "echo(random_state=4, strength=2.0)"}
    assert value(*DATA, method=ECHO).details["k"] == 5
    assert value(*DATA, method=ECHO, semivalue=Banzhaf(0.3)).settings["semivalue"] == "banzhaf(0.3)"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"weights": "distance"},
            "method='echo' does not accept weights; got weights='distance'.*It takes k, semivalue",
        ),
        ({"tol": 0.0}, "does not accept tol"),
        ({"metric": "cosine"}, "does not accept metric"),
        ({"X_test": None, "y_test": None}, "method='echo' needs a test set; got none. Pass X_test and y_test"),
    ],
    ids=str,
)
def test_functions_refuse_the_rest(how: dict[str, Any], message: str) -> None:
    given = dict(zip(("X_train", "y_train", "X_test", "y_test"), DATA, strict=True)) | how
    with pytest.raises(ValueError, match=message):
        flat.value(method=ECHO, **given)


@pytest.mark.parametrize("name", ["strenght", "k", "ids"])
def test_parameters_of_a_function_are_checked(name: str) -> None:
    with pytest.raises(TypeError, match=f"method 'echo' takes strength; got '{name}'"):
        flat.value(*DATA, method=ECHO, k=3, semivalue="loo", method_params={name: 1})


def test_lists_of_neighbours_know_names_too() -> None:
    np.testing.assert_array_equal(from_lists(method="sv-uw").values, from_lists(semivalue="shapley").values)
    assert from_lists(method="bv-mc", random_state=0).settings["method"] == "knn-banzhaf-coalitions(random_state=0)"
    votes = np.ones((6, 30), dtype=int)
    with pytest.raises(ValueError, match="method='knn-banzhaf' stands for unweighted votes; got votes"):
        from_lists(method="bv-uw", votes=votes)
    with pytest.raises(
        ValueError, match=r"method='weighted-knn-banzhaf' stands for weighted votes; got none\. Pass votes"
    ):
        from_lists(method="bv")
    assert len(from_lists(method="bv", votes=votes + 1)) == 30
    with pytest.raises(
        ValueError, match=r"method='random' needs the training points themselves; got lists.*pivotal\.value"
    ):
        from_lists(method="rand")


def test_a_call_is_settled_once() -> None:
    spec = Spec.of(method="sv", semivalue=default("banzhaf"), weights=default("uniform"), k=default(5))
    said = spec.settings("semivalue", "weights", "utility", "k")
    assert said == {"semivalue": "shapley", "weights": "distance", "utility": "hard", "k": 5}
    assert spec.chosen == frozenset()
    assert Spec.of(method="sv", weights="uniform").settings()["weights"] == "uniform"


def test_the_estimator_only_stores() -> None:
    model = KNNValuation(method="nonsense", n_jobs="x", tol=-1)
    assert clone(model).get_params()["method"] == "nonsense"
    with pytest.raises(ValueError, match="method must be one of"):
        model.fit(X, Y)


def test_a_bar_for_every_pass(capsys: pytest.CaptureFixture[str]) -> None:
    flat.value(*DATA, k=3, method="coalitions", target_se=0.005, random_state=0, progress=True)
    shown = capsys.readouterr().err
    assert "sampling: 100%" in shown
    assert "refining: 100%" in shown


class Interrupted:
    """An index whose user presses Ctrl-C during the search of a certain block."""

    def __init__(self, calls_left: int) -> None:
        self.index, self.calls_left = BruteIndex(X), calls_left

    def search(self, queries: Any, depth: int) -> tuple[Any, Any]:
        self.calls_left -= 1
        if self.calls_left < 0:
            raise KeyboardInterrupt
        return self.index.search(queries, depth)


@pytest.mark.parametrize("method", ["coalitions", "permutations"])
def test_finished_blocks_survive_an_interruption(method: str) -> None:
    def new(calls: int) -> KNNValuation:
        how: dict[str, Any] = {"method": method, "n_samples": 300, "random_state": 0, "block_size": 2}
        return flat.KNNValuation(3, neighbors=Interrupted(calls), **how).fit(X, Y)

    model, shorter = new(2), new(99).update(QUERIES[:4], TARGETS[:4])
    with pytest.raises(KeyboardInterrupt):
        model.update(QUERIES, TARGETS)
    assert model.n_queries_ == 4
    assert model.result_.recall is None  # the lists of a batch are compared with exact ones at its end
    assert replace(model.result_, recall=shorter.result_.recall).equals(shorter.result_)
    # It can go on where it was stopped.
    model.neighbors.calls_left = 99
    whole = new(99).update(QUERIES, TARGETS).result_
    assert model.update(QUERIES[4:], TARGETS[4:]).result_.equals(whole)


@pytest.mark.parametrize(("calls", "n_queries", "n_samples"), [(2, 4, 256), (4, 6, 256), (8, 6, 16 * 256)])
def test_finished_passes_survive_an_interruption(calls: int, n_queries: int, n_samples: int) -> None:
    # Three blocks, so three searches in each pass: it happens in the first, the second and the third.
    how: dict[str, Any] = {"method": "coalitions", "target_se": 1e-9, "random_state": 0, "block_size": 2}
    model = flat.KNNValuation(3, neighbors=Interrupted(calls), **how).fit(X, Y)
    with pytest.raises(KeyboardInterrupt):
        model.update(QUERIES, TARGETS)
    assert model.n_queries_ == n_queries
    assert tuple(model.result_.details["n_samples"]) == (n_samples, n_samples)
