"""Tables that no single machine holds: features and labels as Dask arrays, from Parquet files that workers read.

Two looks at the files come first: at their ends, for rows and types, and at the columns that are used, for means,
deviations and categories. What comes out is cut as the files are, and read again by those who need it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.tables._encoding import Encoding, Labelling, Naming, Shape, features_of, labels_of, names_of
from pivotal.tables._features import MOST_CATEGORIES, strangers_in_words
from pivotal.tables._pieces import Piece, Source, open_parquet, over
from pivotal.tables._summary import ProfileRequest, Summary, combine, look_at, summarise
from pivotal.tables.columns import Kind
from pivotal.tables.embedding import Embedding
from pivotal.tables.label_column import check_classes, check_known
from pivotal.tables.prepare import classes_in_words, no_features
from pivotal.tables.roles import FEATURES, Roles, Treatment, matching
from pivotal.tables.table import Table

__all__ = ["DistributedTable", "load_distributed"]


@dataclass(frozen=True, eq=False)
class DistributedTable:
    """Features and labels of a table, as Dask arrays.

    Parameters
    ----------
    X, y : dask Arrays of shape (n_train, n_features) and (n_train,)
        Cut by rows, the same way; how many each chunk has is known.
    X_test, y_test : dask Arrays, optional
        Those of the test table, transformed as the training table was.
    ids : dask Array of shape (n_train,), optional
        Names of the rows; None for their numbers.
    treatments : tuple of Treatment
        One per column.
    files : tuple of str
        The files that are read.
    """

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    ids: Any
    treatments: tuple[Treatment, ...]
    files: tuple[str, ...]


def load_distributed(
    paths: Sequence[str],
    test: Sequence[str] | None,
    roles: Roles,
    *,
    regression: bool = False,
    max_rows: int | None = None,
) -> DistributedTable:
    """Turn Parquet files into features and labels that are spread over workers.

    Columns become what they become on one machine, with one exception: gaps in features are refused, as a median is
    found only where all rows are. What a column is, is decided from the first rows; whether text is a category, from
    all of them. All that is learned is learned from the training table alone.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, patterns, or URLs of any of them that fsspec understands.
    test : sequence of str, optional
        The same for test rows.
    roles : Roles
        Which column plays which part.
    regression : bool, default=False
        Whether the label is a number to be predicted.
    max_rows : int, optional
        More rows than this are an error.

    Raises
    ------
    ValueError
        If a column does not exist or cannot be what it should be; the message says what to do.
    """
    roles = replace(roles, embedding=Embedding.of("none"))  # which needs all rows in one place
    train = open_parquet(paths)
    _check_rows(train, max_rows)
    _check_columns(train, roles)
    question = ProfileRequest(train.name, train.schema, roles, regression, {})
    (look,) = over(train.pieces[:1], look_at, question)
    kinds = {name: kind for name, kind in look.kinds.items() if kind in FEATURES or kind == "empty"}
    question = replace(question, kinds=kinds, undecided=look.undecided)
    if not any(kind in FEATURES for kind in kinds.values()):
        raise no_features(train.name, roles.label, look.treatments)
    queries = None if test is None else open_parquet(test)
    if queries is not None:
        _check_rows(queries, max_rows)
        _check_test(queries, question, [name for name in question.of(*FEATURES) if name not in look.undecided])
    (summary,) = over(train.pieces, summarise, question, combine=combine)
    kinds = _settle(question, summary)
    constant = _constant(question, summary) - set(kinds)
    if not kinds:
        raise no_features(
            train.name,
            roles.label,
            {
                name: (what[0], "left out: constant") if name in constant else what
                for name, what in look.treatments.items()
            },
        )
    if summary.numbers is not None:
        places = [place for place, name in enumerate(question.of("number")) if name in kinds]
        summary = replace(summary, numbers=summary.numbers.only(places) if places else None)
    question = replace(question, kinds=kinds)
    _check_summary(question, summary)
    encoding = Encoding.learned(question, summary)
    done = dict(encoding.done)
    labelling = Labelling(train.name, train.schema, roles.label, regression, numeric=summary.labels.numeric)
    X_test = y_test = None
    if queries is not None:
        _check_test(queries, question, list(kinds))
        asked = replace(question, name=queries.name, schema=queries.schema, training=False, known=encoding.categories)
        (checked,) = over(queries.pieces, summarise, asked, combine=combine)
        _check_summary(asked, checked)
        _check_lengths(question, summary, checked)
        for name, n_strange in checked.strange.items():
            done[name] += strangers_in_words(n_strange)
        if not regression:
            names = (train.name, queries.name)
            check_known(set(summary.labels.counts), set(checked.labels.counts), roles.label, names)
        labelling = replace(labelling, numeric=labelling.numeric and checked.labels.numeric)
        X_test = _array(
            queries, features_of, replace(encoding, name=queries.name, schema=queries.schema), encoding.shape
        )
        y_test = _array(
            queries, labels_of, replace(labelling, name=queries.name, schema=queries.schema), labelling.shape
        )
    naming = None if roles.id is None else Naming(train.name, train.schema, roles.id)
    done[roles.label] = "predicted, a number"
    if not regression:
        done[roles.label] = classes_in_words(len(summary.labels.counts))
    return DistributedTable(
        _array(train, features_of, encoding, encoding.shape),
        _array(train, labels_of, labelling, labelling.shape),
        X_test,
        y_test,
        None if naming is None else _array(train, names_of, naming, naming.shape),
        tuple(_treatment(name, what, kinds, constant, done) for name, what in look.treatments.items()),
        tuple(dict.fromkeys(piece.file for source in (train, queries) if source for piece in source.pieces)),
    )


def _array(source: Source, function: Callable[[Piece, Any], AnyArray], shared: Any, shape: Shape) -> Any:
    """Return what a function makes of the pieces, as one Dask array whose name tells its content from any other."""
    import dask.array as da
    from dask.base import tokenize

    token = tokenize(source.token, shared)
    name, key = f"pivotal-{function.__name__}-{token}", f"pivotal-how-{token}"
    width = () if shape.n_columns is None else ((shape.n_columns,),)
    graph: dict[Any, Any] = {key: shared}
    for place, piece in enumerate(source.pieces):
        graph[(name, place, *(0 for _ in width))] = (function, piece, key)
    return da.Array(graph, name, (tuple(piece.n_rows for piece in source.pieces), *width), dtype=shape.dtype)


def _check_rows(source: Source, max_rows: int | None) -> None:
    if max_rows is not None and len(source) > max_rows:
        raise ValueError(
            f"{source.name} has {len(source):,} rows, more than the {max_rows:,} that --max-rows allows; leave it out "
            "if the workers have room."
        )


def _check_columns(source: Source, roles: Roles) -> None:
    columns = _columns(source)
    columns.check_column(roles.label, "--label")
    if roles.id is not None:
        columns.check_column(roles.id, "--id")


def _columns(source: Source | ProfileRequest) -> Table:
    """Return a table without its rows."""
    return Table(source.schema.empty_table(), source.name, "parquet")


def _check_test(test: Source, question: ProfileRequest, features: Sequence[str]) -> None:
    for name in (*features, question.roles.label):
        if name not in test.schema.names:
            raise ValueError(f"{test.name} has no column {name!r}, which {question.name} has; test rows need it too.")


def _settle(question: ProfileRequest, summary: Summary) -> dict[str, Kind]:
    """Return the columns that are features, now that all rows were looked at."""
    roles = question.roles
    wanted = set() if roles.features is None else set(matching(_columns(question), roles.features, "--features"))
    constant = _constant(question, summary)
    kinds: dict[str, Kind] = {}
    for name, kind in question.kinds.items():
        n_gaps = summary.gaps.get(name, 0)
        if (kind == "empty" and n_gaps == summary.n_rows) or (name in constant and name not in wanted):
            continue
        if kind == "category" and not _is_category(question, summary, name):
            if name in wanted:
                raise ValueError(
                    f"column {name!r} of {question.name} cannot be a feature: it is text with too many different "
                    f"values; one-hot encode it with --categorical {name}."
                )
            continue
        kinds[name] = kind
    return kinds


def _constant(question: ProfileRequest, summary: Summary) -> set[str]:
    """Return the columns that are the same in every row."""
    if summary.n_rows < 2:
        return set()
    found = {name for name, different in summary.categories.items() if different.words and len(different.words) == 1}
    if summary.numbers is not None:
        same = summary.numbers.low == summary.numbers.high
        found |= {name for name, is_same in zip(question.of("number"), same, strict=True) if is_same}
    return {name for name in found if not summary.gaps.get(name, 0)}


def _is_category(question: ProfileRequest, summary: Summary, name: str) -> bool:
    words = summary.categories[name].words
    most = question.roles.max_categories if name in question.undecided else MOST_CATEGORIES
    if words is None and most >= MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r} of {question.name} has more than {MOST_CATEGORIES} different values, too many to one-hot "
            "encode. Group them, or --ignore it."
        )
    if name not in question.undecided:
        return True
    n_present = summary.n_rows - summary.gaps[name]
    # As on one machine: what differs in most rows says nothing about others.
    return words is not None and len(words) <= max(2, n_present / 2)


def _check_summary(question: ProfileRequest, summary: Summary) -> None:
    """Turn down gaps, and labels of which no two are alike."""
    label = question.roles.label
    if summary.labels.gaps:
        raise ValueError(
            f"{question.name} must have a label in every row; {summary.labels.gaps} of {summary.n_rows} have none in "
            f"column {label!r}. Drop these rows."
        )
    for name in question.kinds:
        n_gaps = summary.gaps.get(name, 0)
        if n_gaps:
            raise ValueError(
                f"column {name!r} of {question.name} must have no gaps with --scheduler; {n_gaps} of {summary.n_rows} "
                "cells are empty. Fill them first, or leave the column out with --ignore."
            )
    if question.training and not question.regression:
        counts, labels = np.array(list(summary.labels.counts.values())), list(summary.labels.counts)
        numbers = np.array(labels, dtype=np.int64) if summary.labels.numeric else None
        check_classes(counts, numbers, label, question.name, question.roles.instead_of_numbers)


def _check_lengths(question: ProfileRequest, summary: Summary, test: Summary) -> None:
    for name in question.of("vector", "matrix"):
        length, other = summary.vectors[name].length, test.vectors[name].length
        if length != other:
            raise ValueError(
                f"column {name!r} must hold vectors of one length; got {length} numbers in {question.name} and {other} "
                "in the test rows."
            )


def _treatment(
    name: str, what: tuple[str, str], kinds: Mapping[str, Kind], constant: Collection[str], done: Mapping[str, str]
) -> Treatment:
    kind, words = what
    if kind in ("number", "category") and name in constant:
        return Treatment(name, kind, "left out: constant")
    if kind == "category" and name not in kinds and not words:
        return Treatment(name, "text", "left out: text with many different values")
    if kind in ("text", "image"):
        return Treatment(name, kind, "left out: it is there to be looked at")
    return Treatment(name, kind, done.get(name, words))
