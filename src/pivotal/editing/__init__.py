"""Training points that change after they were valued: added, removed, relabelled, and queries likewise.

    near     lists of neighbours, a little longer than needed, that points enter and leave
    scene    who is there, and how neighbours are found again
    engine   the values that go with them: only queries whose lists change are valued again
    edits    what the estimator offers: `relabel`, `add`, `remove`, `drop_queries`

What is kept of a query takes 20 bytes for every neighbour on its list, that is some 2 kB for Banzhaf values and k = 5,
besides its features. Values after any edits are those of a fresh computation, up to the last bit or two.
"""

from pivotal.editing.edits import EditsPoints
from pivotal.editing.engine import EditableEngine

__all__ = ["EditableEngine", "EditsPoints"]
