"""Counters and logs that code keeps: it writes them, and what it computes does not depend on them."""

from __future__ import annotations

import dis
from collections import Counter
from collections.abc import Iterable
from types import CodeType

__all__ = ["counted_attributes", "counted_names"]

_GROWTH = frozenset({"add", "append", "appendleft", "extend"})
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"})
_Steps = list[dis.Instruction]


def counted_names(code: CodeType) -> frozenset[str]:
    """Return the globals and captured variables that code only counts up or appends to.

    Every use of such a name is ``name += 1``, ``name.append(...)`` or ``name["key"] += 1``.
    """
    uses: Counter[str] = Counter()
    harmless: Counter[str] = Counter()
    for steps in _all_steps([code]):
        for i, step in enumerate(steps):
            if step.opname in _LOADS:
                name = str(step.argval)
                uses[name] += 1
                harmless[name] += _is_count(steps, i, name) or _grows(steps, i + 1) or _counts_item(steps, i)
    return frozenset(name for name, count in harmless.items() if count and count == uses[name])


def counted_attributes(codes: Iterable[CodeType]) -> frozenset[str]:
    """Return the attributes, of objects or of their class, that code counts up by a constant, or only appends to."""
    uses: Counter[str] = Counter()
    grown: Counter[str] = Counter()
    counted: set[str] = set()
    for steps in _all_steps(codes):
        for i, step in enumerate(steps):
            if step.opname != "LOAD_ATTR":
                continue
            name = str(step.argval)
            uses[name] += 1
            grown[name] += _grows(steps, i + 1)
            tail = steps[i + 1 : i + 5]
            if [one.opname for one in (*steps[i - 1 : i], *tail)] == [
                "COPY",
                "LOAD_CONST",
                "BINARY_OP",
                "SWAP",
                "STORE_ATTR",
            ] and tail[-1].argval == name:
                counted.add(name)
    return frozenset(counted | {name for name, count in grown.items() if count and count == uses[name]})


def _all_steps(codes: Iterable[CodeType]) -> Iterable[_Steps]:
    for code in codes:
        yield list(dis.get_instructions(code))
        yield from _all_steps(inner for inner in code.co_consts if isinstance(inner, CodeType))


def _is_count(steps: _Steps, i: int, name: str) -> bool:
    """Whether step i loads a name that is counted up: ``name += 1``."""
    if len(steps) < i + 4:
        return False
    _, amount, operation, store = steps[i : i + 4]
    return (
        amount.opname == "LOAD_CONST"
        and operation.opname == "BINARY_OP"
        and store.opname in ("STORE_GLOBAL", "STORE_DEREF")
        and store.argval == name
    )


def _grows(steps: _Steps, i: int) -> bool:
    """Whether step i appends to what was loaded before it."""
    return i < len(steps) and steps[i].opname in ("LOAD_METHOD", "LOAD_ATTR") and steps[i].argval in _GROWTH


def _counts_item(steps: _Steps, i: int) -> bool:
    """Whether step i loads a container of which an item is counted up: ``name["key"] += 1``."""
    names = [step.opname for step in steps[i + 1 : i + 10]]
    wanted = ["LOAD_CONST", "COPY", "COPY", "BINARY_SUBSCR", "LOAD_CONST", "BINARY_OP", "SWAP", "SWAP", "STORE_SUBSCR"]
    return names == wanted
