"""What was passed is what is computed: a given argument is never taken for a default, and a contradiction is said."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import flat
import pivotal
from pivotal import KNNValuation, methods, value, value_from_neighbors
from pivotal.core.games import as_game
from pivotal.core.given import default, is_given, plain
from pivotal.core.semivalues import as_semivalue
from pivotal.core.weights import as_weights

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)) * [1.0, 9.0], RNG.integers(0, 2, 30)
QUERIES, TARGETS = RNG.normal(size=(6, 2)) * [1.0, 9.0], RNG.integers(0, 2, 6)
DATA = (X, Y, QUERIES, TARGETS)

ENGINE = [method for method in methods() if not method.is_function]
CHOICES: dict[str, tuple[Any, ...]] = {
    "utility": ("hard", "soft", "soft-k", pivotal.Hard(), pivotal.Soft()),
    "semivalue": ("banzhaf", "shapley", "loo", pivotal.Banzhaf(), pivotal.Shapley()),
    "weights": ("uniform", "distance", None),
}
MEANING: dict[str, Callable[[Any], Any]] = {"utility": as_game, "semivalue": as_semivalue, "weights": as_weights}


def test_defaults_look_and_act_like_what_they_are() -> None:
    for choice in (5, 1e-16, "uniform"):
        marked = default(choice)
        assert (marked, repr(marked), hash(marked)) == (choice, repr(choice), hash(choice))
        assert isinstance(marked, type(choice))
        for other in (marked, copy.deepcopy(marked), pickle.loads(pickle.dumps(marked))):
            assert not is_given(other)
            assert type(plain(other)) is type(choice)
            assert plain(other) == choice
        assert is_given(choice)
        assert plain(choice) is choice
    assert not is_given(None)


def test_signatures_can_be_read() -> None:
    shown = str(inspect.signature(value))
    for text in ("k: 'int' = 5", "= 'hard'", "= 'banzhaf'", "= 'uniform'", "= 'euclidean'", "= 'auto'", "= 1e-16"):
        assert text in shown
    assert "= 'hard'" in str(inspect.signature(value_from_neighbors))


@pytest.mark.parametrize("method", ENGINE, ids=lambda method: method.name)
@pytest.mark.parametrize(("name", "choice"), [(name, one) for name, all_ in CHOICES.items() for one in all_], ids=str)
def test_a_given_setting_stands_or_contradicts(method: Any, name: str, choice: Any) -> None:
    options: dict[str, Any] = {"n_samples": 4, "random_state": 0} if method.kind == "sampled" else {}
    stands_for = {**method.suggests, **method.presets}
    if name == "weights" and as_weights(choice).weighted and stands_for.get("utility") == "soft-k":
        return  # takes unweighted, whatever the method is called
    if name == "utility" and choice == "soft-k":
        options["weights"] = "uniform"
    meant = MEANING[name](choice)
    if name in method.presets and MEANING[name](method.presets[name]) != meant:
        with pytest.raises(ValueError, match=f"method='{method.name}' stands for {name}="):
            flat.value(*DATA, method=method.name, **{name: choice}, **options)
        return
    found = flat.value(*DATA, k=3, method=method.name, **{name: choice}, **options)
    assert MEANING[name](found.settings[name]) == meant
    by_hand = {**stands_for, name: choice, **options}
    assert_array_equal(found.values, flat.value(*DATA, k=3, method=method.run, **by_hand).values)


def test_a_suggestion_yields_to_what_is_given() -> None:
    given, left_out = value(*DATA, method="bv", weights="uniform"), value(*DATA, method="bv")
    assert given.settings["weights"] == "uniform"
    assert left_out.settings["weights"] == "distance"
    assert_array_equal(given.values, value(*DATA).values)
    assert not np.array_equal(given.values, left_out.values)
    retrained = flat.value(*DATA, method="beta-mc", semivalue="banzhaf", n_samples=3, random_state=0)
    assert retrained.settings["semivalue"] == "banzhaf"
    usual = flat.value(*DATA, method="beta-mc", n_samples=3, random_state=0)
    assert as_semivalue(usual.settings["semivalue"]) == pivotal.BetaShapley(4, 1)


def test_lists_of_neighbours_know_what_was_given_too() -> None:
    lists = [[0, 1, 2]]
    with pytest.raises(
        ValueError, match="method='knn-shapley-hard' stands for semivalue='shapley'; got semivalue='banzhaf'"
    ):
        value_from_neighbors(lists, [0, 1, 0], [0], method="sv-uw", semivalue="banzhaf")
    with pytest.raises(ValueError, match="method='knn-shapley' stands for utility='soft-k'; got utility='hard'"):
        value_from_neighbors(lists, [0, 1, 0], [0], method="sv-soft", utility="hard")
    assert value_from_neighbors(lists, [0, 1, 0], [0], method="sv-uw").settings["semivalue"] == "shapley"


@pytest.mark.parametrize("method", ["lava", "influence", "random", "data-shapley", "data-banzhaf"])
@pytest.mark.parametrize(
    "given",
    [{"k": 5}, {"weights": "uniform"}, {"weights": None}, {"tol": 1e-16}, {"neighbors": "auto"}, {"utility": "hard"}],
    ids=str,
)
def test_functions_refuse_what_they_have_no_use_for(method: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"method='{method}' does not accept {next(iter(given))}"):
        flat.value(*DATA, method=method, **given)


def test_enumeration_takes_what_is_given() -> None:
    few = (X[:6], Y[:6], QUERIES, TARGETS)
    found = value(*few, method="bf", k=5, weights="uniform", utility="hard")
    np.testing.assert_allclose(found.values, value(*few).values, atol=1e-12)


def test_bits_change_nothing_where_votes_are_unweighted() -> None:
    calls: list[Callable[..., Any]] = [
        lambda **how: flat.value(*DATA, **how),
        lambda **how: flat.value(*DATA, method="bv-uw", **how),
        lambda **how: flat.value(*DATA, method="bv", weights="uniform", **how),
        lambda **how: flat.value(X[:5], Y[:5], *DATA[2:], method="bf", **how),
        lambda **how: flat.KNNValuation(**how).fit(X, Y).update(QUERIES, TARGETS).result_,
        lambda **how: flat.value_owners(*DATA, Y, **how),
    ]
    for call in calls:
        plain, coarse = call(), call(bits=1)
        assert np.array_equal(coarse.values, plain.values)
        assert coarse.vote_resolution == plain.vote_resolution == 0.0
        assert coarse.settings.get("bits") is None
        with pytest.raises(ValueError, match="bits must be an integer from 1 to 16; got bits=0"):
            call(bits=0)
    assert value(*DATA, weights="distance").settings["bits"] == 7
    assert value(*DATA, method="bv", bits=3).settings["bits"] == 3


def test_classes_of_a_regression_are_refused() -> None:
    calls: list[Callable[..., Any]] = [
        lambda **how: flat.value(*DATA, **how),
        lambda **how: flat.value(X[:5], Y[:5], *DATA[2:], method="bf", **how),
        lambda **how: flat.KNNValuation(**how).fit(X, Y),
        lambda **how: flat.value_owners(*DATA, Y, **how),
        lambda **how: flat.value_from_neighbors([[0, 1, 2]], [0, 1, 0], [0], **how),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="classes are for games of classes; got some with utility='regression'"):
            call(utility="regression", classes=[0, 1])


def test_the_estimator_is_cloned_and_set_as_ever() -> None:
    model = KNNValuation(k=3, weights="distance")
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert repr(twin) == "KNNValuation(k=3, weights='distance')"
    assert twin.set_params(bits=3).fit(X, Y).update(QUERIES, TARGETS).result_.settings["bits"] == 3
    assert clone(twin).bits == 3
    again = flat.KNNValuation(**model.get_params()).fit(X, Y).update(QUERIES, TARGETS)
    assert_array_equal(again.values_, value(*DATA, k=3, weights="distance").values)


# Fitted models.


def gaussian(distances: Any) -> Any:
    return np.exp(-(np.asarray(distances) ** 2))


@pytest.mark.parametrize(
    ("model", "agreeing", "contradicting"),
    [
        (KNeighborsClassifier(3), {"k": 3}, {"k": 5}),
        (KNeighborsClassifier(5), {"k": 5}, {"k": 4}),
        (KNeighborsClassifier(weights="distance"), {"weights": "distance"}, {"weights": "uniform"}),
        (KNeighborsClassifier(), {"weights": "uniform"}, {"weights": "distance"}),
        (KNeighborsClassifier(), {"weights": None}, {"weights": gaussian}),
        (KNeighborsClassifier(weights=gaussian), {"weights": gaussian}, {"weights": "distance"}),
        (KNeighborsClassifier(metric="cosine"), {"metric": "cosine"}, {"metric": "euclidean"}),
        (KNeighborsClassifier(), {"metric": "euclidean"}, {"metric": "manhattan"}),
        (KNeighborsClassifier(), {"metric": "minkowski"}, {"metric": "cosine"}),
        (KNeighborsClassifier(p=3), {"metric": "minkowski(p=3)"}, {"metric": pivotal.Metric("minkowski", p=4)}),
    ],
)
def test_a_model_and_what_is_given_agree_or_contradict(
    model: Any, agreeing: dict[str, Any], contradicting: dict[str, Any]
) -> None:
    fitted = clone(model).fit(X, Y)
    expected = value(X_test=QUERIES, y_test=TARGETS, model=fitted)
    assert_array_equal(flat.value(X_test=QUERIES, y_test=TARGETS, model=fitted, **agreeing).values, expected.values)
    with pytest.raises(ValueError, match=f"{next(iter(contradicting))} is taken from the model"):
        flat.value(X_test=QUERIES, y_test=TARGETS, model=fitted, **contradicting)


def test_a_model_contradicts_the_name_of_a_method() -> None:
    fitted = KNeighborsClassifier(3).fit(X, Y)  # unweighted
    assert value(X_test=QUERIES, y_test=TARGETS, model=fitted, method="bv").settings["weights"] == "uniform"
    weighted = KNeighborsClassifier(3, weights="distance").fit(X, Y)
    with pytest.raises(ValueError, match="method='knn-banzhaf' stands for weights='uniform'; got weights='distance'"):
        value(X_test=QUERIES, y_test=TARGETS, model=weighted, method="bv-uw")


@pytest.mark.parametrize("responses", [Y * 10 + 20, RNG.normal(size=30)], ids=["ages", "numbers"])
def test_a_regressor_is_valued_as_a_regressor(responses: Any) -> None:
    fitted, truth = KNeighborsRegressor(3).fit(X, responses), responses[:6]
    found = value(X_test=QUERIES, y_test=truth, model=fitted)
    assert found.settings["utility"] == "regression"
    assert_array_equal(found.values, value(X, responses, QUERIES, truth, k=3, utility="regression").values)
    assert_array_equal(found.values, value(X_test=QUERIES, y_test=truth, model=fitted, utility="regression").values)
    with pytest.raises(ValueError, match="utility='soft' is not for regression; got a KNeighborsRegressor as model"):
        value(X_test=QUERIES, y_test=truth, model=fitted, utility="soft")
    with pytest.raises(
        ValueError, match="method='weighted-knn-banzhaf' stands for utility='hard'; got utility='regression'"
    ):
        value(X_test=QUERIES, y_test=truth, model=fitted, method="bv")


def test_a_classifier_is_not_valued_as_a_regressor() -> None:
    fitted = KNeighborsClassifier(3).fit(X, Y)
    with pytest.raises(ValueError, match="utility='regression' is not for classification; got a KNeighborsClassifier"):
        value(X_test=QUERIES, y_test=TARGETS, model=fitted, utility="regression")
    assert value(X_test=QUERIES, y_test=TARGETS, model=fitted, utility="soft").settings["utility"] == "soft"


def test_a_pipeline_transforms_what_it_is_given() -> None:
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X, Y)
    scaler = StandardScaler().fit(X)
    expected = value(scaler.transform(X), Y, scaler.transform(QUERIES), TARGETS, k=3).values
    assert_array_equal(value(X_test=QUERIES, y_test=TARGETS, model=pipeline).values, expected)
    assert_array_equal(value(X, Y, QUERIES, TARGETS, model=pipeline).values, expected)
    assert not np.array_equal(expected, value(*DATA, k=3).values)
    by_each_other = value(model=pipeline).values
    assert_array_equal(by_each_other, value(scaler.transform(X), Y, k=3).values)
    found = value(X_test=QUERIES, y_test=TARGETS, model=pipeline)
    assert found.full_utility == pytest.approx(pipeline.score(QUERIES, TARGETS))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RadiusNeighborsClassifier(2.5), r"got RadiusNeighborsClassifier, .* utility='threshold\(2\.5\)'"),
        (RadiusNeighborsRegressor(), "got RadiusNeighborsRegressor, which lets points within a radius vote"),
        (NearestNeighbors(), r"or a pipeline that ends in one; got NearestNeighbors\."),
        (make_pipeline(StandardScaler()), "or a pipeline that ends in one; got StandardScaler"),
    ],
    ids=str,
)
def test_other_models_are_refused(model: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        value(X_test=QUERIES, y_test=TARGETS, model=model.fit(X, Y))


def test_precomputed_distances_are_refused() -> None:
    fitted = KNeighborsClassifier(3, metric="precomputed").fit(np.ones((30, 30)), Y)
    with pytest.raises(ValueError, match='model has metric="precomputed" and holds distances'):
        value(X_test=np.ones((6, 30)), y_test=TARGETS, model=fitted)


# Settings of a result go back in.


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": "bv", "bits": 3, "k": 2},
        {"method": "sv-soft"},
        {"utility": pivotal.Hard(tie="win", other_classes="ignore", scale="sum"), "semivalue": pivotal.Banzhaf(1 / 3)},
        {"utility": pivotal.Soft(empty=0.25), "weights": pivotal.RBF(1 / 3), "semivalue": pivotal.BetaShapley(2.5, 1)},
        {"utility": pivotal.Threshold(0.75, empty=0.125), "metric": "manhattan"},
        {"semivalue": pivotal.Measure([0.25, 0.75], [0.5, 0.5]), "weights": "linear", "tol": 1e-9},
        {"utility": "regression", "weights": "distance", "neighbors": "kd_tree"},
        {"method": "coalitions", "n_samples": 20, "random_state": 3},
    ],
    ids=str,
)
def test_settings_go_back_in(how: dict[str, Any]) -> None:
    first = flat.value(*DATA, **how)
    assert set(first.settings) <= set(inspect.signature(value).parameters)
    again = value(*DATA, **first.settings)
    assert again.equals(first)
