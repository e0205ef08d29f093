"""What a sweep goes through: all combinations of what was asked for, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, product
from typing import Any, NamedTuple

from pivotal.core.games import as_game
from pivotal.core.identity import token
from pivotal.core.semivalues import as_semivalue
from pivotal.core.spec import MEANING
from pivotal.core.validation import check_k
from pivotal.core.weights import as_bits, as_weights

NAMED = ("utility", "semivalue", "weights")
"""Settings that are objects, and are labelled by name."""


class Setting(NamedTuple):
    """One combination, as the table labels it; choices that differ and are called the same are numbered."""

    utility: str
    semivalue: str
    weights: str
    bits: int
    """0 for unweighted votes, which need none."""

    k: int

    def without(self, name: str) -> tuple[Any, ...]:
        """Return all but one of the labels."""
        return tuple(label for field, label in zip(self._fields, self, strict=True) if field != name)


def combine(utility: Any, semivalue: Any, weights: Any, bits: Any, k: Any) -> Iterator[tuple[Setting, dict[str, Any]]]:
    """Yield every combination once: its labels, and the settings that `Spec.of` takes for it."""
    games = [as_game(choice) for choice in as_choices("utility", utility)]
    if len({game.task for game in games}) > 1:
        raise ValueError(
            "utilities of one sweep must all be for classes or all for numbers; got both. Make a sweep for each."
        )
    without_k = [str(game) for game in games if game.radius is not None]
    if without_k:
        raise ValueError(
            f"a sweep is over games of the k nearest; got {without_k[0]}, whose neighbours are all within a radius. "
            "Use pivotal.value."
        )
    measures = [as_semivalue(choice) for choice in as_choices("semivalue", semivalue)]
    votes = [as_weights(choice) for choice in as_choices("weights", weights)]
    precisions = [as_bits(choice) for choice in as_choices("bits", bits)]
    numbers = [check_k(choice) for choice in as_choices("k", k)]
    seen: set[Setting] = set()
    every = product(_named(games), _named(measures), _named(votes), precisions, numbers)
    for (utility, game), (drawn, measure), (falling, kernel), precision, number in every:
        own = precision if kernel.weighted else None
        setting = Setting(utility, drawn, falling, own or 0, number)
        if setting not in seen:
            seen.add(setting)
            yield setting, {"utility": game, "semivalue": measure, "weights": kernel, "bits": own, "k": number}


def as_choices(name: str, choice: Any) -> list[Any]:
    """Return one or several choices as a list."""
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        return [choice]
    choices = list(choice)
    if not choices:
        raise ValueError(f"{name} must be one or several; got none. Omit it for the default.")
    return choices


def meaning_of(name: str, choice: Any) -> Any:
    """Return what a choice means: the object that text names, where there is one."""
    if name not in Setting._fields:
        raise ValueError(f"settings of a sweep are {', '.join(Setting._fields)}; got {name!r}.")
    return MEANING[name](choice) if name in MEANING else choice


def identity_of(choice: Any) -> str | None:
    """Return what tells a choice from others, its content; None where that cannot be told."""
    try:
        return token(choice)
    except TypeError:
        return None


def _named(choices: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return different choices with their labels, numbered where several that differ are called the same."""
    different: list[tuple[str, Any, Any]] = []
    for choice in choices:
        label, own = str(choice), identity_of(choice) or choice  # functions equal only themselves
        if not any(label == other and bool(own == known) for other, known, _ in different):
            different.append((label, own, choice))
    shared = Counter(label for label, _, _ in different)
    numbers = {label: count(1) for label in shared}
    return [
        (f"{label} ({next(numbers[label])})" if shared[label] > 1 else label, choice) for label, _, choice in different
    ]
