"""What a sample is worth: picks the kernel of a game, prepares its input and hands out scratch memory."""

from __future__ import annotations

import numpy as np

from pivotal._types import CodeArray, FloatArray
from pivotal.games import Game, Hard, Plurality, Regression, Soft
from pivotal.kernels._samples import COUNT, ERROR, LEAD, SHARE, Estimates, Law, Scratch, Streams
from pivotal.solvers import Block, check_votes_allowed

__all__ = ["Drawing", "check_sampled_votes"]


class Drawing:
    """Draws samples of the games of some queries.

    Parameters
    ----------
    game : Game
        What a coalition earns.
    k, n_classes : int
        Number of neighbours that vote, and of classes.
    """

    def __init__(self, game: Game, k: int, n_classes: int) -> None:
        if not isinstance(game, Hard | Plurality | Soft | Regression):
            raise TypeError(
                f"sampling knows the games Hard, Plurality, Soft and Regression; got {game!r}. "
                "Use pivotal.verify, which plays any small game."
            )
        self._game, self._k, self._n_classes = game, k, n_classes
        self._rivals = max(1, n_classes - 1)
        self._scale = 1.0 / self._rivals if isinstance(game, Hard) and game.scale == "mean" else 1.0
        self._rule = -1.0 if isinstance(game, Hard) and game.tie == "win" else 0.0

    def scratch(self, depth: int) -> Scratch:
        """Memory for one thread."""
        return Scratch(
            stream=np.zeros(4, dtype=np.int64),
            nearest=np.zeros(self._k + 1, dtype=np.int64),
            order=np.zeros(depth, dtype=np.int64),
            where=np.zeros(depth, dtype=np.int64),
            seated=np.ones(depth, dtype=np.bool_),
            tallies=np.zeros((3, depth)),
            terms=np.zeros((2, depth)),
            votes=np.zeros(self._n_classes + 1),
        )

    def draw(self, block: Block, law: Law, streams: Streams, scratch: Scratch, estimates: Estimates) -> None:
        """Add batches of samples to the estimates."""
        from pivotal.kernels.sampling_sums import pair_estimates, sum_estimates

        game, k, how = self._game, self._k, (law, streams, scratch, estimates)
        if isinstance(game, Hard | Plurality) and self._rivals > 1:
            slots, votes = self._slots(block), _ballots(block)
            if not game.sees_only_top_k(self._n_classes):
                pair_estimates(slots, votes, self._rivals, k, self._rule, self._scale, *how)
                return
            from pivotal.kernels.sampling_votes import vote_estimates

            plurality = isinstance(game, Plurality)
            vote_estimates(slots, votes, self._rivals, k, self._rule, plurality, self._scale, *how)
            return
        kind, rule = LEAD, self._rule
        if isinstance(game, Regression):
            kind = ERROR
        elif isinstance(game, Soft):
            kind, rule = (SHARE, 0.0) if game.divide_by == "size" else (COUNT, float(k))
        empty = game.nobody(block.targets, self._n_classes)
        sum_estimates(self._terms(block, kind), empty, k, kind, rule, 1.0, *how)

    def _terms(self, block: Block, kind: int) -> FloatArray:
        """What each neighbour adds to the two sums by which its game knows a coalition."""
        terms = np.empty((len(block.targets), 2, block.labels.shape[1]))
        votes = _ballots(block)
        targets = block.targets[:, np.newaxis]
        terms[:, 1] = 1 if kind == LEAD else votes
        if kind == ERROR:
            np.multiply(votes, block.labels - targets, out=terms[:, 0])
        elif kind == LEAD:
            terms[:, 0] = np.where(block.labels == targets, votes, -votes)
        else:
            np.multiply(votes, block.labels == targets, out=terms[:, 0])
        return terms

    def _slots(self, block: Block) -> CodeArray:
        """Number the classes so that the right one of each query is 0."""
        labels, targets = block.labels, block.targets[:, np.newaxis]
        slots: CodeArray = np.where(labels == targets, 0, labels + (labels < targets)).astype(np.int32)
        return slots


def check_sampled_votes(game: Game) -> None:
    """Raise unless the game can be sampled with votes that differ: even the plurality vote can."""
    if not isinstance(game, Plurality):
        check_votes_allowed(game)


def _ballots(block: Block) -> CodeArray:
    return np.ones(block.labels.shape, dtype=np.int32) if block.votes is None else block.votes
