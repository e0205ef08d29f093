"""Rankings that are given, or that a retriever is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pivotal.core.config import Resources
from pivotal.core.validation import check_count
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem, as_problem
from pivotal.valuation.retrieval.retrieval_spec import RetrievalSpec
from pivotal.valuation.retrieval.retrievers import Similarity, check_retriever, corpus_size, search_rankings


def open_problem(
    rankings: Any,
    relevance: Any,
    spec: RetrievalSpec,
    resources: Resources,
    *,
    documents: Any = None,
    query_ids: Any = None,
    queries: Any = None,
    depth: int | None = None,
    similarity: Similarity = "cosine",
) -> RetrievalProblem:
    """Search if there is something to ask, and return the problem; parameters as in `pivotal.value_retrieval`."""
    if queries is None:
        return as_problem(rankings, relevance, documents, query_ids)
    check_retriever(rankings)
    if documents is None:
        documents = getattr(rankings, "documents", None)
    if isinstance(queries, Mapping) and queries:
        query_ids, asked = (list(queries) if query_ids is None else query_ids), list(queries.values())
        # Vectors by name are a table of vectors; texts and whatever else a retriever takes stay as they are.
        queries = asked if isinstance(asked[0], str) or np.ndim(asked[0]) != 1 else np.asarray(asked)
    size = corpus_size(rankings)
    if size is None:
        size = len(documents) if documents is not None else int(getattr(relevance, "shape", (0, 0))[1])
    if depth is None:
        if not size:
            raise ValueError(
                "the size of the corpus must be known; got a retriever that does not say. Pass documents=, or depth=."
            )
        wanted = max(spec.k, spec.semivalue.depth(spec.k, spec.tol, size))
    else:
        wanted = check_count(depth, "depth")
    wanted = min(size or wanted, wanted)
    lists = search_rankings(rankings, queries, wanted, similarity=similarity, n_jobs=resources.n_jobs)
    if isinstance(lists, list):  # names
        names = range(len(lists)) if query_ids is None else list(query_ids)
        if len(names) != len(lists):
            raise ValueError(f"a retriever must return a list for each query, {len(names)}; got {len(lists)}.")
        lists = dict(zip(names, lists, strict=True))
    elif documents is None and size and not hasattr(relevance, "shape"):
        documents = range(size)
    return replace(
        as_problem(lists, relevance, documents, query_ids), complete=bool(getattr(rankings, "complete", False))
    )
