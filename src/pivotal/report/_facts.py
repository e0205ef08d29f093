"""What was computed and how far it can be trusted, in words."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from pivotal.report._words import count, number
from pivotal.results.values import Values

_EPS: Final = float(np.finfo(np.float64).eps)
_GAMES: Final = {"hard": "hard-label", "plurality": "plurality", "soft": "soft-label", "regression": "regression"}


def describe(values: Values) -> str:
    """Say in one sentence what the values are.

    Examples
    --------
    >>> settings = {"k": 5, "utility": "hard", "semivalue": "banzhaf"}
    >>> describe(Values([0.5, 0.25], n_queries=4, full_utility=1.0, empty_utility=0.0, settings=settings))
    'Banzhaf values of 2 training points in the hard-label game with k = 5, averaged over 4 queries.'
    """
    settings = values.settings
    name = str(settings.get("semivalue", settings.get("method", "")))
    start = f"{name[:1].upper()}{name[1:]} values" if name else "Values"
    sentence = f"{start} of {count(len(values), 'training point')}"
    if "utility" in settings:
        game = str(settings["utility"])
        sentence += f" in the {_GAMES.get(game, game)} game"
    if "k" in settings:
        sentence += f" with k = {settings['k']}"
    if settings.get("self_valuation"):
        return sentence + "; each point is a query against all the others."
    return sentence + f", averaged over {count(values.n_queries, 'query', 'queries')}."


def guarantees(values: Values) -> list[dict[str, Any]]:
    """List what is known about the error of the values; each with a title, a text and whether all is well.

    `ok` is True for what was checked and holds, False for what was checked and does not, None for a remark.
    """
    found: list[dict[str, Any]] = []

    def tell(title: str, text: str, ok: bool | None = None) -> None:
        found.append({"title": title, "text": text, "ok": ok})

    errors = values.standard_error
    if errors is not None:
        middle, largest = number(float(np.median(errors)), 2), number(float(errors.max()), 2)
        text = f"Standard errors are {middle} in the median and at most {largest}."
        if values.bias_bound:
            text += f" Besides chance, {_bound_of(values, values.bias_bound)}."
        tell("Sampled", text)
    elif values.bound_given_neighbors is None:
        text = "These are scores of a method that plays no game, so there is nothing to be off from."
        tell("No error bound", text if values.full_utility is None else "How far these values are off is not known.")
    else:
        text = f"{_bound_of(values, values.bound_given_neighbors).capitalize()}. {_parts(values)}"
        certain = values.error_bound is not None and not values.neighbors_given
        tell("Bounded error" if certain else "Bounded error, given these neighbours", text, certain or None)
    if values.query_standard_error is not None:
        middle = number(float(np.median(values.query_standard_error)), 2)
        text = f"{values.sign()} Standard errors over the queries are {middle} in the median."
        tell("What the queries leave open", text)
    if not values.neighbors_exact:
        title = "Approximate neighbours" if values.neighbors_exact is False else "Neighbours of unknown quality"
        text = "How many of the true neighbours were found is not known."
        if values.recall is not None:
            share = f"{100 * values.recall:.4g} %"
            text = f"{share} of the true neighbours were found, as measured on some of the queries."
        tell(title, f"{text} The error above takes the lists as true.")
    if values.vote_resolution:
        rounding = number(values.vote_resolution, 2)
        text = f"Weights became whole votes; the rounding is at most {rounding} of the largest weight of a query."
        tell("Rounded weights", text)
    efficiency = check_efficiency(values)
    if efficiency is not None:
        found.append(efficiency)
    return found


def _given(values: Values) -> str:
    """What a bound takes for granted."""
    if values.neighbors_exact and not values.neighbors_given:
        return ""
    return ", given the lists of neighbours"


def _bound_of(values: Values, bound: float) -> str:
    return f"no value is off by more than {number(bound, 2)}{_given(values)}"


def _parts(values: Values) -> str:
    """Say which part of the bound is proved; what takes the neighbours for granted is not called certified."""
    proved, allowed = number(values.proved_bound or 0.0, 2), number(values.rounding_allowance, 2)
    certified = "certified, by proof" if not _given(values) else "by proof"
    return f"Of this {proved} is truncation and integration, {certified}; {allowed} is a tested allowance for rounding."


def check_efficiency(values: Values) -> dict[str, Any] | None:
    """Compare the sum of the values with what the whole training set gains; None where there is no game.

    Only Shapley values must agree. Sampled ones agree up to chance, and no verdict is given.
    """
    if values.full_utility is None or values.empty_utility is None:
        return None
    total, gain = math.fsum(values.values), values.full_utility - values.empty_utility
    sums = f"The values sum to {number(total, 6)}, and all points together gain {number(gain, 6)}"
    if values.settings.get("semivalue") != "shapley" or values.details.get("normalized"):
        return {"title": "Sum", "text": f"{sums} over none; only Shapley values must agree here.", "ok": None}
    gap = abs(total - gain)
    text = f"{sums} over none: a difference of {number(gap, 2)}."
    if values.standard_error is not None:
        return {"title": "Efficiency", "text": text, "ok": None}
    allowed = len(values) * (values.bound_given_neighbors or 0.0) + 4 * _EPS * (
        math.fsum(np.abs(values.values)) + abs(gain)
    )
    ok = gap <= allowed
    text += f" The error bound allows {number(allowed, 2)}" + ("." if ok else ", so something is wrong.")
    return {"title": "Efficiency", "text": text, "ok": ok}
