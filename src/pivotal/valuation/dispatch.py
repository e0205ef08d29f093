"""From the name of a method to what runs: settings that the name stands for are filled in, others are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pivotal.core.games import as_game
from pivotal.core.given import is_given, plain
from pivotal.core.semivalues import as_semivalue
from pivotal.core.weights import as_weights
from pivotal.results.values import Values
from pivotal.valuation.methods import Method, as_method

__all__ = ["Call", "named"]

# What text and objects mean, for comparing a choice with what a name stands for.
_MEANING: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"utility": as_game, "semivalue": as_semivalue, "weights": as_weights}
)


@dataclass(frozen=True)
class Call:
    """What the caller of `value` chose.

    Parameters
    ----------
    method : str or Method
        The way to value.
    settings : mapping of str to object
        Settings of `value`: those given, what the name of the method stands for, and defaults.
    chosen : frozenset of str
        Those that were given, by the caller or by a model.
    """

    method: Method
    settings: Mapping[str, Any]
    chosen: frozenset[str]

    @staticmethod
    def of(method: str | Method, settings: Mapping[str, Any]) -> Call:
        """Return the call with everything that the name of the method stands for filled in.

        Parameters
        ----------
        method : str or Method
        settings : mapping of str to object
            Settings of `value`; None, or what `pivotal.core.given.default` made, was not given.
        """
        found = as_method(method)
        chosen = {name for name, setting in settings.items() if is_given(setting)}
        filled = {name: plain(setting) for name, setting in settings.items()}
        for name, fixed in found.presets.items():
            if name in chosen and not _same(name, settings[name], fixed):
                raise ValueError(
                    f"method={found.name!r} stands for {name}={fixed!r}; got {name}={settings[name]!r}. "
                    f"Leave it out, or use {'another method' if found.is_function else f'method={found.run!r}'}."
                )
            filled[name] = fixed
        filled |= {name: hint for name, hint in found.suggests.items() if name not in chosen}
        return Call(found, filled, frozenset(chosen))

    def with_votes(self, *, given: bool) -> Call:
        """Return the call if it can start from lists of neighbours, with votes given or one vote each."""
        if self.method.is_function:
            raise ValueError(
                f"method={self.method.name!r} needs the training points themselves; got lists of neighbours. "
                "Use pivotal.value."
            )
        fixed = {**self.method.suggests, **self.method.presets}.get("weights")
        if given and self.method.presets.get("weights") == "uniform":
            raise ValueError(
                f"method={self.method.name!r} stands for one vote each; got votes. Leave them out, or use "
                f"method={self.method.run!r}."
            )
        if not given and fixed not in (None, "uniform"):
            raise ValueError(
                f"method={self.method.name!r} stands for weighted votes; got none. Pass votes, or use "
                f"method={self.method.run!r}."
            )
        return self

    def refuse_parameters(self, method_params: Mapping[str, Any] | None) -> None:
        """Raise if parameters of a function were given to a method that is none."""
        if method_params:
            raise ValueError(
                f"method_params are for methods with parameters of their own; got {next(iter(method_params))!r} with "
                f"method={self.method.name!r}. Pass settings such as k and n_samples by themselves."
            )

    def refuse_query_weights(self, query_weights: Any, class_weight: Any) -> None:
        """Raise if queries were given weights that a method which is a function cannot use."""
        for name, given in {"query_weights": query_weights, "class_weight": class_weight}.items():
            if given is not None:
                raise ValueError(
                    f"{name} is for nearest-neighbour models, whose values are means over queries; got it with "
                    f"method={self.method.name!r}. Leave it out."
                )

    def run(
        self,
        X_train: Any,
        y_train: Any,
        X_test: Any,
        y_test: Any,
        *,
        method_params: Mapping[str, Any] | None,
        **common: Any,
    ) -> Values:
        """Call the function of a method that is not run by the engine.

        Parameters
        ----------
        X_train, y_train, X_test, y_test
            As in `value`.
        method_params : mapping of str to object, or None
            Parameters of the function's own.
        **common
            ids, random_state, n_jobs and progress, which every function takes.
        """
        method = self.method
        for name in sorted(self.chosen):
            if name not in method.takes:
                takes = f" It takes {', '.join(method.takes)}." if method.takes else ""
                raise ValueError(
                    f"method={method.name!r} has no use for {name}; got {name}={self.settings[name]!r}. "
                    f"Leave it out.{takes}"
                )
        if X_test is None and "a test set" in method.needs:
            raise ValueError(f"method={method.name!r} needs a test set; got none. Pass X_test and y_test.")
        filled = {*self.chosen, *method.presets, *method.suggests}
        settings = {name: self.settings[name] for name in method.takes if name in filled}
        own = dict(method_params or {})
        function = method.function()
        _check_parameters(method, function, own, {*settings, *common})
        values: Values = function(X_train, y_train, X_test, y_test, **common, **settings, **own)
        return values


def named(values: Values, method: Method) -> Values:
    """Return the values with the method's name among the settings."""
    if values.settings.get("method") == method.name:
        return values
    return replace(values, settings={**values.settings, "method": method.name})


def _same(name: str, choice: Any, fixed: Any) -> bool:
    meaning = _MEANING.get(name, lambda setting: setting)
    return bool(meaning(choice) == meaning(fixed))


def _check_parameters(method: Method, function: Callable[..., Any], own: Mapping[str, Any], taken: set[str]) -> None:
    """Raise unless the function has these parameters, besides those that are passed anyway."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    words = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    known = [name for name in words if name not in taken and name not in ("ids", "random_state", "n_jobs", "progress")]
    for name in own:
        if name not in known:
            raise TypeError(
                f"method_params must be parameters of method={method.name!r}; got {name!r}. "
                f"It has {', '.join(known) or 'none'}."
            )
