"""What tells a valuation from any other: data, settings by their content, how it is cut, and what computes it."""

from __future__ import annotations

from pivotal.core.identity import token
from pivotal.core.version import __version__
from pivotal.valuation.dask.blocks import FORMAT
from pivotal.valuation.dask.checkpoint import Identity
from pivotal.valuation.dask.graph import DaskProblem

__all__ = ["identity_of"]


def identity_of(problem: DaskProblem) -> Identity:
    """Return what tells a valuation from any other.

    Data are distinguished by the names that Dask gives them, everything else by its content: a weight function that was
    edited, a metric of the user's, a semivalue of a class of the user's is another one, whatever it is called.

    Parameters
    ----------
    problem : DaskProblem
        The valuation as it was asked for.
    """
    recipe = problem.recipe
    own = problem.own_weights
    return {
        "version of pivotal": __version__,
        "format of blocks": str(FORMAT),
        "X_train": problem.points.array.name,
        "y_train": problem.labels.array.name,
        "X_test": "" if problem.queries is None else problem.queries.array.name,
        "y_test": "" if problem.targets is None else problem.targets.array.name,
        "settings": {**problem.recipe.spec.tokens(), "each_other": token(recipe.each_other)},
        "weights of the queries": token(tuple(problem.query_weights), None if own is None else own.array.name),
        "blocks": token([(chunk, part.first, part.last, part.of) for chunk, part in problem.blocks()]),
    }
