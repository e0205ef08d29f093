"""Small games for property tests: everything that may go wrong, small enough to enumerate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from pivotal.core.games import Game, Hard, Plurality, Regression, Soft

__all__ = ["SmallGame", "build_game", "measures", "semivalues", "small_games", "small_regressions", "utilities"]


@dataclass(frozen=True)
class SmallGame:
    """One query: its training points nearest first, and what is asked of them."""

    labels: list[Any]
    votes: list[int]
    target: Any
    classes: list[Any]
    k: int

    @property
    def n(self) -> int:
        """Number of training points."""
        return len(self.labels)


def _votes(n: int, *, weighted: bool | None, falling: bool, max_vote: int) -> st.SearchStrategy[list[int]]:
    """Votes one each, or from 0 to `max_vote` with many ties; never growing with the distance if `falling`."""
    ones = st.just([1] * n)
    # A narrow range makes equal votes, and so ties, common; a wide one makes every vote different.
    loud = st.sampled_from([1, 3, max_vote]).flatmap(
        lambda most: st.lists(st.integers(0, most), min_size=n, max_size=n)
    )
    if falling:
        loud = loud.map(lambda votes: sorted(votes, reverse=True))
    if weighted is None:
        return st.one_of(ones, loud)
    return loud if weighted else ones


@st.composite
def small_games(
    draw: st.DrawFn,
    max_n: int = 9,
    *,
    max_classes: int = 4,
    weighted: bool | None = None,
    falling: bool = False,
    max_vote: int = 7,
) -> SmallGame:
    """Games of classes 0, 1, ...

    Labels come from a part of the classes, so that classes nobody has, a target nobody has, and training sets (or label
    sets) of one class are common; k runs from 1 to n + 3.

    Parameters
    ----------
    draw : callable
        Given by hypothesis.
    max_n : int
        Most training points; there is at least one.
    max_classes : int
        Most classes; 2 gives two-class games (and those of one class).
    weighted : bool, optional
        Votes 0..max_vote if true, one each if false, either when None.
    falling : bool
        Whether votes never grow with the distance.
    max_vote : int
        Largest vote.
    """
    n = draw(st.integers(1, max_n))
    n_classes = draw(st.integers(1, max_classes))
    shown = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=n_classes, unique=True))
    return SmallGame(
        labels=draw(st.lists(st.sampled_from(shown), min_size=n, max_size=n)),
        votes=draw(_votes(n, weighted=weighted, falling=falling, max_vote=max_vote)),
        target=draw(st.integers(0, n_classes - 1)),
        classes=list(range(n_classes)),
        k=draw(st.integers(1, n + 3)),
    )


@st.composite
def small_regressions(
    draw: st.DrawFn, max_n: int = 9, *, weighted: bool | None = None, falling: bool = False, max_vote: int = 7
) -> SmallGame:
    """Games with responses that are multiples of 1/4 from -8 to 8, so that floats hold them exactly."""
    n = draw(st.integers(1, max_n))
    responses = st.integers(-32, 32).map(lambda quarters: quarters / 4)
    return SmallGame(
        labels=draw(st.lists(responses, min_size=n, max_size=n)),
        votes=draw(_votes(n, weighted=weighted, falling=falling, max_vote=max_vote)),
        target=draw(responses),
        classes=[],
        k=draw(st.integers(1, n + 3)),
    )


def semivalues() -> st.SearchStrategy[tuple[str, tuple[Any, ...]]]:
    """Pairs of the string that the package reads and the tuple that `reference` reads."""
    return st.sampled_from(
        [
            ("banzhaf", ("banzhaf", Fraction(1, 2))),
            ("banzhaf(0.25)", ("banzhaf", Fraction(1, 4))),
            ("banzhaf(0.8)", ("banzhaf", Fraction(4, 5))),
            ("shapley", ("shapley",)),
            ("loo", ("loo",)),
            ("beta(4,1)", ("beta", 4, 1)),
            ("beta(1,4)", ("beta", 1, 4)),
            ("beta(16,1)", ("beta", 16, 1)),
            ("beta(2,3)", ("beta", 2, 3)),
        ]
    )


@st.composite
def measures(draw: st.DrawFn, max_nodes: int = 4) -> tuple[tuple[list[float], list[float]], tuple[Any, ...]]:
    """Pairs of (nodes, weights) in floats, the arguments of `pivotal.Measure`, and the tuple that `reference` reads."""
    size = draw(st.integers(1, max_nodes))
    nodes = [Fraction(p, 8) for p in draw(st.lists(st.integers(0, 8), min_size=size, max_size=size))]
    parts = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any))
    weights = [Fraction(part, sum(parts)) for part in parts]
    return ([float(p) for p in nodes], [float(w) for w in weights]), ("nodes", list(zip(nodes, weights, strict=True)))


def utilities() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """Names of the classification games with their options, as `reference` takes them; see `build_game`."""
    hard = {
        "tie": st.sampled_from(["lose", "win"]),
        "other_classes": st.sampled_from(["count", "ignore"]),
        "scale": st.sampled_from(["mean", "sum"]),
    }
    soft = {"empty": st.sampled_from([None, Fraction(0), Fraction(1, 4), Fraction(-3, 2)])}
    return st.one_of(
        st.tuples(st.just("hard"), st.fixed_dictionaries(hard)),
        st.tuples(st.just("plurality"), st.just({})),
        st.tuples(st.sampled_from(["soft", "soft-k"]), st.fixed_dictionaries(soft)),
    )


def build_game(utility: str, options: dict[str, Any]) -> Game:
    """Return the package's game for what `reference` calls `utility`, with the same options."""
    if utility == "soft-k":
        return Soft(divide_by="k", **options)
    games: dict[str, type[Game]] = {"hard": Hard, "plurality": Plurality, "soft": Soft, "regression": Regression}
    return games[utility](**options)
