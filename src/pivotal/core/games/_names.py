"""Games by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pivotal.core.calls import read_call
from pivotal.core.games._averaging import Regression, Soft, Threshold
from pivotal.core.games._conventions import Convention, conventions
from pivotal.core.games._voting_games import Hard, Plurality
from pivotal.core.games.definition import Game
from pivotal.core.validation import is_number

_SHORT: Mapping[str, Game] = MappingProxyType(
    {
        "hard": Hard(),
        "plurality": Plurality(),
        "soft": Soft(),
        "soft-k": Soft(divide_by="k"),
        "regression": Regression(),
    }
)


_KINDS: Mapping[str, type[Game]] = MappingProxyType(
    {kind.__name__: kind for kind in (Hard, Plurality, Soft, Regression, Threshold)}
)
_WITH_A_NUMBER: Mapping[str, Callable[[Any], Game]] = MappingProxyType(
    {"threshold": Threshold, "regression": lambda empty: Regression(float(empty) if is_number(empty) else empty)}
)


def as_game(utility: object) -> Game:
    """Return the game that `utility` names.

    Parameters
    ----------
    utility : str, Game or Convention
        One of "hard", "plurality", "soft", "soft-k", "regression", "regression(20.5)" with what the empty set predicts,
        "threshold(0.5)" with any radius, the name of a convention such as "jia2019", a game as it prints, a convention,
        or a game, which is returned as it is.

    Examples
    --------
    >>> as_game("hard")
    Hard(tie='lose', other_classes='count', scale='mean')
    >>> as_game("jia2019")
    Soft(divide_by='k', empty=None)
    >>> as_game("threshold(0.5)")
    Threshold(radius=0.5, empty=None)
    """
    game = utility.game if isinstance(utility, Convention) else utility
    if isinstance(game, Game):
        if game.task == "retrieval":
            raise ValueError(f"{game!r} is a game of rankings, not of labels. Use pivotal.value_retrieval.")
        return game
    if not isinstance(game, str):
        raise TypeError(f"utility must be a name or a Game; got {game!r}. {_names()}")
    if game in conventions:
        return conventions[game].game
    named = _SHORT.get(game) or _as_object(game)
    if named is None:
        raise ValueError(f"utility must name a game; got {game!r}. {_names()}")
    return named


def _as_object(text: str) -> Game | None:
    """Return the game that a text such as "Hard(tie='win')" writes out, as settings of results do."""
    name, arguments, options = (read_call(text, words=True) if "(" in text else None) or ("", (), {})
    if name in _WITH_A_NUMBER and len(arguments) <= 1 and not options:
        return _WITH_A_NUMBER[name](*arguments or ("",))
    try:
        return None if name not in _KINDS or arguments else _KINDS[name](**options)
    except (TypeError, ValueError):
        return None


def _names() -> str:
    names, published = ", ".join((*_SHORT, "threshold(0.5)")), ", ".join(conventions)
    return f"Use one of {names}, a convention ({published}), or an object such as Hard()."
