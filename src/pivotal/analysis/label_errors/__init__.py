"""Label errors: rows whose label the others contradict.

    X, y ──┬──► _nearest            votes of the nearest rows; values, and the predictions that a row hurts
           ├──► _leaves             votes of the rows that share a leaf of a tree
           ├──► _ridge, _landmarks  regressions that omit the row they speak about
           └──► _model              what an estimator says, if one is passed
                  │
               _voters, _blend      the voters, and how much say each has
                  │
               _wrong_classes, _wrong_numbers, _many_labels ──► _errors
                  │                                             one frozen object
               _counts, _breakdown  how many are wrong, and where
               _edit*               the voters again, under labels that change and rows that go

`benchmarks/cleaning.py` is the study behind the defaults; its table is in `docs/cleaning.md`.
"""

from pivotal.analysis.label_errors._blend import margins
from pivotal.analysis.label_errors._counts import ErrorCount
from pivotal.analysis.label_errors._edit import EditableVoters
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._find import find_label_errors, find_with_voters
from pivotal.analysis.label_errors._many_labels import ManyLabelErrors
from pivotal.analysis.label_errors._wrong_numbers import NumberErrors
from pivotal.analysis.label_errors.clean import clean

__all__ = [
    "EditableVoters",
    "ErrorCount",
    "LabelErrors",
    "ManyLabelErrors",
    "NumberErrors",
    "clean",
    "find_label_errors",
    "find_with_voters",
    "margins",
]
