"""Data sets by name: from a folder, from scikit-learn itself, or from OpenML."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pivotal.core.validation import check_count
from pivotal.research.datasets._dataset import Dataset
from pivotal.research.datasets._files import VARIABLE, find_folder, read_file
from pivotal.research.datasets._registry import BUNDLED, PAPER, DatasetEntry, Variant

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: Final = ("name", "variant", "rows", "features", "classes", "kind", "openml", "file", "here", "note")


def names(*, bundled: bool = False) -> tuple[str, ...]:
    """Return the names of the paper's twelve data sets in the order of its table.

    Parameters
    ----------
    bundled : bool, default=False
        Whether to add those that come with scikit-learn and need neither a folder nor a network.

    Examples
    --------
    >>> from pivotal.research.datasets import names
    >>> names()[:4]
    ('phoneme', 'wind', 'cpu', 'vehicle')
    >>> names(bundled=True)[12:]
    ('iris', 'wine', 'breast_cancer', 'digits')
    """
    return (*PAPER, *BUNDLED) if bundled else tuple(PAPER)


def load(
    name: str,
    *,
    variant: str | None = None,
    data_home: str | os.PathLike[str] | None = None,
    version: int | None = None,
    download: bool = True,
) -> Dataset:
    """Load a data set by name.

    A file in the folder comes first; what is not there comes from OpenML, by scikit-learn's client, which keeps what it
    downloads in its own cache.

    Parameters
    ----------
    name : str
        One of `names(bundled=True)`.
    variant : str, optional
        Which form of the data: see `describe()`. When None, the preferred one of those in the folder, else the whole
        from OpenML; the note of the result says what it is.
    data_home : path-like, optional
        Folder with files such as `phoneme.npz` (arrays X and y); the environment variable PIVOTAL_DATA when None.
    version : int, optional
        A version at OpenML other than the paper's, under the same name. Its shape is not checked, and no folder is
        looked at.
    download : bool, default=True
        Whether OpenML may be asked.

    Returns
    -------
    dataset : Dataset

    Raises
    ------
    ValueError
        If there is no such name or variant, or a file does not hold what it should.
    FileNotFoundError
        If the data is neither here nor may or can be fetched.

    Examples
    --------
    >>> from pivotal.research.datasets import load
    >>> load("wine")
    Dataset(wine: 178 rows, 13 features, 3 classes; scikit-learn)
    """
    if name in BUNDLED:
        return _load_bundled(BUNDLED[name], variant, version)
    entry = PAPER.get(name)
    if entry is None:
        close = difflib.get_close_matches(str(name), names(bundled=True), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"name must be one of {', '.join(names(bundled=True))}; got {name!r}.{hint}")
    wanted = _choose(entry, variant)
    if version is not None:
        if variant is not None:
            raise ValueError(f"variant and version must not both be given; got {variant!r} and {version!r}.")
        check_count(version, "version")
    folder = find_folder(data_home) if version is None else None
    files = {} if folder is None else {folder / f"{one.file}.npz": one for one in wanted}
    for path, one in files.items():
        if path.is_file():
            X, y = read_file(path, one)
            return Dataset(X, y, name, f"file {path.name}", one.note, one.name, entry.labels, image=one.image)
    return _fetch(entry, wanted, version, folder, download=download)


def describe(data_home: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a table of all data sets and their variants.

    Parameters
    ----------
    data_home : path-like, optional
        Folder to look into; the environment variable PIVOTAL_DATA when None.

    Returns
    -------
    table : pandas.DataFrame
        A row per variant, the preferred one first: name, variant, rows, features, classes, kind ("full", "subset",
        "derived" or "bundled"), OpenML id, file, whether it is here, and a note. The count of rows is missing where
        only OpenML knows it.

    Examples
    --------
    >>> from pivotal.research.datasets import describe
    >>> table = describe().set_index("name")
    >>> table.loc["click", ["variant", "rows", "kind"]]
                variant   rows    kind
    name
    click          full   <NA>    full
    click           40k  39948  subset
    click  balanced_10k  10000  subset
    """
    import pandas as pd

    folder = find_folder(data_home)
    rows: list[tuple[object, ...]] = []
    for entry in PAPER.values():
        for one in entry.variants:
            file = f"{one.file}.npz"
            here = folder is not None and (folder / file).is_file()
            openml = entry.openml if one.name == "full" else None
            shape = (one.rows, one.features, one.classes)
            rows.append((entry.name, one.name, *shape, one.kind, openml, file, here, one.note))
    for one in BUNDLED.values():
        rows.append((one.name, "full", one.rows, one.features, one.classes, "bundled", None, "", True, one.note))
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return table.astype({"rows": "Int64", "openml": "Int64"})


def _choose(entry: DatasetEntry, variant: str | None) -> tuple[Variant, ...]:
    """Return the variants that would do, preferred first."""
    if variant is None:
        return entry.variants
    wanted = tuple(one for one in entry.variants if one.name == variant)
    if not wanted:
        known = ", ".join(one.name for one in entry.variants)
        raise ValueError(f"variant of {entry.name} must be one of {known}; got {variant!r}.")
    return wanted


def _fetch(
    entry: DatasetEntry, wanted: tuple[Variant, ...], version: int | None, folder: Path | None, *, download: bool
) -> Dataset:
    """Ask OpenML, or say what can be done instead."""
    ways = []
    why = ""
    if version is None:
        files = " or ".join(f"{one.file}.npz" for one in wanted)
        ways.append(f"put {files} into " + (str(folder) if folder else f"a folder named by data_home= or {VARIABLE}"))
    if any(one.name == "full" for one in wanted):
        ways.append("go online to download it from OpenML" if download else "pass download=True while online")
        if download:
            from pivotal.research.datasets._openml import fetch

            try:
                return fetch(entry, version)
            except ConnectionError as error:
                why = f" ({error})"
    raise FileNotFoundError(f"{entry.name} was not found{why}: {', or '.join(ways)}.")


def _load_bundled(one: Variant, variant: str | None, version: int | None) -> Dataset:
    from sklearn import datasets

    if variant not in (None, "full") or version is not None:
        raise ValueError(f"{one.name} comes with scikit-learn in one form only; omit variant and version.")
    bunch = getattr(datasets, f"load_{one.name}")()
    return Dataset(
        bunch.data,
        bunch.target.astype(np.int64),
        one.name,
        "scikit-learn",
        one.note,
        labels=", ".join(f"{code} = {label}" for code, label in enumerate(bunch.target_names)),
        feature_names=tuple(map(str, bunch.feature_names)),
        image=one.image,
    )
