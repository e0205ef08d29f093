"""Test collections: documents, queries and judgements, read from files or generated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pivotal.core.random import check_random_state
from pivotal.core.validation import check_count
from pivotal.valuation.retrieval.trec_files import (
    read_corpus,
    read_json_lines,
    read_qrels,
    read_queries,
    title_and_text,
)

__all__ = ["Collection", "make_collection", "read_collection"]


class Collection(NamedTuple):
    """A corpus, queries and what is relevant to them, all by name."""

    documents: dict[str, str]
    """Texts of the documents."""

    queries: dict[str, str]
    """Texts of the queries."""

    relevance: dict[str, dict[str, float]]
    """Grades of the judged documents of each judged query."""


def read_collection(path: str | os.PathLike[str], split: str = "test") -> Collection:
    """Read a test collection.

    Parameters
    ----------
    path : path-like
        A folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv); or one file of JSON lines, gzipped or
        not, whose `type` is document (id, title, text), query (id, text) or judgement (query, document, grade).
    split : str, default="test"
        BEIR: which judgements.
    """
    if Path(path).is_dir():
        folder, graded = Path(path), read_qrels(Path(path) / "qrels" / f"{split}.tsv")
        relevance: dict[str, dict[str, float]] = {}
        for query, document, grade in zip(*graded, strict=True):
            relevance.setdefault(query, {})[document] = float(grade)
        return Collection(read_corpus(folder / "corpus.jsonl"), read_queries(folder / "queries.jsonl"), relevance)
    found = Collection({}, {}, {})
    for line in read_json_lines(path):
        kind = line.get("type")
        if kind == "document":
            found.documents[str(line["id"])] = title_and_text(line)
        elif kind == "query":
            found.queries[str(line["id"])] = str(line["text"])
        elif kind == "judgement":
            found.relevance.setdefault(str(line["query"]), {})[str(line["document"])] = float(line["grade"])
        else:
            raise ValueError(f"{path}: type must be document, query or judgement; got {kind!r}.")
    if not (found.documents and found.queries and found.relevance):
        raise ValueError(f"{path} must hold documents, queries and judgements; some of them are missing.")
    return found


def make_collection(n_documents: int = 300, n_queries: int = 60, n_spam: int = 5, random_state: Any = 0) -> Collection:
    """Generate a collection: documents about topics, queries about them, and spam that repeats words of all topics.

    Spam has names that begin with "spam" and is relevant to nothing.

    Examples
    --------
    >>> made = make_collection(20, 4, 2)
    >>> len(made.documents), len(made.queries), [name for name in made.documents if name.startswith("spam")]
    (20, 4, ['spam0', 'spam1'])
    """
    n_documents, n_queries = check_count(n_documents, "n_documents", 2), check_count(n_queries, "n_queries")
    rng = np.random.default_rng(check_random_state(random_state))
    n_topics = max(2, n_documents // 12)
    words = [[f"t{topic}w{word}" for word in range(12)] for topic in range(n_topics)]
    common = [f"common{word}" for word in range(40)]
    topics = rng.integers(0, n_topics, n_documents)
    documents: dict[str, str] = {}
    for number in range(n_documents):
        if number >= n_documents - n_spam:
            text = [word for own in words for word in rng.choice(own, 3, replace=False)]
            documents[f"spam{number - (n_documents - n_spam)}"] = " ".join(rng.permutation(text))
        else:
            text = [*rng.choice(words[topics[number]], 8), *rng.choice(common, 30)]
            documents[f"doc{number}"] = " ".join(rng.permutation(text))
    asked = rng.integers(0, n_topics, n_queries)
    queries = {f"q{q}": " ".join(rng.choice(words[topic], 3, replace=False)) for q, topic in enumerate(asked)}
    names, genuine = list(documents), n_documents - n_spam
    relevance = {
        f"q{q}": {names[d]: 1.0 for d in range(genuine) if topics[d] == topic} for q, topic in enumerate(asked)
    }
    return Collection(documents, queries, relevance)
