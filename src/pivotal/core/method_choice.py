"""A method with its parameters: when to stop sampling, where random numbers start, what to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from pivotal.core.calls import read_call, write_call
from pivotal.core.methods import Method, as_method
from pivotal.core.plan import Plan, as_plan
from pivotal.core.random import RandomState
from pivotal.core.settings_text import not_kept

__all__ = ["Coalitions", "Exact", "MethodChoice", "Permutations", "as_choice", "method"]

_LIMITS: Final = ("n_samples", "target_se", "max_time", "random_state")
# What the engine's ways to run take; functions take parameters of their own.
_TAKES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"exact": ("per_query",), "coalitions": _LIMITS, "permutations": _LIMITS, "auto": _LIMITS}
)


@dataclass(frozen=True, eq=False)
class MethodChoice:
    """A method and the parameters that were set, as ``method=`` takes it."""

    method: Method
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MethodChoice):
            return NotImplemented
        return self.method == other.method and dict(self.parameters) == dict(other.parameters)

    def __hash__(self) -> int:
        return hash(self.method)

    def __reduce__(self) -> tuple[Any, ...]:
        return MethodChoice, (self.method, self.parameters)  # whatever class made it

    @property
    def name(self) -> str:
        """What the method is called."""
        return self.method.name

    @property
    def per_query(self) -> bool:
        """Whether the values of every single query are kept."""
        return bool(self.parameters.get("per_query", False))

    @property
    def plan(self) -> Plan:
        """How the engine runs it; not for methods that are functions."""
        run = self.method.run
        return self.run_as(str(run) if run != "auto" else "coalitions" if self.limited else "exact")

    @property
    def limited(self) -> bool:
        """Whether something limits the sampling, which is then what is wanted."""
        return any(self.parameters.get(name) is not None for name in _LIMITS[:3])

    def run_as(self, run: str) -> Plan:
        """Return the plan for another way to run with the same parameters."""
        return as_plan(run, **{name: own for name, own in self.parameters.items() if name != "per_query"})

    def __str__(self) -> str:
        # A generator has moved on when the values are there, and cannot be written down.
        kept = {name: own for name, own in self.parameters.items() if not isinstance(own, np.random.Generator)}
        return write_call(self.name, {name: _plain(own) for name, own in kept.items()})


class Exact(MethodChoice):
    """Exact values, with an error bound: the default of ``method=``.

    Parameters
    ----------
    per_query : bool, default=False
        Whether to keep the values of every single query, for `Values.per_query` and `Values.explain`: games of the k
        nearest only. They may take the `max_memory` of the configuration, 1 GiB by default; where they do not fit, as
        with Shapley values of many points, the largest are kept of each query.

    Examples
    --------
    >>> import pivotal
    >>> values = pivotal.value([[0.0], [1.0]], ["a", "b"], [[0.2]], ["a"], k=1, method=pivotal.Exact(per_query=True))
    >>> values.per_query.toarray()
    array([[1., 0.]])
    """

    def __init__(self, *, per_query: bool = False) -> None:
        super().__init__(as_method("exact"), _given(per_query=per_query or None))


class Coalitions(MethodChoice):
    """Estimates from random coalitions, each of which serves all points at once; with standard errors.

    Parameters
    ----------
    n_samples : int, optional
        Samples per query, at most. 1000 where nothing else limits the sampling.
    target_se : float, optional
        Sampling ends when no standard error exceeds this, over the queries of one call.
    max_time : float, optional
        Seconds of sampling; a first pass over all queries is always finished. How many samples that is depends on the
        machine, so results cannot be reproduced.
    random_state : int, numpy.random.Generator or None, default=None
        Where random numbers start; None asks the system. Results depend neither on threads nor on blocks.

    Examples
    --------
    >>> import pivotal
    >>> sampled = pivotal.Coalitions(n_samples=100, random_state=0)
    >>> pivotal.value([[0.0], [1.0]], ["a", "b"], [[0.2]], ["a"], k=1, method=sampled).details["n_samples"]
    (100, 100)
    """

    def __init__(
        self,
        *,
        n_samples: int | None = None,
        target_se: float | None = None,
        max_time: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        given = _given(n_samples=n_samples, target_se=target_se, max_time=max_time, random_state=random_state)
        super().__init__(as_method(type(self).__name__.lower()), given)


class Permutations(Coalitions):
    """Estimates from random orders in which the points join; with standard errors.

    Parameters
    ----------
    n_samples, target_se, max_time, random_state
        As in `Coalitions`.
    """


def method(name: str | Method, **parameters: Any) -> MethodChoice:
    """Return a method by its name, with parameters.

    Parameters
    ----------
    name : str
        Any name that `pivotal.methods` lists.
    **parameters
        For methods that sample, `n_samples`, `target_se`, `max_time` and `random_state`, as in `pivotal.Coalitions`;
        for those of `pivotal.baselines`, the parameters of the function, such as `estimator`; `per_query` for those
        that are exact.

    Examples
    --------
    >>> import pivotal
    >>> print(pivotal.method("knn-banzhaf-coalitions", n_samples=50, random_state=0))
    knn-banzhaf-coalitions(n_samples=50, random_state=0)
    """
    return as_choice(name, **parameters)


def as_choice(choice: object, **parameters: Any) -> MethodChoice:
    """Return the method that is meant: a name, perhaps with parameters in parentheses, or an object.

    Examples
    --------
    >>> as_choice("coalitions(n_samples=100)") == Coalitions(n_samples=100)
    True
    """
    if isinstance(choice, MethodChoice):
        return choice
    if isinstance(choice, str) and "(" in choice:
        found = read_call(choice)
        if found is None or found[1]:
            raise ValueError(
                f"method must be a name, or a name with parameters such as 'coalitions(n_samples=100)'; got {choice!r}."
            )
        choice, parameters = found[0], {**found[2], **parameters}
    chosen = MethodChoice(as_method(choice), _given(**parameters))  # type: ignore[arg-type]  # it refuses the rest
    if chosen.per_query and chosen.method.run != "exact":
        raise ValueError(
            f"values per query are kept of exact games of the k nearest; got method={chosen.name!r}. Omit per_query."
        )
    takes = _TAKES.get(str(chosen.method.run))
    if takes is None:
        return chosen
    if chosen.method.run == "exact" and "random_state" in chosen.parameters:  # nothing is drawn
        return as_choice(chosen.method, **{**chosen.parameters, "random_state": None})
    for name in chosen.parameters:
        # A limit of sampling is refused where the plan is made, which can say more.
        if name not in takes and name not in _LIMITS:
            raise TypeError(f"method {chosen.name!r} takes {', '.join(takes)}; got {name!r}.")
    return chosen


class _NotKept:
    """A parameter that text cannot hold: only its kind is named, which nothing reads back."""

    def __init__(self, content: Any) -> None:
        self._name = not_kept(content)

    def __repr__(self) -> str:
        return self._name


def _plain(content: Any) -> Any:
    if isinstance(content, np.generic):
        content = content.item()
    return content if content is None or isinstance(content, bool | int | float | str) else _NotKept(content)


def _given(**parameters: Any) -> dict[str, Any]:
    return {name: own for name, own in parameters.items() if own is not None}
