"""Retrievers: embeddings, indexes, vector databases and BM25, asked for rankings of one length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from pivotal.core.extras import needed
from pivotal.core.threads import single_threaded_blas
from pivotal.core.types import IndexArray
from pivotal.core.validation import check_features, is_lazy, is_sparse
from pivotal.neighbors import as_index, blocks

__all__ = ["BM25", "Similarity", "search_rankings"]

Similarity = Literal["cosine", "dot", "euclidean"]
_SIMILARITIES = ("cosine", "dot", "euclidean")
_METHODS = ("search", "kneighbors", "knn_query", "query")  # of faiss, scikit-learn, hnswlib, trees and pynndescent


class BM25:
    """Keyword search by bm25s, with ties in the order of the documents; documents without a query term are not found.

    Parameters
    ----------
    texts : sequence of str, or mapping of names to str
        The corpus.
    stopwords : str, list or None, default="en"
        Words that do not count: a language that bm25s knows, the words themselves, or none.
    stemmer : callable, optional
        What bm25s may stem words with, such as ``Stemmer.Stemmer("english")``.
    **settings
        What ``bm25s.BM25`` takes: k1, b, method.

    Attributes
    ----------
    documents : list
        Names of the documents, or their positions.
    complete : bool
        True: what is not listed is never found.

    Examples
    --------
    >>> found = BM25(["a cat sat", "a dog ran", "cats and a cat"]).search(["cat"], 3)
    >>> found.tolist()
    [[0, 2]]
    """

    complete = True

    def __init__(
        self,
        texts: Sequence[str] | Mapping[Any, str],
        *,
        stopwords: str | list[str] | None = "en",
        stemmer: Any = None,
        **settings: Any,
    ) -> None:
        with needed("BM25 needs bm25s", "retrieval"):
            import bm25s
        named = isinstance(texts, Mapping)
        self.documents: list[Any] = list(texts) if named else list(range(len(texts)))
        contents = list(texts.values()) if isinstance(texts, Mapping) else list(texts)
        if not contents:
            raise ValueError("BM25 needs at least one text; got none.")
        self._library: Any = bm25s
        self._words: dict[str, Any] = {"stopwords": stopwords, "stemmer": stemmer}
        self._index: Any = bm25s.BM25(**settings)
        tokens = self._tokens(contents)
        self._empty = not any(tokens)  # bm25s cannot index that
        if not self._empty:
            self._index.index(tokens, show_progress=False)

    def _tokens(self, lines: Sequence[str]) -> Any:
        return self._library.tokenize(list(lines), **self._words, return_ids=False, show_progress=False)

    def search(self, queries: Sequence[str], depth: int) -> IndexArray:
        """Return the documents that share a term with each query, best first; -1 where there are no more."""
        lists = np.full((len(queries), depth), -1, dtype=np.int64)
        known = {} if self._empty else self._index.vocab_dict
        for row, tokens in zip(lists, self._tokens(queries), strict=True):
            terms = [token for token in tokens if token in known]
            if not terms:
                continue
            scores = self._index.get_scores(terms)
            found = np.flatnonzero(scores > 0.0)
            best = found[np.argsort(-scores[found], kind="stable")][:depth]
            row[: len(best)] = best
        return lists[:, : max(1, int((lists >= 0).sum(axis=1).max(initial=0)))]


def search_rankings(
    retriever: Any, queries: Any, depth: int, *, similarity: Similarity = "cosine", n_jobs: int | None = -1
) -> Any:
    """Return the documents that a retriever finds, best first.

    Parameters
    ----------
    retriever : array of shape (n_documents, n_features), or object
        Embeddings of the corpus, searched exactly; or an object with ``search``, ``kneighbors``, ``knn_query`` or
        ``query``, or a function, of the queries and the depth. It returns a list of documents for each query, best
        first, alone or in a pair with scores: their numbers, or their names; or mappings of names to scores.
    queries : array of shape (n_queries, n_features), or what the object takes
        The queries.
    depth : int
        Documents per query.
    similarity : {"cosine", "dot", "euclidean"}
        Of embeddings.
    n_jobs : int or None
        Threads.

    Returns
    -------
    int64 array of shape (n_queries, depth), -1 where a list has ended; or lists or mappings of names.
    """
    if similarity not in _SIMILARITIES:
        raise ValueError(f"similarity must be one of {', '.join(map(repr, _SIMILARITIES))}; got {similarity!r}.")
    if isinstance(queries, str):
        raise TypeError(f"queries must be a list of queries; got one text. Use [{queries[:40]!r}].")
    if is_embeddings(retriever):
        corpus = check_features(retriever, "the embeddings of the corpus")
        asked = check_features(queries, "queries")
        if asked.shape[1] != corpus.shape[1]:
            raise ValueError(
                f"queries must have as many columns as the embeddings of the corpus, {corpus.shape[1]}; "
                f"got {asked.shape[1]}."
            )
        depth = min(depth, corpus.shape[0])
        if similarity == "dot":
            return _by_dot(corpus, asked, depth)
        index = as_index("brute", corpus, metric=similarity, metric_params=None, n_jobs=n_jobs)
        lists = np.empty((asked.shape[0], depth), dtype=np.int64)
        for rows in blocks(asked.shape[0], index.block_size(depth)):
            lists[rows] = index.search(asked[rows], depth)[0]
        return lists
    return _documents_of(_method_of(retriever)(queries, depth))


def check_retriever(retriever: Any) -> None:
    """Raise unless something can be asked."""
    if not is_embeddings(retriever):
        _method_of(retriever)


def _method_of(retriever: Any) -> Callable[..., Any]:
    ask = next((getattr(retriever, name) for name in _METHODS if hasattr(retriever, name)), retriever)
    if not callable(ask):
        raise TypeError(
            "with queries, rankings must be embeddings, a function of queries and depth, or an object with "
            f"{', '.join(_METHODS[:-1])} or {_METHODS[-1]}; got {type(retriever).__name__}. For texts use "
            "pivotal.retrieval.BM25(texts)."
        )
    return ask  # type: ignore[no-any-return]


def is_embeddings(retriever: Any) -> bool:
    """Whether something is a table of numbers."""
    if is_sparse(retriever):
        return True
    if is_lazy(retriever) or not (hasattr(retriever, "__array__") or isinstance(retriever, list | tuple)):
        return False
    try:
        table = np.asarray(retriever)
    except ValueError:  # lists of different lengths
        return False
    return table.ndim == 2 and table.dtype.kind in "fiub"


def corpus_size(retriever: Any) -> int | None:
    """Return how many documents a retriever has, if it says so."""
    if is_embeddings(retriever):
        return int(np.shape(retriever)[0])
    for name in ("n_train", "ntotal", "n_samples_fit_", "get_current_count", "n"):
        size = getattr(retriever, name, None)
        size = size() if callable(size) else size
        if isinstance(size, int | np.integer):
            return int(size)
    documents: Any = getattr(retriever, "documents", getattr(retriever, "data", None))
    return len(documents) if hasattr(documents, "__len__") else None


def _by_dot(corpus: Any, queries: Any, depth: int) -> IndexArray:
    """Largest inner products first, ties in the order of the documents."""
    lists = np.empty((queries.shape[0], depth), dtype=np.int64)
    with single_threaded_blas():
        for rows in blocks(queries.shape[0], max(1, 2**24 // corpus.shape[0])):
            scores = queries[rows] @ corpus.T
            scores = scores.toarray() if is_sparse(scores) else np.asarray(scores)
            if depth < corpus.shape[0]:
                edge = -np.partition(-scores, depth - 1, axis=1)[:, depth - 1 : depth]
                # All that are at least as good as the last: of its equals the first documents are kept.
                for place, (row, minimum) in enumerate(zip(scores, edge, strict=True), start=rows.start):
                    near = np.flatnonzero(row >= minimum)
                    lists[place] = near[np.argsort(-row[near], kind="stable")][:depth]
            else:
                lists[rows] = np.argsort(-scores, axis=1, kind="stable")
    return lists


def _documents_of(answer: Any) -> Any:
    """Return the documents of an answer, which may have scores beside them."""
    if isinstance(answer, Mapping):
        return answer
    parts = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer,)
    found = [rows for rows in map(_rows_of, parts) if rows is not None]
    if len(found) != 1:
        kinds = " and ".join(type(part).__name__ for part in parts)
        raise ValueError(
            "a retriever must return a list of documents for each query, their numbers or names, alone or in a pair "
            f"with scores; got {kinds} with {'no lists' if not found else 'two lists'} of documents."
        )
    return found[0]


def _rows_of(part: Any) -> Any:
    """Return lists of numbers as an array filled up with -1, lists of names as they are, and None for scores."""
    if isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype.kind in "iuf":
        return None if part.dtype.kind == "f" else part.astype(np.int64)
    rows: list[Any] = [row if isinstance(row, Mapping) else np.asarray(row).tolist() for row in part]
    if not all(isinstance(row, list | Mapping) for row in rows):
        return None
    items = [item for row in rows for item in row]
    if any(isinstance(item, float | list) for item in items):
        return None
    if not all(isinstance(item, int) for item in items) or any(isinstance(row, Mapping) for row in rows):
        return rows
    return filled_up(rows)


def filled_up(rows: Sequence[Any]) -> IndexArray:
    """Return lists of document numbers as an array, filled up with -1 to the length of the longest."""
    lists = np.full((len(rows), max([1, *map(len, rows)])), -1, dtype=np.int64)
    for place, row in zip(lists, rows, strict=True):
        place[: len(row)] = row
    return lists
