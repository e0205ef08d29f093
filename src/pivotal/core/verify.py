"""Check values against the definition: enumerate every coalition of one small query.

The oracle is part of the product. It knows nothing of closed forms, tables or truncation; it lets every coalition of
the training points has the utility that its game defines, and adds up marginal contributions, so it takes 2^n steps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.core.coalitions import coalitions_by_size, enumerated_values, joining, members_of
from pivotal.core.games import Game, as_game
from pivotal.core.semivalues import Semivalue, as_semivalue
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_k, check_tol, is_integer

__all__ = ["Verification", "verify"]

_MOST_POINTS = 20

# Two utilities that differ by less than this, relative to the largest, differ only in the order of additions.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Verification:
    """What `verify` found.

    Attributes
    ----------
    exact : float64 array of shape (n_train,)
        The values by definition, nearest point first, right to about 1e-13 of the utility's range.
    largest_difference : float or None
        How far the values under test are from `exact`; None when there were none to test.
    entry : int or None
        Rank (counted from 0) where that difference stands.
    allowed : float
        The largest difference that passes.
    axioms : mapping of str to bool or None
        Whether the values under test, or `exact` when there were none, satisfy each axiom; None where the game or the
        semivalue gives it nothing to check.

        - ``"null player"``: a point that never changes the utility of a coalition is worth nothing.
        - ``"symmetry"``: points that can stand in for each other in every coalition are worth the same.
        - ``"efficiency"``: values sum to the utility of the full training set minus the utility of the empty set;
        Shapley's weights only.
    title : str
        What was played.
    """

    exact: FloatArray
    largest_difference: float | None
    entry: int | None
    allowed: float
    axioms: Mapping[str, bool | None]
    title: str

    @property
    def ok(self) -> bool:
        """Whether the values agree with the definition and no axiom is broken."""
        close = self.largest_difference is None or self.largest_difference <= self.allowed
        return close and False not in self.axioms.values()

    def raise_if_wrong(self) -> None:
        """Raise ValueError unless everything agrees."""
        if self.largest_difference is not None and not self.largest_difference <= self.allowed:
            raise ValueError(
                f"the values must equal those of the definition; entry {self.entry} is off by "
                f"{self.largest_difference:.3g}, more than {self.allowed:.3g}. Compare with the values in `exact`."
            )
        broken = [name for name, holds in self.axioms.items() if holds is False]
        if broken:
            raise ValueError(
                f"the values must satisfy every axiom that applies; broken: {', '.join(broken)}. "
                "Compare with the values in `exact`."
            )

    def __str__(self) -> str:
        lines = [f"{'ok' if self.ok else 'WRONG'}: {self.title}"]
        if self.largest_difference is not None:
            where = f"at entry {self.entry} (allowed {self.allowed:.3g})"
            lines.append(f"  largest difference  {self.largest_difference:.3g} {where}")
        words = {True: "holds", False: "BROKEN", None: "nothing to check"}
        lines += [f"  {name:<19} {words[holds]}" for name, holds in self.axioms.items()]
        return "\n".join([*lines, f"  exact values        {np.array2string(self.exact, precision=6)}"])


def verify(
    labels: Sequence[Any] | AnyArray,
    target: Any,
    *,
    k: int,
    utility: object = "hard",
    semivalue: Semivalue | str = "banzhaf",
    votes: npt.ArrayLike | None = None,
    classes: Collection[Any] | None = None,
    values: npt.ArrayLike | None = None,
    tol: float = 1e-10,
) -> Verification:
    """Enumerate the coalitions of one query's training points and check values against them.

    Parameters
    ----------
    labels : sequence of length n_train
        Labels of the training points, nearest to the query first; at most 20 of them. Numbers for regression. Where
        all points within a radius vote, only the labels of the points within it.
    target : hashable or number
        True label of the query.
    k : int
        Number of neighbours that vote; may exceed n_train.
    utility : str, Game or Convention, default="hard"
        Utility of a coalition.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn.
    votes : int array of shape (n_train,), optional
        Non-negative votes of the same points; one each when omitted.
    classes : collection of hashable, optional
        The label set, when it is larger than what labels and target show.
    values : float array of shape (n_train,), optional
        The values to check, nearest point first.
    tol : float, default=1e-10
        Largest difference that passes, in units of the utility's range over coalitions where that is above 1.

    Returns
    -------
    Verification

    Examples
    --------
    >>> report = verify(["cat", "dog", "cat"], "cat", k=1, values=[0.75, -0.25, 0.25])
    >>> report.exact
    array([ 0.75, -0.25,  0.25])
    >>> print(report)
    ok: Hard(tie='lose', other_classes='count', scale='mean'), banzhaf, k=1, 3 points, 8 coalitions
      largest difference  0 at entry 0 (allowed 1e-10)
      null player         nothing to check
      symmetry            nothing to check
      efficiency          nothing to check
      exact values        [ 0.75 -0.25  0.25]
    """
    game, drawn = as_game(utility), as_semivalue(semivalue)
    k, tol = check_k(k), check_tol(tol)
    near_first = list(labels)
    n = len(near_first)
    if not 1 <= n <= _MOST_POINTS:
        raise ValueError(
            f"verify enumerates all coalitions of 1 to {_MOST_POINTS} points; got {n}. Keep the nearest points only."
        )
    codes, code, n_classes = _encode(game, near_first, target, classes)
    utilities = _all_utilities(game, codes, _check_votes(votes, n), code, n_classes, k)

    exact = enumerated_values(utilities, drawn)
    allowed = tol * max(1.0, float(utilities.max() - utilities.min()))
    largest, entry, tested = None, None, exact
    if values is not None:
        tested = np.asarray(values, dtype=np.float64)
        if tested.shape != (n,):
            raise ValueError(f"values must have one entry per label, shape ({n},); got shape {tested.shape}.")
        # A value that is not a number counts as infinitely far off.
        difference = np.nan_to_num(np.abs(tested - exact), nan=np.inf)
        entry = int(difference.argmax())
        largest = float(difference[entry])
    return Verification(
        exact=exact,
        largest_difference=largest,
        entry=entry,
        allowed=allowed,
        axioms=_check_axioms(utilities, tested, drawn, allowed),
        title=f"{game!r}, {drawn.name}, k={k}, {n} point{'s' * (n > 1)}, {2**n} coalitions",
    )


def _encode(
    game: Game, labels: list[Any], target: Any, classes: Collection[Any] | None
) -> tuple[AnyArray, AnyArray, int]:
    """Return labels and target as arrays of shapes (n_train,) and (1,), and the number of classes."""
    if game.task == "regression":
        return np.array(labels, dtype=np.float64), np.array([target], dtype=np.float64), 0
    label_set = dict.fromkeys([*labels, target] if classes is None else classes)
    code_of = {label: code for code, label in enumerate(label_set)}
    strangers = [label for label in [*labels, target] if label not in code_of]
    if strangers:
        raise ValueError(f"classes must contain every label; {strangers[0]!r} is missing. Add it to classes.")
    return np.array([code_of[label] for label in labels]), np.array([code_of[target]]), len(code_of)


def _check_votes(votes: npt.ArrayLike | None, n: int) -> AnyArray:
    if votes is None:
        return np.ones(n, dtype=np.int64)
    ballots = np.asarray(votes)
    if ballots.shape != (n,):
        raise ValueError(f"votes must have one entry per label, shape ({n},); got shape {ballots.shape}.")
    if not all(is_integer(vote, minimum=0) for vote in ballots):
        raise ValueError(f"votes must be non-negative integers; got {ballots.tolist()}. Round them first.")
    return ballots.astype(np.int64)


def _all_utilities(
    game: Game, labels: AnyArray, votes: AnyArray, target: AnyArray, n_classes: int, k: int
) -> FloatArray:
    """Return the utility of every coalition, shape (2^n,), at the index that is its bit mask."""
    n = len(labels)
    utilities = np.empty(2**n)
    utilities[0] = game.empty_utility(target, n_classes)[0]
    for size, masks in enumerate(coalitions_by_size(n)[1:], start=1):
        # Each coalition plays the whole training set of a query of its own, so that one size is one call.
        members = np.nonzero(members_of(masks, n))[1].reshape(len(masks), size)
        targets = np.repeat(target, len(masks))
        utilities[masks] = game.full_utility(labels[members], votes[members], targets, n_classes, k)
    return utilities


def _check_axioms(
    utilities: FloatArray, values: FloatArray, semivalue: Semivalue, allowed: float
) -> dict[str, bool | None]:
    n = len(values)
    masks = np.arange(2**n)
    rounding = _ROUNDING * max(1.0, float(np.abs(utilities).max()))

    null_values, twins = [], []
    for i in range(n):
        without_i, with_i = joining(masks, i)
        if np.abs(utilities[with_i] - utilities[without_i]).max() <= rounding:
            null_values.append(abs(values[i]))
        for j in range(i):
            neither, with_j = joining(without_i, j)
            if np.abs(utilities[neither | 1 << i] - utilities[with_j]).max() <= rounding:
                twins.append(abs(values[i] - values[j]))

    weights = [semivalue.mass(size, n - 1 - size) for size in range(n)]
    shapley = [factorial(size) * factorial(n - 1 - size) / factorial(n) for size in range(n)]
    surplus = abs(values.sum() - (utilities[-1] - utilities[0]))
    # Values that each pass on their own may add up to as many times the allowance as there are of them.
    return {
        "null player": bool(max(null_values) <= allowed) if null_values else None,
        "symmetry": bool(max(twins) <= 2 * allowed) if twins else None,
        "efficiency": bool(surplus <= n * allowed) if np.allclose(weights, shapley, rtol=1e-9, atol=0.0) else None,
    }
