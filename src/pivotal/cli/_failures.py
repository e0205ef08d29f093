"""Which errors are the user's to fix and which are bugs, each with an exit code and one sentence.

The library raises built-in exceptions, as scikit-learn does, so the type alone does not tell a broken rule of ours
(`raise ValueError("k must be ...")`) from an accident (arrays that cannot be broadcast: a ValueError of NumPy's). Where
it was raised does: a deliberate error comes out of a `raise` statement in a file of this package. What comes out of any
other expression, or out of another package, was not foreseen and is a bug. Errors of the machine (files, memory,
packages that are not installed) are the exception: they are never bugs, wherever they come from.
"""

from __future__ import annotations

import dis
import linecache
import os
import re
import sys
import traceback
from types import TracebackType
from typing import Final, NamedTuple

from pivotal.cli._parser import UsageError

BAD_INPUT: Final = 2
BUG: Final = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_DELIBERATE: Final = (UsageError, ValueError, TypeError)
_MACHINE: Final = (OSError, MemoryError, ImportError)
_RAISE: Final = dis.opmap["RAISE_VARARGS"]
_FRAME: Final = re.compile(r'^ *File "(?P<file>[^"]*)", line \d+, in .*\n *(?P<line>.*)$', re.MULTILINE)
# What libraries that read and write files say of content that they cannot take, by package and name.
_CONTENT: Final = {
    "builtins": ("EOFError", "RecursionError", "UnicodeDecodeError", "UnicodeEncodeError"),
    "pyarrow": ("ArrowNotImplementedError", "ArrowCapacityError"),
    "zlib": ("error",),
    "_csv": ("Error",),
}


class Failure(NamedTuple):
    """How a command that failed ends."""

    code: int
    """Exit code."""

    sentence: str
    """For stderr; empty where there is nothing to say."""


def explain_failure(error: BaseException, *, has_verbose: bool) -> Failure:
    """Say what an exception means to the user of a command that has, or has not, an option `--verbose`."""
    if _was_interrupted(error):
        return Failure(INTERRUPTED, "interrupted")
    if isinstance(error, BrokenPipeError):
        return Failure(BROKEN_PIPE, "")
    message = " ".join(str(error).split())
    if isinstance(error, MemoryError) and not _is_deliberate(error):
        message = "there is not enough memory; use fewer rows or columns, or lower --max-memory."
    elif isinstance(error, OSError) and error.strerror and not _is_deliberate(error):
        message = f"{error.strerror}{f': {error.filename}' if error.filename else ''}."  # without its number
    elif _is_unreadable(error):
        message = f"cannot read or write this table: {message.rstrip('.') or type(error).__name__}."
    elif not _is_expected(error):
        hint = "--verbose" if has_verbose else "PIVOTAL_DEBUG=1 in the environment"
        what = f"{type(error).__name__}: {message}" if message else type(error).__name__
        return Failure(BUG, f"{what.rstrip('.')}; this is a bug, please report it ({hint} shows where).")
    return Failure(BAD_INPUT, message)


def wants_traceback(*, verbose: bool) -> bool:
    """Whether to show where an error comes from: asked for by the option, or in the environment."""
    return verbose or os.environ.get("PIVOTAL_DEBUG", "0") not in ("", "0")


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind it; some packages turn it into an error of their own while they are imported."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _is_expected(error: BaseException) -> bool:
    """Whether it is the user's to fix, or the machine's."""
    if isinstance(error, ImportError) and (error.name or "").split(".")[0] == "pivotal":
        return False
    return isinstance(error, _MACHINE) or (isinstance(error, _DELIBERATE) and _is_deliberate(error))


def _is_deliberate(error: BaseException) -> bool:
    """Whether a `raise` statement of this package made it."""
    if type(error.__cause__).__name__ == "_RemoteTraceback":  # of another process, which sent only its words
        frames = _FRAME.findall(str(error.__cause__))
        return bool(frames) and "pivotal" in re.split(r"[/\\]", frames[-1][0]) and frames[-1][1].startswith("raise ")
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    return innermost is not None and _module(innermost).split(".")[0] == "pivotal" and _is_at_raise(innermost)


def _is_at_raise(place: TracebackType) -> bool:
    """Whether a frame stopped at a `raise` statement, rather than at an expression in it or elsewhere."""
    code = place.tb_frame.f_code
    if "__traceback_maker" not in code.co_names:
        return code.co_code[place.tb_lasti] == _RAISE
    # A frame that came from a worker of Dask, rebuilt by tblib from names and lines without the code.
    file = getattr(sys.modules.get(_module(place)), "__file__", None) or code.co_filename
    return linecache.getline(file, place.tb_lineno).strip().startswith("raise ")


def _is_unreadable(error: BaseException) -> bool:
    """Whether a table could not be read or written because of what is in it."""
    kind = type(error)
    if kind.__name__ not in _CONTENT.get(kind.__module__.split(".")[0], ()):
        return False
    frames = (place for place, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__", "")).startswith("pivotal.tables.") for frame in frames)


def _module(place: TracebackType) -> str:
    return str(place.tb_frame.f_globals.get("__name__", ""))
