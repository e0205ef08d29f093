"""What a sample is worth: picks the kernel of a game, prepares its input and hands out scratch memory."""

from __future__ import annotations

import numpy as np

from pivotal.core.games import Game, Hard, Mixture, Plurality, Regression, Soft
from pivotal.core.types import CodeArray, FloatArray
from pivotal.engine.solver import Block
from pivotal.engine.solvers import check_votes_allowed
from pivotal.kernels.sample_arrays import COUNT, ERROR, LEAD, SHARE, Estimates, Law, SampleScratch, Streams


class Drawing:
    """Draws samples of the games of some queries.

    Contributions are multiplied with `weight`: that of the game in a mixture.
    """

    def __init__(self, game: Game, k: int, n_classes: int, weight: float = 1.0) -> None:
        if not isinstance(game, Hard | Plurality | Soft | Regression):
            raise TypeError(
                f"sampling knows the games Hard, Plurality, Soft and Regression; got {game!r}. "
                "Use pivotal.verify, which plays any small game."
            )
        self._game, self._k, self._n_classes = game, k, n_classes
        self._rivals = max(1, n_classes - 1)
        self._weight = weight * (1.0 / self._rivals) if isinstance(game, Hard) and game.scale == "mean" else weight
        self._kind, self._rule = LEAD, -1.0 if isinstance(game, Hard) and game.tie == "win" else 0.0
        if isinstance(game, Regression):
            self._kind = ERROR
        elif isinstance(game, Soft):
            self._kind, self._rule = (SHARE, 0.0) if game.divide_by == "size" else (COUNT, float(k))

    def scratch(self, depth: int) -> SampleScratch:
        """Memory for one thread."""
        return SampleScratch(
            stream=np.zeros(4, dtype=np.int64),
            nearest=np.zeros(self._k + 1, dtype=np.int64),
            order=np.zeros(depth, dtype=np.int64),
            where=np.zeros(depth, dtype=np.int64),
            counts=np.ones(depth, dtype=np.bool_),
            sample_stats=np.zeros((3, depth)),
            terms=np.zeros((2, depth)),
            votes=np.zeros(self._n_classes + 1),
        )

    def draw(self, block: Block, law: Law, streams: Streams, scratch: SampleScratch, estimates: Estimates) -> None:
        """Add batches of samples to the estimates."""
        from pivotal.kernels.sampling_sums import pair_estimates, sum_estimates

        game, k, how = self._game, self._k, (law, streams, scratch, estimates)
        if isinstance(game, Hard | Plurality) and self._rivals > 1:
            slots, votes, weight = self._slots(block), block.ballots, self._weight
            if not game.sees_only_top_k(self._n_classes):
                pair_estimates(slots, votes, self._rivals, k, self._rule, weight, *how)
                return
            from pivotal.kernels.sampling_votes import vote_estimates

            plurality = isinstance(game, Plurality)
            vote_estimates(slots, votes, self._rivals, k, self._rule, plurality, weight, *how)
            return
        empty = game.empty_utility(block.targets, self._n_classes)
        sum_estimates(self._terms(block), empty, k, self._kind, self._rule, self._weight, *how)

    def _terms(self, block: Block) -> FloatArray:
        """What each neighbour adds to the two sums by which its game knows a coalition."""
        terms = np.empty((len(block.targets), 2, block.labels.shape[1]))
        kind, votes, targets = self._kind, block.ballots, block.targets[:, np.newaxis]
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


class _MixedDrawing(Drawing):
    """Draws samples of every part of a mixture by itself, so that variances add up."""

    def __init__(self, game: Mixture, k: int, n_classes: int) -> None:
        self._parts = [Drawing(part, k, n_classes, weight) for weight, part in game.parts()]

    def scratch(self, depth: int) -> SampleScratch:
        return self._parts[0].scratch(depth)

    def draw(self, block: Block, law: Law, streams: Streams, scratch: SampleScratch, estimates: Estimates) -> None:
        for number, part in enumerate(self._parts):
            part.draw(block, law, streams.of_part(number), scratch, estimates)


def make_drawing(game: Game, k: int, n_classes: int) -> Drawing:
    """Return what draws samples of a game, or of the parts of a mixture."""
    return _MixedDrawing(game, k, n_classes) if isinstance(game, Mixture) else Drawing(game, k, n_classes)


def check_sampled_votes(game: Game) -> None:
    """Raise unless the game can be sampled with votes that differ: even the plurality vote can."""
    for _, part in game.parts():
        if not isinstance(part, Plurality):
            check_votes_allowed(part)
