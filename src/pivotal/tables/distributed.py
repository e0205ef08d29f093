"""Tables that no single machine holds: features and labels as Dask arrays, from Parquet files that workers read.

Two looks at the files come first: at their ends, for rows and types, and at the columns that are used, for means,
deviations and categories. What comes out is cut as the files are, and read again by those that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pivotal.core.types import AnyArray
from pivotal.tables._encoding import Encoding
from pivotal.tables._feature_columns import ProfileRequest
from pivotal.tables._features import check_gaps, check_lengths
from pivotal.tables._medians import add_counts, find_medians
from pivotal.tables._piece_tasks import (
    Featuring,
    Labelling,
    Naming,
    PieceSummary,
    Survey,
    count_piece,
    features_of,
    labels_of,
    look_at,
    names_of,
    summarise_piece,
)
from pivotal.tables._pieces import Piece, Source, open_parquet, over, without_rows
from pivotal.tables._summary import MOST_CATEGORIES, TableSummary, combine
from pivotal.tables.columns import Kind
from pivotal.tables.embedding import Embedding
from pivotal.tables.label_column import check_classes, check_known
from pivotal.tables.prepare import check_columns, classes_in_words, no_features
from pivotal.tables.roles import Roles, Treatment, matching

__all__ = ["DistributedTable", "load_distributed"]


@dataclass(frozen=True, eq=False)
class DistributedTable:
    """Features and labels of a table, as Dask arrays, cut by rows the same way; how many each chunk has is known."""

    X: Any  # of shape (n_train, n_features)
    y: Any  # of shape (n_train,)
    X_test: Any  # of the test table, transformed as the training table was; None without one
    y_test: Any
    ids: Any  # names of the rows, of shape (n_train,); None for their numbers
    treatments: tuple[Treatment, ...]  # one per column
    files: tuple[str, ...]  # that are read


def load_distributed(
    paths: Sequence[str],
    test: Sequence[str] | None,
    roles: Roles,
    *,
    regression: bool = False,
    max_rows: int | None = None,
) -> DistributedTable:
    """Turn Parquet files into features and labels that are spread over workers.

    Files, and those of test rows, are named by paths, folders, patterns, or URLs of any of them that fsspec
    understands. Columns become what they become on one machine, bit for bit, however the rows are cut; only texts and
    images, which are embedded in one place, are omitted. What a column is, is decided from the first rows; whether text
    is a category, from all of them. All that is learned is learned from the training table alone.
    """
    roles = replace(roles, embedding=Embedding.of("none"))  # which needs all rows in one place
    train = open_parquet(paths)
    _check_rows(train, max_rows)
    columns = without_rows(train.name, train.schema)
    columns.check_column(roles.label, "--label")
    if roles.id is not None:
        columns.check_column(roles.id, "--id")
    survey = Survey(ProfileRequest(train.name, roles, {}, whole=False), train.schema, regression)
    (look,) = over(train.pieces[:1], look_at, survey)
    survey = replace(survey, question=replace(survey.question, kinds=look.kinds, undecided=look.undecided))
    if not any(kind != "empty" for kind in look.kinds.values()):
        raise no_features(train.name, roles.label, look.treatments)
    queries = None if test is None else open_parquet(test)
    if queries is not None:
        _check_rows(queries, max_rows)
        certain = [name for name, kind in look.kinds.items() if kind != "empty" and name not in look.undecided]
        certain = [name for name in certain if look.treatments[name][0] != "empty"]
        check_columns([*certain, roles.label], queries.schema.names, (train.name, queries.name))
    (summary,) = over(train.pieces, summarise_piece, survey, combine=combine)
    kinds, left_out = _settle(survey, summary.features)
    treatments = look.treatments | left_out
    if not kinds:
        raise no_features(train.name, roles.label, treatments)
    features = summary.features.only(survey.question, kinds)
    survey = replace(survey, question=replace(survey.question, kinds=kinds))
    _check_summary(survey, PieceSummary(features, summary.labels))
    labelling = Labelling(train.name, train.schema, roles.label, regression, numeric=summary.labels.numeric)
    checked = None
    if queries is not None:
        check_columns([*kinds, roles.label], queries.schema.names, (train.name, queries.name))
        known = {name: words.counts or {} for name, words in features.categories.items()}
        asked = survey.of(queries, known=known)
        (checked,) = over(queries.pieces, summarise_piece, asked, combine=combine)
        _check_summary(asked, checked)
        check_lengths(survey.question, features, checked.features)
        if not regression:
            names = (train.name, queries.name)
            check_known(set(summary.labels.counts), set(checked.labels.counts), roles.label, names)
        labelling = replace(labelling, numeric=labelling.numeric and checked.labels.numeric)
    tested = None if checked is None else checked.features
    encoding = Encoding.learned(survey.question, features, _medians(train, survey, features, tested))
    done = encoding.describe_columns(features, tested)
    featuring = Featuring(survey, encoding)
    X_test = y_test = None
    if queries is not None:
        X_test = _array(queries, features_of, replace(featuring, survey=survey.of(queries)))
        y_test = _array(queries, labels_of, replace(labelling, name=queries.name, schema=queries.schema))
    done[roles.label] = "predicted, a number" if regression else classes_in_words(len(summary.labels.counts))
    return DistributedTable(
        _array(train, features_of, featuring),
        _array(train, labels_of, labelling),
        X_test,
        y_test,
        None if roles.id is None else _array(train, names_of, Naming(train.name, train.schema, roles.id)),
        tuple(_treatment(name, what, done) for name, what in treatments.items()),
        tuple(dict.fromkeys(piece.file for source in (train, queries) if source for piece in source.pieces)),
    )


def _array(source: Source, function: Callable[[Piece, Any], AnyArray], shared: Featuring | Labelling | Naming) -> Any:
    """Return what a function makes of the pieces, as one Dask array whose name tells its content from any other."""
    import dask.array as da
    from dask.base import tokenize

    token = tokenize(source.token, shared)
    name, key = f"pivotal-{function.__name__}-{token}", f"pivotal-how-{token}"
    n_columns, dtype = shared.shape
    width = () if n_columns is None else ((n_columns,),)
    graph: dict[Any, Any] = {key: shared}
    for place, piece in enumerate(source.pieces):
        graph[(name, place, *(0 for _ in width))] = (function, piece, key)
    return da.Array(graph, name, (tuple(piece.n_rows for piece in source.pieces), *width), dtype=dtype)


def _check_rows(source: Source, max_rows: int | None) -> None:
    if max_rows is not None and len(source) > max_rows:
        raise ValueError(
            f"{source.name} has {len(source):,} rows, more than the {max_rows:,} that --max-rows allows; omit it "
            "if the workers have room."
        )


def _settle(survey: Survey, summary: TableSummary) -> tuple[dict[str, Kind], dict[str, tuple[str, str]]]:
    """Return the columns that are features, now that all rows were looked at, and why others are not."""
    question = survey.question
    roles = question.roles
    columns = without_rows(question.name, survey.schema)
    wanted = set() if roles.features is None else set(matching(columns, roles.features, "--features"))
    constant = summary.constant(question)
    kinds: dict[str, Kind] = {}
    left_out: dict[str, tuple[str, str]] = {}
    for name, kind in question.kinds.items():
        if name in summary.gaps and summary.gaps[name].cells == summary.n_rows:
            left_out[name] = ("empty", "omitted: it has no content")
        elif kind == "empty":
            raise ValueError(
                f"column {name!r} of {question.name} has no content in its first rows, which say what a column is with "
                "--scheduler; put rows with content first, or omit the column with --ignore."
            )
        elif name in constant and name not in wanted:
            left_out[name] = (kind, "omitted: constant")
        elif kind == "category" and not _is_category(question, summary, name):
            if name in wanted:
                raise ValueError(
                    f"column {name!r} of {question.name} cannot be a feature: it is text with too many different "
                    f"values; one-hot encode it with --categorical {name}."
                )
            left_out[name] = ("text", "omitted: text with many different values")
        else:
            kinds[name] = kind
    return kinds, left_out


def _is_category(question: ProfileRequest, summary: TableSummary, name: str) -> bool:
    """Whether text has few enough different values; those of a category that was named are counted later."""
    words = summary.categories[name].counts
    if name not in question.undecided or (words is None and question.roles.max_categories >= MOST_CATEGORIES):
        return True
    n_present = summary.n_rows - summary.gaps[name].cells
    # As on one machine: what differs in most rows says nothing about others.
    return words is not None and len(words) <= max(2, n_present / 2)


def _medians(train: Source, survey: Survey, summary: TableSummary, test: TableSummary | None) -> dict[str, float]:
    """Return the medians of the columns of numbers and dates that have gaps in either table."""
    counts = {
        name: summary.n_rows - summary.gaps[name].cells
        for name in survey.question.of("number", "date")
        if summary.gaps[name].cells or (test is not None and test.gaps[name].cells)
    }
    return find_medians(
        counts,
        lambda intervals: over(train.pieces, count_piece, (survey, intervals), combine=add_counts)[0],
    )


def _check_summary(survey: Survey, summary: PieceSummary) -> None:
    """Turn down gaps, where that was asked for, and labels of which no two are alike."""
    question, labels = survey.question, summary.labels
    label = question.roles.label
    if labels.gaps:
        raise ValueError(
            f"{question.name} must have a label in every row; {labels.gaps} of {summary.features.n_rows} have none in "
            f"column {label!r}. Drop these rows."
        )
    check_gaps(question, summary.features)
    if question.known is None and not survey.regression:
        counts, names = np.array(list(labels.counts.values())), list(labels.counts)
        numbers = np.array(names, dtype=np.int64) if labels.numeric else None
        check_classes(counts, numbers, question.roles, question.name)


def _treatment(name: str, what: tuple[str, str], done: Mapping[str, str]) -> Treatment:
    kind, words = what
    if kind in ("text", "image") and name not in done:
        words = words if words.startswith("omitted") else "omitted: it is there to be looked at"
    return Treatment(name, kind, done.get(name, words))
