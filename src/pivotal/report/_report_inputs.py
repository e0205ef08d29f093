"""What the user brings besides the values, checked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.core.indicators import as_indicators, is_indicators
from pivotal.core.labels import as_labels, as_responses
from pivotal.core.metric_settings import read_metric
from pivotal.core.notices import notify
from pivotal.core.types import AnyArray, FloatArray
from pivotal.core.validation import check_features, check_k, check_same_length
from pivotal.report._own_columns import read_columns
from pivotal.report._suspects import names_of_labels
from pivotal.report.point_map import check_coordinates
from pivotal.report.thumbnails import Images
from pivotal.results.values import Values

_DEFAULT_K: Final = 5


@dataclass(frozen=True, eq=False)
class Inputs:
    """Everything a report may be made from, a row or an entry per training point; None is what was not given."""

    values: Values
    X: Any  # array or CSR matrix
    labels: AnyArray | None  # classes; None when the responses are numbers
    responses: FloatArray | None  # numbers; None when the labels are classes
    X_test: Any
    y_test: AnyArray | None
    owners: AnyArray | None
    text: AnyArray | None
    images: Images | None
    coordinates: FloatArray | None  # shape (n_train, 2)
    k: int  # neighbours of the models that are scored
    metric: str | None  # says who is near; "precomputed" when X holds distances, None where it cannot be had
    metric_params: Mapping[str, Any] | None
    why_no_metric: str
    columns: Mapping[str, AnyArray] | None  # the table that the points come from
    many: pd.DataFrame | None  # 0 and 1, where points have many labels, a column per label; the labels are their names

    @property
    def y(self) -> AnyArray | None:
        """Labels or responses, whichever there are."""
        return self.labels if self.responses is None else self.responses


def read_inputs(
    values: Values,
    *,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    owners: Any,
    text: Any,
    images: Any,
    image_root: Any,
    coordinates: Any,
    columns: Any,
    k: int | None,
) -> Inputs:
    """Check what `write_report` was given."""
    n_train = len(values)
    settings = values.settings
    many = _read_many(y)
    if many is not None:
        y = np.array([names_of_labels(row, many.columns.to_numpy()) for row in many.to_numpy()], dtype=object)
    labels, responses = _read_labels(y, str(settings.get("utility", "")))
    for given in (labels, responses):
        if given is not None:
            _check_length(given, n_train, "y")
    X = _read_features(X, "X")
    if X is not None and X.shape[0] != n_train:
        raise ValueError(f"X must have a row per training point, {n_train}; got {X.shape[0]}.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; got only one of them. Pass both, or neither.")
    X_test = _read_features(X_test, "X_test", like=X)
    test: AnyArray | None = None
    if y_test is not None and many is None:
        test = as_labels(y_test, "y_test") if responses is None else as_responses(y_test, "y_test")
        check_same_length(X_test, test, "X_test", "y_test")
    known = settings.get("k")
    metric, parameters, why = _read_metric(settings, X)
    return Inputs(
        values=values,
        X=X,
        labels=labels,
        responses=responses,
        X_test=X_test,
        y_test=test,
        owners=_read_names(owners, "owners", n_train),
        text=_read_names(text, "text", n_train, gaps=True),
        images=None if images is None else Images(images, n_train, image_root),
        coordinates=None if coordinates is None else check_coordinates(coordinates, n_train),
        k=check_k(k) if k is not None else known if isinstance(known, int) else _DEFAULT_K,
        metric=metric,
        metric_params=parameters,
        why_no_metric=why,
        columns=read_columns(columns, n_train),
        many=many,
    )


def _read_many(y: Any) -> pd.DataFrame | None:
    """Return a table of many labels, or None if there is one label per point."""
    if y is None or not is_indicators(y):
        return None
    return pd.DataFrame(as_indicators(y, "y"), columns=getattr(y, "columns", None))


def _read_labels(y: Any, utility: str) -> tuple[AnyArray | None, FloatArray | None]:
    """Return classes or numbers: numbers when the game says so, or when there are fractions among them."""
    if y is None:
        return None, None
    array = np.asarray(y)
    fractions = array.dtype.kind == "f" and bool((array != np.floor(array)).any())
    if utility.startswith("regression") or (fractions and np.isfinite(array).all()):
        return None, as_responses(y, "y")
    return as_labels(y, "y"), None


def _read_features(X: Any, name: str, like: Any = None) -> Any:
    if X is None:
        return None
    from pivotal.neighbors import is_source, open_source

    return check_features(open_source(X, name)[:] if is_source(X) else X, name, like=like)


def _read_names(names: Any, what: str, n_train: int, *, gaps: bool = False) -> AnyArray | None:
    if names is None:
        return None
    items = list(names)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    _check_length(array, n_train, what)
    missing = pd.isna(array)
    if gaps:
        array[missing] = ""
    elif missing.any():
        raise ValueError(
            f"{what} must name one for every training point; got {int(missing.sum())} missing. "
            "Give these points a name of their own, for example 'unknown'."
        )
    return array


def _check_length(array: AnyArray, n_train: int, name: str) -> None:
    if len(array) != n_train:
        raise ValueError(f"{name} must have one entry per training point, {n_train}; got {len(array)}.")


def _read_metric(settings: Mapping[str, Any], X: Any) -> tuple[str | None, Mapping[str, Any] | None, str]:
    """Return the metric of the values and its parameters; or None for both, and why, which is also warned of."""
    if X is None:
        return None, None, "pass X, the features"
    from pivotal.neighbors import BruteIndex

    try:
        metric, parameters = read_metric(settings)
        BruteIndex(X, metric, metric_params=parameters, n_jobs=1)
    except (TypeError, ValueError) as error:
        why = str(error).rstrip(".")
        notify(
            f"a report needs the metric of the values to show neighbours, suspects and curves; {why}. They are omitted "
            "from the page. Pass suspects= from pivotal.find_label_errors, with that metric, to show them."
        )
        return None, None, why
    return metric, parameters, ""
