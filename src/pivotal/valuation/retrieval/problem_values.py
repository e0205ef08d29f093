"""Rankings and judgements that are checked, to values: of documents, or of groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pivotal.core.config import Resources
from pivotal.core.notices import notify
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import is_lazy
from pivotal.core.version import __version__
from pivotal.engine.passes import count_queries
from pivotal.neighbors import fitting_queries
from pivotal.results.owner_codes import Owners
from pivotal.results.per_query import PerQuery, PerQueryRecorder, QueryRows
from pivotal.results.values import Values
from pivotal.valuation.retrieval._judgements import Judgements
from pivotal.valuation.retrieval._source_players import Players
from pivotal.valuation.retrieval.document_engine import DocumentEngine, GroupEngine
from pivotal.valuation.retrieval.document_sampler import RetrievalSampler
from pivotal.valuation.retrieval.retrieval_facts import group_names, judged_share, max_groups, utility_range
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem
from pivotal.valuation.retrieval.retrieval_spec import RetrievalSpec
from pivotal.valuation.retrieval.retrieval_truncation import RankingTruncation

# Cases per query that are distinguished without being asked to, and when asked to.
_BRANCHES, _MOST_BRANCHES = 2**20, 2**24


def value_problem(
    problem: RetrievalProblem,
    spec: RetrievalSpec,
    resources: Resources,
    *,
    groups: Any = None,
    weights: FloatArray | None = None,
) -> Values:
    """Value the documents of a problem, or their groups: a name for each document, or a mapping of documents."""
    game, k, lazy = spec.game, spec.k, is_lazy(problem.indices)
    names = problem.documents
    owners = None if groups is None else Owners.of(group_names(groups, names), len(names), "groups")
    complete = problem.complete if spec.complete is None else spec.complete
    relevant = problem.judgements.has_relevant()
    if spec.no_relevant == "skip":
        problem, weights = problem.answerable(), None if weights is None else weights[relevant]
    counted: dict[str, Any] = {"queries_without_relevant": int((~relevant).sum())}
    ignore = spec.unjudged == "ignore"
    if not lazy:
        counted["judged_share"] = share = judged_share(problem, k)
        if share == 0.0 and judged_share(problem, problem.indices.shape[1]) == 0.0:
            notify("none of the documents that are listed is judged; do rankings and relevance name documents alike?")
        problem = problem.without_unjudged() if ignore else problem
    truncation = RankingTruncation(
        game,
        spec.semivalue,
        k,
        utility_range(problem, game, k),
        int(problem.indices.shape[1]),
        complete,
        spec.tol if owners is None else 0.0,
    )
    counter = _make_counter(problem, truncation, owners, spec, resources)
    if lazy:
        from pivotal.valuation.retrieval._retrieval_dask import count_on_dask

        shown = resources.progress
        counted["judged_share"] = count_on_dask(counter, problem, weights, ignore=ignore, k=k, progress=shown)
    else:
        targets: Any = problem.judgements
        used = problem.indices[:, : counter.depth]
        # The sums are copied once a block: blocks hold at least as many entries as there are documents to sum for.
        length = max(1, used.shape[1])
        size = resources.block_size or max(fitting_queries(length), len(problem.documents) // length)
        count_queries(
            counter,
            targets,
            lambda part: (np.ascontiguousarray(used[part], dtype=np.int64), None),
            size,
            weights=weights,
            progress=resources.progress,
        )
    settings = {
        "k": k,
        "utility": str(game),
        "semivalue": str(spec.semivalue),
        "players": "documents" if owners is None else "groups",
        "neighbors": "precomputed",
        "rankings": "complete" if complete else "beginnings",
        "list_length": int(problem.indices.shape[1]),
        "n_documents": len(problem.documents),
        "unjudged": spec.unjudged,
        "no_relevant": spec.no_relevant,
        **counted,
        "queries_without_judgements": problem.n_unjudged_queries,
        "tol": spec.tol,
        "version": __version__,
    }
    if owners is not None:
        settings["points"] = owners.points.tolist()
    names = problem.documents if owners is None else owners.names
    values = counter.result(ids=names, settings=settings)
    # What ran is told here with what was asked for: a ranking's settings are not those of `pivotal.value`.
    return replace(values, settings={**settings, **values.details}, details={})


def _make_counter(
    problem: RetrievalProblem,
    truncation: RankingTruncation,
    owners: Owners | None,
    spec: RetrievalSpec,
    resources: Resources,
) -> DocumentEngine | RetrievalSampler:
    """Return the engine of a method."""
    k, exact, ignore = spec.k, spec.exact_wanted, spec.unjudged == "ignore"
    if owners is None:
        players = Players(len(problem.documents), truncation.max_depth)
    else:
        players = Players(len(owners.names), max_groups(problem, owners, ignore=ignore), owners.codes.astype(np.int64))
        exact = exact and (spec.exact_demanded or players.branches(k) <= _BRANCHES)
    recorder = None
    if spec.per_query:
        judgements = problem.judgements if owners is None else None
        recorder = RankingRecorder(k, problem.queries, judgements, resources.budget)
    if not exact:
        return RetrievalSampler(players, truncation, plan=spec.sampling, n_jobs=resources.n_jobs, recorder=recorder)
    if owners is None:
        return DocumentEngine(players, truncation, n_jobs=resources.n_jobs, recorder=recorder)
    if players.branches(k) > _MOST_BRANCHES:
        raise ValueError(
            f"exact values of groups take at most {_MOST_BRANCHES} cases per query; {players.width} groups in a list "
            f'and k={k} can make about 2^{players.branches(k).bit_length() - 1}. Use method="coalitions", or shorter '
            "lists."
        )
    return GroupEngine(players, truncation, n_jobs=resources.n_jobs, recorder=recorder)


class RankingRecorder(PerQueryRecorder):
    """Keeps the values of single queries, and the grades of the documents that have them; not those of groups."""

    def __init__(self, k: int, queries: AnyArray, judgements: Judgements | None, max_memory: int | None) -> None:
        super().__init__(k, queries, max_memory)
        self._judgements = judgements

    def record(self, indices: IndexArray, values: FloatArray, targets: Any) -> QueryRows:
        return super().record(indices, values, np.zeros(len(targets), dtype=np.int32))

    def finish(self, kept: Sequence[QueryRows], labels: AnyArray) -> PerQuery:
        found = super().finish(kept, labels.astype(np.int32))
        rows = np.repeat(np.arange(found.matrix.shape[0]), np.diff(found.matrix.indptr))
        grades = np.zeros(len(rows))
        if self._judgements is not None and len(rows):
            grades = np.asarray(self._judgements.matrix[rows, found.matrix.indices], dtype=np.float64).ravel()
        return replace(found, targets=np.arange(found.matrix.shape[0], dtype=np.int32), grades=grades)
