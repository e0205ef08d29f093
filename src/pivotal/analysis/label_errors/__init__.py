"""Label errors: rows whose neighbours speak against their label.

    X, y ──┬──► _nearest ──┐ votes of the nearest rows; values, and the predictions that a row hurts
           ├──► _leaves  ──┤ votes of the rows that share a leaf of a tree
           └──► _model   ──┤ what a classifier says, if one is passed
                           └──► _find ──► _errors
                                who is a suspect    one frozen object

`benchmarks/cleaning.py` is the study behind the defaults; its table is in `docs/cleaning.md`.
"""

from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._find import find_label_errors

__all__ = ["LabelErrors", "find_label_errors"]
