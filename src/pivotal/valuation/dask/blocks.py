"""Finished blocks as bytes: written plainly, and believed only after every number was looked at.

A checkpoint may lie on a disk or in a bucket that others write to. What comes from there goes into compiled code that
adds at the places it is told, so nothing is taken on trust: kinds, lengths, ranges, and agreement with the valuation.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from pivotal.core.types import AnyArray, FloatArray
from pivotal.neighbors import is_exact
from pivotal.valuation.dask.dask_tasks import NOT_MEASURED, Account, Parts
from pivotal.valuation.dask.recipe import TaskPlan

FORMAT: Final = 5
"""Number of the way in which blocks are written; another number is another checkpoint."""

_FLOAT, _INT, _BOOL = np.dtype("<f8"), np.dtype("<i8"), np.dtype("?")
_KINDS: Final[dict[str, np.dtype[Any]]] = {
    "identity": np.dtype("u1"),
    "points": _INT,
    "values": _FLOAT,
    "starts": _INT,
    "queries": _INT,
    "full_utility": _FLOAT,
    "empty_utility": _FLOAT,
    "dropped": _FLOAT,
    "weights": _FLOAT,
    "utility_range": _FLOAT,
    "depth": _INT,
    "error": _FLOAT,
    "short": _BOOL,
    "recall": _FLOAT,
}
_SCALARS: Final = ("utility_range", "depth", "error", "short", "recall")
_SLACK: Final = 1e-6  # of the utility's range: what rounding could never explain


@dataclass(frozen=True, eq=False)
class Expected:
    """What is known of a block before it is read."""

    identity: str
    """Hexadecimal digits that tell its valuation from any other."""

    plan: TaskPlan
    targets: AnyArray
    """Class codes, or responses, of its queries."""

    weights: FloatArray | None


def pack(parts: Parts, identity: str) -> bytes:
    """Return a block as the bytes of an npz file; equal blocks give equal bytes."""
    content = {field.name: getattr(parts, field.name) for field in fields(parts) if field.name != "account"}
    content |= {name: entry for name, entry in parts.account._asdict().items() if entry is not None}
    content["identity"] = np.frombuffer(bytes.fromhex(identity), np.uint8)
    arrays: dict[str, Any] = {name: np.asarray(entry, dtype=_KINDS[name]) for name, entry in content.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def unpack(content: bytes, expected: Expected) -> Parts:
    """Return the block that `pack` was given; a ValueError says what is wrong in a file of unknown origin."""
    try:
        arrays = _read_arrays(content)
    except ValueError:
        raise
    except Exception as error:  # zipfile and NumPy fail in a dozen ways on bytes that are neither
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if bytes(arrays.pop("identity")).hex() != expected.identity:
        raise ValueError("it belongs to another valuation, or to data that were changed since")
    counted: dict[str, Any] = {name: arrays.pop(name, None) for name in Account._fields}
    account = Account(**{**counted, **{name: counted[name].item() for name in _SCALARS}})
    _check_account(account, expected)
    parts = Parts(**arrays, account=account)
    _check_parts(parts, expected)
    return parts


def _read_arrays(content: bytes) -> dict[str, AnyArray]:
    """Return the arrays of an npz file, of the kinds and the number of dimensions that they must have."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        named = {member.filename.removesuffix(".npy"): member for member in members}
        if len(named) < len(members) or set(named) | {"weights"} != set(_KINDS):
            raise ValueError(f"it must hold {', '.join(_KINDS)}; got {', '.join(sorted(named))}"[:400])
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed, which blocks are not")  # and might unpack to any size
        arrays = {name: _read_array(archive.read(member), name) for name, member in named.items()}
    for name, array in arrays.items():
        if array.ndim != (0 if name in _SCALARS else 1):
            raise ValueError(f"{name} has {array.ndim} dimensions")
        if array.dtype == _FLOAT and not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")
    return arrays


def _read_array(content: bytes, name: str) -> AnyArray:
    """Return an array whose bytes are all there; NumPy would make room for whatever a header claims."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"{name} is written in another version of NumPy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype != _KINDS[name]:
        raise ValueError(f"{name} must be of type {_KINDS[name]}; got {str(dtype)[:60]}")
    numbers = np.frombuffer(content, dtype, offset=stream.tell())
    if name in _SCALARS and shape == () and len(numbers) == 1:
        return numbers.reshape(())
    if shape != (len(numbers),):
        raise ValueError(f"{name} has shape {str(shape)[:60]} and {len(numbers)} entries")
    return numbers


def _check_account(account: Account, expected: Expected) -> None:
    """Raise unless what a block counts besides the values is what its queries can count."""
    plan, targets, n_queries = expected.plan, expected.targets, len(expected.targets)
    for name in ("full_utility", "empty_utility", "dropped"):
        if len(getattr(account, name)) != n_queries:
            raise ValueError(f"{name} has {len(getattr(account, name))} entries for {n_queries} queries")
    if (account.weights is None) != (expected.weights is None) or (
        account.weights is not None and not np.array_equal(account.weights, np.asarray(expected.weights))
    ):
        raise ValueError("the weights of the queries differ")
    game, n_classes = plan.recipe.spec.game, plan.n_classes
    utility_range = game.utility_range(n_classes, plan.extremes, targets) if n_queries else 0.0
    if account.utility_range != utility_range:
        raise ValueError(f"the range of the utility is {utility_range:g}; got {account.utility_range:g}")
    if n_queries and not np.array_equal(account.empty_utility, game.empty_utility(targets, n_classes)):
        raise ValueError("the utility of the empty set differs")
    if n_queries and np.abs(account.full_utility - account.empty_utility).max() > utility_range * (1 + _SLACK):
        raise ValueError("the utility of the full set is beyond the range of the utility")
    if not 0 <= account.depth <= plan.n_players:
        raise ValueError(f"depth must lie between 0 and {plan.n_players}; got {account.depth}")
    if account.short or account.error < 0 or (account.dropped < 0).any():
        raise ValueError("bounds on errors must not be negative, and lists long enough")
    measured = 0.0 <= account.recall <= 1.0 and not is_exact(plan.recipe.spec.neighbors)
    if account.recall != NOT_MEASURED and not measured:
        raise ValueError(f"recall must lie between 0 and 1, for an approximate index alone; got {account.recall:g}")


def _check_parts(parts: Parts, expected: Expected) -> None:
    """Raise unless every entry is one of a point that its shard has, and no larger than a value can be."""
    shards, n_queries = expected.plan.starts, len(expected.targets)
    points, values, starts = parts.points, parts.values, parts.starts
    if len(points) != len(values):
        raise ValueError(f"there are {len(points)} points and {len(values)} values")
    if len(starts) != len(shards) or starts[0] != 0 or starts[-1] != len(points) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts do not cut {len(points)} entries into {len(shards) - 1} shards")
    shard = np.repeat(np.arange(len(shards) - 1), np.diff(starts))
    if (points < shards[shard]).any() or (points >= shards[shard + 1]).any():
        raise ValueError("there are points that their shard does not have")
    if len(points) and np.unique(points, return_counts=True)[1].max() > n_queries:
        raise ValueError("a point has more values than there are queries")
    weights = parts.account.weights
    if len(parts.queries) != (0 if weights is None else len(points)):
        raise ValueError(f"there are {len(points)} points and {len(parts.queries)} queries of theirs")
    if len(parts.queries) and not 0 <= parts.queries.min() <= parts.queries.max() < n_queries:
        raise ValueError(f"there are queries beyond the {n_queries} of the block")
    heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
    if np.abs(values).max(initial=0.0) > parts.account.utility_range * heaviest * (1 + _SLACK):
        raise ValueError("there are values beyond the range of the utility")
