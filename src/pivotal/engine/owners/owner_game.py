"""What the kernels need of a game of owners: who is near, the utility of a coalition, and how likely it is."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np

from pivotal.core.games import Hard, Mixture, Plurality, Regression, Soft
from pivotal.core.semivalues import BetaShapley, Semivalue
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.owners.owner_lists import keep_nearest
from pivotal.engine.sampling.drawing import Drawing
from pivotal.engine.solver import Block
from pivotal.kernels.owner_arrays import VOTES, Owned, OwnerScratch, Rules
from pivotal.kernels.sample_arrays import LEAD
from pivotal.neighbors.lists import count_codes
from pivotal.results.owner_codes import Owners

_FACTOR = 2.0  # two marginal contributions of an owner differ by at most twice the range of the utility


class OwnerGame(Drawing):
    """A game whose players are owners.

    Parameters
    ----------
    spec : Spec
        Utility of a coalition of points, how coalitions of owners are drawn, how many neighbours vote, and the
        truncation error that is good enough: 0 uses the lists whole.
    owners : Owners
        Whose the training points are.
    labels : int32 or float64 array of shape (n_train,)
        Class codes, or responses for regression.
    n_classes : int
        Number of classes.
    weight : float, default=1.0
        What contributions are multiplied with: the weight of the game in a mixture.

    Attributes
    ----------
    parts : tuple of OwnerGame
        The games that this one is a sum of: itself, unless it is a mixture.
    n_owners : int
        The players.
    looked_at : int
        The nearest this many owners of a query decide, but for the tolerance.
    cells : int array of shape (n_train,)
        Of the points of one cell only the k nearest can ever vote: those of an owner or, where third classes are left
        out of a game, those of a class of an owner.
    """

    def __init__(self, spec: Spec, owners: Owners, labels: AnyArray, n_classes: int, weight: float = 1.0) -> None:
        game, k = spec.game, spec.k
        if not isinstance(game, Hard | Plurality | Soft | Regression):
            raise TypeError(
                f"owners play the games Hard, Plurality, Soft, Regression and Threshold; got {game!r}. "
                "Use Values.by_owner, which adds up the values of the points in any game."
            )
        super().__init__(game, k, n_classes, weight)
        self.parts: tuple[OwnerGame, ...] = (self,)
        self._owners, self._pairs = owners, not game.sees_only_top_k(n_classes)
        self.n_owners = len(owners.names)
        self.cells: AnyArray = owners.codes
        if self._pairs:
            self.cells = np.unique(owners.codes * np.int64(n_classes) + labels, return_inverse=True)[1]
        # Every owner has a point at least: what holds for the nearest this many points holds for as many owners.
        depth = self.n_owners if self._pairs else spec.semivalue.depth(k, spec.tol, self.n_owners, _FACTOR)
        self.looked_at = min(self.n_owners, max(depth, min(k, self.n_owners)))
        self._semivalue = spec.semivalue
        self._chances: FloatArray | None = None

    @property
    def branches(self) -> int:
        """At most this many cases must be distinguished for one query."""
        return sum(comb(self.looked_at, joined) for joined in range(min(self._k, self.looked_at) + 1))

    def too_many(self) -> str:
        """Say why there are so many cases, and what to do about it."""
        return (
            f"{self.n_owners} owners and k={self._k} can make about 2^{self.branches.bit_length() - 1}. "
            'Use method="coalitions", a larger tol, or a smaller k.'
        )

    @property
    def chances(self) -> FloatArray:
        """Chance that a given owners are in and b given ones are out, shape (a, b); a goes up to k."""
        if self._chances is None:
            self._chances = chance_table(self._semivalue, min(self._k, self.n_owners), self.n_owners)
        return self._chances

    @property
    def rules(self) -> Rules:
        """Utility of a coalition, for the kernels."""
        votes = self._kind == LEAD and self._rivals > 1 and not self._pairs
        plurality, kind = isinstance(self._game, Plurality), VOTES if votes else self._kind
        return Rules(kind, self._k, self._rule, self._weight, self._rivals, self._pairs, plurality)

    def workspace(self, depth: int) -> OwnerScratch:
        """Memory for one thread and lists of this length."""
        return make_owner_scratch(self.n_owners, depth, self._k, self._n_classes + 1)

    def own(self, indices: IndexArray, block: Block) -> Owned:
        """Say whose the neighbours of some queries are and what they bring; lists end after the nearest owners."""
        owners = self._owners.codes[indices]
        kind, (n_queries, depth) = self.rules.kind, indices.shape
        none: CodeArray = np.zeros((n_queries, 0), dtype=np.int32)
        lengths = np.full(n_queries, depth)
        if self.looked_at < self.n_owners:
            owners_so_far = np.cumsum(keep_nearest(owners, 1), axis=1)
            lengths = (owners_so_far <= self.looked_at).sum(axis=1)
        return Owned(
            owners=owners,
            lengths=lengths.astype(np.int64),
            terms=np.zeros((n_queries, 2, 0)) if kind == VOTES else self._terms(block),
            slots=self._slots(block) if kind == VOTES or self._pairs else none,
            votes=block.ballots if kind == VOTES else none,
            empty=self._game.empty_utility(block.targets, self._n_classes),
        )

    def dropped(self, indices: IndexArray, owned: Owned) -> FloatArray:
        """Bound, for each query, on what the points beyond its list could have changed."""
        from pivotal.kernels.owner_branching import unseen

        n_queries, depth = indices.shape
        whole = owned.lengths == depth
        if depth < len(self._owners.codes):
            whole &= self._has_all(indices)
        lost = np.zeros(n_queries)
        open_ones = np.flatnonzero(~whole)
        if open_ones.size:
            shares = np.zeros(open_ones.size)
            ways = np.zeros((min(self._k, self.n_owners + 1), self._k))
            unseen(owned.part(open_ones), self.rules, self.chances, self.workspace(depth), ways, shares)
            lost[open_ones] = _FACTOR * shares
        return lost

    def _has_all(self, indices: IndexArray) -> AnyArray:
        """Whether lists hold as many points of every cell as can ever vote."""
        wanted = np.minimum(np.bincount(self.cells), self._k)
        return np.asarray((count_codes(self.cells[indices], len(wanted)) >= wanted).all(axis=1))


class MixedOwnerGame(OwnerGame):
    """A weighted sum of games whose players are owners; values are linear in the game, so those of the parts add up."""

    def __init__(self, spec: Spec, owners: Owners, labels: AnyArray, n_classes: int) -> None:
        game = spec.game
        if game.radius is not None:
            raise ValueError(
                f"owners play mixtures of games of the k nearest; got {game}. Value its parts by themselves and add "
                "the values."
            )
        self.parts = tuple(
            OwnerGame(replace(spec, game=part), owners, labels, n_classes, weight) for weight, part in game.parts()
        )
        self._k, self._n_classes, self.n_owners = spec.k, n_classes, len(owners.names)
        # Lists that are long enough for the part with the finest cells are long enough for all.
        self.cells = max((part.cells for part in self.parts), key=lambda cells: int(cells.max()))
        self.looked_at = max(part.looked_at for part in self.parts)


def make_owner_game(spec: Spec, owners: Owners, labels: AnyArray, n_classes: int) -> OwnerGame:
    """Return the game whose players are owners; parameters as in `OwnerGame`."""
    return (MixedOwnerGame if isinstance(spec.game, Mixture) else OwnerGame)(spec, owners, labels, n_classes)


def chance_table(semivalue: Semivalue, max_size: int, n: int) -> FloatArray:
    """Return the chance that a given players joined, a <= most, and b given ones did not, b <= n.

    Examples
    --------
    >>> from pivotal import Shapley
    >>> chance_table(Shapley(), 1, 2)
    array([[1.        , 0.5       , 0.33333333],
           [0.5       , 0.16666667, 0.08333333]])
    """
    if not isinstance(semivalue, BetaShapley):
        return np.array([[semivalue.mass(a, b) for b in range(n + 1)] for a in range(max_size + 1)])
    # Products of ratios: one rounding each, while logarithms of gamma functions lose digits when n is large.
    alpha, beta = semivalue.alpha, semivalue.beta
    b = np.arange(n, dtype=np.float64)
    table = np.empty((max_size + 1, n + 1))
    table[0] = np.cumprod(np.concatenate(([1.0], (alpha + b) / (alpha + beta + b))))
    for a in range(max_size):
        table[a + 1] = table[a] * ((beta + a) / (alpha + beta + a + np.arange(n + 1.0)))
    return table


def make_owner_scratch(n_players: int, depth: int, k: int, n_counts: int) -> OwnerScratch:
    """Memory of one thread for a game of groups: lists of `depth` entries, `n_counts` numbers for the utility."""
    n = n_players
    return OwnerScratch(
        playing_ranks=np.zeros(depth, dtype=np.int64),
        status=np.zeros(n, dtype=np.int64),
        known=np.zeros(n, dtype=np.int64),
        heads=np.zeros(n, dtype=np.int64),
        nexts=np.zeros(depth, dtype=np.int64),
        decision_stack=np.zeros((2, n + 1), dtype=np.int64),
        sums=np.zeros((2, n + 1)),
        members=np.zeros(k, dtype=np.int64),
        others=np.zeros(k, dtype=np.int64),
        totals=np.zeros((2, k + 1)),
        vote_counts=np.zeros(n_counts),
    )
