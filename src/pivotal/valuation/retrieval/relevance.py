"""Relevance without judgements: from answers, from clicks, from a judge."""

from __future__ import annotations

import json
import math
import os
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["relevance_from_answers", "relevance_from_clicks", "relevance_from_judge"]

Judge = Callable[[list[tuple[str, str]]], Sequence[float]]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, " "))


def relevance_from_answers(
    rankings: Mapping[Any, Iterable[Any]], answers: Mapping[Any, str | Iterable[str]], texts: Mapping[Any, str]
) -> dict[Any, dict[Any, float]]:
    """Call a listed document relevant if its text contains an answer of its query.

    Case, punctuation and the words a, an and the make no difference; an answer counts where it stands as whole words.

    Parameters
    ----------
    rankings : mapping of queries to lists of documents
        Whose documents are looked at.
    answers : mapping of queries to a text or several
        What counts as an answer. Queries without one are omitted.
    texts : mapping of documents to str
        What the documents say.

    Returns
    -------
    relevance : mapping of queries to mappings of documents to 0 or 1

    Examples
    --------
    >>> texts = {"d1": "The Eiffel Tower is in Paris.", "d2": "Parisian cafés"}
    >>> relevance_from_answers({"q": ["d1", "d2"]}, {"q": "paris"}, texts)
    {'q': {'d1': 1.0, 'd2': 0.0}}
    """
    plain: dict[Any, str] = {}
    found: dict[Any, dict[Any, float]] = {}
    for query, ranking in rankings.items():
        given = answers.get(query, ())
        wanted = [f" {_normalise(answer)} " for answer in ([given] if isinstance(given, str) else given)]
        wanted = [answer for answer in wanted if answer.strip()]
        if not wanted:
            continue
        found[query] = {}
        for document in ranking:
            if document not in plain:
                plain[document] = f" {_normalise(_text_of(texts, document))} "
            found[query][document] = float(any(answer in plain[document] for answer in wanted))
    return found


def relevance_from_clicks(
    clicks: Iterable[tuple[Any, Any]], shown: Iterable[tuple[Any, Any]] | None = None, *, min_clicks: int = 1
) -> dict[Any, dict[Any, float]]:
    """Grade documents by clicks: by the share of the times they were shown, or 1 for what was clicked often enough.

    Clicks follow what was shown, and what is shown first: grades inherit that.

    Parameters
    ----------
    clicks : iterable of (query, document)
        One for each click.
    shown : iterable of (query, document), optional
        One for each time a document was shown; grades are then shares, and what was shown and not clicked has 0.
    min_clicks : int, default=1
        Fewer clicks than this are no evidence: the grade is 0.

    Examples
    --------
    >>> relevance_from_clicks([("q", "a"), ("q", "a")], [("q", "a")] * 4 + [("q", "b")])
    {'q': {'a': 0.5, 'b': 0.0}}
    """
    if min_clicks < 1:
        raise ValueError(f"min_clicks must be at least 1; got {min_clicks!r}.")
    counted = Counter((query, document) for query, document in clicks)
    seen = counted if shown is None else Counter((query, document) for query, document in shown)
    for pair in counted:
        if counted[pair] > seen[pair]:
            raise ValueError(
                f"documents must be shown as often as they are clicked; got {counted[pair]} clicks for {pair} shown "
                f"{seen[pair]} times."
            )
    found: dict[Any, dict[Any, float]] = {}
    for (query, document), times in seen.items():
        number = counted[query, document]
        share = 1.0 if shown is None else number / times
        found.setdefault(query, {})[document] = share if number >= min_clicks else 0.0
    return found


def relevance_from_judge(
    rankings: Mapping[Any, Iterable[Any]],
    judge: Judge,
    queries: Mapping[Any, str],
    texts: Mapping[Any, str],
    *,
    depth: int = 10,
    batch_size: int = 32,
    cache: str | os.PathLike[str] | None = None,
) -> dict[Any, dict[Any, float]]:
    """Let a judge grade the first documents of every query: a model, a service, a person behind a form.

    Parameters
    ----------
    rankings : mapping of queries to lists of documents, best first
        Whose documents are judged.
    judge : callable
        Takes a list of pairs of a query's text and a document's text, and returns a grade of at least 0 for each.
    queries, texts : mappings of names to str
        The texts.
    depth : int, default=10
        Documents of each query that are judged. The others stay unjudged: `Values.settings` say what share they are.
    batch_size : int, default=32
        Pairs that the judge is given at once.
    cache : path-like, optional
        File of JSON lines that grades are added to after each batch. What is in it is not asked again, so that a run
        that was cut short resumes where it stopped. A query or document whose text has changed is asked again.

    Returns
    -------
    relevance : mapping of queries to mappings of documents to grades
    """
    if depth < 1 or batch_size < 1:
        raise ValueError(f"depth and batch_size must be at least 1; got {depth!r} and {batch_size!r}.")
    known = {} if cache is None else _read_cache(Path(cache))
    wanted = [(query, document) for query, ranking in rankings.items() for document in list(ranking)[:depth]]
    pairs = {pair: (_text_of(queries, pair[0]), _text_of(texts, pair[1])) for pair in wanted}
    open_ones = [pair for pair in pairs if pairs[pair] not in known]
    # The same texts under two names are asked once.
    asked = list(dict.fromkeys(pairs[pair] for pair in open_ones))
    for start in range(0, len(asked), batch_size):
        batch = asked[start : start + batch_size]
        grades = [float(grade) for grade in judge(batch)]
        if len(grades) != len(batch):
            raise ValueError(f"a judge must return a grade for each pair, {len(batch)}; got {len(grades)}.")
        if not all(math.isfinite(grade) and grade >= 0.0 for grade in grades):
            raise ValueError(f"grades must be finite and at least 0; got {min(grades)} to {max(grades)}.")
        known.update(zip(batch, grades, strict=True))
        if cache is not None:
            _append(Path(cache), batch, grades)
    found: dict[Any, dict[Any, float]] = {query: {} for query in rankings}
    for query, document in wanted:
        found[query][document] = known[pairs[query, document]]
    return found


def _normalise(text: str) -> str:
    words = _ARTICLES.sub(" ", text.casefold().translate(_PUNCTUATION))
    return " ".join(words.split())


def _text_of(texts: Mapping[Any, str], name: Any) -> str:
    if name not in texts:
        raise ValueError(f"there must be a text for every query and document; got none for {name!r}.")
    return texts[name]


def _read_cache(path: Path) -> dict[tuple[str, str], float]:
    """Read grades; a last line that was cut short by a crash is dropped."""
    known: dict[tuple[str, str], float] = {}
    if not path.exists():
        return known
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            known[entry["query"], entry["document"]] = float(entry["grade"])
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                # Without its end of line it was never finished; the next batch begins on a line of its own.
                path.write_text("".join(f"{kept}\n" for kept in lines[:-1]), encoding="utf-8")
                break
            raise ValueError(
                f"{path}, line {number}: not a grade ({error}); use another file, or fix the line."
            ) from error
    return known


def _append(path: Path, pairs: Sequence[tuple[str, str]], grades: Sequence[float]) -> None:
    with path.open("a", encoding="utf-8") as file:
        for (query, document), grade in zip(pairs, grades, strict=True):
            file.write(json.dumps({"query": query, "document": document, "grade": grade}, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
