"""What a sweep goes through: all combinations of what was asked for, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from pivotal._validation import check_k
from pivotal.games import as_game
from pivotal.semivalues import as_semivalue
from pivotal.weights import as_weights, check_bits

__all__ = ["Setting", "as_choices", "combine", "label_of"]


class Setting(NamedTuple):
    """One combination, as the table labels it."""

    utility: str
    semivalue: str
    weights: str
    bits: int
    """0 for one vote each, which needs none."""

    k: int

    def without(self, name: str) -> tuple[Any, ...]:
        """Return all but one of the labels."""
        return tuple(label for field, label in zip(self._fields, self, strict=True) if field != name)


def combine(utility: Any, semivalue: Any, weights: Any, bits: Any, k: Any) -> Iterator[tuple[Setting, dict[str, Any]]]:
    """Yield every combination once: its labels, and the parameters that `KNNValuation` takes for it.

    Parameters
    ----------
    utility, semivalue, weights, bits, k
        One or several of each, as `pivotal.value` takes them.
    """
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
    precisions = [check_bits(choice) for choice in as_choices("bits", bits)]
    numbers = [check_k(choice) for choice in as_choices("k", k)]
    seen: set[Setting] = set()
    for game, measure, loud, precision, number in product(games, measures, votes, precisions, numbers):
        setting = Setting(str(game), str(measure), str(loud), precision if loud.weighted else 0, number)
        if setting not in seen:
            seen.add(setting)
            chosen = {"utility": game, "semivalue": measure, "weights": loud, "bits": precision, "k": number}
            yield setting, chosen


def as_choices(name: str, choice: Any) -> list[Any]:
    """Return one or several choices as a list."""
    if isinstance(choice, str) or not isinstance(choice, Iterable):
        return [choice]
    choices = list(choice)
    if not choices:
        raise ValueError(f"{name} must be one or several; got none. Leave it out for the default.")
    return choices


def label_of(name: str, choice: Any) -> Any:
    """Return how the table labels a choice, which may be an object."""
    if name == "utility":
        return str(as_game(choice))
    if name == "semivalue":
        return str(as_semivalue(choice))
    if name == "weights":
        return str(as_weights(choice))
    if name in ("bits", "k"):
        return choice
    raise ValueError(f"settings of a sweep are {', '.join(Setting._fields)}; got {name!r}.")
