"""Harm done on purpose: labels flipped, classes made rare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.labels import ClassCodes, as_labels
from pivotal.core.random import as_generator
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_probability, check_same_length


def flip_labels(
    y: Any,
    share: float | Mapping[Any, float] = 0.05,
    *,
    per_class: bool = False,
    to: Mapping[Any, Any] | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[AnyArray, npt.NDArray[np.bool_]]:
    """Give a share of the points a wrong label.

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels of any kind, two classes at least.
    share : float or mapping of class to float, default=0.05
        Share of all points to flip, rounded to whole points, one at least unless it is 0; or the share of each class,
        where a class that is not named keeps its labels. The paper flips 5 %.
    per_class : bool, default=False
        Whether to flip the same share of every class rather than a share of all points.
    to : mapping of class to class or to a list of classes, optional
        What a class may be mistaken for; a class that is not named is never flipped. When None, every other class is as
        likely as any.
    random_state : int, numpy.random.Generator or None, default=0
        What the flips depend on.

    Returns
    -------
    noisy : array of shape (n,)
        Labels with the flips; `y` itself stays as it is.
    flipped : bool array of shape (n,)
        Where they differ.

    Examples
    --------
    >>> from pivotal.research.datasets import flip_labels
    >>> noisy, flipped = flip_labels(["cat"] * 6 + ["dog"] * 4, 0.2)
    >>> flipped.nonzero()[0], [str(label) for label in noisy[flipped]]
    (array([6, 7]), ['cat', 'cat'])
    >>> noisy, flipped = flip_labels(["cat"] * 6 + ["dog"] * 4, {"cat": 0.5})  # dogs are dogs
    >>> int(flipped.sum()), [str(label) for label in set(noisy[flipped])]
    (3, ['dog'])
    """
    labels, classes, codes = _coded(y)
    if len(classes) < 2:
        raise ValueError("y must hold at least two classes, or there is nothing to flip to; got one.")
    rng = as_generator(random_state)
    targets = _targets(classes, to)
    rows = _rows_to_flip(codes, classes, share, targets, rng, per_class=per_class)
    new = codes.copy()
    if to is None:
        new[rows] = (codes[rows] + rng.integers(1, len(classes), size=len(rows))) % len(classes)
    else:
        for row, chance in zip(rows, rng.random(len(rows)), strict=True):
            options = targets[codes[row]]
            new[row] = options[int(chance * len(options))]
    return classes[new].astype(labels.dtype), new != codes


def imbalance(
    X: Any, y: Any, ratio: float, *, minority: Any = None, random_state: int | np.random.Generator | None = 0
) -> tuple[Any, AnyArray, IndexArray]:
    """Drop points at random until one class is `ratio` times as frequent as the largest other.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, n_features)
        Features.
    y : array-like of shape (n,)
        Labels.
    ratio : float
        Size of the minority class over that of the largest other class, more than 0 and at most 1: 0.1 is one to ten.
        Points of the minority class are dropped; where it is too small already, points of the others are.
    minority : label, optional
        Which class becomes rare; the smallest when None.
    random_state : int, numpy.random.Generator or None, default=0
        What the choice of points depends on.

    Returns
    -------
    X, y : as given, of the points that stay
    rows : int64 array
        Their indices, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from pivotal.research.datasets import imbalance
    >>> X, y, rows = imbalance(np.eye(30), np.repeat([0, 1], 15), ratio=1 / 5)
    >>> np.bincount(y)
    array([ 3, 15])
    """
    labels, classes, codes = _coded(y)
    points = X if hasattr(X, "shape") else np.asarray(X)
    check_same_length(points, labels, "X", "y")
    share = check_probability(ratio, "ratio")
    if share == 0.0:
        raise ValueError(f"ratio must be more than 0 and at most 1; got ratio={ratio!r}.")
    if len(classes) < 2:
        raise ValueError("y must hold at least two classes to be out of balance; got one.")
    sizes = np.bincount(codes)
    rare = int(sizes.argmin()) if minority is None else _code_of(minority, classes, "minority")
    most = int(np.delete(sizes, rare).max())
    keep = np.full(len(classes), most)
    if sizes[rare] >= share * most:
        keep[rare] = max(1, round(share * most))
    else:
        keep = np.full(len(classes), max(1, round(sizes[rare] / share)))
        keep[rare] = sizes[rare]
    rng = as_generator(random_state)
    kept = [rng.permutation(np.flatnonzero(codes == code))[: keep[code]] for code in range(len(classes))]
    rows = np.sort(np.concatenate(kept)).astype(np.int64)
    return points.iloc[rows] if hasattr(points, "iloc") else points[rows], labels[rows], rows


def _coded(y: Any) -> tuple[AnyArray, AnyArray, IndexArray]:
    """Return labels, their classes in order, and the code of each label."""
    labels = as_labels(y, "y")
    known = ClassCodes.of(labels).in_order()
    return labels, np.asarray(known.classes), known.encode(labels, "y").astype(np.int64)


def _targets(classes: AnyArray, to: Mapping[Any, Any] | None) -> list[list[int]]:
    """Return for each class code the codes that it may become."""
    n_classes = len(classes)
    if to is None:
        return [[other for other in range(n_classes) if other != code] for code in range(n_classes)]
    targets: list[list[int]] = [[] for _ in range(n_classes)]
    for label, options in to.items():
        code = _code_of(label, classes, "to")
        for option in options if isinstance(options, (list, tuple, set)) else [options]:
            target = _code_of(option, classes, "to")
            if target == code:
                raise ValueError(f"to must send each class to another; got {label!r} for {label!r}.")
            targets[code].append(target)
    return targets


def _rows_to_flip(
    codes: IndexArray,
    classes: AnyArray,
    share: Any,
    targets: list[list[int]],
    rng: np.random.Generator,
    *,
    per_class: bool,
) -> IndexArray:
    """Draw the rows to flip, ascending."""
    may_flip = np.array([bool(options) for options in targets])
    if not isinstance(share, Mapping) and not per_class:
        part = check_probability(share, "share")
        size = max(1, round(part * len(codes))) if part > 0.0 else 0
        if may_flip.all():
            return np.sort(rng.choice(len(codes), size=size, replace=False))
        candidates = np.flatnonzero(may_flip[codes])
        if size > len(candidates):
            raise ValueError(
                f"share must not exceed the share of points that `to` lets flip, {len(candidates)} of {len(codes)}; "
                f"got share={share!r}."
            )
        return np.sort(rng.choice(candidates, size=size, replace=False))
    if isinstance(share, Mapping):
        parts = {_code_of(label, classes, "share"): check_probability(part, "share") for label, part in share.items()}
    else:
        parts = dict.fromkeys(range(len(classes)), check_probability(share, "share"))
    drawn = [np.empty(0, dtype=np.int64)]
    for code, part in sorted(parts.items()):
        members = np.flatnonzero(codes == code)
        if may_flip[code]:
            drawn.append(rng.choice(members, size=round(part * len(members)), replace=False))
    return np.sort(np.concatenate(drawn))


def _code_of(label: Any, classes: AnyArray, name: str) -> int:
    found = pd.Index(classes).get_indexer(pd.Index([label]))[0]
    if found < 0:
        shown = ", ".join(map(repr, classes[:5].tolist())) + (", ..." if len(classes) > 5 else "")
        raise ValueError(f"{name} must name classes that occur in y ({shown}); got {label!r}.")
    return int(found)
