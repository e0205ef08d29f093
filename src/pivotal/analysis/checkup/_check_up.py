"""The result of a check-up: all findings, as frames, as one page, as a reason to fail."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd

from pivotal.analysis.checkup._finding import Finding, Queue
from pivotal.analysis.checkup._kinds import KINDS, check_name
from pivotal.analysis.label_errors import LabelErrors
from pivotal.core.atomic import check_file, write_text
from pivotal.core.providers import provided
from pivotal.core.types import AnyArray

_CONDITION: Final = re.compile(r"\s*(?P<name>[A-Za-z_-]+)\s*(?:>\s*(?P<most>[0-9.eE+-]+)\s*)?")


class CheckUp(Mapping[str, Finding]):
    """What a check-up found: a mapping from the names of the findings. Made by `pivotal.check`.

    Parameters
    ----------
    findings : iterable of Finding
    ids : array of shape (n_rows,)
        Names of the rows.
    settings : mapping
        How it was done.
    label_errors : LabelErrors, optional
        What `find_label_errors` returned, to review or to correct labels with.
    """

    def __init__(
        self,
        findings: Iterable[Finding],
        *,
        ids: AnyArray,
        settings: Mapping[str, Any],
        label_errors: LabelErrors | None = None,
    ) -> None:
        by_name = {finding.name: finding for finding in findings}
        self._findings = {name: by_name[name] for name in KINDS if name in by_name}
        self.ids, self.settings = ids, MappingProxyType(dict(settings))
        self.label_errors = label_errors

    def __getitem__(self, name: str) -> Finding:
        if name not in self._findings and isinstance(name, str):
            known = check_name(name, "a check-up")
            raise KeyError(f"{known} was not asked for; leave it in `only`.")
        return self._findings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    @property
    def present(self) -> list[Finding]:
        """The findings that there is something to do about."""
        return [finding for finding in self._findings.values() if finding.present]

    def summary(self) -> pd.DataFrame:
        """One line per finding: its name, how many were found, of how many, the threshold, a sentence, what to do."""
        keys = ("about", "present", "found", "of", "threshold", "sentence", "advice")
        lines = [{"finding": one.name, **{key: one.to_dict()[key] for key in keys}} for one in self._findings.values()]
        frame = pd.DataFrame(lines, columns=["finding", *keys]).set_index("finding")
        return frame.astype({"threshold": np.float64})

    def to_frame(self) -> pd.DataFrame:
        """One line per row of the data, in their order: of every finding a score, and whether the row was found.

        Returns
        -------
        frame : pandas DataFrame of n_rows rows
            Columns ``is_NAME`` and ``NAME_score`` for each finding about rows; the index is that of the rows' names.
        """
        columns: dict[str, Any] = {}
        for finding in self._of_rows():
            columns[f"is_{finding.name}"] = finding.flagged
            columns[f"{finding.name}_score"] = finding.scores
        return pd.DataFrame(columns, index=pd.Index(self.ids, name="id"))

    def found(self) -> pd.DataFrame:
        """One line for each finding of each row or column, worst first within a finding.

        Returns
        -------
        frame : pandas DataFrame
            Columns finding, about, row (or number of the column), id, score, details (what else there is to say).
        """
        parts = []
        for finding in self._findings.values():
            lines = finding.to_frame()
            more = lines.drop(columns=["id", "score"])
            records = more.to_dict("records") if more.shape[1] else [{}] * len(lines)
            columns = {
                "finding": finding.name,
                "about": finding.about,
                "row": lines.index.to_numpy(),
                "id": [str(name) for name in lines["id"]],
                "score": lines["score"].to_numpy(),
                "details": [_describe_record(record) for record in records],
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def queues(self) -> list[Queue]:
        """Return the rows of every finding about rows, for a page on which people decide."""
        return [finding.queue() for finding in self._of_rows() if len(finding)]

    def failures(self, conditions: Iterable[str]) -> list[str]:
        """Return a sentence for every condition that holds.

        Parameters
        ----------
        conditions : iterable of str
            Names of findings, or ``any``. ``label_errors>20`` allows 20 of them, ``label_errors>0.01`` one percent.

        Examples
        --------
        >>> import pivotal
        >>> check = pivotal.check([[0.0], [0.0], [1.0], [5.0]], ["a", "b", "a", "b"], only=["conflicts"])
        >>> check.failures(["conflicts>1"])
        ['conflicts, 2 where 1 are allowed: 2 rows in 1 group of copies have different labels; ...']
        """
        failed = []
        for name, allowance in self.check_conditions(conditions):
            for finding in self.present if name == "any" else [self[name]]:
                number = len(finding) or int(finding.present)
                allowed = allowance if allowance >= 1.0 or allowance == 0.0 else allowance * len(finding.scores)
                if finding.present and number > allowed:
                    failed.append(f"{finding.name}, {number} where {allowed:.4g} are allowed: {finding.sentence}")
        return failed

    @staticmethod
    def check_conditions(conditions: Iterable[str]) -> list[tuple[str, float]]:
        """Return conditions as names and numbers; raise ValueError where one means nothing."""
        found = []
        for condition in conditions:
            match = _CONDITION.fullmatch(condition)
            if match is None:
                raise ValueError(
                    f"a condition must be the name of a finding, any, or such as label_errors>0.01; got {condition!r}."
                )
            name = match["name"].replace("-", "_")
            name = name if name == "any" else check_name(name, "a condition")
            found.append((name, _number(match["most"], condition)))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of rows that were not found, ready for JSON."""
        findings = []
        for finding in self._findings.values():
            places, lines = finding.rows.tolist(), finding.to_frame().to_dict("records")
            rows = [{"row": row, **_plain(record)} for row, record in zip(places, lines, strict=True)]
            table = [] if finding.table is None else [_plain(one) for one in finding.table.to_dict("records")]
            findings.append({**finding.to_dict(), "rows": rows, "table": table})
        return {"n_rows": len(self.ids), "settings": dict(self.settings), "findings": findings}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all findings: .json holds everything, .csv and .parquet a line for each row that was found.

        Parameters
        ----------
        path : path-like
            File to write; an existing one is replaced only once the new one is complete.
        """
        suffix = Path(os.fspath(path)).suffix.lower()
        target = check_file(path, "findings.json")
        if suffix == ".json":
            write_text(target, json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n", path)
        elif suffix == ".csv":
            write_text(target, self.found().to_csv(index=False), path)
        elif suffix == ".parquet":
            self.found().to_parquet(path, index=False)
        else:
            raise ValueError(f"findings are written as .json, .csv or .parquet; got {os.fspath(path)!r}.")
        return Path(path)

    def report(self, path: str | os.PathLike[str], **what: Any) -> Path:
        """Write one HTML page of all findings; it opens anywhere, without a network.

        Parameters
        ----------
        path : path-like
            File to write.
        **what
            Something to read for each row (text), labels (y) and a title.
        """
        written: Path = provided("check-up page").write_check_page(self, path, **what)
        return written

    def _of_rows(self) -> list[Finding]:
        return [finding for finding in self._findings.values() if finding.about == "rows" and not finding.skipped]

    def __repr__(self) -> str:
        lines = [f"CheckUp of {len(self.ids)} rows: {len(self.present)} of {len(self)} findings"]
        lines += [f"  {finding.name}: {finding.sentence}" for finding in self.present]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one.title)}</td><td>{html.escape(one.sentence)}</td></tr>" for one in self.present
        )
        return f"<div><p>{html.escape(repr(self).splitlines()[0])}</p><table>{rows}</table></div>"


def _number(text: str | None, condition: str) -> float:
    if text is None:
        return 0.0
    try:
        allowance = float(text)
    except ValueError:
        allowance = float("nan")
    if not 0.0 <= allowance < float("inf"):
        raise ValueError(f"a condition must compare with a number of at least 0; got {condition!r}.")
    return allowance


def _describe_record(record: Mapping[Any, Any]) -> str:
    """Return what else there is to say about a row, in one line."""
    parts = ((name, f"{content:.4g}" if isinstance(content, float) else content) for name, content in record.items())
    return ", ".join(f"{str(name).replace('_', ' ')} {content}" for name, content in parts if content != "")


def _plain(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a record without types of NumPy's, and without numbers that JSON does not know."""
    plain = {}
    for name, content in record.items():
        one = content.item() if isinstance(content, np.generic) else content
        if isinstance(one, float) and not np.isfinite(one):
            one = None
        plain[str(name)] = one if isinstance(one, str | int | float | bool | None) else str(one)
    return plain
