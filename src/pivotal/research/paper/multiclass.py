"""More than two classes: the mean of the two-class games of the right class against each wrong one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction

from pivotal.research.paper._paper_game import Algorithm, as_integer


def one_vs_one(
    function: Algorithm,
    labels: Sequence[Hashable],
    target: Hashable,
    classes: Sequence[Hashable],
    k: int,
    votes: Sequence[int] | None = None,
) -> list[Fraction]:
    """Compute the values of the multi-class game of eq. 18.

    Values are linear in the game, so they are the mean over the wrong classes c of the values of the game
    "`target` against c", where points of c vote with a minus, and those of third classes vote 0 but take a place.

    Parameters
    ----------
    function : callable
        An algorithm for the two-class game, (signed votes, k) -> values; see `pivotal.paper.ALGORITHMS`.
    labels : sequence of hashable, length n
        Class of each training point, nearest first.
    target : hashable
        The query's class.
    classes : sequence of hashable
        All classes, each once, `target` among them. Those without a training point count too. If `target` is the only
        one, there is one game, against a class without members.
    k : int
        Number of neighbours that vote; may exceed n.
    votes : sequence of int, length n, optional
        Non-negative votes, nearest first; one each when None.

    Returns
    -------
    list of Fraction, length n
        Values, nearest first.

    Examples
    --------
    >>> from pivotal.research.paper import fast_dp
    >>> [str(value) for value in one_vs_one(fast_dp, ["cat", "dog", "owl"], "cat", ["cat", "dog", "owl"], k=1)]
    ['1', '0', '0']
    """
    labels, classes = list(labels), list(classes)
    weights = [1] * len(labels) if votes is None else [as_integer("every vote", vote) for vote in votes]
    if len(set(classes)) != len(classes):
        raise ValueError(f"classes must name each class once; got {classes}.")
    if target not in classes:
        raise ValueError(f"target must be one of the classes {classes}; got {target!r}.")
    for label in labels:
        if label not in classes:
            raise ValueError(f"every label must be one of the classes {classes}; got {label!r}.")
    if len(weights) != len(labels):
        raise ValueError(f"votes and labels must have the same length; got {len(weights)} and {len(labels)}.")
    for weight in weights:
        if weight < 0:
            raise ValueError(f"votes must not be negative, as labels carry the sign; got {weight}.")

    def signed(against: Hashable) -> tuple[int, ...]:
        signs = (1 if label == target else -1 if label == against else 0 for label in labels)
        return tuple(sign * weight for sign, weight in zip(signs, weights, strict=True))

    # All classes without a member among the labels play one and the same game: solve it once.
    games = Counter(signed(c) for c in classes if c != target)
    if not games:
        games[tuple(weights)] = 1  # every label is the target
    total = [Fraction(0)] * len(labels)
    for game, times in games.items():
        for i, value in enumerate(function(game, k)):
            total[i] += times * value
    return [value / games.total() for value in total]
