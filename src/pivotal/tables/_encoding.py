"""How columns of a table in pieces become features, labels and names: what workers run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.tables._features import finite_numbers
from pivotal.tables._pieces import Piece, read_piece
from pivotal.tables._summary import ProfileRequest, Summary, words_of
from pivotal.tables.columns import as_vectors
from pivotal.tables.label_column import as_classes, as_responses
from pivotal.tables.prepare import row_names
from pivotal.tables.roles import Roles
from pivotal.tables.table import Table

__all__ = ["Encoding", "Labelling", "Naming", "Shape", "features_of", "labels_of", "names_of"]


class Shape(NamedTuple):
    """Number of columns, None for an array of one dimension, and type."""

    n_columns: int | None
    dtype: np.dtype[Any]


@dataclass(frozen=True, eq=False)
class Encoding:
    """How columns become features: what was learned from the training rows.

    Parameters
    ----------
    name, schema
        Those of the `Source`.
    roles : Roles
        Which column plays which part.
    numbers : tuple of str
        Columns of numbers.
    mean, deviation : float64 arrays
        Theirs; 0 and 1 where numbers stay as they are.
    categories : mapping of str to list of str
        The values of each category, sorted.
    vectors : mapping of str to (mean, deviation) or None
        Columns of vectors; None for those that stay as they are.
    shape : Shape
        What the features are like.
    done : mapping of str to str
        What becomes of each column, in words.
    """

    name: str
    schema: pa.Schema
    roles: Roles
    numbers: tuple[str, ...]
    mean: FloatArray
    deviation: FloatArray
    categories: Mapping[str, list[str]]
    vectors: Mapping[str, tuple[FloatArray, FloatArray] | None]
    shape: Shape
    done: Mapping[str, str]

    @classmethod
    def learned(cls, question: ProfileRequest, summary: Summary) -> Encoding:
        """Return what a summary of all training rows says."""
        numbers = question.of("number")
        mean, deviation = np.zeros(len(numbers)), np.ones(len(numbers))
        if summary.numbers is not None and question.roles.scale != "none":
            mean, deviation = summary.numbers.mean, summary.numbers.deviation
        categories = {name: sorted(summary.categories[name].words or ()) for name in question.of("category")}
        widths = {name: summary.vectors[name] for name in question.of("vector", "matrix")}
        done = dict.fromkeys(numbers, "as it is" if question.roles.scale == "none" else "standardised")
        done |= {name: f"one-hot, {len(words)} values" for name, words in categories.items()}
        done |= {
            name: f"{width.length} numbers, {'as they are' if width.moments is None else 'standardised'}"
            for name, width in widths.items()
        }
        n_simple = len(numbers) + sum(len(words) for words in categories.values())
        dtype = np.result_type(*(width.dtype for width in widths.values()), *([np.float64] if n_simple else []))
        return cls(
            question.name,
            question.schema,
            question.roles,
            tuple(numbers),
            mean,
            deviation,
            categories,
            {
                name: None if width.moments is None else (width.moments.mean, width.moments.deviation)
                for name, width in widths.items()
            },
            Shape(n_simple + sum(width.length for width in widths.values()), dtype),
            done,
        )

    def __dask_tokenize__(self) -> Any:
        told = (self.numbers, self.mean, self.deviation, dict(self.categories), dict(self.vectors))
        return ("pivotal features", told, sorted(self.roles.gaps))


def features_of(piece: Piece, encoding: Encoding) -> FloatArray:
    """Return the features of a piece."""
    columns = [*encoding.numbers, *encoding.categories, *encoding.vectors]
    table = read_piece(piece, encoding.name, encoding.schema, columns)
    gaps = encoding.roles.gaps
    blocks: list[AnyArray] = []
    if encoding.numbers:
        numbers = finite_numbers(table, encoding.numbers, gaps)
        blocks.append((numbers - encoding.mean) / encoding.deviation)
    for name, values in encoding.categories.items():
        blocks.append(_one_hot(*words_of(table, name, gaps), values))
    for name, scale in encoding.vectors.items():
        vectors = as_vectors(table, name)
        if scale is not None:
            mean, deviation = scale
            vectors = (vectors - mean.astype(vectors.dtype)) / deviation.astype(vectors.dtype)
        blocks.append(vectors)
    return blocks[0] if len(blocks) == 1 else np.hstack(blocks)


def _one_hot(words: AnyArray, codes: IndexArray, values: list[str]) -> FloatArray:
    """Return a column of 0 and 1 for each value; a word that training rows do not have is a row of zeros."""
    places = {value: place for place, value in enumerate(values)}
    columns = np.array([places.get(word, -1) for word in words])[codes]
    known = np.flatnonzero(columns >= 0)
    hot = np.zeros((len(codes), len(values)))
    hot[known, columns[known]] = 1.0
    return hot


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
        return Shape(None, row_names(Table(self.schema.empty_table(), self.name, "parquet"), self.id, "--id").dtype)

    def __dask_tokenize__(self) -> Any:
        return ("pivotal names", self.id)


def names_of(piece: Piece, naming: Naming) -> AnyArray:
    """Return the names of the rows of a piece."""
    return row_names(read_piece(piece, naming.name, naming.schema, [naming.id]), naming.id, "--id")
