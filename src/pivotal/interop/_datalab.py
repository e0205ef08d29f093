"""cleanlab's Datalab: its columns from our results, to join to its table or to put into its report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from pivotal.core.types import AnyArray
from pivotal.core.validation import check_probability
from pivotal.results.values import Values


@runtime_checkable
class Suspicions(Protocol):
    """What is read of `pivotal.LabelErrors`."""

    given: AnyArray
    scores: AnyArray
    suspects: AnyArray
    suggested: AnyArray


def to_datalab(
    result: Values | Suspicions, labels: npt.ArrayLike | None = None, *, threshold: float = 0.5
) -> pd.DataFrame:
    """Return a result with the columns that cleanlab's Datalab gives its issues, in the order of its rows.

    Parameters
    ----------
    result : Values or LabelErrors
        What `pivotal.value` or `pivotal.find_label_errors` returned.
    labels : array-like of shape (n,), optional
        Labels to show as given_label; those that label errors know by default, none for values.
    threshold : float, default=0.5
        Values that score below are an issue. At 0.5 these are the negative ones, as in Datalab.

    Returns
    -------
    frame : pandas DataFrame of n rows
        For values: is_data_valuation_issue, and data_valuation_score, (1 + value) / 2, with values beyond -1 and 1
        scaled to fit. For label errors: is_label_issue, label_score, given_label, predicted_label.

    Examples
    --------
    >>> import pivotal
    >>> from pivotal.interop import to_datalab
    >>> values = pivotal.value([[0.0], [1.0], [2.0]], ["a", "b", "b"], [[0.9], [2.1]], ["b", "b"], k=1)
    >>> to_datalab(values)
       is_data_valuation_issue  data_valuation_score
    0                     True                0.4375
    1                    False                0.8125
    2                    False                0.6875
    """
    least = check_probability(threshold, "threshold")
    if isinstance(result, Suspicions):
        given = result.given if labels is None else _one_each(labels, result.given.size)
        suspect = np.zeros(result.scores.size, dtype=bool)
        suspect[result.suspects] = True
        scores = {"is_label_issue": suspect, "label_score": result.scores}
        return pd.DataFrame({**scores, "given_label": given, "predicted_label": result.suggested})
    if not isinstance(result, Values):
        raise TypeError(
            f"result must be pivotal.Values or pivotal.LabelErrors; got {type(result).__name__}. "
            "Make one with pivotal.value or pivotal.find_label_errors."
        )
    score = 0.5 * (1.0 + result.values / max(1.0, float(np.abs(result.values).max())))
    frame = pd.DataFrame({"is_data_valuation_issue": score < least, "data_valuation_score": score})
    return frame if labels is None else frame.assign(given_label=_one_each(labels, score.size))


def add_to_datalab(lab: Any, result: Values | Suspicions, *, threshold: float = 0.5) -> None:
    """Put a result into a Datalab, as if its own check for data_valuation or label issues had found it.

    Its `report`, `get_issues`, `get_issue_summary` and `save` then show it. What that check had found before is
    replaced, with a warning of Datalab's.

    Parameters
    ----------
    lab : cleanlab.Datalab
        Made with the rows that were valued, in their order.
    result : Values or LabelErrors
    threshold : float, default=0.5
        As in `to_datalab`.
    """
    issues = to_datalab(result, threshold=threshold)
    if not hasattr(lab, "data_issues") or not hasattr(lab, "labels"):
        raise TypeError(f"lab must be a cleanlab.Datalab; got {type(lab).__name__}. Make one with Datalab(data=...).")
    n_rows = len(lab.data)
    if n_rows != len(issues):
        raise ValueError(f"lab must hold the rows that were valued, {len(issues)}; got {n_rows}.")
    name = "label" if isinstance(result, Suspicions) else "data_valuation"
    score = float(issues[f"{name}_score"].mean())
    found = int(issues[f"is_{name}_issue"].sum())
    info: dict[str, Any]
    if isinstance(result, Suspicions):
        columns = ("given_label", "predicted_label")
        info = {"num_label_issues": found, "average_label_quality": score}
        info |= {column: _codes(lab, issues[column].to_numpy()) for column in columns}
        issues = issues.drop(columns=list(columns))  # Datalab keeps them as codes, beside the table
    else:
        info = {"num_low_valuation_issues": found, "average_data_valuation": score, "threshold": threshold}
    summary = pd.DataFrame({"issue_type": [name], "score": [score]})
    # All that Datalab reads of an issue manager, once it has run.
    manager = SimpleNamespace(issue_name=name, issues=issues, summary=summary, info=info)
    lab.data_issues.collect_statistics(manager)
    lab.data_issues.collect_issues_from_issue_manager(manager)
    lab.data_issues.set_health_score()


def _codes(lab: Any, labels: AnyArray) -> list[int]:
    """Return the codes that Datalab uses for labels."""
    names = pd.Index(lab.class_names)
    codes = names.get_indexer(pd.Index(labels))
    if (codes < 0).any():
        known = [name.item() if isinstance(name, np.generic) else name for name in names[:5]]
        raise ValueError(
            f"lab must know every label; it has no {labels[codes < 0][0]!r} among {', '.join(map(repr, known))}. "
            "Make it with the labels that were looked at."
        )
    return [int(code) for code in codes]


def _one_each(labels: npt.ArrayLike, n_rows: int) -> AnyArray:
    given = np.asarray(labels)
    if given.shape != (n_rows,):
        raise ValueError(f"labels must have one entry for each of the {n_rows} rows; got shape {given.shape}.")
    return given
