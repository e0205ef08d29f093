"""Monte Carlo estimates of the values, with standard errors.

    plan      which method, how many samples, and from which seed
    laws      what is drawn, for each semivalue
    drawing   what a sample is worth, for each game
    engine    the sum over queries: the sampling counterpart of `pivotal.engine`

Two ways to sample, after section 4 of the paper. A *coalition* has each point as a member with probability p; it shows
the marginal contribution of every point at once. A *permutation* lets the points join one after the other, and each
contributes what it adds to those before it.

Samples are drawn from the ranks of a query's list, which `tol` cuts as it does for exact values. A semivalue is a
measure over p that does not know n, so the estimates are unbiased for the game of the listed points alone, and that
game is no farther from the game of all points than the error bound says. Nothing is lost beyond the k-th member of a
coalition: all contributions there are exactly 0.
"""

from __future__ import annotations

from typing import Any

from pivotal._types import AnyArray
from pivotal.engine import Engine, QueryCounter
from pivotal.games import Game, Threshold
from pivotal.multilabel import MultiLabelEngine, MultiLabelRadius
from pivotal.per_query import Keeper
from pivotal.radius import RadiusEngine
from pivotal.sampling.drawing import check_sampled_votes
from pivotal.sampling.engine import SamplingEngine
from pivotal.sampling.plan import METHODS, Plan, as_plan
from pivotal.semivalues import Semivalue
from pivotal.solvers import check_votes_allowed

__all__ = ["METHODS", "Plan", "SamplingEngine", "as_plan", "check_votes", "make_counter"]


def check_votes(game: Game, plan: Plan) -> None:
    """Raise unless the game can be valued with votes that differ."""
    if plan.method == "exact":
        check_votes_allowed(game)
    else:
        check_sampled_votes(game)


def make_counter(
    plan: Plan,
    labels: AnyArray,
    game: Game,
    semivalue: Semivalue,
    *,
    largest_vote: int | None,
    keeper: Keeper | None = None,
    **how: Any,
) -> QueryCounter:
    """Return the engine of a method.

    Parameters
    ----------
    plan : Plan
        The method, and when to stop.
    labels, game, semivalue, largest_vote, keeper, **how
        As in `pivotal.engine.Engine`.
    """
    if keeper is not None and (plan.method != "exact" or isinstance(game, Threshold)):
        raise ValueError(
            f"values per query are kept of exact games of the k nearest; got method={plan.method!r} and "
            f"utility={str(game)!r}. Leave out per_query."
        )
    many = labels.ndim == 2
    if many and (keeper is not None or plan.method != "exact"):
        raise ValueError(
            f"many labels per point are valued exactly and for all queries together; got method={plan.method!r} and "
            f"per_query={keeper is not None}. Leave them out, or value one label at a time."
        )
    if isinstance(game, Threshold):
        if plan.method != "exact":
            raise ValueError(
                f"{game} has closed forms at any size and is not sampled; got method={plan.method!r}. "
                'Use method="exact".'
            )
        within = MultiLabelRadius if many else RadiusEngine
        return within(labels, game, semivalue, n_classes=how["n_classes"], n_players=how["n_players"])
    if many:
        return MultiLabelEngine(labels, game, semivalue, largest_vote=largest_vote, **how)
    if plan.method == "exact":
        return Engine(labels, game, semivalue, largest_vote=largest_vote, keeper=keeper, **how)
    return SamplingEngine(labels, game, semivalue, plan=plan, **how)
