"""What is to be computed: one object, made in one place from what the user passed, and held whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from pivotal.core.games import Game, as_game, check_classes
from pivotal.core.given import is_given, plain
from pivotal.core.identity import token
from pivotal.core.method_choice import MethodChoice, as_choice
from pivotal.core.metric_settings import Metric, as_metric
from pivotal.core.plan import Plan
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.settings_text import is_not_kept, kept, not_kept
from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.core.validation import check_k, check_tol
from pivotal.core.version import __version__
from pivotal.core.voting import as_votes
from pivotal.core.weights import Weights, as_bits, as_weights, resolution

__all__ = ["DEFAULTS", "DEFAULT_TOL", "MEANING", "Spec"]

DEFAULT_TOL: Final = 1e-16
_FORMAT: Final = 1  # of the token: raised when the same settings begin to mean something else

DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "k": 5,
        "utility": "hard",
        "semivalue": "banzhaf",
        "weights": "uniform",
        "bits": None,
        "metric": "euclidean",
        "neighbors": "auto",
        "tol": DEFAULT_TOL,
        "classes": None,
    }
)
"""The settings of a nearest-neighbour valuation, and what they are where nothing was said."""

MEANING: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"utility": as_game, "semivalue": as_semivalue, "weights": as_weights, "metric": as_metric}
)
"""What text stands for, by setting."""


@dataclass(frozen=True, eq=False)
class Spec:
    """What is to be computed: nothing about data, nothing about resources.

    Examples
    --------
    >>> spec = Spec.of(utility="soft", semivalue="shapley", k=3)
    >>> Spec.of(**spec.settings()).token() == spec.token()
    True
    """

    game: Game
    semivalue: Semivalue
    k: int  # neighbours that vote
    weights: Weights
    bits: int  # of weighted votes
    metric: Metric
    neighbors: Any  # how they are found: a name or an object
    tol: float  # truncation error that is good enough, in units of the range of the utility
    classes: Any  # the label set, where it is larger than what the labels show
    method: MethodChoice
    chosen: frozenset[str] = frozenset()  # given by the caller or by a fitted model; the others are defaults

    @classmethod
    def of(cls, **given: Any) -> Spec:
        """Return what the caller asked for, with all that the name of the method stands for filled in.

        `given` are settings of `pivotal.value`; None, or what `pivotal.core.given.default` made, was not given. What
        is given stands where the name of a method only suggests a setting, and is an error where it contradicts what
        the name means.
        """
        choice = as_choice(plain(given.pop("method", "exact")))
        params = given.pop("metric_params", None)
        unknown = [name for name in given if name not in DEFAULTS]
        if unknown:
            raise TypeError(f"settings are {', '.join(DEFAULTS)} and method; got {unknown[0]!r}.")
        if "weights" in given and given["weights"] is None:
            given["weights"] = "uniform"  # as scikit-learn reads it
        chosen = frozenset(name for name, setting in given.items() if is_given(setting))
        if params:
            chosen |= {"metric"}
        for name in chosen:
            if is_not_kept(given[name]):
                raise ValueError(f"{name} was {given[name]}, which settings do not keep. Pass {name}= yourself.")
        choice_of = {name: plain(given[name]) for name in chosen}
        filled = {**DEFAULTS, **choice_of, **_filled_in(choice, choice_of)}
        spec = cls(
            as_game(filled["utility"]),
            as_semivalue(filled["semivalue"]),
            check_k(filled["k"]),
            as_weights(filled["weights"]),
            as_bits(filled["bits"]),
            as_metric(filled["metric"], params),
            filled["neighbors"],
            check_tol(filled["tol"]),
            filled["classes"],
            choice,
            chosen,
        )
        check_classes(spec.game, spec.classes)
        return spec

    @property
    def plan(self) -> Plan:
        """How the engine runs the method."""
        return self.method.plan

    @property
    def largest_vote(self) -> int | None:
        """Largest integer vote; None where votes are unweighted."""
        return 2**self.bits - 1 if self.weights.weighted else None

    @property
    def vote_resolution(self) -> float:
        """Largest rounding of a weight to a vote, relative to the largest weight of the query."""
        return resolution(self.bits) if self.weights.weighted else 0.0

    def votes(self, distances: FloatArray, first: int | IndexArray = 0) -> CodeArray | None:
        """Return the integer votes of each query's neighbours, as `as_votes`; None where votes are unweighted."""
        return as_votes(self.weights, distances, self.k, self.bits, first)

    def settings(self, *names: str) -> dict[str, Any]:
        """Return the settings as text and numbers, which `of` takes back: what a result keeps and prints.

        What text cannot hold, such as a function, is only named, in angle brackets; `of` refuses it. All settings are
        returned when none are named.
        """
        radius = self.game.radius is not None
        every = {
            "k": None if radius else self.k,
            "utility": kept(self.game, as_game),
            "semivalue": kept(self.semivalue, as_semivalue),
            "weights": kept(self.weights, as_weights),
            "bits": self.bits if self.weights.weighted else None,
            "metric": str(self.metric),
            "neighbors": self.neighbors if isinstance(self.neighbors, str) else not_kept(self.neighbors),
            "tol": self.tol,
            "classes": _as_list(self.classes),
            "method": str(self.method),
        }
        return {name: every[name] for name in names or every}

    def token(self) -> str:
        """Return what tells this from anything else that could be asked for: content, never a name."""
        return token(_FORMAT, __version__, sorted(self.tokens().items()))

    def tokens(self) -> dict[str, str]:
        """Return the same setting by setting, so that what differs can be named."""
        content = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "chosen"}
        content["metric"] = (self.metric.name, self.metric.parameters)
        # What a method is called, and where its random numbers start, does not change what is exact.
        content["method"] = (str(self.method.method.run), dict(self.method.parameters))
        return {name: token(own) for name, own in content.items()}


def _filled_in(choice: MethodChoice, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a method stands for or suggests, unless what was chosen contradicts them."""
    method = choice.method
    for name, fixed in method.presets.items():
        meaning = MEANING.get(name, lambda setting: setting)
        if name in chosen and meaning(chosen[name]) != meaning(fixed):
            other = "another method" if method.is_function else f"method={method.run!r}"
            raise ValueError(
                f"method={method.name!r} stands for {name}={fixed!r}; got {name}={chosen[name]!r}. "
                f"Omit it, or use {other}."
            )
    return {**{name: hint for name, hint in method.suggests.items() if name not in chosen}, **method.presets}


def _as_list(classes: Any) -> list[Any] | None:
    """Return the label set as JSON has it."""
    if classes is None:
        return None
    return [label.item() if isinstance(label, np.generic) else label for label in np.asarray(classes).tolist()]
