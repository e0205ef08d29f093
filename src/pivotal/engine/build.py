"""The one place that picks an engine: by game, by method, by the number of labels per point."""

from __future__ import annotations

from pivotal.core.games import Game
from pivotal.core.plan import Plan
from pivotal.core.spec import Spec
from pivotal.core.types import AnyArray
from pivotal.engine.exact import Engine
from pivotal.engine.game_shape import GameShape
from pivotal.engine.multilabel import MultiLabelEngine
from pivotal.engine.passes import QueryCounter
from pivotal.engine.radius import RadiusEngine
from pivotal.engine.sampling.drawing import check_sampled_votes
from pivotal.engine.sampling.sampled import SamplingEngine
from pivotal.engine.solvers import check_votes_allowed
from pivotal.results.per_query import PerQueryRecorder


def check_votes(game: Game, plan: Plan) -> None:
    """Raise unless the game can be valued with votes that differ."""
    if plan.method == "exact":
        check_votes_allowed(game)
    else:
        check_sampled_votes(game)


def make_counter(
    spec: Spec, labels: AnyArray, shape: GameShape, *, n_jobs: int | None = -1, recorder: PerQueryRecorder | None = None
) -> QueryCounter:
    """Return the engine of a method; parameters as in `pivotal.engine.exact.Engine`."""
    plan, game = spec.plan, spec.game
    if recorder is not None and (plan.method != "exact" or game.radius is not None):
        raise ValueError(
            f"values per query are kept of exact games of the k nearest; got method={plan.method!r} and "
            f"utility={str(game)!r}. Omit per_query."
        )
    many = labels.ndim == 2
    if many and (recorder is not None or plan.method != "exact"):
        raise ValueError(
            f"many labels per point are valued exactly and for all queries together; got method={plan.method!r} and "
            f"per_query={recorder is not None}. Omit them, or value one label at a time."
        )
    if game.radius is not None:
        if plan.method != "exact":
            raise ValueError(
                f"{game} has closed forms at any size and is not sampled; got method={plan.method!r}. "
                'Use method="exact".'
            )
        return RadiusEngine(spec, labels, shape)
    if many:
        return MultiLabelEngine(spec, labels, shape, n_jobs=n_jobs)
    if plan.method == "exact":
        return Engine(spec, labels, shape, n_jobs=n_jobs, recorder=recorder)
    return SamplingEngine(spec, labels, shape, plan=plan, n_jobs=n_jobs)
