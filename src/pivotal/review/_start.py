"""Ways in: a table on the command line, label errors in Python or a notebook."""

from __future__ import annotations

import getpass
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from pivotal.analysis.checkup import CheckUp
from pivotal.analysis.label_errors import EditableVoters, LabelErrors, find_with_voters
from pivotal.core.config import Resources
from pivotal.core.types import AnyArray, IndexArray
from pivotal.core.validation import check_features, check_same_length
from pivotal.neighbors import Index, KeptLists
from pivotal.report.encode import as_text
from pivotal.report.row_cells import RowCells
from pivotal.report.thumbnails import Images
from pivotal.review._checks import check_rows, findings_of
from pivotal.review._export import Outputs, decisions_frame
from pivotal.review._journal import check_journal
from pivotal.review._nearest_lists import ReportProgress, find_lists, index_of
from pivotal.review._serve import LOCAL, Server, need_server
from pivotal.review._service import ReviewService
from pivotal.review._session import Session
from pivotal.review._subject import CheckQueue, FindErrors, Subject, fingerprint_of_arrays, fingerprint_of_files
from pivotal.tables import Prepared, Table

_PIXEL: Final = re.compile(r"pixel[_ ]?\d+", re.IGNORECASE)
_MOST_PIXELS: Final = 2**28  # numbers turned into pictures


def user_name() -> str:
    """Return who is working here."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no such user, as in some containers
        return "reviewer"


def review(
    errors: LabelErrors,
    X: Any,
    *,
    frame: pd.DataFrame | None = None,
    text: Any = None,
    images: Any = None,
    image_root: str | os.PathLike[str] | None = None,
    owners: npt.ArrayLike | None = None,
    truth: npt.ArrayLike | None = None,
    check: CheckUp | None = None,
    journal: str | os.PathLike[str] | None = None,
    reviewer: str | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    neighbors: Any = "auto",
    n_jobs: int | None = None,
    port: int = 0,
    open_page: bool = True,
    opened: Callable[[str], object] | None = None,
) -> pd.DataFrame:
    """Decide about suspects on a page in the browser, and return the decisions when the page is closed.

    The page is served on this machine, to this machine only. Every decision is in the journal before the page shows
    the next suspect; calling this again resumes where it stopped. Interrupting it returns the decisions so far.

    Parameters
    ----------
    errors : LabelErrors
        From `pivotal.find_label_errors`.
    X : array-like or sparse matrix of shape (n_rows, n_features)
        The features that they were found with.
    frame : pandas DataFrame, optional
        Columns to show, a row for each.
    text : sequence of n_rows str, optional
        What each row says.
    images : array of shape (n_rows, height, width[, channels]) or n_rows paths, optional
        What each row looks like.
    image_root : path-like, optional
        Folder that paths of images are relative to, and outside of which none is read.
    owners : array-like of shape (n_rows,), optional
    truth : array-like of shape (n_rows,), optional
        Labels known to be right, where wrong ones were planted: the page counts those that are caught.
    check : CheckUp, optional
        What `pivotal.check` found in the same rows: duplicates, outliers and more become further queues.
    journal : path-like, optional
        File for the decisions; by default one in the current folder whose name comes from the data.
    reviewer : str, optional
        Who decides; the name of the user by default.
    metric, metric_params, neighbors, n_jobs
        As in `find_label_errors`.
    port : int, default=0
        0 takes one that is free.
    open_page : bool, default=True
        Whether to open the page in the browser.
    opened : callable, optional
        Receives the address of the page; by default it is printed.

    Returns
    -------
    decisions : pandas DataFrame
        A line per decision: row, id, action, from, to, reviewer, at, why, suggested, confidence, score, queue, holds.
    """
    need_server()
    features = check_features(X, "X")
    check_same_length(features, errors.scores, "X", "errors")
    n_rows = len(errors.scores)
    if "seed" not in errors.settings:
        raise ValueError("label errors must have been found by this version of pivotal; find them again.")
    search = {"metric": metric, "metric_params": metric_params, "neighbors": neighbors}
    search["n_jobs"] = Resources.of(n_jobs=n_jobs).n_jobs
    fingerprint = fingerprint_of_arrays(features, errors.given)
    shown: dict[str, Any] = {
        "cells": None if frame is None else _cells_of_frame(frame, n_rows),
        "text": None if text is None else _texts(text, n_rows),
        "images": None if images is None else Images(images, n_rows, image_root),
        "owners": _column(owners, n_rows, "owners"),
        "truth": _column(truth, n_rows, "truth"),
    }
    if check is not None:
        check_same_length(check.ids, errors.scores, "check", "errors")
        shown["findings"] = findings_of(check)
    path = Path(journal) if journal is not None else Path(f"pivotal-review-{fingerprint[:12]}.db")

    def prepare(report_progress: ReportProgress) -> tuple[Session, Outputs]:
        exact = "neighbors" in errors.settings["voters"]  # the same lists as theirs, or they would say other things
        known, recall = find_lists(features, int(errors.settings["k"]), search, report_progress, exact=exact)
        report_progress("Asking the voters", 0.0)
        voters = _voters_of(errors, features, known, search)
        look = _again(errors, features, search)
        subject = Subject(
            "label errors", features, errors, voters, fingerprint, search=search, look=look, recall=recall, **shown
        )
        session = Session(subject, path, neighbors=known)
        return session, Outputs(session)

    check_journal(path, {"fingerprint": fingerprint, "table": "label errors"})
    service = ReviewService(prepare, reviewer or user_name())
    with Server(service, LOCAL, port) as server:
        (_announce if opened is None else opened)(server.url)
        if open_page:
            server.open()
        try:
            server.wait(until_closed=True)
        except KeyboardInterrupt:
            service.ready.wait()
        if service.session is None:
            raise RuntimeError("the review was interrupted before it was ready; call it again.")
        return decisions_frame(service.session)


def _settings_of(errors: LabelErrors) -> dict[str, Any]:
    """Return how label errors were found, as arguments; without a model, which is known by its name only."""
    how = {name: errors.settings[name] for name in ("k", "n_trees", "odds", "seed")}
    return {**how, "task": "classification", "voters": [one for one in errors.settings["voters"] if one != "model"]}


def _voters_of(errors: LabelErrors, X: Any, known: KeptLists, search: Mapping[str, Any]) -> EditableVoters:
    """Return the voters that found label errors; what a model said stays as it was."""
    how = {**search, "neighbors": known}
    found, voters = find_with_voters(X, errors.given, ids=errors.ids, **_settings_of(errors), **how)
    if errors.settings.get("model") is not None:
        return voters.with_fixed("model", errors, errors.settings["weights"])
    if not np.allclose(found.support, errors.support, atol=1e-3):
        raise ValueError("X must be the features that these label errors were found with, and they say otherwise.")
    return voters


def _again(errors: LabelErrors, X: Any, search: Mapping[str, Any]) -> FindErrors | None:
    """Return what finds label errors again as they were found, None where a model that is not known had a say."""
    by_name = isinstance(search["neighbors"], str)  # an index of all rows is none of those that are left
    if errors.settings.get("model") is not None or not by_name:
        return None
    how, exact = {**_settings_of(errors), **search}, "neighbors" in errors.settings["voters"]

    def find(rows: IndexArray, labels: AnyArray) -> tuple[LabelErrors, EditableVoters]:
        index = index_of(X[rows], search, exact=exact)
        return find_with_voters(X[rows], labels, ids=errors.ids[rows], **{**how, "neighbors": index})

    return find


def _announce(url: str) -> None:
    """Say where the page is: as a link in a notebook, as text elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import HTML, display
    except ImportError:
        in_notebook = False
    else:
        in_notebook = type(get_ipython()).__name__ == "ZMQInteractiveShell"
    if in_notebook:
        link = f'<a href="{url}" target="_blank" rel="noopener">Open the review</a>'
        display(HTML(f"{link}. This cell ends when it is closed."))
    else:
        print(f"Review at {url} (it ends when the page is closed)")  # noqa: T201  # nothing else says it


@dataclass(frozen=True, eq=False)
class TableReview:
    """A table to be reviewed.

    Parameters
    ----------
    table : Table
        Rows as they were read.
    prepared : Prepared
        Their features and labels.
    label : str
        The column of labels.
    files : list of str
        Where the table came from, by whose content a journal knows it.
    find : callable
        Returns the label errors and the voters, given the positions of the rows to look at, their labels, and an index
        of them; called once the page is up, and again when the voters are fitted anew.
    k : int
        Number of neighbours that vote.
    truth : str, optional
        Column of labels that are known to be right; it is not shown.
    search : dict
        How neighbours are found.
    row_names : str, optional
        Column that names the rows.
    """

    table: Table
    prepared: Prepared
    label: str
    files: list[str]
    find: Callable[[IndexArray, AnyArray, Index], tuple[LabelErrors, EditableVoters]]
    k: int
    truth: str | None = None
    search: dict[str, Any] = field(default_factory=dict)
    row_names: str | None = None

    @property
    def name(self) -> str:
        """What the page and messages call it."""
        return Path(self.table.name).name if len(self.files) == 1 else self.table.name

    def service(self, journal: Path, reviewer: str) -> ReviewService:
        """Return the desk at which the table is reviewed, once it is started."""
        fingerprint = fingerprint_of_files(self.files, self.label, self.prepared.y)
        check_journal(journal, {"fingerprint": fingerprint, "table": self.name})

        def prepare(report_progress: ReportProgress) -> tuple[Session, Outputs]:
            ready = self.prepared
            known, recall = find_lists(ready.X, self.k, self.search, report_progress)
            report_progress("Asking the voters", 0.0)
            errors, voters = self.find(np.arange(len(ready.y)), ready.y, known)
            report_progress("Checking for duplicates and outliers", 0.0)
            how = {name: setting for name, setting in self.search.items() if name != "neighbors"}
            findings = check_rows(ready.X, ready.y, ready.X_test, neighbors=known, ids=ready.ids, **how)
            report_progress("Valuing every row", 0.0)
            session = Session(self._subject(errors, voters, fingerprint, findings, recall), journal, neighbors=known)
            test = None if ready.X_test is None else (ready.X_test, ready.y_test)
            return session, Outputs(session, self.table, ready.y, test)

        return ReviewService(prepare, reviewer)

    def _subject(
        self,
        errors: LabelErrors,
        voters: EditableVoters,
        fingerprint: str,
        findings: tuple[CheckQueue, ...],
        recall: float | None,
    ) -> Subject:
        table, ready = self.table, self.prepared
        pixels = [name for name in table.columns if _PIXEL.fullmatch(name)]
        images = _pictures(table, ready, pixels)
        hidden = {self.label, self.truth, *(pixels if images is not None else [])}
        shown = [name for name in table.columns if name not in hidden and table.matrix_shape(name) is None]
        truth = None
        if self.truth is not None:
            truth = np.array([as_text(cell) for cell in table.column(self.truth).to_pylist()], dtype=object)
        return Subject(
            name=self.name,
            X=ready.X,
            errors=errors,
            voters=voters,
            fingerprint=fingerprint,
            label=self.label,
            cells=RowCells(table.cells.select(shown), table.decimal, names=self.row_names) if shown else None,
            text=ready.text,
            images=images,
            owners=ready.owners,
            truth=truth,
            findings=findings,
            search=self.search,
            recall=recall,
            look=lambda rows, labels: self.find(rows, labels, index_of(ready.X[rows], self.search)),
        )


def _pictures(table: Table, ready: Prepared, pixels: list[str]) -> Images | None:
    """Return pictures: files that a column names, or columns pixel0, pixel1, ... that make a square."""
    try:
        if ready.images is not None:
            # A table is data: what it names outside of its own folder is not opened.
            return Images(ready.images, len(table), table.folder or Path.cwd())
        side = math.isqrt(len(pixels))
        if side < 2 or side**2 != len(pixels) or len(pixels) * len(table) > _MOST_PIXELS:
            return None
        columns = [pd.to_numeric(table.column(name).to_pandas(), errors="coerce").fillna(0.0) for name in pixels]
        return Images(np.stack(columns, axis=1).astype(np.float32).reshape(-1, side, side), len(table))
    except ImportError:  # without Pillow there is nothing to see, and all else works
        return None


def _cells_of_frame(frame: pd.DataFrame, n_rows: int) -> RowCells:
    check_same_length(frame, np.empty(n_rows), "frame", "errors")
    columns = {}
    for name in frame.columns:
        try:
            columns[str(name)] = pa.array(frame[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # a mixture of types
            columns[str(name)] = pa.array([as_text(cell) for cell in frame[name]])
    return RowCells(pa.table(columns))


def _texts(text: Any, n_rows: int) -> list[str]:
    texts = ["" if words is None else as_text(words) for words in text]
    check_same_length(np.empty(len(texts)), np.empty(n_rows), "text", "errors")
    return texts


def _column(content: npt.ArrayLike | None, n_rows: int, name: str) -> AnyArray | None:
    if content is None:
        return None
    column = np.asarray(content)
    check_same_length(column, np.empty(n_rows), name, "errors")
    return column
