"""What belongs to the machine is set once, and every call goes by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

import pivotal
from pivotal.analysis import redundancy, removal_curve, repair, selection_curve
from pivotal.core.config import Resources
from pivotal.review import _start

RNG = np.random.default_rng(0)
X, Y, Q, T = RNG.normal(size=(40, 2)), np.arange(40) % 2, RNG.normal(size=(8, 2)), np.arange(8) % 2
RUN, GRADES = {"a": ["1", "2"], "b": ["2", "1"]}, {"a": {"1": 1}, "b": {"2": 1}}

CHOOSING = {"n_trees": 0, "random_state": 0}
MIXED = np.where(RNG.random(40) < 0.2, Y, X[:, 0] > 0).astype(int)  # some rows are suspects, so that folds are made


def review(**how: Any) -> Any:
    """Prepare a review and end it, without a server: what it was prepared with is returned as its decisions."""

    class Service:
        def __init__(self, prepare: Callable[..., Any], _reviewer: str) -> None:
            self.session, _ = prepare(lambda *_: None)

    errors = pivotal.find_label_errors(X, Y, k=5, n_trees=0, n_jobs=1)
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(_start, "need_server", lambda: None)
        patch.setattr(_start, "ReviewService", Service)
        patch.setattr(_start, "Server", MagicMock())
        patch.setattr(_start, "decisions_frame", lambda session: session.close())
        return errors.review(X, journal=Path(folder) / "j.db", open_page=False, opened=lambda _: None, **how)


CALLS: dict[str, Callable[..., Any]] = {
    "value": lambda **how: pivotal.value(X, Y, Q, T, **how),
    "value_retrieval": lambda **how: pivotal.value_retrieval(RUN, GRADES, k=1, **how),
    "sweep": lambda **how: pivotal.sweep(X, Y, Q, T, k=[1, 2], **how),
    "find_label_errors": lambda **how: pivotal.find_label_errors(X, Y, k=5, n_trees=0, **how),
    "check": lambda **how: pivotal.check(X, Y, label_options={"n_trees": 0}, **how),
    "removal_curve": lambda **how: removal_curve(None, X, Y, Q, T, order="random", random_state=0, **how),
    "selection_curve": lambda **how: selection_curve(None, X, Y, Q, T, order="random", random_state=0, **how),
    "repair": lambda **how: repair(None, X, Y, Q, T, order="random", random_state=0, **how),
    "redundancy": lambda **how: redundancy(np.zeros(40), X, Y, Q, **how),
    "select": lambda **how: pivotal.select(X, Y, 10, **CHOOSING, **how),
    "remove_harmful": lambda **how: pivotal.remove_harmful(X, MIXED, **how),
    "review": review,
}
every_call = pytest.mark.parametrize("name", CALLS)


@every_call
def test_threads_are_those_of_the_configuration_unless_said(name: str) -> None:
    with pivotal.config_context(n_jobs=0):  # turned down where it is looked at
        with pytest.raises(ValueError, match="n_jobs must be an integer other than 0"):
            CALLS[name]()
        CALLS[name](n_jobs=1)


@pytest.mark.parametrize("name", [name for name in CALLS if name not in {"redundancy", "review"}])
def test_bars_are_shown_as_the_configuration_says(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    CALLS[name]()
    assert capsys.readouterr().err == ""
    with pivotal.config_context(progress=True):
        CALLS[name]()
        assert "%|" in capsys.readouterr().err
        CALLS[name](progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "where"), [("find_label_errors", "_request"), ("check", "_run_check")])
def test_memory_is_that_of_the_configuration(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import pivotal.analysis.checkup._run_check as _run_check
    import pivotal.analysis.label_errors._request as _request

    module: Any = {"_request": _request, "_run_check": _run_check}[where]
    seen, made = [], module.as_index
    monkeypatch.setattr(
        module, "as_index", lambda *args, **how: (seen.append(how["max_memory"]), made(*args, **how))[1]
    )
    with pivotal.config_context(max_memory="3MB"):
        CALLS[name]()
        CALLS[name](max_memory="2MB")
    assert seen == ["3MB", "2MB"]


def test_values_of_single_queries_take_the_memory_of_the_configuration() -> None:
    with pivotal.config_context(max_memory=1), pytest.raises(ValueError, match=r"got 1 bytes\. Raise max_memory"):
        pivotal.value_retrieval(RUN, GRADES, k=1, per_query=True)
    with pivotal.config_context(max_memory="1kB"):
        assert pivotal.value_retrieval(RUN, GRADES, k=1, per_query=True).queries is not None


@pytest.mark.parametrize("name", ["select", "remove_harmful"])
def test_selections_are_given_the_memory_of_the_configuration(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pivotal.analysis.selection import _selection_data

    seen, made = set(), _selection_data.as_index_of_many
    monkeypatch.setattr(
        _selection_data,
        "as_index_of_many",
        lambda *args, **how: (seen.add(how["max_memory"]), made(*args, **how))[1],
    )
    with pivotal.config_context(max_memory="3MB"):
        CALLS[name]()
        assert seen == {3_000_000}
        CALLS[name](max_memory="2MB")
    assert seen == {3_000_000, 2_000_000}


def test_a_context_ends() -> None:
    before = pivotal.get_config()
    with pytest.raises(RuntimeError), pivotal.config_context(n_jobs=1):
        raise RuntimeError
    assert pivotal.get_config() == before


def test_what_is_no_resource_is_refused() -> None:
    with pytest.raises(TypeError, match=r"the configuration has n_jobs, max_memory, .*; got 'threads'"):
        pivotal.set_config(threads=2)
    assert Resources.of(n_jobs=None) is Resources.of()
