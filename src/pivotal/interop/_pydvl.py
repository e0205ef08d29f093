"""pyDVL's `ValuationResult`: values to it and from it.

pyDVL 0.10 wants NumPy 1 and this package NumPy 2, so the two often live in environments of their own. What travels
between them is a handful of plain arrays: the keyword arguments of `ValuationResult`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from pivotal.core.frozen import thaw
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.results.values import Values

_KEPT: Final = (
    *("n_queries", "full_utility", "empty_utility", "proved_bound", "rounding_allowance"),
    *("neighbors_exact", "vote_resolution", "recall"),
)


def pydvl_arguments(values: Values) -> dict[str, Any]:
    """Return the arguments of pyDVL's `ValuationResult`, as arrays and text that `numpy.savez` can write.

    Parameters
    ----------
    values : Values

    Returns
    -------
    arguments : dict
        values, variances, counts, indices, data_names, algorithm, status; and in pivotal, as JSON, what pyDVL has no
        place for. Every value counts as the mean over the queries, so that sums of results weigh them by queries, and
        pyDVL's `stderr` is `standard_error`.

    Examples
    --------
    >>> import pivotal
    >>> from pivotal.interop import pydvl_arguments
    >>> values = pivotal.value([[0.0], [1.0], [2.0]], [1, 1, 0], [[0.2], [1.9]], [1, 0], k=1)
    >>> arguments = pydvl_arguments(values)
    >>> arguments["values"], arguments["counts"], arguments["algorithm"]
    (array([0.25, 0.25, 0.5 ]), array([2, 2, 2]), 'exact')
    """
    if not isinstance(values, Values):
        raise TypeError(f"pyDVL's result is made of pivotal.Values; got {type(values).__name__}.")
    names = values.ids.astype(str) if values.ids.dtype.kind in "OT" else values.ids.copy()
    if np.unique(names).size != names.size:
        raise ValueError("pyDVL needs a name of its own for every point; got ids that repeat. Value with other ids.")
    error = np.zeros(len(values)) if values.standard_error is None else values.standard_error
    kept = {name: getattr(values, name) for name in _KEPT} | {"sampled": values.standard_error is not None}
    kept |= {name: thaw(getattr(values, name)) for name in ("settings", "details")}
    return {
        "values": values.values.copy(),
        "variances": error**2 * values.n_queries,
        "counts": np.full(len(values), values.n_queries),
        "indices": np.arange(len(values)),
        "data_names": names,
        "algorithm": str(values.settings.get("method", "pivotal")),
        "status": "converged",
        "pivotal": json.dumps({**kept, "digest": _digest(values.values)}),
    }


def to_pydvl(values: Values) -> Any:
    """Return values as pyDVL's `ValuationResult`.

    Needs pyDVL beside this package. Where it cannot be, `pydvl_arguments` are what to take there.

    Parameters
    ----------
    values : Values

    Returns
    -------
    pydvl.valuation.result.ValuationResult
        In training order, with ids as names; `from_pydvl` makes the same values of it.
    """
    arguments = pydvl_arguments(values)
    try:
        from pydvl.valuation.result import ValuationResult
    except ImportError:
        raise ImportError(
            "to_pydvl needs pyDVL; install it with: pip install pydvl, or where it does not fit beside this package "
            "hand pydvl_arguments(values) to an environment of its own."
        ) from None
    return ValuationResult(**arguments)


def from_pydvl(result: Any, *, n_queries: int = 1) -> Values:
    """Return pyDVL's result as values.

    Parameters
    ----------
    result : pydvl.valuation.result.ValuationResult or mapping
        A result, sorted or not; or its values and, as far as there are any, variances, counts, indices, data_names,
        algorithm and status by name, such as a file of `numpy.savez` that was opened with `numpy.load`.
    n_queries : int, default=1
        Number of queries the values are the mean of, which pyDVL does not say.

    Returns
    -------
    Values
        In order of pyDVL's indices, with its names as ids. Standard errors are those of pyDVL, or None where all its
        variances are 0; no error bound is known. An unchanged result of `to_pydvl` comes back whole.

    Examples
    --------
    >>> from pivotal.interop import from_pydvl
    >>> from_pydvl({"values": [0.5, 0.25], "indices": [1, 0], "variances": [0.04, 0.04], "counts": [4, 4]}).to_frame()
        value  rank  standard_error
    id
    0    0.25     2             0.1
    1    0.50     1             0.1
    """
    read = _reader(result)
    values = np.asarray(read("values"), dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values of a result of pyDVL must be one number per point; got shape {values.shape}.")
    indices = _column(read("indices"), "indices", np.arange(values.size))
    names = _column(read("names"), "data_names", indices)
    variances = _column(read("variances"), "variances", np.zeros(values.size)).astype(np.float64)
    counts = _column(read("counts"), "counts", np.ones(values.size, np.int64))
    order: IndexArray = np.argsort(indices, kind="stable")
    about = _remembered(read("pivotal"), values[order])
    error = np.sqrt(variances / np.maximum(1, counts))[order]
    if about is not None:
        ids = None if np.array_equal(names[order], np.arange(values.size)) else names[order]
        sampled, settings = about.pop("sampled"), about.pop("settings")
        return Values(values[order], standard_error=error if sampled else None, ids=ids, settings=settings, **about)
    status = read("status")
    settings = {
        "method": str(_item(read("algorithm")) or "pydvl"),
        "package": "pydvl",
        "status": str(_item(getattr(status, "value", status)) or "unknown"),
    }
    return Values(
        values[order],
        n_queries=n_queries,
        standard_error=error if variances.any() else None,
        ids=(indices if np.array_equal(names, indices.astype(str)) else names)[order],  # named after their index
        settings=settings,
    )


def _reader(result: Any) -> Any:
    """Return how to look something up by pyDVL's name for it; what is not there is `None`."""
    if isinstance(result, Mapping):  # an open file of numpy.savez is one too
        if "values" not in result:
            raise ValueError(f"a result of pyDVL must have values; got {sorted(map(str, result))}.")
        return lambda name: result.get("data_names" if name == "names" and "names" not in result else name)
    if not all(hasattr(result, name) for name in ("values", "variances", "counts", "indices", "names")):
        raise TypeError(
            f"result must be a ValuationResult of pyDVL, or a mapping with its values; got {type(result).__name__}."
        )
    return lambda name: getattr(result, name, None)


def _column(content: Any, name: str, default: AnyArray) -> AnyArray:
    if content is None:
        return default
    column = np.asarray(content)
    if column.shape != default.shape:
        raise ValueError(
            f"{name} of a result of pyDVL must have one entry per value, shape {default.shape}; got {column.shape}."
        )
    return column


def _item(content: Any) -> Any:
    """Text that went through a file comes back as an array without dimensions."""
    return content.item() if isinstance(content, np.ndarray) else content


def _remembered(text: Any, values: FloatArray) -> dict[str, Any] | None:
    """What pyDVL has no place for, unless the values are not those it belongs to."""
    text = _item(text)
    if not text:
        return None
    about: dict[str, Any] = json.loads(text)
    return about if about.pop("digest") == _digest(values) else None


def _digest(values: FloatArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()
