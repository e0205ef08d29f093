"""The one place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.types.misc import unliteral

from pivotal.kernels._code_cache import KernelCache

_Kernel = TypeVar("_Kernel", bound=Callable[..., object])


def kernel(function: _Kernel) -> _Kernel:
    """Compile `function` on first use, keep the machine code on disk, and run it without the GIL.

    Kernels are serial: the caller runs one per thread on its own slice of the queries, so that nothing depends on a
    threading layer and a query's result never depends on the number of threads. Fast-math stays off: results are
    promised to the last digits.
    """
    return _compiled(function, fastmath=False)


def score_kernel(function: _Kernel) -> _Kernel:
    """As `kernel`, where a product and the sum it joins may be rounded once: for scores, which are no results."""
    return _compiled(function, fastmath={"contract"})


def _compiled(function: _Kernel, **how: Any) -> _Kernel:
    compiled: Any = njit(nogil=True, error_model="numpy", **how)(function)
    if compiled is not function:  # as it is with NUMBA_DISABLE_JIT=1
        compiled._cache = KernelCache(function)
        compiled.get_call_template = _without_literals(compiled.get_call_template)
    return cast(_Kernel, compiled)


def _without_literals(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel that is called with the constant 0 the one that is called with any integer, not one more."""

    def resolve_types(arguments: Iterable[Any], named: Mapping[str, Any]) -> Any:
        return resolve(tuple(map(unliteral, arguments)), {name: unliteral(kind) for name, kind in named.items()})

    return resolve_types
