"""Tokens are made of content: what computes the same has the same token, in every process, and nothing else has."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse, special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.neighbors import KNeighborsClassifier

import pivotal
from pivotal.core.identity import token
from pivotal.core.weights import as_weights

SCALE = 2.0


def made(body: str, **names: Any) -> Callable[..., Any]:
    """Return the function `f` of some source, as a script or a notebook would have it."""
    space: dict[str, Any] = {"__name__": "__main__", "np": np, **names}
    exec(body, space)
    function: Callable[..., Any] = space["f"]
    return function


def scaled(scale: Any) -> Callable[[Any], Any]:
    return lambda d: d * scale


# Pairs that compute the same.
SAME: dict[str, Callable[[], tuple[Any, Any]]] = {
    "code compiled twice": lambda: (made("def f(d): return d + 1"), made("def f(d): return d + 1")),
    "places and names": lambda: (
        made("def f(d):\n    return d + 1"),
        made("\n\n# moved\ndef g(d):\n    # renamed\n    return d + 1\nf = g"),
    ),
    "closures": lambda: (scaled(np.arange(3)), scaled(np.arange(3))),
    "dictionaries in another order": lambda: ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    "sets": lambda: ({"x", "yy", "zzz"}, {"zzz", "x", "yy"}),
    "keys of several types": lambda: ({1: "a", "1": "b", None: "c"}, {None: "c", "1": "b", 1: "a"}),
    "arrays however they lie": lambda: (np.asfortranarray(np.eye(4)[:, ::2]), np.eye(4)[:, ::2].copy()),
    "shared or not": lambda: ([row := np.arange(3), row], [np.arange(3), np.arange(3)]),
    "partials": lambda: (functools.partial(np.power, 2.0), functools.partial(np.power, 2.0)),
    "bound methods": lambda: (as_weights("rbf(2)").depth, as_weights("rbf(2)").depth),
    "objects": lambda: (LogisticRegression(C=2.0), LogisticRegression(C=2.0)),
    "scorers": lambda: (make_scorer(f1_score, average="macro"), make_scorer(f1_score, average="macro")),
    "frames, however they are stored": lambda: (
        pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
        pd.concat([pd.Series([1, 2], name="a"), pd.Series([3, 4], name="b")], axis=1),
    ),
    "chunks": lambda: (pa.chunked_array([[1, 2], [3]]), pa.chunked_array([[1], [2, 3]])),
    "sparse with entries in any order": lambda: (
        sparse.coo_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2)),
        sparse.coo_array(([2.0, 1.0], ([1, 0], [0, 1])), shape=(2, 2)),
    ),
    "not numbers": lambda: (float("nan"), -float("nan")),
}

# Pairs that do not.
OTHER: dict[str, Callable[[], tuple[Any, Any]]] = {
    "two lambdas": lambda: (lambda d: d + 1, lambda d: d + 2),
    "operators": lambda: (lambda d: d + 1, lambda d: d - 1),
    "attributes": lambda: (lambda d: np.exp(-d), lambda d: np.cos(-d)),
    "edited body": lambda: (made("def f(d): return 1 / (1 + d)"), made("def f(d): return 1 / (1 + d * d)")),
    "inner functions": lambda: (
        made("def f(d):\n    def g(x): return x + 1\n    return g(d)"),
        made("def f(d):\n    def g(x): return x + 2\n    return g(d)"),
    ),
    "defaults": lambda: (made("def f(d, h=1.0): return d / h"), made("def f(d, h=2.0): return d / h")),
    "keyword defaults": lambda: (made("def f(d, *, h=1.0): return d / h"), made("def f(d, *, h=2.0): return d / h")),
    "closures": lambda: (scaled(1.0), scaled(2.0)),
    "closures over arrays": lambda: (scaled(np.arange(3)), scaled(np.arange(1, 4))),
    "closures over functions": lambda: (scaled(lambda: 1), scaled(lambda: 2)),
    "globals": lambda: (made("def f(d): return d * h", h=1.0), made("def f(d): return d * h", h=2.0)),
    "globals of globals": lambda: (
        made("h = 1\ndef g(d): return d * h\ndef f(d): return g(d)"),
        made("h = 2\ndef g(d): return d * h\ndef f(d): return g(d)"),
    ),
    "globals of inner functions": lambda: (
        made("def f(d): return [h * x for x in d]", h=1.0),
        made("def f(d): return [h * x for x in d]", h=2.0),
    ),
    "globals of methods": lambda: (
        made("class f:\n    def go(self): return h", h=1),
        made("class f:\n    def go(self): return h", h=2),
    ),
    "functions that call each other": lambda: (
        made("def g(d): return f(d - 1) if d else 1\ndef f(d): return g(d - 1) if d else 0"),
        made("def g(d): return f(d - 1) if d else 2\ndef f(d): return g(d - 1) if d else 0"),
    ),
    "partials": lambda: (functools.partial(np.power, 2.0), functools.partial(np.power, 3.0)),
    "partials of lambdas": lambda: (functools.partial(scaled(1), 2), functools.partial(scaled(3), 2)),
    "bound methods": lambda: (as_weights("rbf(2)").depth, as_weights("rbf(3)").depth),
    "cached functions": lambda: (functools.lru_cache(lambda d: d), functools.lru_cache(lambda d: -d)),
    "compiled functions": lambda: (numba.njit(lambda d: d), numba.njit(lambda d: -d)),
    "vectorized functions": lambda: (np.vectorize(scaled(1)), np.vectorize(scaled(2))),
    "ufuncs": lambda: (np.exp, np.sin),
    "ufuncs elsewhere": lambda: (special.expit, special.logit),
    "builtins": lambda: (max, min),
    "methods of builtin types": lambda: (str.upper, str.lower),
    "methods of builtin objects": lambda: ("a".join, "b".join),
    "functions of a package": lambda: (accuracy_score, f1_score),
    "classes": lambda: (made("class f:\n    a = 1"), made("class f:\n    a = 2")),
    "base classes": lambda: (
        made("class g:\n    def go(self): return 1\nclass f(g): pass"),
        made("class g:\n    def go(self): return 2\nclass f(g): pass"),
    ),
    "properties": lambda: (
        made("class f:\n    @property\n    def a(self): return 1"),
        made("class f:\n    @property\n    def a(self): return 2"),
    ),
    "objects of edited classes": lambda: (
        made("class f:\n    def __call__(self, d): return d")(),
        made("class f:\n    def __call__(self, d): return -d")(),
    ),
    "state": lambda: (LogisticRegression(C=2.0), LogisticRegression(C=3.0)),
    "slots": lambda: tuple(  # type: ignore[return-value]
        made("class f:\n    __slots__ = ('a',)\n    def __init__(self, a): self.a = a")(a) for a in (1, 2)
    ),
    "fitted or not": lambda: (
        KNeighborsClassifier(1),
        KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]),
    ),
    "fitted to other points": lambda: (
        KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]),
        KNeighborsClassifier(1).fit([[0.0], [2.0]], [0, 1]),
    ),
    "scorers": lambda: (make_scorer(scaled(1)), make_scorer(scaled(2))),
    "scorers with parameters": lambda: (make_scorer(f1_score, average="macro"), make_scorer(f1_score, average="micro")),
    "weights": lambda: (as_weights(lambda d: np.exp(-d)), as_weights(lambda d: np.exp(-d / 2))),
    "semivalues": lambda: (pivotal.BetaShapley(4, 1), pivotal.BetaShapley(1, 4)),
    "types of numbers": lambda: (1, 1.0),
    "zeros": lambda: (0.0, -0.0),
    "text and bytes": lambda: ("a", b"a"),
    "nesting": lambda: ([1, [2]], [[1], 2]),
    "lists and tuples": lambda: ([1, 2], (1, 2)),
    "dtypes": lambda: (np.zeros(4, np.float32), np.zeros(4, np.int32)),
    "shapes": lambda: (np.zeros((2, 3)), np.zeros((3, 2))),
    "bytes": lambda: (np.array([0.0, 1.0]), np.array([0.0, np.nextafter(1.0, 2.0)])),
    "dates": lambda: (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
    "objects in arrays": lambda: (np.array(["a", None], object), np.array(["b", None], object)),
    "masks": lambda: (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    "names of columns": lambda: (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    "cells": lambda: (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 3]})),
    "text in columns": lambda: (pd.Series(["a", "b"]), pd.Series(["a", "c"])),
    "indexes": lambda: (pd.Series([1, 2], index=[0, 1]), pd.Series([1, 2], index=[0, 2])),
    "categories": lambda: (pd.Categorical(["a", "b"]), pd.Categorical(["a", "b"], categories=["b", "a"])),
    "missing numbers": lambda: (pd.array([1, None], "Int64"), pd.array([1, 2], "Int64")),
    "arrow tables": lambda: (pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]})),
    "arrow nulls": lambda: (pa.array([1, None]), pa.array([1, 0])),
    "sparse": lambda: (sparse.csr_array(np.eye(3)), sparse.csr_array(np.eye(3)[::-1])),
    "sparse shapes": lambda: (sparse.csr_array((2, 3)), sparse.csr_array((2, 4))),
    "random states": lambda: (np.random.default_rng(0), np.random.default_rng(1)),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_content_has_the_same_token(case: str) -> None:
    one, other = SAME[case]()
    assert token(one) == token(other)
    assert token([one, {"x": one}]) == token([other, {"x": other}])


@pytest.mark.parametrize("case", OTHER)
def test_other_content_has_another_token(case: str) -> None:
    one, other = OTHER[case]()
    assert token(one) != token(other)
    assert token({"deep": [one]}) != token({"deep": [other]})
    assert token(one) == token(one)


def test_a_changed_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def uses(d: float) -> float:
        return d * SCALE

    before = token(uses)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert token(uses) != before


def test_an_unused_global_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def uses_none(d: Any) -> Any:
        return d.SCALE  # an attribute of something else

    before = token(uses_none)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert token(uses_none) == before


def test_a_semivalue_of_constant_name_is_told_by_its_weights() -> None:
    @dataclass(frozen=True)
    class Named(pivotal.Semivalue):
        q: float

        @property
        def name(self) -> str:
            return "mine"

        def joined(self, n: Any, s: int) -> Any:
            return np.asarray(n) * self.q

        def mass(self, a: int, b: int) -> float:
            return self.q

    assert token(Named(0.5)) == token(Named(0.5))
    assert token(Named(0.5)) != token(Named(0.25))


def test_what_is_computed_when_first_asked_for_does_not_count() -> None:
    class Lazy:
        @functools.cached_property
        def table(self) -> list[int]:
            return [1, 2, 3]

    one = Lazy()
    before = token(one)
    assert one.table
    assert token(one) == before
    twice = np.vectorize(lambda d: 2 * d, otypes=[float])
    before = token(twice)
    twice([1.0])
    assert token(twice) == before
    counted = functools.lru_cache(lambda d: d)
    before = token(counted)
    counted(1)
    assert token(counted) == before


COUNT, CALLS, TALLY = 0, [], {"n": 0}


class Counting:
    """Counts in every way that tests and logs do."""

    fits, log = 0, []  # type: ignore[var-annotated]
    scale = 2.0

    def __init__(self) -> None:
        self.calls = 0
        self.total = 0.0

    def __call__(self, d: float) -> float:
        global COUNT
        COUNT += max(int(d), 1)
        CALLS.append(d)
        TALLY["n"] += 1
        self.calls += 1
        self.total += len([d]) + d
        Counting.fits += 1
        type(self).fits += 1
        self.log.append(d)
        return d * self.scale


def test_what_is_counted_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    n_calls = 0

    def counted(d: float) -> float:
        nonlocal n_calls
        n_calls += 1
        return d

    scorer = Counting()
    before = token(scorer), token(counted)
    assert scorer(counted(1.0)) == 2.0
    assert (COUNT, CALLS, TALLY["n"], scorer.calls, Counting.fits, Counting.log, n_calls) == (
        1,
        [1.0],
        1,
        1,
        2,
        [1.0],
        1,
    )
    assert (token(scorer), token(counted)) == before
    scorer.factor = 3.0  # type: ignore[attr-defined]
    assert token(scorer) != before[0]
    monkeypatch.setattr(Counting, "scale", 3.0)
    assert token(Counting()) != before[0]


def test_what_is_only_read_counts_even_if_others_write_it() -> None:
    # Changed by the code itself, and used: what they start with counts.
    for one, other in [
        ("def f(d): h.append(d); return d * h[0]", {"h": [1]}),
        ("def f(d): h.setdefault('a', 1); return d * h['a']", {"h": {"a": 2}}),
        ("def f(d):\n    global h\n    h = h * 2\n    return d * h", {"h": 3}),
        ("def f(d):\n    h['n'] = 1\n    return d * h['a']", {"h": {"a": 2}}),
    ]:
        assert token(made(one, h={"a": 5} if isinstance(other["h"], dict) else [5])) != token(made(one, **other))
    body = "scale = {}\ndef configure(x):\n    global scale\n    scale = x\ndef f(d): return d * scale"
    assert token(made(body.format(1))) != token(made(body.format(2)))
    body = "class f:\n    scale = {}\n    def set(self, x): self.scale = x\n    def go(self): return self.scale"
    assert token(made(body.format(1))) != token(made(body.format(2)))


# Counted up somewhere, and read somewhere else: in another method, below or above, by a caller, by a helper.
READ = {
    "another method": """
class f:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d): return d / self.h
new = f
""",
    "the same method": """
class f:
    def __init__(self, h): self.h = h
    def __call__(self, d):
        self.h += 1
        return d / self.h
new = f
""",
    "the class below": """
class base:
    def __init__(self, h): self.h = h
    def __call__(self, d): return d / self.h
class new(base):
    def widen(self): self.h += 1
""",
    "the class above": """
class base:
    def __init__(self, h): self.log = [h] * h
    def __call__(self, d): self.log.append(d); return d
class new(base):
    def __call__(self, d): return super().__call__(d) * len(self.log)
""",
    "a log of the class": """
class base:
    log = []
    def __call__(self, d): self.log.append(d); return d
class sub(base):
    def __call__(self, d): return super().__call__(d) * len(self.log)
def new(h):
    base.log = [0] * h
    return sub()
""",
    "whoever holds it": """
class settings:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
def new(h):
    held = settings(h)
    return lambda d: d / held.h
""",
    "a variable": """
class new:
    def __init__(self, h): self.h = h
    def __call__(self, d):
        scale = self.h
        self.h += d
        return scale * d
""",
    "a sum that is used": """
class new:
    def __init__(self, h): self.h = h
    def __call__(self, d):
        self.h += d
        d += self.h
        return d
""",
    "a sum on the way": """
class new:
    def __init__(self, h): self.h = h
    def __call__(self, d):
        d = d * self.h; self.h += d
        return d
""",
    "a helper": """
class new:
    def __init__(self, h): self.seen = set(range(h))
    def __call__(self, d): self.seen.add(-1); return helper(self, d)
def helper(one, d): return d * len(one.seen)
""",
    "a dictionary": """
class new:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d): return d / vars(self)["h"]
""",
    "a method called add": """
class scale:
    def __init__(self, h): self.h = h
    def add(self, d): return d / self.h
def new(h):
    one = scale(h)
    return lambda d: one.add(d)
""",
    "a branch": """
class new:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d):
        if self.h == 2: return 2 * d
        return d
""",
    "a longer branch": """
class new:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d):
        if self.h == 2:
            d = 2 * d
            if d < 0: raise KeyboardInterrupt
        return d
""",
    "an interruption that is caught": """
class new:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d):
        try:
            if self.h == 2: raise KeyboardInterrupt
        except KeyboardInterrupt: d = 2 * d
        return d
""",
    "an error that callers catch": """
class new:
    def __init__(self, h): self.h = h
    def widen(self): self.h += 1
    def __call__(self, d):
        if self.h == 2: raise ValueError
        return d
""",
    "text": """
h = 0
def f(d): return d * globals()["h"]
def new(n):
    global h
    h = n
    return f
""",
    "an expression": """
h = 0
def f(d): return eval("d * h")
def new(n):
    global h
    h = n
    return f
""",
}


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_is_counted_and_read_counts(body: str) -> None:
    space: dict[str, Any] = {"__name__": "notebook"}
    exec(body, space)
    tokens = [token(space["new"](h)) for h in (1, 2, 1)]
    assert tokens[0] == tokens[2] != tokens[1]


def test_a_limit_that_interrupts_is_no_content() -> None:
    space: dict[str, Any] = {"__name__": "notebook"}
    exec(
        """
import os
class f:
    n, limit = 0, 5
    def __call__(self, d):
        f.n += 1
        if f.n == f.limit: raise KeyboardInterrupt
        if f.n > 9: os.kill(os.getpid(), 9)
        return d
""",
        space,
    )
    before = token(space["f"]())
    space["f"].n = 3
    assert token(space["f"]()) == before
    space["f"].limit = 6
    assert token(space["f"]()) != before


def test_what_refers_to_itself_has_an_end() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    other: list[Any] = [2]
    other.append(other)
    assert token(endless) != token(other)

    def factorial(n: int) -> int:
        return n * factorial(n - 1) if n else 1

    assert token(factorial) == token(factorial)


@pytest.mark.parametrize("content", [threading.Lock(), (i for i in range(3)), np.frompyfunc(lambda d: d, 1, 1)])
def test_what_cannot_be_told_is_said_in_a_sentence(content: Any) -> None:
    with pytest.raises(TypeError, match="cannot be identified by its content"):
        token(content)
    with pytest.raises(TypeError, match="cannot be identified by its content"):
        token(lambda: content)


def test_too_deep_is_said_in_a_sentence() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(TypeError, match="nested too deeply"):
        token(deep)


def test_the_version_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = token(1)
    monkeypatch.setattr("pivotal.core.identity._walk.__version__", "0.0.0")
    assert token(1) != before


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import functools
import numpy as np
import helper
from helper import Model, weigh
from pivotal import Semivalue
from pivotal.core.identity import token

H = {"b", "a", "ccc", 4}

class Mine(Semivalue):
    name = "mine"
    def joined(self, n, s): return np.asarray(n) * len(H)
    def mass(self, a, b): return super().mass(a, b)

def lazily(d):
    from helper import weigh as w
    return w(d)

things = {
    "function": weigh, "attribute": lambda d: helper.weigh(d), "partial": functools.partial(weigh, h=2),
    "wrapped": lambda d: weigh(d), "imported inside": lazily, "object": Model(), "method": Model().score,
    "class": Model, "mine": Mine(), "constant": lambda d: d in {"x", "y", "z"},
    "lookup": lambda d: getattr(helper, "we" + "igh")(d),
    "unrelated": lambda d: np.exp(d), "estimator": helper.Fitted(),
}
for name, thing in things.items():
    print(name, token(thing))
"""
HELPER = """
import inner
{comment}
from sklearn.base import BaseEstimator
def weigh(d, h=1):
    return inner.falling(d) / h
class Model:
    def score(self, X): return weigh(X)
class Fitted(BaseEstimator):
    def fit(self, X, y): self.mean_ = Model().score(X); return self
"""
INNER = "def falling(d): return {number} - d\n"


# Runs the script in folders that it is told, each time in a process of its own that has the libraries loaded.
FORKS = """
import os, runpy, subprocess, sys
import numpy, sklearn.base
from pivotal.core.identity import token
for line in sys.stdin:
    sys.argv = [line.rstrip("\\n") + "/script.py", line.rstrip("\\n")]
    if sys.platform != "linux":
        subprocess.run([sys.executable, *sys.argv], check=True)
    elif os.fork():
        if os.wait()[1]:
            sys.exit("the script failed")
    else:
        sys.path.insert(0, sys.argv[1])
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
            sys.stdout.flush()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    print("end", flush=True)
"""


@contextmanager
def started(seed: str) -> Iterator[subprocess.Popen[str]]:
    """Start what runs scripts, with a seed of hashes."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process


def tokens(process: subprocess.Popen[str], folder: Path, *, number: int = 1, comment: str = "") -> dict[str, str]:
    """Return the tokens of the script's things, in a process of its own, with its modules written anew."""
    assert process.stdin is not None
    assert process.stdout is not None
    (folder / "helper.py").write_text(HELPER.format(comment=comment))
    (folder / "inner.py").write_text(INNER.format(number=number))
    (folder / "script.py").write_text(comment + SCRIPT)
    print(folder, file=process.stdin, flush=True)
    lines = []
    while (line := process.stdout.readline()) != "end\n":
        assert line, "the script failed"
        lines.append(line)
    return dict(line.rstrip("\n").rsplit(" ", 1) for line in lines)  # type: ignore[misc]


def test_processes_agree_until_a_module_is_edited(tmp_path: Path) -> None:
    there, elsewhere = tmp_path / "a", tmp_path / "b"
    there.mkdir()
    elsewhere.mkdir()
    with started("1") as one, started("2") as two:
        first = tokens(one, there)
        assert len(set(first.values())) == len(first)
        assert tokens(two, elsewhere) == first
        commented = tokens(two, there, comment="# nothing but a remark, and a line more\n")
        assert {name for name in first if commented[name] != first[name]} <= {"lookup"}  # which may use any line
        edited = tokens(one, there, number=2)
    unchanged = {name for name in first if edited[name] == first[name]}
    assert unchanged == {"mine", "constant", "unrelated"}


class Rule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A model of this file, which is not installed."""

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def predict(self, X: Any) -> Any:
        return np.asarray(X)[:, 0] > self.threshold


def test_a_monkeypatched_method_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = token(Rule())
    assert token(Rule(0.25)) != before
    monkeypatch.setattr(Rule, "predict", lambda _, X: np.zeros(len(X)))
    assert token(Rule()) != before
