"""From a table, or a file, to the labels that are probably wrong, in one call."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._find import find_label_errors
from pivotal.analysis.label_errors._many_labels import ManyLabelErrors
from pivotal.core.providers import provided
from pivotal.core.types import IndexArray

__all__ = ["clean", "set_aside"]

_FINDING: Final = frozenset(inspect.signature(find_label_errors).parameters) - {"X", "y", "ids"}


def clean(source: Any, label: str | None = None, **options: Any) -> LabelErrors:
    """Find labels that are probably wrong in a data frame or a file with gaps, texts, categories, images.

    Parameters
    ----------
    source : path, sequence of paths, or data frame
        As in `read_table`: files of any kind, folders of images, data frames.
    label : str, optional
        The column of labels; "label" for folders of images and "y" for npz by default.
    **options
        Of `read_table`: features, ignore, embed, embeddings, unlabelled, ...; and of `find_label_errors`: k, n_trees,
        odds, share, n, ...

    Returns
    -------
    LabelErrors
        As `find_label_errors` returns it; ``settings["columns"]`` says what was done to each column. Rows without
        features, as their text has no words or their image cannot be read, are no suspects.

    Examples
    --------
    >>> import pandas as pd
    >>> from pivotal import clean
    >>> frame = pd.DataFrame({
    ...     "height": [1.0, 1.1, 0.9, 1.2, 5.0, 5.1, None, 4.9],
    ...     "colour": ["red", "red", "red", "red", "blue", "blue", "blue", None],
    ...     "y": ["cat", "cat", "dog", "cat", "dog", "dog", "dog", "dog"],
    ... })
    >>> found = clean(frame, label="y", k=2, n_trees=0)
    >>> found.suspects, found.suggested[found.suspects]
    (array([2]), array(['cat'], dtype=object))
    """
    finding = {name: options.pop(name) for name in list(options) if name in _FINDING}
    ready = provided("tables").read_table(source, label, **options)
    found = find_label_errors(ready.X, ready.y, ids=ready.ids, **finding)
    columns = {one.column: f"{one.kind}, {one.done}" for one in ready.treatments}
    return set_aside(replace(found, settings={**found.settings, "columns": columns}), ready.unknown)


def set_aside(found: LabelErrors, rows: IndexArray) -> LabelErrors:
    """Return label errors in which some rows are no suspects: those of which nothing is known but their labels."""
    judged = found.rows if isinstance(found, ManyLabelErrors) else np.arange(len(found.probable))
    aside = np.isin(judged, rows)
    return replace(found, suspects=found.suspects[~aside[found.suspects]], probable=found.probable & ~aside)
