"""Classes with hardly a row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pivotal.analysis.checkup._finding import Finding, count_of, found_below
from pivotal.core.types import AnyArray, CodeArray


def find_imbalance(codes: CodeArray, classes: AnyArray, ids: AnyArray, threshold: float) -> Finding:
    """Find rows of classes, by their codes, that have less than a part of an equal share, the threshold."""
    counts = np.bincount(codes, minlength=len(classes))
    share = counts / len(codes) * len(classes)
    scores = np.minimum(1.0, share)[codes]
    rare = share < threshold
    table = pd.DataFrame({"class": classes, "rows": counts, "share": counts / len(codes), "rare": rare})
    table = table.sort_values("rows", kind="stable", ignore_index=True)
    minimum = table.iloc[0]
    sentence = (
        f"{count_of(int(rare.sum()), 'class', 'classes')} of {len(classes)} {'has' if rare.sum() == 1 else 'have'} "
        f"less than {threshold:.3g} of an equal share; the rarest is {minimum['class']} with "
        f"{count_of(int(minimum['rows']), 'row')} ({minimum['share']:.2%})."
    )
    if not rare.any():
        sentence = f"No class is rare; the smallest, {minimum['class']}, has {minimum['share']:.1%} of the rows."
    if len(classes) == 1:
        sentence = f"There is only one class, {classes[0]}: nothing can be learned from it."
    return found_below(
        "class_imbalance", scores, threshold, ids, sentence, details={"label": classes[codes]}, table=table
    )
