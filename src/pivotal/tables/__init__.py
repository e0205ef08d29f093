"""Tables on disk: read, turned into features and labels, written back.

A table keeps its cells as they were written, so that rows that are written out again look as they did. What a column is
good for (a number, a category, a vector, something to look at) is decided here, and said.
"""

from __future__ import annotations

from pivotal.tables.label_column import cells_of_labels
from pivotal.tables.prepare import Prepared, prepare, split
from pivotal.tables.read import FORMATS, read, read_many
from pivotal.tables.read_table import as_table, read_table
from pivotal.tables.roles import Roles, Treatment
from pivotal.tables.table import Table
from pivotal.tables.write import check_results_target, check_target, write_frame, write_table, write_values

__all__ = [
    "FORMATS",
    "Prepared",
    "Roles",
    "Table",
    "Treatment",
    "as_table",
    "cells_of_labels",
    "check_results_target",
    "check_target",
    "prepare",
    "read",
    "read_many",
    "read_table",
    "split",
    "write_frame",
    "write_table",
    "write_values",
]
