"""Methods that are functions and not run by the engine: what they take is passed, what they do not is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pivotal.core.config import Resources
from pivotal.core.methods import Method
from pivotal.core.query_weights import QueryWeights
from pivotal.core.spec import DEFAULTS, Spec
from pivotal.results.values import Values


def run_function(
    spec: Spec,
    given: Mapping[str, Any],
    resources: Resources,
    data: tuple[Any, Any, Any, Any],
    *,
    ids: Any,
    query_weights: QueryWeights,
) -> Values:
    """Call the function of a method that is not run by the engine, with the settings as the caller gave them.

    The data are X_train, y_train, X_test and y_test, as in `pivotal.value`; weights of queries such methods cannot use.
    """
    method = spec.method.method
    for name in sorted(spec.chosen):
        if name not in method.takes:
            takes = f" It takes {', '.join(method.takes)}." if method.takes else ""
            raise ValueError(
                f"method={method.name!r} does not accept {name}; got {name}={given[name]!r}. Omit it.{takes}"
            )
    if any(said is not None for said in query_weights):
        raise ValueError(
            "query_weights are for nearest-neighbour models, whose values are means over queries; got them with "
            f"method={method.name!r}. Omit them."
        )
    if data[2] is None and "a test set" in method.needs:
        raise ValueError(f"method={method.name!r} needs a test set; got none. Pass X_test and y_test.")
    filled = {**method.suggests, **method.presets, **{name: given[name] for name in spec.chosen}}
    settings = {name: filled[name] for name in method.takes if name in filled}
    own = dict(spec.method.parameters)
    common = {
        "ids": ids,
        "random_state": own.pop("random_state", None),
        "n_jobs": resources.n_jobs,
        "progress": resources.progress,
    }
    function = method.function()
    _check_parameters(method, function, own, {*settings, *common})
    values: Values = function(*data, **common, **settings, **own)
    kept = spec.settings(*(name for name in (*DEFAULTS, "method") if name in settings or name == "method"))
    return replace(values, settings=kept, details={**values.settings, **values.details})


def _check_parameters(method: Method, function: Callable[..., Any], own: Mapping[str, Any], taken: set[str]) -> None:
    """Raise unless the function has these parameters, besides those that are passed anyway."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    words = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    known = [name for name in words if name not in taken]
    for name in own:
        if name not in known:
            raise TypeError(f"method {method.name!r} takes {', '.join(known) or 'no parameters'}; got {name!r}.")
