"""What is to be computed of rankings: the game, the conventions, the method. Nothing about data or the machine."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, Final

from pivotal.core.games import Game, as_retrieval_game
from pivotal.core.games.definition import check_option
from pivotal.core.method_choice import MethodChoice, as_choice
from pivotal.core.methods import Method
from pivotal.core.plan import METHODS, Plan
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.spec import DEFAULT_TOL
from pivotal.core.validation import check_k, check_tol

_METHODS: Final = ("auto", *METHODS)
_OF_METHODS: Final = ("n_samples", "target_se", "max_time", "random_state")


@dataclass(frozen=True)
class RetrievalSpec:
    """What `pivotal.value_retrieval` was asked for; its parameters have the same names there."""

    game: Game
    semivalue: Semivalue
    k: int
    method: MethodChoice
    complete: bool | None = None
    unjudged: str = "irrelevant"
    no_relevant: str = "zero"
    tol: float = DEFAULT_TOL
    per_query: bool = False

    @classmethod
    def of(
        cls,
        k: int,
        metric: str | Game,
        semivalue: str | Semivalue,
        *,
        method: str | MethodChoice = "auto",
        per_query: bool = False,
        **given: Any,
    ) -> RetrievalSpec:
        """Check what the user asked for."""
        for name, own in given.items():
            if name in _OF_METHODS:
                raise TypeError(
                    f"{name} is a parameter of the method; got {name}={own!r} beside it. Use "
                    f"method=pivotal.Coalitions({name}={own!r}), or pivotal.Permutations."
                )
            if name not in cls.__dataclass_fields__:
                raise TypeError(f"value_retrieval takes no option {name!r}; see help(pivotal.value_retrieval).")
        choice = _as_choice(method)
        given |= {"method": choice, "per_query": per_query or choice.per_query}
        spec = cls(as_retrieval_game(metric), as_semivalue(semivalue), check_k(k), **given)
        check_tol(spec.tol)
        check_option("value_retrieval", "unjudged", spec.unjudged, ("irrelevant", "ignore"))
        check_option("value_retrieval", "no_relevant", spec.no_relevant, ("zero", "skip"))
        plan = choice.run_as("exact") if spec.exact_wanted else spec.sampling
        if spec.per_query and not plan.fixed:
            raise ValueError(
                "values per query are kept of exact games, and of a number of samples that is known; got target_se or "
                "max_time. Use n_samples, or omit per_query."
            )
        return spec

    @property
    def exact_demanded(self) -> bool:
        """Whether the values must be exact, however many cases that takes."""
        return self.method.name == "exact"

    @property
    def exact_wanted(self) -> bool:
        """Whether nothing asks for samples."""
        return self.exact_demanded or (self.method.name == "auto" and not self.method.limited)

    @property
    def sampling(self) -> Plan:
        """How samples are drawn: as was asked for, or as coalitions where the semivalue has a p to draw."""
        if self.method.name != "auto":
            return self.method.run_as(self.method.name)
        drawable = hasattr(self.semivalue, "nodes") or hasattr(self.semivalue, "alpha")
        return self.method.run_as("coalitions" if drawable else "permutations")


def _as_choice(method: object) -> MethodChoice:
    """Return the method that is meant, one of those that rankings have."""
    name = method.name if isinstance(method, MethodChoice | Method) else method
    known = name.partition("(")[0] if isinstance(name, str) else name
    if known not in _METHODS:
        near = difflib.get_close_matches(known, _METHODS, n=1) if isinstance(known, str) else []
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}; got {name!r}.{hint}")
    return as_choice(method)
