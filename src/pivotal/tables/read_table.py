"""Tables in Python: files of any kind and data frames to features and labels, as the command line has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pivotal.core.types import AnyArray
from pivotal.tables._folders import cells_of_dataset
from pivotal.tables._phrases import few
from pivotal.tables.columns import GAPS, as_floats
from pivotal.tables.embedding import Embedding
from pivotal.tables.prepare import Prepared, labelled, prepare
from pivotal.tables.read import MAX_ROWS, read_many, with_rows
from pivotal.tables.roles import Roles
from pivotal.tables.table import RowVectors, Table
from pivotal.tables.vectors_beside import IN_ORDER, with_embeddings

__all__ = ["as_table", "read_table"]


def read_table(
    source: Any,
    label: str | None = None,
    *,
    test: Any = None,
    id: str | None = None,  # noqa: A002  # as the option is called
    owner: str | None = None,
    features: Collection[str] | None = None,
    ignore: Collection[str] = (),
    categorical: Collection[str] = (),
    text: Collection[str] = (),
    image: Collection[str] = (),
    numbers: Collection[str] = (),
    dates: bool = False,
    embed: Any = None,
    embed_options: Mapping[str, Any] | None = None,
    embeddings: Any = None,
    test_embeddings: Any = None,
    missing: Literal["impute", "reject"] = "impute",
    unlabelled: Literal["reject", "drop"] = "reject",
    scale: Literal["numbers", "all", "none"] = "numbers",
    na: Collection[str] = (),
    max_categories: int = 50,
    classes: bool = False,
    regression: bool = False,
    folder: str | Path | None = None,
    max_rows: int = MAX_ROWS,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    header: bool = True,
) -> Prepared:
    """Turn a table into features and labels: gaps filled, numbers standardised, categories one-hot, texts embedded.

    Parameters
    ----------
    source : path, sequence of paths, or data frame
        Anything that the command line reads: files, patterns, URLs, folders of images, `book.xlsx::sheet`,
        `data.sqlite::table`, `hf://name#split`. Or a data frame of pandas or Polars, an Arrow table, a Dataset of
        Hugging Face's, or a mapping of columns.
    label : str, optional
        The column that is predicted; "label" for folders of images and "y" for npz by default.
    test : path or data frame, optional
        Test rows, transformed as the others were.
    id, owner : str, optional
        Columns that name the rows, and whose they are. The index of a data frame by default, and the numbers of rows.
    features, ignore, categorical, text, image, numbers : collection of str
        Columns to use, to omit, to one-hot encode, to look at only, that are paths of images, and that are numbers
        as people write them; patterns such as "pixel*" as well.
    dates : bool, default=False
        Whether dates are features: time passed, and year, week and day as circles.
    embed : str, embedder, model or mapping of str to any of them, optional
        What makes features of texts and images, for all or by column; "none" for nothing. TF-IDF and histograms where
        there are no other features, or where `features` names them, by default.
    embed_options : mapping, optional
        Arguments of embedders: batch_size, device, cache, progress, and those of one kind's own.
    embeddings, test_embeddings : array of shape (n_rows, length), path or sequence of paths, optional
        Vectors of the rows, in their order; where a file has a column of the table's beside them, matched by it.
    missing : {"impute", "reject"}
        What to do about gaps in features.
    unlabelled : {"reject", "drop"}
        What to do about rows without a label.
    scale : {"numbers", "all", "none"}
        What to standardise: numbers, also vectors, or nothing.
    na : collection of str
        Texts that stand for a gap, beside the usual ones.
    max_categories : int, default=50
        Text with more different values is no category.
    classes : bool, default=False
        Whether labels name classes even where they look like amounts.
    regression : bool, default=False
        Whether the label is a number to be predicted.
    folder : path-like, optional
        Where images of a data frame are; the working directory by default.
    max_rows, delimiter, encoding, decimal, header
        How files are read, as in `pivotal.tables.read_many`.

    Returns
    -------
    Prepared
        With X, y, ids, X_test, y_test, text, images, and in `treatments` a word on each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from pivotal import read_table
    >>> frame = pd.DataFrame({"age": [31, None, 47], "city": ["Rome", "Oslo", "Rome"], "y": [0, 1, 0]})
    >>> ready = read_table(frame, label="y")
    >>> ready.X.shape, ready.y
    ((3, 3), array([0, 1, 0]))
    >>> print(ready)
    3 rows, 3 features
      age   number    standardised, 1 gap filled with the median 39
      city  category  one-hot, 2 values
      y     label     predicted, 2 classes
    """
    reading: dict[str, Any] = {
        "max_rows": max_rows,
        "delimiter": delimiter,
        "encoding": encoding,
        "decimal": decimal,
        "header": header,
    }
    if unlabelled not in ("reject", "drop"):
        raise ValueError(f"unlabelled must be reject or drop; got {unlabelled!r}.")
    train = _beside(as_table(source, folder=folder, **reading), embeddings, id)
    label = usual_label(train) if label is None else column_name(label)
    queries = None if test is None else _beside(as_table(test, folder=folder, **reading), test_embeddings, id)
    if unlabelled == "drop":
        train = train.take(labelled(train, label))
        queries = None if queries is None else queries.take(labelled(queries, label))
    roles = Roles(
        label,
        id=id,
        owner=owner,
        features=None if features is None else _listed(features),
        ignore=_listed(ignore),
        categorical=_listed(categorical),
        text=_listed(text),
        image=_listed(image),
        missing=missing,
        scale=scale,
        gaps=GAPS | set(_listed(na)),
        max_categories=max_categories,
        classes=classes,
        embedding=Embedding.of(embed, **(embed_options or {})),
        numbers=_listed(numbers),
        dates=dates,
    )
    ready = prepare(train, queries, roles, regression=regression)
    index = _index_of(source)
    if id is None and index is not None:
        ready = replace(ready, ids=index[train.row_numbers])
    return ready


def _listed(names: Collection[str]) -> list[str]:
    return [names] if isinstance(names, str) else [column_name(name) for name in names]


def usual_label(table: Table) -> str:
    """Return the column of labels where it goes without saying; raise where it does not."""
    usual = {"npz": "y", "npy": "y", "images": "label", "hf": "label"}.get(table.format)
    if usual is not None and usual in table.columns:
        return usual
    table.check_labels_are_here()
    raise ValueError(
        f"label must name the column of {table.name} that holds the labels; its columns are {few(table.columns)}."
    )


def as_table(source: Any, *, folder: str | Path | None = None, **reading: Any) -> Table:
    """Return a table from files, a data frame, an Arrow table, a Dataset or a mapping of columns.

    Parameters
    ----------
    source : object
        As in `read_table`.
    folder : path-like, optional
        Where images are that a data frame names.
    **reading
        How files are read, as in `read_many`.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        return read_many([str(source)], **reading)[0]
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        return read_many([str(one) for one in source], **reading)[0]
    place = None if folder is None else Path(folder)
    if isinstance(source, dict) and source and all(hasattr(one, "with_format") for one in source.values()):
        first = next(iter(source))
        raise ValueError(f"a table must be one split; got {', '.join(map(str, source))}. Pass one, data[{first!r}].")
    if hasattr(source, "features") and hasattr(source, "with_format"):
        return with_rows(Table(cells_of_dataset(source), "the data set", "hf", folder=place))
    return with_rows(Table(_cells_of_frame(source), "the table", "frame", folder=place))


def _cells_of_frame(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        source = source.collect()  # a lazy frame of Polars'
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    if isinstance(source, Mapping):
        import pandas as pd

        source = pd.DataFrame({name: list(column) for name, column in source.items()})
    if not hasattr(source, "columns") or not hasattr(source, "iloc"):
        raise TypeError(
            "a table must be a path, a data frame, an Arrow table or a mapping of columns; got "
            f"{type(source).__name__}."
        )
    names = [column_name(name) for name in source.columns]
    columns = [_column(source.iloc[:, place]) for place in range(len(names))]
    return pa.Table.from_arrays(columns, names=names)


def column_name(name: Any) -> str:
    """Return what a column of a data frame is called: a number by its digits, one of several levels by all of them.

    >>> column_name(("size", "mean")), column_name(("y", "")), column_name(3)
    ('size.mean', 'y', '3')
    """
    return ".".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)


def _column(series: Any) -> Any:
    """Return a column of a data frame; one of several types is one of text, and periods are when they begin."""
    if str(series.dtype).startswith("period"):
        series = series.dt.to_timestamp()
    elif str(series.dtype).startswith(("interval", "complex")):
        series = series.astype(str).where(series.notna(), None)
    try:
        return pa.chunked_array([pa.Array.from_pandas(series)])
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        spelled = [None if cell is None or cell != cell else str(cell) for cell in series]
        return pa.chunked_array([pa.array(spelled, pa.large_string())])


def _index_of(source: Any) -> AnyArray | None:
    """Return the names of a data frame's rows, where it has any beside their numbers."""
    index = getattr(source, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return np.asarray(index)


def _beside(table: Table, embeddings: Any, key: str | None) -> Table:
    if embeddings is None:
        return table
    if isinstance(embeddings, str | Path):
        embeddings = [embeddings]
    if isinstance(embeddings, Sequence) and all(isinstance(one, str | Path) for one in embeddings):
        return with_embeddings(table, [str(one) for one in embeddings], key)
    vectors = np.asarray(embeddings)
    if vectors.ndim != 2 or len(vectors) != len(table) or vectors.dtype.kind not in "fiu":
        raise ValueError(
            f"embeddings must be numbers of shape (n_rows, length), a row for each of {len(table)} rows; got shape "
            f"{vectors.shape} and dtype {vectors.dtype}."
        )
    kept = as_floats(vectors)
    if not np.isfinite(kept).all():
        raise ValueError("embeddings must be finite numbers (no NaN, no infinity).")
    return replace(table, beside={"embeddings": RowVectors(kept, IN_ORDER)})
