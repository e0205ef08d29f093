"""Which files and tests take the most processor time, on a machine that has other things to do as well.

python -m pytest -n auto --slowest 20
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

try:
    import resource
except ImportError:  # Windows adds up for nobody what processes spent that have ended
    resource = None

_NAME = "processor seconds"
_START = pytest.StashKey[float]()


def _spent() -> float:
    """Return the processor seconds of this process and of those it started, as far as they have ended."""
    if resource is None:
        return time.process_time()
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


class ProcessorTime:
    """A plugin: an object, as the hooks of a conftest are not called for tests outside its folder."""

    def __init__(self, shown: int) -> None:
        self._shown = shown

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        item.stash[_START] = _spent()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        try:
            return (yield)
        finally:
            item.user_properties.append((_NAME, _spent() - item.stash[_START]))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._shown:
            return
        tests: Counter[str] = Counter()
        for reports in terminalreporter.stats.values():
            for report in reports:
                tests[report.nodeid] += dict(getattr(report, "user_properties", ())).get(_NAME, 0)
        files: Counter[str] = Counter()
        for name, seconds in tests.items():
            files[name.partition("::")[0]] += seconds
        terminalreporter.section(f"{tests.total():.0f} seconds of processor time")
        for counts in (files, tests):
            for name, seconds in counts.most_common(self._shown):
                terminalreporter.write_line(f"{seconds:7.2f} s  {name}")
