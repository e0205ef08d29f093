"""Columns of text and of images as features: which are embedded, by what, and how."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from pivotal.core.pictures import describe_missing
from pivotal.core.providers import provided
from pivotal.core.types import IndexArray
from pivotal.tables.columns import Kind, as_pictures, as_text
from pivotal.tables.table import Table

__all__ = ["Embedding", "embed_column", "kinds_of"]

USUAL: Final = {"text": "tfidf", "image": "histograms"}
"""What embeds where nothing else was said: built in, nothing to download."""

_OFF: Final = "none"
_OF_TABLES: Final = ("missing", "root")  # missing images are far from all, and paths lead from the table
_FOR_COLUMN: Final = re.compile(r"(?P<column>[^:=]+)=(?P<name>.+)", re.DOTALL)


@dataclass(frozen=True)
class Embedding:
    """What texts and images are embedded by.

    Parameters
    ----------
    by : tuple of (str or None, embedder)
        A column, or None for all that the embedder takes, and what embeds it: a name as in `pivotal.embed.as_embedder`,
        an embedder or a model. Without any, sentences are embedded; other texts and images where there is nothing else,
        or where they are asked for as features.
    options : mapping
        Arguments of the embedders, such as batch_size, device, cache and progress; not `missing` and `root`, which
        are those of tables.
    """

    by: tuple[tuple[str | None, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, **options: Any) -> Embedding:
        """Return what was asked for, as "tfidf", "review=tfidf,photo=histograms", {"review": model}, or "none"."""
        taken = next((name for name in _OF_TABLES if name in options), None)
        if taken is not None:
            raise ValueError(f"{taken} cannot be chosen for embedders of a table; omit it.")
        if given is None:
            return cls((), options)
        if isinstance(given, Mapping):
            return cls(tuple(given.items()), options)
        if isinstance(given, str):
            given = [part for part in given.split(",") if part]
        if not isinstance(given, Sequence):
            return cls(((None, given),), options)
        return cls(tuple(_pair(one) for one in given), options)

    @property
    def off(self) -> bool:
        """Whether nothing is embedded."""
        return any(name == _OFF and column is None for column, name in self.by)

    def general(self, kind: Kind) -> Any | None:
        """Return what embeds all columns of a kind; None where nothing was said of them."""
        for column, name in self.by:
            if column is None and name != _OFF and kind in kinds_of(name):
                return name
        return None


def _pair(given: Any) -> tuple[str | None, Any]:
    if isinstance(given, str):
        found = _FOR_COLUMN.fullmatch(given)
        return (found["column"].strip(), found["name"]) if found else (None, given)
    return None, given


def kinds_of(embedder: Any) -> tuple[str, ...]:
    """Return the kinds of columns that an embedder takes; a model of the user's takes what it says it takes."""
    made = provided("embed").as_embedder(embedder)
    modality = getattr(made, "modality", "any")
    return ("text", "image") if modality == "any" else (modality,)


def embed_column(
    tables: Sequence[Table], name: str, kind: Kind, embedder: Any, embedding: Embedding
) -> tuple[list[Any], str, IndexArray]:
    """Return the vectors of a column of texts or images in each table, learned from the first, the training table.

    With them come what was done, and the training rows without a vector. What is no image is taken as text.
    """
    model = provided("embed").as_embedder(embedder, missing="fill", **embedding.options)
    wanted = "image" if kind == "image" else "text"
    if model.modality not in (wanted, "any"):
        fix = USUAL[wanted]
        raise ValueError(
            f"column {name!r} of {tables[0].name} holds {_PLURAL[wanted]}, and {embedder} embeds "
            f"{_PLURAL[model.modality]}; choose another for it, for example --embed {name}={fix}."
        )
    blocks: list[Any] = []
    missing: dict[str, int] = {}
    absent: IndexArray = np.empty(0, dtype=np.int64)
    for place, table in enumerate(tables):
        items: Any = as_pictures(table, name) if wanted == "image" else list(as_text(table, name, {""}))
        if wanted == "image":
            model.root = table.folder or Path()
        try:
            blocks.append(model.transform(items) if place else model.fit_transform(items))
            absent = absent if place else model.absent_
        except ValueError as error:
            raise ValueError(f"column {name!r} of {table.name} cannot be embedded: {error}") from error
        except _OF_CODE as error:
            if not isinstance(model, provided("embed").CallableModel):
                raise
            raise ValueError(
                f"column {name!r} of {table.name} cannot be embedded {model.note}: it failed with "
                f"{type(error).__name__}: {error}. It gets a list of {_PLURAL[wanted]}, and must give each a vector."
            ) from error
        for reason, count in model.missing_.items():
            missing[reason] = missing.get(reason, 0) + count
    done = str(model.note)
    if missing:
        done += f"; {describe_missing(missing, 'embedded').rstrip('.')}; these are as far from all as rows at random"
    return blocks, done, absent


# What code of the user's own raises when it is wrong.
_OF_CODE: Final = (TypeError, LookupError, ArithmeticError, AttributeError, NameError, AssertionError, RuntimeError)
_PLURAL: Final = {"text": "texts", "image": "images"}
