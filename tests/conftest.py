from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

from effort import load_profiles
from processor_time import ProcessorTime

load_profiles()

# Workers, and processes that tests start, load the same files: they keep bytecode even where the environment says
# otherwise, as on many build machines, and need not compile it each for itself.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The workers have the processors, one each: threads of linear algebra would only wait for each other.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest", type=int, default=0, metavar="N", help="name what takes the most processor time")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    # What is collected stays, with the modules behind it: the garbage collector need not go through it time after time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    # Where a whole run is divided among workers, they would all compile the same kernels first.
    divided = bool(getattr(config.option, "numprocesses", 0)) and not hasattr(config, "workerinput")
    if divided and config.args_source is config.ArgsSource.TESTPATHS:
        import warm  # here, as it imports the package, which coverage in the workers has to see first

        if warm.is_cold():
            warm.compile_apart()
    config.pluginmanager.register(ProcessorTime(config.getoption("--slowest")))
