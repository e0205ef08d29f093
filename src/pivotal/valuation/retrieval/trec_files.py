"""Rankings and judgements by name, as long tables: TREC and BEIR files, and mappings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from pivotal.core.notices import notify
from pivotal.core.types import AnyArray, FloatArray

_HEADER = re.compile(r"(q|query|topic)([-_]?(id|no|num|number))?", re.IGNORECASE)


class LongTable(NamedTuple):
    """One row per pair of a query and a document."""

    queries: AnyArray
    documents: AnyArray
    numbers: FloatArray
    """Scores, or grades of relevance."""

    def by_rank(self) -> LongTable:
        """Return the rows of each query together and best first, as trec_eval orders them.

        Scores fall; of equal scores the document whose name comes later in the alphabet is first.
        """
        by_name = pd.factorize(self.documents, sort=True)[0]
        order = np.lexsort((-by_name, -self.numbers, pd.factorize(self.queries)[0]))
        return LongTable(self.queries[order], self.documents[order], self.numbers[order])


def read_run(path: str | os.PathLike[str]) -> LongTable:
    """Read a TREC run: query, Q0, document, rank, score and tag on each line. Only the scores decide on the order."""
    table = _read_columns(path, 5, "a TREC run has lines such as 'q1 Q0 doc7 1 12.5 bm25'")
    return LongTable(table[0], table[2], _numbers(table[4], path, "score")).by_rank()


def read_qrels(path: str | os.PathLike[str]) -> LongTable:
    """Read judgements: a TREC file (query, 0, document, grade), or BEIR's (query-id, corpus-id, score).

    Blanks or tabs separate the columns, commas in a file called .csv; a header is skipped. A pair that is judged twice
    counts with its last grade, as in ir_measures; a warning says so where the grades differ.
    """
    table = _read_columns(path, 3, "judgements have lines such as 'q1 0 doc7 1', or 'q1 doc7 1'", max_columns=4)
    if _HEADER.fullmatch(table[0][0]) and np.isnan(pd.to_numeric(table[-1][0], errors="coerce")):
        table = [column[1:] for column in table]
    grades = _numbers(table[-1], path, "grade")
    pairs = pd.DataFrame({"query": table[0], "document": table[-2], "grade": grades})
    last = pairs.drop_duplicates(["query", "document"], keep="last")
    differ = len(pairs.drop_duplicates()) - len(last)
    if differ:
        notify(f"{path} judges {differ} pairs of a query and a document more than once; the last grade of each counts.")
    kept = last.index.to_numpy()
    return LongTable(table[0][kept], table[-2][kept], grades[kept])


def read_corpus(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read a corpus in BEIR's layout, JSON lines with _id, title and text; return title and text by id."""
    return {_id(line, path): title_and_text(line) for line in read_json_lines(path)}


def read_queries(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read queries in BEIR's layout, JSON lines with _id and text; return the texts by id."""
    return {_id(line, path): str(line.get("text", "")) for line in read_json_lines(path)}


def run_of(rankings: Mapping[Any, Any]) -> tuple[LongTable, list[Any]]:
    """Return a mapping of queries to rankings as a table, best first, and its queries.

    Each ranking is a list of documents, best first, or a mapping of documents to scores.
    """
    scored = {query: isinstance(ranking, Mapping) for query, ranking in rankings.items()}
    if len(set(scored.values())) > 1:
        raise ValueError(
            "rankings must all be lists of documents, or all be mappings of documents to scores; got both."
        )
    rows: list[tuple[Any, Any, float]] = []
    for query, ranking in rankings.items():
        if scored[query]:
            rows += [(query, document, float(score)) for document, score in ranking.items()]
        else:
            rows += [(query, document, -float(place)) for place, document in enumerate(_items(ranking, query))]
    return _long(rows).by_rank(), list(rankings)


def qrels_of(relevance: Mapping[Any, Any]) -> tuple[LongTable, list[Any]]:
    """Return a mapping of queries to judgements as a table, and its queries.

    The judgements of a query are a mapping of documents to grades, or a collection of relevant documents.
    """
    rows: list[tuple[Any, Any, float]] = []
    for query, judged in relevance.items():
        if isinstance(judged, Mapping):
            rows += [(query, document, float(grade)) for document, grade in judged.items()]
        else:
            rows += [(query, document, 1.0) for document in _items(judged, query)]
    return _long(rows), list(relevance)


def _items(content: Any, query: Any) -> Iterable[Any]:
    if isinstance(content, str) or not isinstance(content, Iterable):
        raise TypeError(f"query {query!r} must have a list of documents, or a mapping of them; got {content!r}.")
    items = content.tolist() if isinstance(content, np.ndarray) else list(content)
    if any(isinstance(item, tuple) for item in items):
        raise TypeError(
            f"query {query!r} must have documents alone, best first, or a mapping of them to numbers; got pairs."
        )
    return items


def _long(rows: list[tuple[Any, Any, float]]) -> LongTable:
    columns = [np.empty(len(rows), dtype=object) for _ in range(2)]
    for column, content in zip(columns, zip(*rows, strict=True), strict=False):
        column[:] = content
    numbers = np.array([row[2] for row in rows], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("scores and grades must be finite; got NaN or infinity.")
    return LongTable(columns[0], columns[1], numbers)


def _read_columns(
    path: str | os.PathLike[str], min_columns: int, rule: str, max_columns: int | None = None
) -> list[AnyArray]:
    """Read the first columns of a text file: as many as its first line has, from `min_columns` to `max_columns`."""
    rows: list[list[str]] = []
    separator = "," if Path(path).suffix == ".csv" else None
    try:
        with _open_text(path) as file:
            for number, line in enumerate(file, start=1):
                words = [word.strip() for word in line.split(separator)]
                if not any(words):
                    continue
                wanted = len(rows[0]) if rows else max(min_columns, min(len(words), max_columns or min_columns))
                if len(words) < wanted:
                    raise ValueError(f"{path}, line {number}: fewer than {wanted} columns; {rule}.")
                rows.append(words[:wanted])
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8 ({error.reason}); {rule}.") from error
    if not rows:
        raise ValueError(f"{path} is empty; {rule}.")
    return list(np.array(rows, dtype=object).T)


def _numbers(column: AnyArray, path: str | os.PathLike[str], what: str) -> FloatArray:
    numbers = np.asarray(pd.to_numeric(pd.Series(column), errors="coerce"), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(f"{path}: every {what} must be a finite number; got {column[bad[0]]!r}.")
    return numbers


def _open_text(path: str | os.PathLike[str]) -> IO[str]:
    """Open a text file, gzipped if its name ends in .gz."""
    if Path(path).suffix == ".gz":
        import gzip

        return gzip.open(path, "rt", encoding="utf-8-sig")
    return Path(path).open(encoding="utf-8-sig")


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Read a file of JSON objects, one on each line; gzipped if its name ends in .gz."""
    with _open_text(path) as file:
        for number, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                line = json.loads(text)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: not JSON ({error}).") from error
            if not isinstance(line, dict):
                raise ValueError(f"{path}, line {number}: each line must be an object; got {type(line).__name__}.")
            yield line


def _id(line: Mapping[str, Any], path: str | os.PathLike[str]) -> str:
    if "_id" not in line:
        raise ValueError(f"{path}: every line needs an _id; got {', '.join(line) or 'nothing'}.")
    return str(line["_id"])


def title_and_text(line: Mapping[str, Any]) -> str:
    """Return what a document of JSON says, in one line of text."""
    return " ".join(part for part in (str(line.get("title") or ""), str(line.get("text") or "")) if part)
