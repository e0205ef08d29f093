"""One data set from one `.npz` file, checked against what the file must hold."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pivotal.core.types import AnyArray
from pivotal.core.validation import count_not_finite
from pivotal.research.datasets._registry import Variant

VARIABLE: Final = "PIVOTAL_DATA"
"""The environment variable that names the folder."""


def find_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder with the files: `data_home`, else what PIVOTAL_DATA names, else None."""
    said = data_home if data_home is not None else os.environ.get(VARIABLE) or None
    if said is None:
        return None
    folder = Path(said).expanduser()
    if not folder.is_dir():
        name = "data_home" if data_home is not None else VARIABLE
        raise FileNotFoundError(f"{name} must name a folder with data files; there is no folder {folder}.")
    return folder


def read_file(path: Path, variant: Variant) -> tuple[AnyArray, npt.NDArray[np.int64]]:
    """Return the features and labels of a file; raise if it cannot be read, or does not hold what it should."""
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            archive = isinstance(held, np.lib.npyio.NpzFile)
            arrays = {name: held[name] for name in held.files if name in ("X", "y")} if archive else {}
            names = ", ".join(held.files) if archive else "one array without a name"
    except PermissionError as error:
        raise PermissionError(f"cannot read {path}: {error.strerror}.") from error
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(
            f"{path} is not an .npz file of plain arrays, or damaged ({reason}); copy it again."
        ) from error
    if len(arrays) < 2:
        raise ValueError(f"{path} must hold the arrays X and y; got {names}.")
    return check_arrays(arrays["X"], arrays["y"], variant, str(path))


def check_arrays(X: AnyArray, y: AnyArray, variant: Variant, where: str) -> tuple[AnyArray, npt.NDArray[np.int64]]:
    """Return the arrays as finite floats and int64 classes 0, 1, ..., or say what is wrong with them."""
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise ValueError(f"{where} must hold a table X and a label y per row; got shapes {X.shape} and {y.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{where} must hold numbers in X; got dtype {X.dtype}.")
    if y.dtype.kind not in "iub":
        raise ValueError(f"{where} must hold integers in y, the classes; got dtype {y.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32)
    bad = count_not_finite(X)
    if bad:
        raise ValueError(f"{where} must be finite (no NaN, no infinity) in X; got {bad} such entries.")
    classes = np.unique(y)
    found = (len(X) if variant.rows is not None else None, X.shape[1], len(classes))
    if found != (variant.rows, variant.features, variant.classes):
        raise ValueError(
            f"{where} must hold {_shape(variant.rows, variant.features, variant.classes)}; "
            f"got {_shape(len(X), X.shape[1], len(classes))}: another file, or another version of the data."
        )
    if not np.array_equal(classes, np.arange(variant.classes)):
        raise ValueError(
            f"{where} must number its classes 0 to {variant.classes - 1} in y; got {classes.min()} to {classes.max()}."
        )
    return X, y.astype(np.int64, copy=False)


def _shape(rows: int | None, features: int, classes: int) -> str:
    return f"{'rows' if rows is None else f'{rows} rows'} of {features} features in {classes} classes"
