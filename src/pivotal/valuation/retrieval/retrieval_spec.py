"""What is to be computed of rankings: the game, the conventions, the method. Nothing about data."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from pivotal.core.config import Resources
from pivotal.core.games import Game, as_retrieval_game
from pivotal.core.games.definition import check_option
from pivotal.core.plan import METHODS, as_plan
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.spec import DEFAULT_TOL
from pivotal.core.validation import check_k, check_tol

__all__ = ["RetrievalSpec"]


@dataclass(frozen=True)
class RetrievalSpec:
    """What `pivotal.value_retrieval` was asked for; its parameters have the same names there."""

    game: Game
    semivalue: Semivalue
    k: int
    complete: bool | None = None
    unjudged: str = "irrelevant"
    no_relevant: str = "zero"
    tol: float = DEFAULT_TOL
    how: tuple[Any, ...] = ("auto", None, None, None, None)
    """Method, n_samples, target_se, max_time and random_state."""

    per_query: bool = False
    n_jobs: int | None = -1
    block_size: int | None = None
    progress: bool = False

    @classmethod
    def of(cls, k: int, metric: str | Game, semivalue: str | Semivalue, **given: Any) -> RetrievalSpec:
        """Check what the user asked for."""
        names = ("method", "n_samples", "target_se", "max_time", "random_state")
        method, *limits = (given.pop(name, "auto" if name == "method" else None) for name in names)
        resources = Resources.of(**{name: given.pop(name, None) for name in ("n_jobs", "block_size", "progress")})
        unknown = [name for name in given if name not in cls.__dataclass_fields__]
        if unknown:
            raise TypeError(f"value_retrieval takes no option {unknown[0]!r}; see help(pivotal.value_retrieval).")
        given |= {"how": (method, *limits), "n_jobs": resources.n_jobs, "block_size": resources.block_size}
        given["progress"] = resources.progress
        spec = cls(as_retrieval_game(metric), as_semivalue(semivalue), check_k(k), **given)
        check_tol(spec.tol)
        check_option("value_retrieval", "unjudged", spec.unjudged, ("irrelevant", "ignore"))
        check_option("value_retrieval", "no_relevant", spec.no_relevant, ("zero", "skip"))
        known = ("auto", *METHODS)
        if not isinstance(method, str) or method not in known:
            near = difflib.get_close_matches(method, known, n=1) if isinstance(method, str) else []
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"method must be one of {', '.join(map(repr, known))}; got {method!r}.{hint}")
        if spec.per_query and any(limit is not None for limit in limits[1:3]):
            raise ValueError(
                "values per query are kept of exact games, and of a number of samples that is known; got target_se or "
                "max_time. Use n_samples, or omit per_query."
            )
        as_plan("coalitions" if method == "auto" else method, *limits)
        return spec

    @property
    def exact_wanted(self) -> bool:
        """Whether nothing asks for samples."""
        return self.how[0] == "exact" or (self.how[0] == "auto" and all(limit is None for limit in self.how[1:4]))

    @property
    def sampled_method(self) -> str:
        """What a sample is: what was asked for, or a coalition where the semivalue has a p to draw."""
        if self.how[0] != "auto":
            return str(self.how[0])
        drawable = hasattr(self.semivalue, "nodes") or hasattr(self.semivalue, "alpha")
        return "coalitions" if drawable else "permutations"
