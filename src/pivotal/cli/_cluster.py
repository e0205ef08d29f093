"""`--scheduler`: a Dask cluster to compute on, and tables that only its workers read."""

from __future__ import annotations

import argparse
import contextlib
import logging
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from pivotal.cli._parser import UsageError
from pivotal.cli._screen import Screen
from pivotal.cli._work import DistributedData, check_targets, count_rows, is_regression, roles_of
from pivotal.core.extras import needed

_PATIENCE: Final = 5  # seconds to wait for a scheduler to answer
_LOCAL: Final = re.compile(r"local(?::0*([1-9]\d*))?")
_REMOTE: Final = re.compile(r"(tcp|tls|ws|wss|ucx|ucxx)://\S+:\d+")
# What needs rows in one place, and what to do instead.
_REFUSED: Final = {
    "report": "a report shows rows, which stay on the workers; write the values with -o, or omit --scheduler",
    "split": "rows are not held out on a cluster; put the test rows into files of their own and name them with --test",
    "owner": "owners are shown in the report, which needs all rows in one place; write the values with -o and --id, "
    "and add them up by owner",
    "text": "text is shown beside rows, which stay on the workers; omit the columns with --ignore",
    "embed": "embedding needs all rows in one place; write vectors into a column of the Parquet files",
    "embeddings": "vectors are read by the workers; write them into a column of the Parquet files",
    "image": "images are shown in the report, which needs all rows in one place; omit the columns with --ignore",
}


def check_options(options: argparse.Namespace) -> None:
    """Refuse what cannot be done on a cluster, and addresses that are not valid."""
    for name, reason in _REFUSED.items():
        if getattr(options, name) not in (None, []):
            raise UsageError(f"--{name} does not go with --scheduler: {reason}.")
    if options.label is None:
        raise UsageError("say which column holds the labels, for example --label y.")
    if not (_LOCAL.fullmatch(options.scheduler) or _REMOTE.fullmatch(options.scheduler)):
        raise UsageError(
            "--scheduler is the address of a Dask scheduler such as tcp://host:8786, or local, or local:4 for 4 "
            f"workers on this machine; got {options.scheduler!r}."
        )


@contextlib.contextmanager
def connected(address: str, screen: Screen) -> Iterator[None]:
    """Compute on a cluster for a while; the connection, and a cluster that was started, are closed in any case."""
    with needed("--scheduler needs Dask", "dask"):
        import distributed
    with contextlib.ExitStack() as closing:
        if not screen.verbose:
            closing.enter_context(_quiet())
        local = _LOCAL.fullmatch(address)
        client = closing.enter_context(
            distributed.Client(closing.enter_context(_started(local[1], screen))) if local else _reached(address)
        )
        n_workers = len(client.nthreads())
        screen.detail(f"{address}: {n_workers} {'worker' if n_workers == 1 else 'workers'}; {client.dashboard_link}")
        if n_workers == 0:
            screen.note(f"{address} has no workers yet; waiting for some.")
        try:
            yield
        except distributed.KilledWorker as error:
            raise OSError(
                "workers kept dying on the same task, usually because they ran out of memory; use fewer or larger "
                "workers, or Parquet files with smaller row groups."
            ) from error
        except distributed.CancelledError as error:
            raise OSError(f"the connection to the scheduler {address} was lost; is it still running?") from error
        except (ImportError, RuntimeError) as error:
            if "No module named 'pivotal" in str(error) or "deserialization" in str(error):
                raise ImportError(
                    f"the scheduler and the workers of {address} need pivotal, in the version that is installed here; "
                    "install it there."
                ) from error
            raise


def _started(n_workers: str | None, screen: Screen) -> Any:
    """Start a cluster on this machine: a process for each worker, as neighbours are found with one thread each."""
    from dask.system import CPU_COUNT
    from distributed import LocalCluster

    with _children_ignore_interrupts():
        return LocalCluster(
            n_workers=int(n_workers or CPU_COUNT),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any port that is free
            silence_logs=logging.ERROR if screen.verbose else logging.CRITICAL,
        )


@contextlib.contextmanager
def _children_ignore_interrupts() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: they are ended by us. For that moment it does not reach us either."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's logs to itself: what fails is said in one sentence."""
    from distributed.utils import silence_logging_cmgr

    tasks = logging.getLogger("asyncio")  # on Ctrl-C, of tasks whose results are not waited for any more
    before = tasks.level
    tasks.setLevel(logging.CRITICAL)
    try:
        with silence_logging_cmgr(logging.CRITICAL):
            yield
    finally:
        tasks.setLevel(before)


def _reached(address: str) -> Any:
    """Connect to a scheduler."""
    import asyncio

    from distributed import Client

    try:
        asyncio.run(asyncio.wait_for(_check_scheduler(address), _PATIENCE))
        return Client(address, timeout=_PATIENCE)
    except (OSError, TypeError, ValueError) as error:  # a wait that was too long is an OSError as well
        reason = "" if isinstance(error, OSError) else f" ({next(iter(str(error).splitlines()), '').rstrip('.')})"
        raise OSError(
            f"cannot reach a Dask scheduler at {address}{reason}; is it running, and is this its port?"
        ) from error


async def _check_scheduler(address: str) -> None:
    """See whether a server at an address speaks Dask's language; a client would wait for an answer without end."""
    from distributed.comm import connect
    from distributed.security import Security

    comm = await connect(address, timeout=_PATIENCE, **Security().get_connection_args("client"))
    await comm.close()


def load_distributed_data(options: argparse.Namespace, screen: Screen) -> DistributedData:
    """Let the workers read the table and the test rows, and make features of them."""
    from pivotal.tables.distributed import load_distributed

    start = time.perf_counter()
    name = " ".join(options.table)
    screen.detail(f"reading {name}")
    regression = is_regression(options)
    prepared = load_distributed(
        options.table,
        None if options.test is None else [options.test],
        roles_of(options, options.label),
        regression=regression,
        max_rows=options.max_rows,
    )
    check_targets(options, (options.out,), list(prepared.files))
    apart = "" if options.test is None else f"; {len(prepared.X_test)} test rows in {options.test}"
    screen.note(f"{name}: {count_rows(len(prepared.X))}{apart}")
    screen.columns(prepared.treatments)
    screen.detail(
        f"looked at in {time.perf_counter() - start:.2f} s; {prepared.X.shape[1]} features in "
        f"{prepared.X.numblocks[0]} pieces"
    )
    return DistributedData(name, prepared, regression)
