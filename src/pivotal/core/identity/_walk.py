"""Digests of any object, made of the digests of what it consists of."""

from __future__ import annotations

import copyreg
import enum
import functools
import hashlib
import operator
import struct
import types
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pivotal.core.identity._code import (
    Globals,
    codes_below,
    parts_of_class,
    parts_of_code,
    parts_of_function,
    parts_of_module,
    without_passing,
)
from pivotal.core.identity._counters import counted_attributes
from pivotal.core.identity._data import bytes_of, package_of, parts_of_data
from pivotal.core.identity._origin import origin_of, resolves
from pivotal.core.version import __version__

_FORMAT: Final = 1  # counted up whenever the same content gets another digest
_PLAIN = (type(None), bool, int, str, bytes, bytearray, type(Ellipsis), type(NotImplemented))
_NAMED = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def token(*objects: Any) -> str:
    """Return a short text that stands for the content of objects, the same in every process.

    A change of anything that counts changes it: code, defaults, captured variables, globals that are used, functions
    of the user's modules, the state of objects, the bytes of arrays, the version of this package. The order of
    dictionaries and sets does not count, nor do names, places in files, or how arrays lie in memory; nor do counters
    and logs that code keeps and does not use.

    Parameters
    ----------
    *objects
        Functions, classes, objects, arrays, tables, and containers of them.

    Examples
    --------
    >>> token(lambda d: d + 1) == token(lambda d: d + 1), token(lambda d: d + 1) == token(lambda d: d + 2)
    (True, False)
    """
    try:
        walk = _Walk(frozenset())
        digests = walk.digest(objects), walk.digest_of_globals()
        # Which attributes are counters and nothing else is known when all code has been seen.
        if counted := walk.counted():
            walk = _Walk(counted)
            digests = walk.digest(objects), walk.digest_of_globals()
        return _hash(b"token", f"{__version__} {_FORMAT}".encode(), *digests).hex()
    except RecursionError:
        raise TypeError("an object cannot be identified by its content: it is nested too deeply.") from None


class _Walk:
    """Goes through objects, each once; attributes in `counted` are omitted where they hold counters or logs."""

    def __init__(self, counted: frozenset[str]) -> None:
        self._globals = Globals()
        self._counted = counted
        self._codes: list[types.CodeType] = []
        self._codes_below: list[types.CodeType] = []
        self._done: dict[int, tuple[Any, bytes]] = {}  # the object is kept, so that its id stays its own
        self._open: dict[int, int] = {}  # where each object is that contains the present one
        self._reached = 0  # the outermost of them that the present one refers back to

    def digest(self, content: Any) -> bytes:
        """Return the digest of an object."""
        if type(content) in _PLAIN:
            return _hash(type(content).__name__.encode(), _plain(content))
        if type(content) in (float, complex):
            return _hash(b"number", *(_exactly(part) for part in (content.real, content.imag)))
        key = id(content)
        if key in self._done:
            return self._done[key][1]
        if key in self._open:
            self._reached = min(self._reached, self._open[key])
            return _hash(b"above", str(len(self._open) - self._open[key]).encode())
        depth = len(self._open)
        outer, self._reached = self._reached, depth
        self._open[key] = depth
        found = self._digest(content)
        del self._open[key]
        if self._reached >= depth:  # refers to nothing outside: the same wherever it is
            self._done[key] = (content, found)
        self._reached = min(outer, self._reached)
        return found

    def digest_of_globals(self) -> bytes:
        """Return the digest of all that functions use by name, and that what they use does, and so on."""
        digests: dict[tuple[str, str], bytes] = {}
        while pending := self._globals.found.keys() - digests.keys():
            for name in sorted(pending):
                digests[name] = self.digest(self._globals.found[name])
        return self._unordered(b"globals", (_hash(b"global", *map(str.encode, n), d) for n, d in digests.items()))

    def counted(self) -> frozenset[str]:
        """Return the attributes that all code seen so far only counts up or appends to."""
        return counted_attributes(self._codes, self._codes_below)

    def _digest(self, content: Any) -> bytes:
        if isinstance(content, np.ndarray | np.generic) and not isinstance(content, np.ma.MaskedArray):
            return self._digest_array(content)
        kind = type(content)
        if kind is list or kind is tuple:
            return self._ordered(kind.__name__, content)
        if kind is dict or kind is types.MappingProxyType:
            pairs = (_hash(b"item", self.digest(key), self.digest(value)) for key, value in content.items())
            return self._unordered(b"dict", pairs)
        if kind is set or kind is frozenset:
            return self._unordered(b"set", map(self.digest, content))
        return self._ordered(*self._parts(content))

    def _parts(self, content: Any) -> tuple[str, Iterable[Any]]:
        """Return the simpler objects that an object consists of, and what makes them one."""
        known = self._parts_of_callable(content) or parts_of_data(content)
        tag, *parts = known or _parts_of_object(content, self._counted)
        return str(tag), parts

    def _parts_of_callable(self, content: Any) -> tuple[Any, ...] | None:
        if isinstance(content, types.FunctionType):
            return parts_of_function(content, self._globals)
        if isinstance(content, types.CodeType):
            self._codes.append(content)
            return parts_of_code(content)
        if isinstance(content, type):
            self._codes_below += codes_below(content)
            return parts_of_class(content, self._counted)
        if isinstance(content, types.ModuleType):
            return parts_of_module(content)
        if isinstance(content, types.CellType):
            try:
                return "cell", content.cell_contents
            except ValueError:
                return ("empty cell",)
        if isinstance(content, types.MethodType | staticmethod | classmethod):
            return type(content).__name__, content.__func__, getattr(content, "__self__", None)
        if isinstance(content, functools.partial):
            return "partial", type(content), content.func, content.args, content.keywords
        if isinstance(content, property):
            return "property", content.fget, content.fset, content.fdel
        if isinstance(content, functools.cached_property):
            return "cached property", content.func
        if isinstance(content, _NAMED):
            return _parts_of_named(content)
        return _parts_of_wrapper(content)

    def _digest_array(self, content: np.ndarray[Any, Any] | np.generic) -> bytes:
        array = np.asarray(content)
        if isinstance(content, np.ndarray) and type(content) not in (np.ndarray, np.memmap):
            return self._ordered("array of a kind", (type(content), getattr(content, "__dict__", None), array))
        if array.dtype.hasobject:
            return self._ordered("objects", (str(array.dtype), array.shape, array.tolist()))
        hasher = hashlib.blake2b(digest_size=16)
        hasher.update(f"array {np.lib.format.dtype_to_descr(array.dtype)} {array.shape}\n".encode())
        for piece in bytes_of(array):
            hasher.update(piece)
        return hasher.digest()

    def _ordered(self, tag: str, parts: Iterable[Any]) -> bytes:
        return _hash(tag.encode(), *[self.digest(part) for part in parts])

    def _unordered(self, tag: bytes, digests: Iterable[bytes]) -> bytes:
        return _hash(tag, *sorted(digests))


def _parts_of_named(content: Any) -> tuple[Any, ...]:
    """Return what a function in machine code is known by: its name, and the object or class that it belongs to."""
    owner = getattr(content, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        owner = getattr(content, "__objclass__", None)
    if owner is None:
        module = content.__module__ or "builtins"
        return "named", module, content.__qualname__, origin_of(module)
    return "method of", owner, content.__name__


def _parts_of_wrapper(content: Any) -> tuple[Any, ...] | None:
    """Return the function inside of what wraps one and would be known by its name alone."""
    wrapped = getattr(content, "__wrapped__", None) if isinstance(content, functools._lru_cache_wrapper) else None
    if wrapped is not None:
        return "cached", wrapped
    if package_of(content) == "numba":
        for path in ("py_func", "_dispatcher.py_func", "gufunc_builder.py_func"):
            try:
                inner = operator.attrgetter(path)(content)
            except AttributeError:
                continue
            return "compiled", type(content).__name__, inner, getattr(content, "targetoptions", None)
    if isinstance(content, np.ufunc):
        for module in ("numpy", "scipy.special"):
            if resolves(module, content.__name__, content):
                return "ufunc", module, content.__name__, origin_of(module)
        raise _unknown(content, "it has no name in NumPy or SciPy")
    return None


def _parts_of_object(content: Any, counted: frozenset[str]) -> tuple[Any, ...]:
    """Return class and state of an object, as pickling finds them."""
    kind = type(content)
    own = getattr(kind, "__dask_tokenize__", None)
    if own is not None:
        return "says itself", kind, own(content)
    if isinstance(content, enum.Enum):
        return "member", kind, content.name, content._value_
    try:
        reduce = copyreg.dispatch_table.get(kind)
        reduced = reduce(content) if reduce is not None else content.__reduce_ex__(4)
    except Exception as error:  # an object may raise anything here
        raise _unknown(content, str(error) or type(error).__name__) from error
    if isinstance(reduced, str):
        module = str(getattr(content, "__module__", None) or kind.__module__)
        return "named", kind.__name__, module, reduced, origin_of(module)
    make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        state = without_passing(state, kind, counted) or None
    return "object", kind, make, arguments, state, list(items or ()), list(pairs or ())


def _unknown(content: Any, why: str) -> TypeError:
    kind = f"{type(content).__module__}.{type(content).__qualname__}".removeprefix("builtins.")
    return TypeError(
        f"an object of type {kind} cannot be identified by its content ({why.rstrip('.')}); keep it out of what "
        "is passed and of the globals that functions use, or give its class a __getstate__ that says what counts."
    )


def _plain(content: Any) -> bytes:
    if isinstance(content, bytes | bytearray):
        return bytes(content)
    return str(content).encode("utf-8", "surrogatepass")


def _exactly(number: float) -> bytes:
    return b"nan" if number != number else struct.pack("<d", number)


def _hash(*parts: bytes) -> bytes:
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(struct.pack("<Q", len(part)))
        hasher.update(part)
    return hasher.digest()
