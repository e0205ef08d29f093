"""The metric of a valuation: a name or a function with its parameters, and the text that settings keep of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from pivotal.core.calls import read_call, write_call
from pivotal.core.settings_text import is_not_kept, not_kept

__all__ = ["Metric", "as_metric", "read_metric"]

_MOST_NUMBERS: Final = 10_000  # of a parameter; larger ones, such as the inverse of a large covariance, are only named
_DEFAULT: Final = "euclidean"


class Metric:
    """A metric with its parameters, as ``metric=`` takes it.

    Parameters
    ----------
    name : str or callable
        Any metric of scikit-learn, or a function of two rows.
    **parameters
        Its parameters, such as ``p`` of ``"minkowski"``.

    Examples
    --------
    >>> print(Metric("minkowski", p=3, w=np.array([1.0, 2.0])))
    minkowski(p=3, w=[1.0, 2.0])
    """

    __slots__ = ("name", "parameters")

    def __init__(self, name: str | Callable[..., float], **parameters: Any) -> None:
        self.name, self.parameters = name, {key: own for key, own in parameters.items() if own is not None} or None

    def __str__(self) -> str:
        parameters = {key: _plain(content) for key, content in (self.parameters or {}).items()}
        lost = next((content for content in parameters.values() if is_not_kept(content)), None)
        if not isinstance(self.name, str) or lost is not None:
            return not_kept(self.name)
        return write_call(self.name, parameters)

    def __repr__(self) -> str:
        own = "".join(f", {key}={content!r}" for key, content in (self.parameters or {}).items())
        return f"Metric({self.name!r}{own})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self.name == other.name and repr(self.parameters) == repr(other.parameters)

    def __hash__(self) -> int:
        return hash(self.name)


def as_metric(metric: Any, metric_params: Mapping[str, Any] | None = None) -> Metric:
    """Return the metric that is meant: a name, perhaps with parameters in parentheses, a function, or an object.

    Examples
    --------
    >>> as_metric("minkowski(p=3)") == as_metric("minkowski", {"p": 3}) == Metric("minkowski", p=3)
    True
    """
    if isinstance(metric, Metric):
        if metric_params:
            raise ValueError("metric_params go with the name of a metric; got a Metric, which has its own. Omit them.")
        return metric
    if isinstance(metric, str):
        if is_not_kept(metric):
            raise ValueError(f"metric was {metric}, which settings do not keep. Pass metric= yourself.")
        found = read_call(metric) if "(" in metric else None
        if found is not None and not found[1]:
            arrays = {key: np.array(own) if isinstance(own, list | tuple) else own for key, own in found[2].items()}
            return Metric(found[0], **{**arrays, **(metric_params or {})})
    return Metric(metric, **dict(metric_params or {}))


def read_metric(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the metric that settings name, and its parameters; the Euclidean where they name none.

    Raises ValueError if it cannot be had from them: a function, or parameters that were not kept.

    Examples
    --------
    >>> read_metric({"metric": "minkowski(p=3)"})
    ('minkowski', {'p': 3})
    """
    if "metric" not in settings:
        return _DEFAULT, None
    text = str(settings["metric"])
    if is_not_kept(text):
        raise ValueError(
            f"the metric {text[1:-1]} is a function, or has large parameters, which a result does not keep"
        )
    found = as_metric(text)
    return str(found.name), found.parameters


def _plain(content: Any) -> Any:
    """Return a parameter as text can hold it; what it cannot hold is only named."""
    if isinstance(content, np.generic):
        content = content.item()
    if content is None or isinstance(content, bool | int | float | str):
        return content
    if not callable(content):
        array = np.asarray(content)
        finite = array.dtype.kind in "biu" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))
        if finite and array.size <= _MOST_NUMBERS:
            return array.tolist()
    return not_kept(content)
