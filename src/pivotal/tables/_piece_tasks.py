"""What workers run on the pieces of a table: look at columns, add them up, and make features, labels and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pivotal.core.types import AnyArray
from pivotal.tables._cells import is_numeric
from pivotal.tables._encoding import Encoding
from pivotal.tables._feature_columns import ProfileRequest, read_columns
from pivotal.tables._medians import RankInterval, count_in
from pivotal.tables._pieces import Piece, Source, read_piece, without_rows
from pivotal.tables._summary import TableSummary, summarise
from pivotal.tables.columns import Kind, find_gaps, profile, type_of
from pivotal.tables.label_column import as_classes, as_responses, check_kind
from pivotal.tables.prepare import row_names
from pivotal.tables.roles import Roles, choose, matching
from pivotal.tables.table import Table


class Shape(NamedTuple):
    """Number of columns, None for an array of one dimension, and type."""

    n_columns: int | None
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Survey:
    """A question about all pieces of a table, and what is needed to read them."""

    question: ProfileRequest  # about columns that are features
    schema: pa.Schema  # all columns
    regression: bool

    def of(self, source: Source, **known: Any) -> Survey:
        """Return the same question about another table."""
        return replace(self, schema=source.schema, question=replace(self.question, name=source.name, **known))

    def read(self, piece: Piece, *columns: str) -> Table:
        """Return the features of a piece, and other columns."""
        wanted = dict.fromkeys([*self.question.kinds, *columns])
        return read_piece(piece, self.question.name, self.schema, list(wanted))


class FirstLook(NamedTuple):
    """What the columns are, going by the first rows."""

    kinds: dict[str, Kind]
    """Those that are features, or may be."""
    treatments: dict[str, tuple[str, str]]
    undecided: frozenset[str]
    """Text of which only all rows can say whether it is a category; a category until then."""


def look_at(piece: Piece, survey: Survey) -> FirstLook:
    """Decide what each column is, as far as a piece can tell."""
    roles = survey.question.roles
    table = read_piece(piece, survey.question.name, survey.schema, survey.schema.names)
    certain = matching(table, roles.categorical, "--categorical")
    open_ = [name for name in table.columns if name not in set(certain)]
    found = profile(table, open_, roles.gaps, roles.max_categories)
    undecided = [name for name in open_ if found.kinds[name] in ("category", "text")]
    choice = choose(table, replace(roles, categorical=[*certain, *undecided]))
    kinds = choice.features()
    for name, kind in choice.kinds.items():
        if kind == "empty":  # so far
            kinds[name] = _kind_when_empty(table, name)
    in_order = {name: kinds[name] for name in choice.kinds if name in kinds}
    return FirstLook(in_order, choice.treatments, frozenset(undecided) & frozenset(in_order))


def _kind_when_empty(table: Table, name: str) -> Kind:
    """Return what a column without content would be with some, where its type says so."""
    kind = type_of(table, name)
    if is_numeric(kind):
        return "number"
    return "category" if pa.types.is_boolean(kind) else "empty"


class LabelSummary(NamedTuple):
    """Gaps among the labels, whether all are integers, and how many rows have each, by their text."""

    gaps: int
    numeric: bool
    counts: dict[str, int]

    def joined(self, other: LabelSummary) -> LabelSummary:
        """Return what is known of both."""
        counts = dict(Counter(self.counts) + Counter(other.counts))
        return LabelSummary(self.gaps + other.gaps, self.numeric and other.numeric, counts)


class PieceSummary(NamedTuple):
    """What is known of the features and of the labels of some rows."""

    features: TableSummary
    labels: LabelSummary

    def joined(self, other: PieceSummary) -> PieceSummary:
        """Return what is known of both."""
        return PieceSummary(self.features.joined(other.features), self.labels.joined(other.labels))


def summarise_piece(piece: Piece, survey: Survey) -> PieceSummary:
    """Return what a piece says; raise where a cell cannot be what it should be."""
    question = survey.question
    roles = question.roles
    names = None if question.known is not None else roles.id  # of the training table
    table = survey.read(piece, roles.label, *filter(None, [names]))
    if names is not None:
        row_names(table, names, "--id")
    return PieceSummary(summarise(read_columns(table, question), question), _labels(table, roles, survey.regression))


def _labels(table: Table, roles: Roles, regression: bool) -> LabelSummary:
    check_kind(table, roles.label)
    n_gaps = find_gaps(table, roles.label, {""}).size
    if n_gaps:
        return LabelSummary(n_gaps, numeric=True, counts={})
    if regression:
        as_responses(table, roles.label)
        return LabelSummary(0, numeric=True, counts={})
    labels = as_classes(table, roles.label, numeric=not roles.classes)
    different, counts = np.unique(labels.astype(str), return_counts=True)
    return LabelSummary(0, labels.dtype != object, dict(zip(different.tolist(), counts.tolist(), strict=True)))


def count_piece(piece: Piece, asked: tuple[Survey, Sequence[RankInterval]]) -> list[Counter[int]]:
    """Count the numbers of a piece in intervals, for medians."""
    survey, intervals = asked
    names = {interval.column for interval in intervals}
    kinds = {name: kind for name, kind in survey.question.kinds.items() if name in names}
    some = replace(survey, question=replace(survey.question, kinds=kinds))
    columns = read_columns(some.read(piece), some.question)
    cells = dict(zip(some.question.of("number"), columns.numbers.T, strict=True))
    return count_in(cells | {name: seconds for name, (_, seconds) in columns.dates.items()}, intervals)


@dataclass(frozen=True, eq=False)
class Featuring:
    """How columns become features."""

    survey: Survey
    encoding: Encoding

    @property
    def shape(self) -> Shape:
        """What the features are like."""
        return Shape(self.encoding.n_features, self.encoding.dtype)

    def __dask_tokenize__(self) -> Any:
        return self.encoding.__dask_tokenize__()


def features_of(piece: Piece, featuring: Featuring) -> AnyArray:
    """Return the features of a piece."""
    survey = featuring.survey
    return featuring.encoding.encode(read_columns(survey.read(piece), survey.question))


@dataclass(frozen=True, eq=False)
class Labelling:
    """How a column becomes labels."""

    name: str
    schema: pa.Schema
    label: str
    regression: bool
    numeric: bool

    @property
    def shape(self) -> Shape:
        """What the labels are like."""
        dtype = np.float64 if self.regression else np.int64 if self.numeric else object
        return Shape(None, np.dtype(dtype))

    def __dask_tokenize__(self) -> Any:
        return ("pivotal labels", self.label, self.regression, self.numeric)


def labels_of(piece: Piece, labelling: Labelling) -> AnyArray:
    """Return the labels of a piece."""
    table = read_piece(piece, labelling.name, labelling.schema, [labelling.label])
    if labelling.regression:
        return as_responses(table, labelling.label)
    return as_classes(table, labelling.label, numeric=labelling.numeric)


@dataclass(frozen=True, eq=False)
class Naming:
    """How a column becomes names of rows."""

    name: str
    schema: pa.Schema
    id: str

    @property
    def shape(self) -> Shape:
        """What the names are like."""
        return Shape(None, row_names(without_rows(self.name, self.schema), self.id, "--id").dtype)

    def __dask_tokenize__(self) -> Any:
        return ("pivotal names", self.id)


def names_of(piece: Piece, naming: Naming) -> AnyArray:
    """Return the names of the rows of a piece."""
    return row_names(read_piece(piece, naming.name, naming.schema, [naming.id]), naming.id, "--id")
