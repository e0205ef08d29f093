"""Counters and logs that code keeps: it writes them, and what it computes does not depend on them.

Whatever is read anywhere, or might be, counts as content. A name is omitted only where every use of it is a count or
an addition to a log, and where it holds a plain number or container: the ``add`` of another object may do anything.
"""

from __future__ import annotations

import dis
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np

_GROWTH = frozenset({"add", "append", "appendleft", "extend"})
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF"})
# Ways to read attributes without a word for them.
_INDIRECT = frozenset(
    {"getattr", "vars", "__dict__", "__getattribute__", "__getstate__", "attrgetter", "asdict", "astuple"}
)
_COUNTERS = (int, float, list, set, dict, deque, Counter, defaultdict, np.integer, np.floating, np.ndarray)
_OPERANDS = frozenset(
    {"LOAD_CONST", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_ATTR", "LOAD_SMALL_INT"}
)
_ENDS = {"os": ("_exit", "abort", "kill"), "sys": ("exit",), "signal": ("raise_signal",)}
_INTERRUPTIONS = ("KeyboardInterrupt", "SystemExit")
_Steps = list[dis.Instruction]


def is_counter(content: Any) -> bool:
    """Return whether counting up or appending to an object does that and nothing else."""
    kind = type(content)
    return kind in _COUNTERS or issubclass(kind, np.integer | np.floating)


def counted_names(code: CodeType) -> frozenset[str]:
    """Return the globals and captured variables that code only counts up or appends to.

    Every use of such a name is ``name += ...``, ``name.append(...)``, ``name["key"] += 1``, or a limit that interrupts,
    ``if name == limit: raise KeyboardInterrupt``: that ends a computation and changes no number of it.
    """

    def is_count(steps: _Steps, i: int) -> bool:
        return _is_count(steps, i) or _grows(steps, i + 1) or _counts_item(steps, i)

    return _only_counted([code], _LOADS, is_count)


def counted_attributes(codes: Iterable[CodeType], library: Iterable[CodeType]) -> frozenset[str]:
    """Return the attributes, of objects or of their class, that code only counts up or appends to.

    `codes` are all that may see the objects: methods, and the functions that these call; those of `library` belong to
    installed classes below them, which read by other means only what they were told of.
    """
    codes = list(codes)
    if any(_INDIRECT & set(code.co_names) for code in codes_within(codes)):
        return frozenset()

    def is_count(steps: _Steps, i: int) -> bool:
        return _is_attribute_count(steps, i) or _grows(steps, i + 1)

    return _only_counted([*codes, *library], ("LOAD_ATTR", "LOAD_METHOD"), is_count)


def codes_within(codes: Iterable[CodeType]) -> Iterator[CodeType]:
    """Yield code and the code inside of it."""
    for code in codes:
        yield code
        yield from codes_within(inner for inner in code.co_consts if isinstance(inner, CodeType))


def _only_counted(
    codes: Iterable[CodeType], loads: Container[str], is_count: Callable[[_Steps, int], bool]
) -> frozenset[str]:
    """Return the names that code counts up somewhere, and loads for nothing else but a decision about an end."""
    counted, read = set(), set()
    for code in codes_within(codes):
        steps = list(dis.get_instructions(code))
        # Code that may catch what it raises goes on. From Python 3.12 on, a comprehension within a function cleans up
        # behind itself and raises again: it catches nothing.
        catches = any(step.opname == "PUSH_EXC_INFO" for step in steps)
        for i, step in enumerate(steps):
            if step.opname not in loads:
                continue
            if is_count(steps, i):
                counted.add(str(step.argval))
            elif catches or not _only_stops(steps, i):
                read.add(str(step.argval))
    return frozenset(counted - read)


def _is_count(steps: _Steps, i: int) -> bool:
    """Whether step i loads a name that is counted up: ``name += 1``, or by anything else."""
    end = _end_of_sum(steps, i)
    stored = end < len(steps) and steps[end].opname in ("STORE_GLOBAL", "STORE_DEREF")
    return stored and steps[end].argval == steps[i].argval


def _is_attribute_count(steps: _Steps, i: int) -> bool:
    """Whether step i loads an attribute that is counted up: ``self.name += 1``, or by anything else."""
    if i == 0 or steps[i - 1].opname != "COPY":
        return False
    end = _end_of_sum(steps, i)
    last = [step.opname for step in steps[end : end + 2]]
    return last == ["SWAP", "STORE_ATTR"] and steps[end + 1].argval == steps[i].argval


def _end_of_sum(steps: _Steps, i: int) -> int:
    """Return which step follows the ``+=`` to what step i loads; one beyond the last without one.

    All steps in between are those of one expression, which is added: nothing is stored, left or jumped to.
    """
    for j in range(i + 1, len(steps)):
        step = steps[j]
        if step.opname == "BINARY_OP" and step.argrepr.endswith("="):
            return j + 1
        if step.opname.startswith(("STORE", "POP", "RETURN", "YIELD", "RAISE")) or "JUMP" in step.opname:
            break
    return len(steps)


def _grows(steps: _Steps, i: int) -> bool:
    """Whether step i appends to what was loaded before it."""
    return i < len(steps) and steps[i].opname in ("LOAD_METHOD", "LOAD_ATTR") and steps[i].argval in _GROWTH


def _counts_item(steps: _Steps, i: int) -> bool:
    """Whether step i loads a container of which an item is counted up: ``name["key"] += 1``."""
    names = [step.opname for step in steps[i + 1 : i + 10]]
    wanted = ["LOAD_CONST", "COPY", "COPY", "BINARY_SUBSCR", "LOAD_CONST", "BINARY_OP", "SWAP", "SWAP", "STORE_SUBSCR"]
    return names == wanted


def _only_stops(steps: _Steps, i: int) -> bool:
    """Whether what step i loads is compared, and the outcome decides about nothing but an end."""
    compared = next((j for j in range(i + 1, len(steps)) if steps[j].opname not in _OPERANDS), len(steps))
    if compared >= len(steps) or steps[compared].opname != "COMPARE_OP":
        return False
    for j in range(compared + 1, min(compared + 3, len(steps))):
        if steps[j].opname.startswith("POP_JUMP"):
            branch = [step for step in steps[j + 1 :] if step.offset < int(steps[j].argval)]
            return not any("JUMP" in step.opname or "STORE" in step.opname for step in branch) and _is_end(branch)
    return False


def _is_end(branch: _Steps) -> bool:
    """Whether steps interrupt or end the process, which no caller takes for a result."""
    raised = bool(branch) and branch[-1].opname == "RAISE_VARARGS"
    return any(
        one.opname == "LOAD_GLOBAL"
        and (other.argval in _ENDS.get(str(one.argval), ()) or (raised and one.argval in _INTERRUPTIONS))
        for one, other in pairwise(branch)
    )
