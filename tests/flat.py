"""The public calls with every choice as a keyword of its own, for tests that go through tables of choices.

What belongs to a method, to groups or to the machine has its place in `pivotal.value`; tables of keywords are easier to
combine when it has none.
"""

from __future__ import annotations

from typing import Any

import pivotal

_LIMITS = ("n_samples", "target_se", "max_time", "random_state", "per_query")
_MACHINE = ("block_size", "max_memory", "checkpoint")


def value(*data: Any, **how: Any) -> Any:
    """Call `pivotal.value`."""
    return _call(pivotal.value, data, how)


def value_from_neighbors(*data: Any, **how: Any) -> Any:
    """Call `pivotal.value_from_neighbors`."""
    return _call(pivotal.value_from_neighbors, data, how)


def value_owners(*data: Any, **how: Any) -> Any:
    """Value the groups that come after the test labels."""
    if len(data) > 4:
        *data, how["owners"] = data  # type: ignore[assignment]
    how["groups"] = how.pop("owners")
    return _call(pivotal.value, data, how)


def value_owners_from_neighbors(*data: Any, **how: Any) -> Any:
    """Value the groups that come after the lists."""
    if len(data) > 1:
        indices, how["owners"], *labels = data
        data = (indices, *labels)
    how["groups"] = how.pop("owners")
    return _call(pivotal.value_from_neighbors, data, how)


def sweep(*data: Any, **how: Any) -> Any:
    """Call `pivotal.sweep`."""
    return _call(pivotal.sweep, data, how)


def KNNValuation(*k: Any, **how: Any) -> Any:  # noqa: N802  # as it is called
    """Make a `pivotal.KNNValuation`, or one that can be edited."""
    kind = pivotal.EditableKNNValuation if how.pop("editable", False) else pivotal.KNNValuation
    own = {name: how.pop(name) for name in ("block_size", "max_memory", "metric_params") if name in how}
    return kind(*k, **own, **_choices(how)[0])


def _call(function: Any, data: Any, how: dict[str, Any]) -> Any:
    choices, machine = _choices(how)
    with pivotal.config_context(**machine):
        return function(*data, **choices)


def _choices(how: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    machine = {name: how.pop(name) for name in _MACHINE if name in how}
    parameters = {name: how.pop(name) for name in _LIMITS if name in how}
    parameters |= how.pop("method_params", None) or {}
    if parameters:
        default = "auto" if how.get("groups") is not None else "exact"
        how["method"] = pivotal.method(how.get("method", default), **parameters)
    if "class_weight" in how:
        how["query_weights"] = pivotal.QueryWeights(how.get("query_weights"), how.pop("class_weight"))
    if how.get("metric_params") is not None:
        how["metric"] = pivotal.Metric(how.pop("metric", "euclidean"), **how.pop("metric_params"))
    how.pop("metric_params", None)
    return how, machine
