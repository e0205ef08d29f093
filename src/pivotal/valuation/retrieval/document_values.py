"""The public face: rankings and relevance in, values of documents or of their sources out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Never

import numpy as np
import numpy.typing as npt

from pivotal.core.config import Resources
from pivotal.core.games import Game
from pivotal.core.method_choice import MethodChoice
from pivotal.core.query_weights import QueryWeights
from pivotal.core.semivalues import Semivalue
from pivotal.core.spec import DEFAULT_TOL
from pivotal.core.types import AnyArray
from pivotal.results.values import Values
from pivotal.valuation.retrieval.problem_values import value_problem
from pivotal.valuation.retrieval.retrieval_spec import RetrievalSpec
from pivotal.valuation.retrieval.retrievers import Similarity
from pivotal.valuation.retrieval.searched_problem import open_problem

__all__ = ["value_retrieval"]


def value_retrieval(
    rankings: Any,
    relevance: Any,
    k: int = 10,
    metric: str | Game = "ndcg",
    semivalue: str | Semivalue = "banzhaf",
    groups: Any = None,
    *,
    queries: Any = None,
    depth: int | None = None,
    similarity: Similarity = "cosine",
    documents: Any = None,
    query_ids: Any = None,
    complete: bool | None = None,
    unjudged: Literal["irrelevant", "ignore"] = "irrelevant",
    no_relevant: Literal["zero", "skip"] = "zero",
    query_weights: npt.ArrayLike | Mapping[Any, float] | None = None,
    tol: float = DEFAULT_TOL,
    method: str | MethodChoice = "auto",
    per_query: bool = False,
    n_jobs: int | None = None,
    block_size: int | None = None,
    progress: bool | None = None,
    **unknown: Never,
) -> Values:
    """Return what each document of a corpus is worth to a retriever, by a metric of the first k that it returns.

    The players are the documents, or groups of them. A coalition is a corpus with all other documents removed: those
    that stay keep their order, and the first k of them are judged. Values are means over the queries. They say what
    documents do to a retrieval metric, not what a language model does with the text.

    Parameters
    ----------
    rankings : array, mapping, path, embeddings or retriever
        Who is retrieved, best first: document numbers of shape (n_queries, depth), where lists may be of different
        lengths or be filled up with -1; a mapping of queries to lists of documents, or to mappings of documents to
        scores; a TREC run, whose scores decide on the order and where of equal scores the later name is first, as in
        trec_eval; or, with `queries`, embeddings of the corpus, which are searched exactly, or a retriever: an object
        with ``search(queries, depth)`` or ``kneighbors``, a function of the two, or `pivotal.retrieval.BM25`. A Dask
        array of document numbers is solved block by block on Dask, with the same values to the last bit.
    relevance : sparse matrix, array, mapping or path
        Grades of at least 0: of shape (n_queries, n_documents), where every stored entry is a judgement, also a stored
        0; a mapping of queries to mappings of documents to grades, or to collections of relevant documents; a TREC
        file of judgements, or BEIR's. Negative grades count as 0.
    k : int, default=10
        Number of documents that are retrieved.
    metric : str or game, default="ndcg"
        ``"precision"``, ``"recall"``, ``"dcg"``, ``"ndcg"``, ``"hit"``, ``"rr"``, ``"best"``; ``"ndcg-exp"`` and
        ``"dcg-exp"`` for gains of 2^grade - 1; or a game such as ``NDCG(gain="exponential")`` or
        ``0.5 * NDCG() + 0.5 * Recall()``.
    semivalue : str or Semivalue, default="banzhaf"
        How coalitions are drawn, as in `pivotal.value`.
    groups : array-like of shape (n_documents,) or mapping of documents to names, optional
        Source of each document. The players are then the sources, each of which joins with all its documents.
    queries : array or sequence, optional
        What a retriever is asked.
    depth : int, optional
        Documents to ask a retriever for; as many as `tol` wants when None.
    similarity : {"cosine", "dot", "euclidean"}
        Of embeddings.
    documents, query_ids : sequences, optional
        Names of the documents and queries, in the order of their numbers; needed where rankings have numbers and
        relevance has names. `documents` also says what belongs to the corpus though it is never listed.
    complete : bool, optional
        Whether documents that are not listed are never retrieved, however many others are removed. Otherwise a list is
        the beginning of a ranking of all documents, and the error bound says what the rest could change. False unless
        the retriever says so.
    unjudged : {"irrelevant", "ignore"}
        Listed documents without a judgement count as irrelevant, as in trec_eval, or are omitted from the game.
    no_relevant : {"zero", "skip"}
        Queries without a relevant document count with a metric of 0, as in trec_eval, or are omitted.
    query_weights : array-like of shape (n_queries,) or mapping of queries to numbers, optional
        How much each query counts; an array is in the order of `relevance`.
    tol : float, default=1e-16
        Truncation: ranks so deep that leaving them out changes no value by more than this, in units of the metric's
        range, are not looked at; 0 uses the lists whole.
    method : str or method object, default="auto"
        ``"exact"``, or ``"coalitions"`` and ``"permutations"``: estimates with standard errors. ``"auto"`` is exact for
        documents, and for groups while no query has more than 2^20 cases to tell apart. When to stop sampling and where
        random numbers start is said on the object: ``pivotal.Coalitions(n_samples=500, random_state=0)``, or
        ``pivotal.method("auto", random_state=0)``.
    per_query : bool, default=False
        Whether to keep the values of every query: `Values.per_query` and `Values.explain`.
    n_jobs, progress
        As in `pivotal.value`.
    block_size : int, optional
        Queries per block; chosen from the memory that lists may take unless `pivotal.set_config` says otherwise.

    Returns
    -------
    Values
        Of the documents, in the order of their numbers or names, or of the groups. `full_utility` is the mean of the
        metric over the queries with the corpus as it is. The values are exact given these rankings.

    Examples
    --------
    >>> import pivotal
    >>> run = {"q1": ["a", "b", "c"], "q2": ["c", "a", "b"]}
    >>> values = pivotal.value_retrieval(run, {"q1": {"b": 1}, "q2": {"c": 1}}, k=1, metric="hit")
    >>> values.ids, values.values
    (array(['a', 'b', 'c'], dtype='<U1'), array([-0.25,  0.25,  0.5 ]))
    """
    spec = RetrievalSpec.of(
        k,
        metric,
        semivalue,
        complete=complete,
        unjudged=unjudged,
        no_relevant=no_relevant,
        tol=tol,
        method=method,
        per_query=per_query,
        **unknown,
    )
    resources = Resources.of(n_jobs=n_jobs, block_size=block_size, progress=progress)
    problem = open_problem(
        rankings,
        relevance,
        spec,
        resources,
        documents=documents,
        query_ids=query_ids,
        queries=queries,
        depth=depth,
        similarity=similarity,
    )
    if isinstance(query_weights, Mapping):
        query_weights = _by_name(query_weights, problem.queries)
    weights = QueryWeights(query_weights, None).of(np.zeros(len(problem.judgements)), None)
    return value_problem(problem, spec, resources, groups=groups, weights=weights)


def _by_name(weights: Mapping[Any, float], queries: AnyArray) -> list[float]:
    """Return the weights of queries in their order."""
    missing = [query for query in queries.tolist() if query not in weights]
    if missing:
        raise ValueError(f"query_weights must name every query; got none for {missing[0]!r}.")
    return [weights[query] for query in queries.tolist()]
