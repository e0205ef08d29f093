"""Selection: the rows that a model learns from nearly as well as from all of them; and rows better omitted.

    X, y ──► _selection_data ──┬──► _surroundings   who is near whom; _confirmation: whose label the others confirm
             _wishes ──────────┤    _likeness       how much chosen rows look like the data
                               ├──► _exchange_search, _budget_search    the default method
                               ├──► _rivals                             other methods, by name
                               └──► _expectation                        what to expect of a selection
                                          └──► _selected    one frozen object
    X, y ──► _harmful    rows to omit, if that is shown to help

`benchmarks/selection.py` is the study behind the defaults; its tables are in `docs/selection.md`.
"""

from pivotal.analysis.selection._expectation import Expectation
from pivotal.analysis.selection._harmful import Removal, remove_harmful
from pivotal.analysis.selection._select import METHODS, select
from pivotal.analysis.selection._selected import Selection
from pivotal.analysis.selection._wishes import as_number

__all__ = ["METHODS", "Expectation", "Removal", "Selection", "as_number", "remove_harmful", "select"]
