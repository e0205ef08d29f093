"""The metric of a valuation as settings keep it, in content that JSON knows, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

__all__ = ["describe_choice", "read_metric", "record_metric"]

_MOST_NUMBERS: Final = 10_000  # of a parameter; larger ones, such as the inverse of a large covariance, are only named
_DEFAULT: Final = "euclidean"
# Metrics that say nothing without their parameters, where a result does not keep any.
_OF_PARAMETERS: Final = ("minkowski", "wminkowski", "mahalanobis", "seuclidean")


def record_metric(metric: str | Callable[..., float], metric_params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the entries of the settings that say which metric it was.

    Examples
    --------
    >>> record_metric("minkowski", {"p": 3, "w": np.array([1.0, 2.0])})
    {'metric': 'minkowski', 'metric_params': {'p': 3, 'w': [1.0, 2.0]}}
    """
    parameters = {name: _plain(content) for name, content in (metric_params or {}).items()} or None
    if isinstance(metric, str):
        return {"metric": metric, "metric_params": parameters}
    name = getattr(metric, "__name__", type(metric).__name__)
    return {"metric": str(name), "metric_params": parameters, "metric_is_function": True}


def read_metric(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the metric that settings name, and its parameters; the Euclidean where they name none.

    Raises
    ------
    ValueError
        If it cannot be had from them: a function, or parameters that were not kept.

    Examples
    --------
    >>> read_metric(record_metric("minkowski", {"p": 3}))
    ('minkowski', {'p': 3})
    """
    if "metric" not in settings:
        return _DEFAULT, None
    name = str(settings["metric"])
    if settings.get("metric_is_function"):
        raise ValueError(f"the metric {name} is a function, which a result does not keep")
    if "metric_params" not in settings and name in _OF_PARAMETERS:
        raise ValueError(f"the parameters of the metric {name} were not kept by the version that computed the values")
    parameters = settings.get("metric_params")
    if parameters is None:
        return name, None
    return name, {key: _content(name, key, content) for key, content in parameters.items()}


def _plain(content: Any) -> Any:
    """Return a parameter as JSON has it; what it cannot hold is only named."""
    if isinstance(content, np.generic):
        content = content.item()
    if isinstance(content, float) and not math.isfinite(content):
        return {"number": str(content)}
    if content is None or isinstance(content, bool | int | float | str):
        return content
    if not callable(content):
        array = np.asarray(content)
        if array.dtype.kind in "biuf" and array.size <= _MOST_NUMBERS and np.isfinite(array).all():
            return array.tolist()
    return {"not kept": type(content).__name__}


def _content(metric: str, name: str, content: Any) -> Any:
    if isinstance(content, Mapping):
        if "number" in content:
            return float(content["number"])
        raise ValueError(f"the parameter {name} of the metric {metric} was too large for a result to keep")
    return np.array(content) if isinstance(content, list | tuple) else content


def describe_choice(choice: Any) -> str:
    """Return what the settings say of a choice that may be an object: text as it is, else the name of its kind."""
    return choice if isinstance(choice, str) else str(getattr(choice, "__name__", type(choice).__name__))
