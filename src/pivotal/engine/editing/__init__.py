"""Training points that change after they were valued: added, removed, relabelled, and queries likewise.

    neighbor_lists   lists of neighbours, a little longer than needed, that points enter and leave
    edit_state       which points are there, and how neighbours are found again
    coalition        one coalition that points enter and leave: what each other point would add to it
    incremental      the values that go with them: only queries whose lists change are valued again

What is kept of a query takes 20 bytes for every neighbour on its list, that is some 2 kB for Banzhaf values and k = 5,
besides its features. Values after any edits are those of a fresh computation, up to the last bit or two.
"""

from pivotal.engine.editing.incremental import EditableEngine

__all__ = ["EditableEngine"]
