"""The methods of valuation by name: what each computes, what it costs, what it needs.

A name is a way to run (the exact engine, one of its samplers, or a function of `pivotal.baselines`) together with the
settings that the name stands for. ``pivotal.value(..., method="knn-shapley")`` looks it up here.
"""

from __future__ import annotations

import difflib
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from pivotal.core.providers import provided

__all__ = ["Method", "MethodTable", "as_method", "methods"]

# What a neighbour model is made of: settings of `value` that some functions take as well.
_NEIGHBOUR_MODEL = ("k", "utility", "semivalue", "weights", "bits", "metric", "neighbors", "classes")


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to value training points.

    Parameters
    ----------
    name : str
        What ``method=`` takes.
    title : str
        What it computes, in one line.
    kind : {"exact", "sampled", "heuristic"}
        Exact values of a game, estimates of them with standard errors, or scores that are values of no game.
    run : str or callable
        ``"exact"``, ``"coalitions"``, ``"permutations"`` or ``"auto"``, the ways of the engine; a function of
        `pivotal.baselines` as ``"module:function"``; or any function.
    presets : mapping of str to object
        Settings of `pivotal.value` that the name fixes; choosing another one contradicts the name.
    suggests : mapping of str to object
        Settings of `pivotal.value` that the name brings where the caller leaves the default; another choice stands.
    takes : tuple of str
        Settings of `pivotal.value` that a function takes as keywords; the engine's ways take them all.
    needs : tuple of str
        What it cannot do without, in plain words.
    cost : str
        How the work grows. n: training points, q: queries, d: features, k: neighbours, m: samples, W: the largest
        sum of k votes; "search" finds neighbours, "fit" trains and scores one model.
    aliases : tuple of str
        Other names that ``method=`` takes, such as the abbreviations of the paper's experiments.

    Examples
    --------
    >>> method = as_method("knn-banzhaf")
    >>> method.run, dict(method.presets)
    ('exact', {'utility': 'hard', 'semivalue': 'banzhaf', 'weights': 'uniform'})
    """

    name: str
    title: str
    kind: Literal["exact", "sampled", "heuristic"]
    run: str | Callable[..., Any]
    presets: Mapping[str, Any] = field(default_factory=dict, hash=False)
    suggests: Mapping[str, Any] = field(default_factory=dict, hash=False)
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    cost: str = ""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("presets", "suggests"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __str__(self) -> str:
        stands_for = ", ".join(f"{name}={value!r}" for name, value in self.presets.items())
        suggests = ", ".join(f"{name}={value!r} unless chosen" for name, value in self.suggests.items())
        lines = [
            f"{self.name}: {self.title}",
            f"  kind: {self.kind}",
            f"  cost: {self.cost}",
            f"  needs: {', '.join(self.needs)}",
            f"  stands for: {', '.join(filter(None, [stands_for, suggests]))}",
            f"  also called: {', '.join(self.aliases)}",
        ]
        return "\n".join(line for line in lines if not line.endswith(": "))

    def __reduce__(self) -> tuple[Any, ...]:
        mappings = {"presets": dict(self.presets), "suggests": dict(self.suggests)}  # a proxy cannot be pickled
        return _rebuild, ({**vars(self), **mappings},)

    @property
    def is_function(self) -> bool:
        """Whether a function runs it, rather than the engine."""
        return callable(self.run) or ":" in self.run

    def function(self) -> Callable[..., Any]:
        """Import the function that runs it."""
        if callable(self.run):
            return self.run
        module, _, name = self.run.partition(":")
        if not name:
            raise ValueError(f"{self.name!r} is run by the engine, not by a function; pass it to pivotal.value.")
        found: Callable[..., Any] = getattr(getattr(provided("baselines"), module), name)
        return found


def _rebuild(state: dict[str, Any]) -> Method:
    return Method(**state)


class MethodTable(tuple[Method, ...]):
    """All methods; prints as a table.

    Examples
    --------
    >>> [method.name for method in methods() if method.kind == "heuristic"]
    ['lava', 'influence', 'random']
    """

    __slots__ = ()

    def __repr__(self) -> str:
        rows = [("method", "kind", "what it computes"), *((m.name, m.kind, m.title) for m in self)]
        wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return "\n".join(f"{name:<{wide[0]}}  {kind:<{wide[1]}}  {title}" for name, kind, title in rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("method", "kind", "what it computes", "cost", "needs"))
        rows = [
            "".join(f"<td>{html.escape(cell)}</td>" for cell in (m.name, m.kind, m.title, m.cost, ", ".join(m.needs)))
            for m in self
        ]
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _hard(semivalue: str, **more: str) -> dict[str, str]:
    return {"utility": "hard", "semivalue": semivalue, **more}


_DISTANCE = {"weights": "distance"}
_A_TEST_SET = "a test set"
_A_MODEL = "a scikit-learn model (a default is there)"

_exact = partial(Method, kind="exact", run="exact")
_coalitions = partial(Method, kind="sampled", run="coalitions", cost="search + O(m k) per query")
_permutations = partial(Method, kind="sampled", run="permutations", cost="search + O(m n log k) per query")
_retrained = partial(Method, kind="sampled", takes=("semivalue",), needs=(_A_TEST_SET, _A_MODEL))

_ALL = MethodTable(
    (
        _exact(
            name="exact",
            title="any game, any semivalue, exactly, with an error bound",
            cost="search + O(k) to O(n k W) per query, independent of n for Banzhaf",
        ),
        Method(
            name="auto",
            title="exact, or sampled where the players are groups and exact values would take too long",
            kind="exact",
            run="auto",
            cost="as exact, or as coalitions",
        ),
        _coalitions(
            name="coalitions",
            title="the same, estimated from random coalitions that serve all points at once",
        ),
        _permutations(
            name="permutations",
            title="the same, estimated from random orders in which the points join",
        ),
        Method(
            name="enumeration",
            title="the definition: every coalition of the training points, one by one",
            kind="exact",
            run="enumeration:enumerate_coalitions",
            takes=_NEIGHBOUR_MODEL,
            needs=(_A_TEST_SET, "at most 20 training points"),
            cost="O(2^n n) per query",
            aliases=("bf",),
        ),
        _exact(
            name="weighted-knn-banzhaf",
            title="Banzhaf values, hard votes, weighted by distance",
            presets=_hard("banzhaf"),
            suggests=_DISTANCE,
            cost="search + O(k^2 W) per query, whatever n; O(W n^4) and O(W k n^2) in the paper",
            aliases=("bv", "bv-fast"),
        ),
        _exact(
            name="knn-banzhaf",
            title="Banzhaf values, hard votes, unweighted",
            presets=_hard("banzhaf", weights="uniform"),
            cost="search + O(m + k^2) per query, O(m k C) with C classes, m in reach whatever n; O(n k^2) in the paper",
            aliases=("bv-uw",),
        ),
        _coalitions(
            name="knn-banzhaf-coalitions",
            title="Banzhaf values, hard votes, estimated from coalitions",
            presets=_hard("banzhaf"),
            aliases=("bv-mc",),
        ),
        _permutations(
            name="knn-banzhaf-permutations",
            title="Banzhaf values, hard votes, estimated from permutations, re-weighted",
            presets=_hard("banzhaf"),
            aliases=("bv-perm",),
        ),
        _exact(
            name="weighted-knn-shapley",
            title="Shapley values, hard votes, weighted by distance",
            presets=_hard("shapley"),
            suggests=_DISTANCE,
            cost="search + O(n k W) per query; O(W k^2 n^2) in Wang, Mittal and Jia (2024)",
            aliases=("sv",),
        ),
        _exact(
            name="knn-shapley-hard",
            title="Shapley values, hard votes, unweighted",
            presets=_hard("shapley", weights="uniform"),
            cost="search + O(n) per query with two classes, O(n k C) with C classes",
            aliases=("sv-uw",),
        ),
        _exact(
            name="knn-shapley",
            title="Shapley values, soft labels, unweighted: KNN-Shapley of Jia et al. (2019)",
            presets={"utility": "soft-k", "semivalue": "shapley", "weights": "uniform"},
            cost="search + O(n) per query",
            aliases=("sv-soft",),
        ),
        _permutations(
            name="knn-shapley-permutations",
            title="Shapley values, hard votes, estimated from permutations",
            presets=_hard("shapley"),
            aliases=("sv-mc",),
        ),
        _exact(
            name="loo",
            title="leave-one-out: what the neighbour model loses without the point",
            presets={"semivalue": "loo"},
            cost="search + O(k) per query",
        ),
        _retrained(
            name="data-shapley",
            title="Shapley values of any model, retrained along permutations",
            run="retraining:retrain",
            presets={"semivalue": "shapley"},
            cost="m n fits",
            aliases=("sv-retrain",),
        ),
        _retrained(
            name="beta-shapley",
            title="Beta Shapley values of any model, retrained along permutations: Kwon and Zou",
            run="retraining:retrain",
            suggests={"semivalue": "beta(4,1)"},
            cost="m n fits",
            aliases=("beta-mc",),
        ),
        _retrained(
            name="data-banzhaf",
            title="Data Banzhaf values of any model, each fit serving all points: Wang and Jia (2023)",
            run="retraining:retrain_msr",
            suggests={"semivalue": "banzhaf"},
            cost="m fits",
            aliases=("banzhaf-msr",),
        ),
        Method(
            name="lava",
            title="what a point adds to the distance between training and test set: Just et al. (2023)",
            kind="heuristic",
            run="lava:lava",
            needs=(_A_TEST_SET, "POT: pip install 'pivotal[lava]'"),
            cost="an optimal transport between n and q points",
        ),
        Method(
            name="influence",
            title="influence function: leave-one-out of a logistic regression, to first order",
            kind="heuristic",
            run="influence:influence",
            needs=(_A_TEST_SET, "two classes or more"),
            cost="one fit + O(n d^2 + d^3)",
            aliases=("inf",),
        ),
        Method(
            name="random",
            title="random values, the floor for every comparison",
            kind="heuristic",
            run="chance:chance",
            cost="O(n)",
            aliases=("rand",),
        ),
    )
)
_BY_NAME = {method.name: method for method in _ALL}
_BY_ALIAS = {alias: method for method in _ALL for alias in method.aliases}


def methods() -> MethodTable:
    """Return all methods, the general ways first; the tuple prints as a table.

    Examples
    --------
    >>> print(repr(methods()).splitlines()[1])
    exact         exact      any game, any semivalue, exactly, with an error bound
    """
    return _ALL


def as_method(name: str | Method) -> Method:
    """Return the method of that name or alias; a `Method` is returned as it is.

    Examples
    --------
    >>> as_method("beta-shapley").title
    'Beta Shapley values of any model, retrained along permutations: Kwon and Zou'
    """
    if isinstance(name, Method):
        return name
    if not isinstance(name, str):
        raise TypeError(f"method must be a name or a Method; got {name!r}. Use one of {', '.join(_BY_NAME)}.")
    known = name.strip().lower().replace("_", "-")
    found = _BY_NAME.get(known) or _BY_ALIAS.get(known)
    if found is not None:
        return found
    near = difflib.get_close_matches(known, (*_BY_NAME, *_BY_ALIAS), n=3, cutoff=0.6)
    near += [m.name for m in _ALL if len(known) > 2 and known in m.title.lower() and m.name not in near][:3]
    hint = f"Did you mean {' or '.join(repr(other) for other in near)}? " if near else ""
    raise ValueError(f"method must name a method; got {name!r}. {hint}Use one of {', '.join(_BY_NAME)}.")
