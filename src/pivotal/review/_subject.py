"""What is reviewed: rows with their labels, what is shown of them, and what is known about them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pivotal.analysis.label_errors import EditableVoters, LabelErrors
from pivotal.core.labels import ClassCodes
from pivotal.core.types import AnyArray, CodeArray, IndexArray
from pivotal.report.encode import as_text
from pivotal.report.row_cells import RowCells
from pivotal.report.thumbnails import Images

FindErrors = Callable[[IndexArray, AnyArray], tuple[LabelErrors, EditableVoters]]
"""Finds label errors among some rows with the labels they have by now, and returns the voters too."""


class Classes:
    """The label set: what was given, and labels that reviewers add."""

    def __init__(self, labels: AnyArray) -> None:
        known = ClassCodes.of(labels)
        self.given: CodeArray = known.encode(labels, "labels").astype(np.int32)  # by class; shape (n_rows,)
        self._labels: list[Any] = list(known.classes)
        self.names = [as_text(label) for label in self._labels]  # on pages, in journals and decisions; by code
        self._codes = {name: code for code, name in enumerate(self.names)}
        if len(self._codes) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(
                f"labels must read differently to be distinguished by people; got two that read {twice!r}, such as a "
                "number and a text. Convert them to one type."
            )
        self._kinds = {type(label) for label in self._labels}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, labels: AnyArray) -> CodeArray:
        """Return the codes of labels, given or added."""
        return ClassCodes(pd.Index(self._labels)).encode(labels, "labels").astype(np.int32)

    def labels(self, codes: CodeArray) -> AnyArray:
        """Return the labels themselves by their codes."""
        labels: AnyArray = pd.Index(self._labels).to_numpy()[codes]
        return labels

    def code(self, name: str) -> int:
        """Return the code of a label by its name, -1 for an unknown label."""
        return self._codes.get(name, -1)

    def add(self, name: str) -> int:
        """Return the code of a label, which joins the label set if it is new."""
        if name not in self._codes:
            self._codes[name] = len(self.names)
            self.names.append(name)
            self._labels.append(self._typed(name))
        return self._codes[name]

    def check_new(self, name: str) -> None:
        """Raise unless a name can be a label of the kind that the others are."""
        if not name.strip():
            raise ValueError("a label must have a name; got an empty one.")
        if name not in self._codes:
            self._typed(name)

    def label(self, name: str) -> Any:
        """Return the label itself by its name."""
        return self._labels[self.add(name)]

    def _typed(self, name: str) -> Any:
        kinds = self._kinds
        if any(issubclass(kind, str) for kind in kinds):
            return name
        for kind in (int, float):
            if all(issubclass(one, kind | np.integer | np.floating) for one in kinds):
                try:
                    return np.array([kind(name)]).astype(np.array(self._labels[:1]).dtype)[0].item()
                except (ValueError, OverflowError):
                    break
        raise ValueError(f"labels of this table are of the type {sorted(k.__name__ for k in kinds)[0]}; got {name!r}.")


@dataclass(frozen=True, eq=False)
class CheckQueue:
    """Another queue: rows that a check-up found, in the order in which to look at them."""

    name: str  # on the page, in journals and decisions
    title: str
    sentence: str  # what was found
    rows: AnyArray
    reasons: dict[int, str] = field(default_factory=dict)  # what there is to say about each of them, by row


@dataclass(frozen=True, eq=False)
class Subject:
    """Rows to review: what is known of them, and what is shown, an entry for each."""

    name: str  # on the page
    X: Any  # features, an array or sparse matrix of shape (n_rows, n_features)
    errors: LabelErrors  # what was found in them
    voters: EditableVoters  # by which it was found
    fingerprint: str  # digest of the content, by which a journal knows it
    label: str = "label"  # name of the column of labels
    cells: RowCells | None = None
    text: Sequence[str] | None = None
    images: Images | None = None
    owners: AnyArray | None = None
    truth: AnyArray | None = None  # labels known to be right, where wrong ones were planted: the caught are counted
    findings: tuple[CheckQueue, ...] = ()  # further queues
    search: dict[str, Any] = field(default_factory=dict)  # how neighbours are found, as in `find_lists`
    recall: float | None = None  # share of the true nearest rows that were found, where it is not 1 and known
    look: FindErrors | None = None  # finds the label errors anew, and fits voters

    def __len__(self) -> int:
        return len(self.errors.scores)


def fingerprint_of_files(paths: Iterable[str | Path], label: str, labels: AnyArray) -> str:
    """Return the digest of files, or of all files in folders, of the name of their column of labels, and of these."""
    digest = hashlib.sha256(label.encode() + b"\0")
    for path in map(Path, paths):
        inside = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for place in inside:
            if place != path:
                digest.update(place.relative_to(path).as_posix().encode() + b"\0")
            with place.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    # The same file read in another way, as without some of its rows, has other row numbers.
    digest.update("\0".join(as_text(one) for one in labels).encode())
    return digest.hexdigest()


def fingerprint_of_arrays(X: Any, labels: AnyArray) -> str:
    """Return the digest of features and labels."""
    digest = hashlib.sha256()
    parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X,)
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(array.data if array.dtype.kind != "O" else repr(array.tolist()).encode())
    digest.update("\0".join(as_text(label) for label in labels).encode())
    return digest.hexdigest()
