"""A check-up of a data set: all that neighbours can tell about its rows, from one search.

    X, y ──► _nearest_rows ──┬──► find_label_errors        labels that are probably wrong
             one search,     ├──► _copies                  exact and near duplicates, conflicts, rows of the test set
             lists are kept  ├──► _outliers, _row_order    rows far from all others; an order that is not random
                             ├──► _weak_groups             classes, owners and clusters that are predicted badly
                             └──► _worth                   rows of no value, rows that do harm
    y ──────────────────────────► _class_balance           classes with hardly a row
    columns ────────────────────► _column_faults           empty, constant and id-like columns, gaps
                             all ──► _finding ──► _check_up

Every finding has a score for each row (or column), low is worse, and names those below its threshold.
"""

from pivotal.analysis.checkup._check_up import CheckUp
from pivotal.analysis.checkup._finding import Finding, Queue
from pivotal.analysis.checkup._kinds import KINDS
from pivotal.analysis.checkup._run_check import check

__all__ = ["KINDS", "CheckUp", "Finding", "Queue", "check"]
