"""What the user brought, as arrays: who is listed for which query, and who is relevant."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import is_lazy, is_sparse
from pivotal.neighbors import blocks, fitting_queries
from pivotal.valuation.retrieval._judgements import Judgements, as_table
from pivotal.valuation.retrieval.retrievers import filled_up
from pivotal.valuation.retrieval.trec_files import LongTable, qrels_of, read_qrels, read_run, run_of


@dataclass(frozen=True, eq=False)
class RetrievalProblem:
    """Rankings and judgements of the same queries, over one corpus.

    Parameters
    ----------
    indices : int array of shape (n_queries, depth)
        Documents, best ranked first; -1 where a list has ended.
    judgements : Judgements
        Grades of the same queries.
    documents, queries : arrays of shape (n_documents,) and (n_queries,)
        Their names.
    n_unjudged_queries : int
        Queries that were ranked and omitted, as nothing is judged for them.
    complete : bool
        Whether the retriever says that what it does not list is never found.
    """

    indices: Any
    judgements: Judgements
    documents: AnyArray
    queries: AnyArray
    n_unjudged_queries: int = 0
    complete: bool = False

    def part(self, queries: IndexArray) -> RetrievalProblem:
        """Return some of the queries."""
        return replace(
            self, indices=self.indices[queries], judgements=self.judgements[queries], queries=self.queries[queries]
        )

    def answerable(self) -> RetrievalProblem:
        """Return the queries that have a relevant document."""
        kept = np.flatnonzero(self.judgements.has_relevant())
        if not kept.size:
            raise ValueError('a query must have a relevant document with no_relevant="skip"; got none that has.')
        return self.part(kept)

    def without_unjudged(self) -> RetrievalProblem:
        """Return the same with documents omitted from the lists that are not judged for their query."""
        condensed = np.empty(self.indices.shape, dtype=np.int64)
        for rows, lists, judgements in self.in_blocks():
            condensed[rows] = judged_first(lists, judgements)
        return replace(self, indices=condensed)

    def in_blocks(self, depth: int | None = None) -> Iterator[tuple[slice, IndexArray, Judgements]]:
        """Yield which queries are next, their lists, to this depth, and their judgements: as many as fit in memory."""
        depth = self.indices.shape[1] if depth is None else depth
        for rows in blocks(len(self.judgements), fitting_queries(max(1, depth))):
            yield rows, np.ascontiguousarray(self.indices[rows][:, :depth], dtype=np.int64), self.judgements[rows]


def judged_first(lists: IndexArray, judgements: Judgements) -> IndexArray:
    """Return lists with what is not judged for their query taken out."""
    judged = judgements.look_up(lists).judged
    order = np.argsort(~judged, axis=1, kind="stable")
    return np.where(np.take_along_axis(judged, order, 1), np.take_along_axis(lists, order, 1), -1)


def as_problem(rankings: Any, relevance: Any, documents: Any = None, queries: Any = None) -> RetrievalProblem:
    """Check what the user brought, as `pivotal.value_retrieval` takes it, after any search."""
    ranked, rows = _rankings(rankings)
    graded, judged = _relevance(relevance)
    doc_names, given = _names(documents, "documents"), _names(queries, "query_ids")
    if not isinstance(ranked, LongTable):
        rows = range(ranked.shape[0]) if given is None else given
        if len(rows) != ranked.shape[0]:
            raise ValueError(f"query_ids must name every ranking, {ranked.shape[0]}; got {len(rows)} names.")
    n_docs = None if isinstance(graded, LongTable) else graded.shape[1]
    names = _all_documents(ranked, graded, n_docs) if doc_names is None else doc_names
    if n_docs is not None and n_docs != len(names):
        raise ValueError(f"documents must name every column of relevance, {n_docs}; got {len(names)} names.")
    if isinstance(graded, LongTable):
        # Names say which queries there are: those with judgements, whether or not a run ranks them.
        known = None if isinstance(ranked, LongTable) and given is None else set(rows if given is None else given)
        wanted: Sequence[Any] = judged if known is None else [query for query in judged if query in known]
        if given is None and len(wanted) < len(judged):
            other = next(query for query in judged if query not in set(wanted))
            raise ValueError(
                f"relevance must be about the queries of the rankings; got {other!r}, which is none of them. Pass "
                "query_ids=, the names of the queries in the order of the rankings."
            )
    else:
        wanted = range(graded.shape[0]) if given is None else given
        n_rankings = len(wanted) if isinstance(ranked, LongTable) else len(rows)
        if n_rankings != graded.shape[0]:
            raise ValueError(
                f"rankings and relevance must have the same queries; got {n_rankings} rankings and "
                f"{graded.shape[0]} rows of relevance."
            )
    query_index, doc_index, row_index = (
        _index(list_of, what) for list_of, what in ((wanted, "queries"), (names, "documents"), (rows, "rankings"))
    )
    if not len(query_index):
        raise ValueError("there must be a query that is judged; got none. Check that queries have the same names.")
    places = _find(row_index, query_index)
    if (places < 0).all():
        raise ValueError(
            "rankings and relevance must name the same queries; no query of the rankings has judgements. "
            f"Got queries such as {rows[0] if len(rows) else None!r} and {query_index[0]!r}."
        )
    indices = _as_lists(ranked, query_index, doc_index) if isinstance(ranked, LongTable) else _take(ranked, places)
    if not is_lazy(indices):
        check_lists(indices, len(doc_index), names=(query_index, doc_index))
    matrix = _as_matrix(graded, query_index, doc_index)
    unjudged = len(rows) - int((places >= 0).sum())
    return RetrievalProblem(indices, Judgements(matrix), _plain(names), _plain(wanted), unjudged)


def _take(lists: Any, places: IndexArray) -> Any:
    """Return the lists at these places, an empty one for -1."""
    if np.array_equal(places, np.arange(len(lists))):
        return lists
    return np.where((places >= 0)[:, np.newaxis], lists[np.maximum(places, 0)].astype(np.int64), -1)


def _rankings(rankings: Any) -> tuple[Any, Sequence[Any]]:
    """Return an array of positions, filled up with -1, or a long table of names with its queries."""
    if isinstance(rankings, str | os.PathLike):
        table = read_run(rankings)
        return table, list(dict.fromkeys(table.queries))
    if isinstance(rankings, Mapping):
        return run_of(rankings)
    if is_lazy(rankings):
        return rankings, ()
    if not hasattr(rankings, "__array__") or (array := np.asarray(rankings)).dtype == object:
        rows = [np.asarray(row) for row in rankings]
        if any(row.ndim != 1 or (row.size and row.dtype.kind not in "iu") for row in rows):
            raise ValueError(
                "rankings must be lists of document numbers, best first; got something else. Use a mapping of queries "
                "to lists of documents for names."
            )
        array = filled_up(rows)
    if array.ndim != 2 or array.dtype.kind not in "iu" or 0 in array.shape:
        raise ValueError(
            "rankings must be an array of document numbers of shape (n_queries, depth), best first; got "
            f"dtype {array.dtype} and shape {array.shape}. Embeddings need queries= too."
        )
    return array, ()


def _relevance(relevance: Any) -> tuple[Any, Sequence[Any]]:
    """Return a sparse matrix of grades, or a long table with its queries."""
    if isinstance(relevance, str | os.PathLike):
        table = read_qrels(relevance)
        return table, list(dict.fromkeys(table.queries))
    if is_sparse(relevance):
        return sparse.csr_array(relevance), ()
    if isinstance(relevance, Mapping):
        return qrels_of(relevance)
    if isinstance(relevance, Sequence) and relevance and all(isinstance(row, Mapping | set) for row in relevance):
        return qrels_of(dict(enumerate(relevance)))
    array = np.asarray(relevance)
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        raise ValueError(
            "relevance must be a matrix of grades of shape (n_queries, n_documents), a mapping of queries to judged "
            f"documents, or a file of judgements; got {type(relevance).__name__} of shape {array.shape}."
        )
    rows, columns = np.indices(array.shape)  # every entry is a judgement, also a 0
    entries = array.ravel().astype(np.float64), (rows.ravel(), columns.ravel())
    return sparse.csr_array(entries, shape=array.shape), ()


def _names(given: Any, what: str) -> list[Any] | None:
    if given is None:
        return None
    names = given.tolist() if isinstance(given, np.ndarray) else list(given)
    if not names:
        raise ValueError(f"{what} must name something; got nothing.")
    return names


def _all_documents(ranked: Any, graded: Any, n_docs: int | None) -> Sequence[Any]:
    """Return all documents that are named anywhere, in the order of their names, or all positions."""
    if n_docs is not None:
        return range(n_docs)
    if isinstance(ranked, LongTable):
        kinds = [{type(name) for name in table.documents} for table in (ranked, graded)]
        if all(kinds) and not kinds[0] & kinds[1]:
            raise ValueError(
                "rankings and relevance must name documents alike; got names such as "
                f"{ranked.documents[0]!r} and {graded.documents[0]!r}. Make all of them text, or all numbers."
            )
        found = dict.fromkeys([*ranked.documents, *graded.documents])
        try:
            return sorted(found)
        except TypeError:  # names of different types
            return list(found)
    highest = -1 if is_lazy(ranked) else int(ranked.max(initial=-1))
    numbers = [document for document in graded.documents if isinstance(document, int | np.integer)]
    if len(numbers) < len(graded.documents) or is_lazy(ranked):
        raise ValueError(
            "documents of relevance have names while rankings have positions. Pass documents=, the names of the "
            "documents in the order of their positions."
        )
    return range(max([highest, *map(int, numbers)]) + 1)


def _index(names: Sequence[Any], what: str) -> pd.Index:
    index = pd.RangeIndex(len(names)) if isinstance(names, range) else pd.Index(list(names), dtype=object)
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise ValueError(f"{what} must have names of their own; got {twice!r} twice.")
    return index


def _find(index: pd.Index, names: AnyArray | pd.Index) -> IndexArray:
    """Return the places of names, -1 for those that are not there."""
    places: Any = index
    return np.asarray(places.get_indexer(names), dtype=np.int64)


def _as_lists(table: LongTable, queries: pd.Index, documents: pd.Index) -> IndexArray:
    rows, columns = _find(queries, table.queries), _find(documents, table.documents)
    kept = rows >= 0
    if (columns[kept] < 0).any():
        stranger = table.documents[kept][np.flatnonzero(columns[kept] < 0)[0]]
        raise ValueError(
            f"rankings must list documents of the corpus; got {stranger!r}, which documents does not name."
        )
    rows, columns = rows[kept], columns[kept]
    order = np.argsort(rows, kind="stable")
    return as_table(rows[order], columns[order], len(queries), -1, min_width=1)


def _as_matrix(graded: Any, queries: pd.Index, documents: pd.Index) -> sparse.csr_array:
    """Return grades as a matrix; negative grades mean judged and not relevant, as in trec_eval."""
    if isinstance(graded, LongTable):
        rows, columns = _find(queries, graded.queries), _find(documents, graded.documents)
        asked = rows >= 0
        rows, columns, grades = rows[asked], columns[asked], graded.numbers[asked]
        inside = columns >= 0
        if len(columns) and not inside.any():
            raise ValueError(
                f"relevance must judge documents of the corpus; got {graded.documents[0]!r}, and none of them is in "
                "it. Pass documents=, the names of the documents in the order of their positions."
            )
        # Documents that are judged but not in the corpus still count for the ideal and for recall.
        outside = int((~inside).sum())
        columns[~inside] = len(documents) + np.arange(outside)
        shape = len(queries), len(documents) + outside
        matrix = sparse.csr_array((grades, (rows, columns)), shape=shape)
    else:
        matrix = graded.copy()
        matrix.sum_duplicates()
    data = matrix.data.astype(np.float64)
    if not np.isfinite(data).all():
        raise ValueError("relevance must be finite; got NaN or infinity.")
    cleaned = sparse.csr_array((np.maximum(data, 0.0), matrix.indices, matrix.indptr), shape=matrix.shape)
    cleaned.sort_indices()
    return cleaned


def check_lists(indices: AnyArray, n_documents: int, first: int = 0, names: tuple[Any, Any] | None = None) -> None:
    """Raise unless these are lists of documents, -1 where a list has ended.

    Messages call queries and documents by `names`, or by their numbers, of which the first query has `first`.
    """
    query_names, doc_names = names or (range(first + len(indices)), range(n_documents))
    for rows in blocks(len(indices), fitting_queries(max(1, indices.shape[1]))):
        lists = np.asarray(indices[rows], dtype=np.int64)
        if lists.size and (lists.max() >= n_documents or lists.min() < -1):
            bad = lists[(lists >= n_documents) | (lists < -1)][0]
            raise ValueError(
                f"rankings must hold document numbers from 0 to {n_documents - 1}, or -1 after the end of a list; "
                f"got {bad}."
            )
        ended = lists < 0
        if (ended[:, :-1] & ~ended[:, 1:]).any():
            row = first + rows.start + int(np.flatnonzero((ended[:, :-1] & ~ended[:, 1:]).any(axis=1))[0])
            raise ValueError(
                f"rankings may hold -1 only after the end of a list; query {query_names[row]!r} has documents after it."
            )
        together = np.sort(lists, axis=1)
        twice = (together[:, 1:] == together[:, :-1]) & (together[:, 1:] >= 0)
        if twice.any():
            row, place = np.argwhere(twice)[0]
            raise ValueError(
                f"rankings must not list a document twice; query {query_names[first + rows.start + row]!r} has "
                f"document {doc_names[together[row, place]]!r} twice. Keep the better place."
            )


def _plain(names: Sequence[Any]) -> AnyArray:
    """Return names as an array; text as text, which can be saved."""
    if isinstance(names, range):
        return np.arange(len(names))
    array = np.empty(len(names), dtype=object)
    array[:] = list(names)
    if all(type(name) is str for name in array):
        return array.astype(np.str_)
    if all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in array):
        return array.astype(np.int64)
    return array
