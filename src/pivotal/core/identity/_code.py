"""What functions and classes are made of: code, what it captured, and the names it looks up elsewhere."""

from __future__ import annotations

import dis
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from pivotal.core.identity._counters import codes_within, counted_names, is_counter
from pivotal.core.identity._origin import is_importable_by_others, is_installed, origin_of, resolves

_LOOKUPS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_INDIRECT = frozenset({"getattr", "vars", "__dict__"})  # ways to take anything from a module
_ANYTHING = frozenset({"globals", "eval", "exec"})  # ways to look up any name
# What a class has besides what its author wrote, or what has no influence on what it does.
_NOISE = frozenset(
    {
        "__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__firstlineno__", "__static_attributes__",
        "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__orig_bases__",
        "__parameters__", "__dataclass_fields__", "__dataclass_params__", "_abc_impl",
    }
)  # fmt: skip


@dataclass
class Globals:
    """The names that code looks up in modules which are being written, each to be told by its content once.

    A name stands for itself where it is used, and its content is counted separately, so that functions which call each
    other are no endless chain.
    """

    found: dict[tuple[str, str], Any] = field(default_factory=dict)
    _spaces: dict[int, str] = field(default_factory=dict)
    _kept: list[Mapping[str, Any]] = field(default_factory=list)

    def use(self, space: Mapping[str, Any], name: str) -> tuple[str, str]:
        """Note that a name of a module's namespace is used; return what stands for it."""
        key = (self._name_of(space), name)
        self.found.setdefault(key, space[name])
        return key

    def _name_of(self, space: Mapping[str, Any]) -> str:
        if id(space) not in self._spaces:
            self._kept.append(space)
            name = str(space.get("__name__", ""))
            taken = sum(other.partition(" ")[0] == name for other in self._spaces.values())
            self._spaces[id(space)] = f"{name} {taken}" if taken else name
        return self._spaces[id(space)]


def parts_of_function(function: FunctionType, names: Globals) -> tuple[Any, ...]:
    """Return what a function consists of: by name if it is installed, by content if not."""
    module = function.__module__ or ""
    if is_installed(module) and resolves(module, function.__qualname__, function):
        return "installed", module, function.__qualname__, origin_of(module)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    counted = counted_names(function.__code__)
    captured = [
        name if name in counted and is_counter(_content_of(cell)) else cell for name, cell in sorted(cells.items())
    ]
    used = list(_used(function.__code__, function.__globals__, cells, names))
    defaults = function.__defaults__, function.__kwdefaults__
    return "function", function.__code__, *defaults, captured, used, vars(function)


def parts_of_code(code: CodeType) -> tuple[Any, ...]:
    """Return what compiled code consists of, without the places that it came from."""
    return (
        "code",
        code.co_code,
        code.co_consts,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
        getattr(code, "co_exceptiontable", b""),
    )


def parts_of_class(kind: type, counted: frozenset[str]) -> tuple[Any, ...]:
    """Return what a class consists of: by name if it is installed, by content without what is counted if not."""
    module = kind.__module__
    if is_installed(module) and resolves(module, kind.__qualname__, kind):
        return "installed", module, kind.__qualname__, origin_of(module)
    own = {name: content for name, content in vars(kind).items() if name not in _NOISE and not _is_slot(content)}
    return "class", kind.__name__, type(kind), kind.__bases__, _without_counters(own, counted)


def parts_of_module(module: ModuleType) -> tuple[Any, ...]:
    """Return what stands for a whole module: its file, and those of the modules being written that it takes from."""
    origins = {module.__name__: origin_of(module.__name__)}
    pending = [] if is_installed(module.__name__) else [module]
    while pending:
        for content in vars(pending.pop()).values():
            name = content.__name__ if isinstance(content, ModuleType) else getattr(content, "__module__", None)
            if isinstance(name, str) and name not in origins and name in sys.modules and not is_installed(name):
                origins[name] = origin_of(name)
                pending.append(sys.modules[name])
    return "module", module.__name__, origins


def without_passing(state: dict[str, Any], kind: type, counted: frozenset[str]) -> dict[str, Any]:
    """Return the state of an object without what comes and goes: computed when first asked for, or counted."""
    computed = {name for base in kind.__mro__ for name, own in vars(base).items() if isinstance(own, cached_property)}
    if not is_installed(str(kind.__module__)):
        state = _without_counters(state, counted)
    return {name: entry for name, entry in state.items() if name not in computed}


def codes_below(kind: type) -> list[CodeType]:
    """Return the code of the methods that a class inherits from installed ones."""
    bases = [base for base in kind.__mro__ if is_installed(str(base.__module__))]
    inner = [getattr(own, "__func__", own) for base in bases for own in vars(base).values()]
    return [function.__code__ for function in inner if isinstance(function, FunctionType)]


def _without_counters(content: dict[str, Any], counted: frozenset[str]) -> dict[str, Any]:
    return {name: entry for name, entry in content.items() if name not in counted or not is_counter(entry)}


def _is_slot(content: Any) -> bool:
    return type(content).__name__ in ("member_descriptor", "getset_descriptor")


def _used(
    code: CodeType, space: Mapping[str, Any], cells: Mapping[str, Any], names: Globals
) -> Iterator[tuple[Any, ...]]:
    """Yield what stands for all that code takes from elsewhere by name."""
    words, looked_up, imported = _words(code)
    home, counted = str(space.get("__name__", "")), counted_names(code)
    for name in sorted(looked_up & space.keys()):
        if name in counted and is_counter(space[name]):
            yield "counted", home, name
        elif isinstance(space[name], ModuleType):
            yield from _used_of_module(space[name], words, names)
        elif is_installed(home, space):
            yield home, name, origin_of(home)
        else:
            yield names.use(space, name)
    if looked_up & _ANYTHING:
        yield "any global of", home, origin_of(home)
        yield from (names.use(space, name) for name in sorted(_spoken(code) & space.keys()))
    for cell in cells.values():
        if isinstance(module := _content_of(cell), ModuleType):
            yield from _used_of_module(module, words, names)
    for module in (found for statement in sorted(imported) for found in _imported(statement, space)):
        yield from _used_of_module(module, words, names)


def _used_of_module(
    module: ModuleType, words: set[str], names: Globals, seen: frozenset[str] = frozenset()
) -> Iterator[tuple[Any, ...]]:
    """Yield what stands for what code takes from a module: all attributes that it has a word for."""
    if is_installed(module.__name__) or module.__name__ in seen:
        yield parts_of_module(module)
        return
    space = vars(module)
    found = sorted(words & space.keys())
    if not found or words & _INDIRECT:
        yield parts_of_module(module)
    for word in found:
        if isinstance(space[word], ModuleType):
            yield from _used_of_module(space[word], words, names, seen | {module.__name__})
        else:
            yield names.use(space, word)


class _Import(NamedTuple):
    """An import statement inside a function."""

    module: str
    level: int
    names: tuple[str, ...]


def _words(code: CodeType) -> tuple[set[str], set[str], set[_Import]]:
    """Return the names in code and in code within it: all of them, those looked up globally, and the imports."""
    words: set[str] = set()
    looked_up, imported = set(), set()
    for inner in codes_within([code]):
        words.update(inner.co_names)
        before: list[Any] = [0, None]  # an import is preceded by its level and by the names that it takes
        for step in dis.get_instructions(inner):
            if step.opname in _LOOKUPS:
                looked_up.add(str(step.argval))
            elif step.opname == "IMPORT_NAME":
                imported.add(_Import(str(step.argval), int(before[-2]), tuple(before[-1] or ())))
            before.append(step.argval)
    return words, looked_up, imported


def _spoken(code: CodeType) -> set[str]:
    """Return the words in the texts of code, by which it may look up names."""
    texts = (content for inner in codes_within([code]) for content in inner.co_consts if isinstance(content, str))
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _imported(statement: _Import, space: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Yield the modules being written that an import inside a function means; the function would import them too."""
    try:
        name = importlib.util.resolve_name("." * statement.level + statement.module, space.get("__package__") or None)
        if not is_importable_by_others(name):
            module = importlib.import_module(name)
            yield module
            for inner in statement.names:
                if not hasattr(module, inner):
                    yield importlib.import_module(f"{name}.{inner}")
    except Exception:  # noqa: BLE001 - the function itself says what is wrong with it, if it comes to that
        return


def _content_of(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
