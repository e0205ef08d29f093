"""Retrieval games: a document gains at its own place and takes from relevant documents behind it.

In every game of this kind the value of document i is its own gain minus a sum over the relevant documents m
behind it, where what is summed depends on m and on whether i is relevant too:

    value(i) = own(i) - sum over relevant m behind i of (same(m) if i is relevant, otherwise other(m))

The three coefficients are tables of the semivalue (`pivotal.engine.ranking`), so that a query is one walk from the
last document to the first.
"""

from __future__ import annotations

from pivotal.core.types import CodeArray, FloatArray, IndexArray
from pivotal.kernels._compile import kernel


@kernel
def add_suffix_sums(
    rows: IndexArray,
    starts: IndexArray,
    places: IndexArray,
    own: FloatArray,
    same: FloatArray,
    other: FloatArray,
    out: FloatArray,
) -> None:
    """Add the values of the documents of some games to those of their queries.

    Parameters
    ----------
    rows : int64 array of shape (n_games,)
        Query of each game.
    starts : int64 array of shape (n_games + 1,)
        Where the relevant documents of each game begin in the arrays that follow.
    places : int64 array of shape (n_relevant,)
        Place of each relevant document in its list, from 0 on, rising within a game.
    own, same, other : float64 arrays of shape (n_relevant,)
        Its gain, and what it loses to a nearer document that is relevant, or that is not.
    out : float64 array of shape (n_queries, depth)
        Updated.
    """
    for g in range(rows.shape[0]):
        q, first, last = rows[g], starts[g], starts[g + 1] - 1
        to_same, to_other = 0.0, 0.0
        # Nothing lies behind the last relevant document, so none behind it changes anything.
        i = places[last] if last >= first else -1
        while i >= 0:
            if last >= first and places[last] == i:
                out[q, i] += own[last] - to_same
                to_same += same[last]
                to_other += other[last]
                last -= 1
            else:
                out[q, i] -= to_other
            i -= 1


@kernel
def find_grades(
    starts: IndexArray,
    documents: IndexArray,
    grades: FloatArray,
    indices: IndexArray,
    listed: FloatArray,
    judged: IndexArray,
    missed: FloatArray,
) -> None:
    """Look up the grades of listed documents.

    Parameters
    ----------
    starts, documents, grades : int64, int64 and float64 arrays
        Judgements of each query as rows of a CSR matrix, documents rising within a row.
    indices : int64 array of shape (n_queries, depth)
        Documents, best ranked first; -1 where a list has ended.
    listed : float64 array of shape (n_queries, depth)
        Their grades, 0 where there is no judgement; overwritten.
    judged : int64 array of shape (n_queries, depth)
        1 where there is a judgement, otherwise 0; overwritten.
    missed : float64 array of shape (n_judgements,)
        A copy of the grades; those of listed documents are set to 0.
    """
    n_queries, depth = indices.shape
    for q in range(n_queries):
        for r in range(depth):
            document = indices[q, r]
            listed[q, r], judged[q, r] = 0.0, 0
            low, high = starts[q], starts[q + 1]
            if document < 0:
                continue
            while low < high:
                middle = (low + high) // 2
                if documents[middle] < document:
                    low = middle + 1
                else:
                    high = middle
            if low < starts[q + 1] and documents[low] == document:
                listed[q, r], judged[q, r], missed[low] = grades[low], 1, 0.0


@kernel
def number_groups(
    indices: IndexArray, codes: IndexArray, numbers: IndexArray, local: CodeArray, who: IndexArray
) -> None:
    """Number the groups of each query in the order in which they first appear in its list.

    Parameters
    ----------
    indices : int64 array of shape (n_queries, depth)
        Documents, best ranked first; -1 where a list has ended.
    codes : int64 array of shape (n_documents,)
        Group of each document.
    numbers : int64 array of shape (n_groups,)
        Scratch, -1 between queries.
    local : int32 array of shape (n_queries, depth)
        Number of the group of each document; overwritten where there is one.
    who : int64 array of shape (n_queries, width)
        The group of each number; overwritten where there is one.
    """
    n_queries, depth = indices.shape
    for q in range(n_queries):
        known = 0
        for r in range(depth):
            if indices[q, r] < 0:
                break
            group = codes[indices[q, r]]
            if numbers[group] < 0:
                numbers[group] = known
                who[q, known] = group
                known += 1
            local[q, r] = numbers[group]
        for i in range(known):
            numbers[who[q, i]] = -1


@kernel
def count_groups(indices: IndexArray, codes: IndexArray, seen: IndexArray, first: int) -> int:
    """Return the largest number of groups in a list; `seen`, of shape (n_groups,), holds only numbers below `first`."""
    most = 0
    for q in range(indices.shape[0]):
        known = 0
        for r in range(indices.shape[1]):
            if indices[q, r] < 0:
                break
            group = codes[indices[q, r]]
            if seen[group] != first + q:
                seen[group] = first + q
                known += 1
        most = max(most, known)
    return most
