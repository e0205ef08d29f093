"""The players: every document by itself, or groups of them, numbered within each query."""

from __future__ import annotations

from math import comb

import numpy as np

from pivotal.core.games import RetrievalGame
from pivotal.core.semivalues import Semivalue
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray
from pivotal.engine.owners import chance_table, make_owner_scratch
from pivotal.engine.solver import Block
from pivotal.kernels.owner_arrays import BEST, DISCOUNTED, FIRST, Owned, OwnerScratch, Rules

_KINDS = {"discounted": DISCOUNTED, "first": FIRST, "best": BEST}


class Players:
    """The players of retrieval games, in the words of the kernels for owners.

    Only those that are listed for a query take part in its game. They are numbered within the query in the order in
    which they first appear in its list, so that tables are as wide as lists and not as the corpus: `width` is the most
    players that any list has. The codes are the group of each document; None where documents play themselves.
    """

    def __init__(self, n_players: int, width: int, codes: AnyArray | None = None) -> None:
        self.n_players, self.width, self._codes = n_players, max(1, width), codes
        self._chances: FloatArray | None = None

    @property
    def grouped(self) -> bool:
        """Whether the players are groups of documents."""
        return self._codes is not None

    def limit(self, depth: int) -> None:
        """Say that lists are cut at this depth."""
        self.width = max(1, min(self.width, depth))

    def branches(self, k: int) -> int:
        """At most this many cases must be distinguished for one query."""
        return sum(comb(self.width, joined) for joined in range(min(k, self.width) + 1))

    def of(self, indices: IndexArray) -> tuple[CodeArray, IndexArray]:
        """Number the players of some queries, given their lists, -1 where one has ended; shape (n_queries, depth).

        Return the number of the player that each document belongs to, within its query, and the players of these
        numbers, -1 where there are no more; shape (n_queries, width).
        """
        who = np.full((len(indices), self.width), -1, dtype=np.int64)
        if self._codes is None:
            who[:, : indices.shape[1]] = indices
            return np.tile(np.arange(indices.shape[1], dtype=np.int32), (len(indices), 1)), who
        from pivotal.kernels.ranking_values import number_groups

        local = np.zeros(indices.shape, dtype=np.int32)
        number_groups(indices, self._codes, np.full(self.n_players, -1, dtype=np.int64), local, who)
        return local, who

    def owned(self, game: RetrievalGame, block: Block, local: CodeArray, k: int, weight: float) -> tuple[Owned, Rules]:
        """Return documents with their players, and the utility of a coalition, for the kernels."""
        n_queries, depth = block.labels.shape
        none: CodeArray = np.zeros((n_queries, 0), dtype=np.int32)
        terms = np.zeros((n_queries, 2, depth))
        terms[:, 0] = game.gains(block.labels) * game.scale(block.targets, k)[:, np.newaxis]
        # Nothing behind the last relevant document changes anything: branches end there.
        behind = np.cumsum(terms[:, 0, ::-1] > 0.0, axis=1)[:, ::-1] > 0
        owned = Owned(local, behind.sum(axis=1).astype(np.int64), terms, none, none, np.zeros(n_queries))
        return owned, Rules(_KINDS[game.kind], k, 0.0, weight, 1, False, False, game.discounts(k))

    def open_chance(self, semivalue: Semivalue, indices: IndexArray, k: int) -> FloatArray:
        """Return, for each query, the chance that others than a player hold fewer than k listed documents."""
        from pivotal.kernels.owner_branching import unseen

        n_queries, depth = indices.shape
        none: CodeArray = np.zeros((n_queries, 0), dtype=np.int32)
        lengths = (indices >= 0).sum(axis=1).astype(np.int64)
        owned = Owned(self.of(indices)[0], lengths, np.zeros((n_queries, 2, 0)), none, none, np.zeros(n_queries))
        shares, ways = np.zeros(n_queries), np.zeros((min(k, self.width + 1), k))
        rules = Rules(DISCOUNTED, k, 0.0, 1.0, 1, False, False, np.zeros(k))
        unseen(owned, rules, self.chances(semivalue, k), self.workspace(depth, k), ways, shares)
        return shares

    def chances(self, semivalue: Semivalue, k: int) -> FloatArray:
        """Chance that a given players are in and b given ones are out; a goes up to k."""
        if self._chances is None:
            self._chances = chance_table(semivalue, min(k, self.width), self.width)
        return self._chances

    def workspace(self, depth: int, k: int) -> OwnerScratch:
        """Memory for one thread and lists of this length."""
        return make_owner_scratch(self.width, depth, k, 1)
