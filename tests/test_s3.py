"""A bucket for real: tables, results, reports and checkpoints on a server that speaks as S3 does."""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import flat
import pivotal
from buckets import BUCKET, KEYS, Store, running
from pivotal.cli import main
from pivotal.results.values import Values
from pivotal.valuation.dask.folder import Folder

# Neither is imported before a test needs it: the run without a store collects this file as well.
if find_spec("s3fs") is None or find_spec("moto") is None:
    pytest.skip("needs s3fs and moto", allow_module_level=True)
pytestmark = pytest.mark.cluster  # a store of objects, which runs beside

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(60, 3)), columns=list("abc")).assign(
    y=np.where(RNG.random(60) < 0.5, "cat", "dog"), who=np.array(["ann", "bob", "eve"])[np.arange(60) % 3]
)
X, Y = RNG.normal(size=(200, 3)), RNG.integers(0, 3, size=200)
Q, T = RNG.normal(size=(30, 3)), RNG.integers(0, 3, size=30)
LABEL = ["--label", "y", "--ignore", "who", "--quiet"]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    import s3fs

    with running() as store, pytest.MonkeyPatch.context() as patch:
        for name, content in {**KEYS, "AWS_ENDPOINT_URL": store.url}.items():
            patch.setenv(name, content)
        s3fs.S3FileSystem.clear_instance_cache()
        yield store
        s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The file system, with a bucket that holds a table in two files of each kind and nothing else."""
    import s3fs

    assert os.environ["AWS_ENDPOINT_URL"] == store.url
    system = s3fs.S3FileSystem()
    if system.exists(BUCKET):
        system.rm(BUCKET, recursive=True)
    system.mkdir(BUCKET)
    for part, rows in enumerate((FRAME[:35], FRAME[35:])):
        system.pipe_file(f"{BUCKET}/t/{part}.csv", rows.to_csv(index=False).encode())
        rows.to_parquet(tmp_path / "part.parquet", index=False)
        system.put_file(str(tmp_path / "part.parquet"), f"{BUCKET}/t/{part}.parquet")
    system.pipe_file(f"{BUCKET}/t/all.csv.gz", gzip.compress(FRAME.to_csv(index=False).encode()))
    FRAME.to_csv(tmp_path / "here.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return system


def names(system: Any, prefix: str) -> list[str]:
    system.invalidate_cache()
    return sorted(path.removeprefix(f"{BUCKET}/{prefix}/") for path in system.find(f"{BUCKET}/{prefix}"))


def stamps(system: Any, prefix: str) -> dict[str, Any]:
    """When each object was written last, and its tag."""
    system.invalidate_cache()
    found = system.find(f"{BUCKET}/{prefix}", detail=True)
    return {path.rpartition("/")[2]: (info["LastModified"], info["ETag"]) for path, info in found.items()}


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """Return what a command that must fail says, in one line."""
    assert main([*command]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pivotal: ")
    assert said.count("\n") == 1
    return said.removeprefix("pivotal: ").strip()


@pytest.mark.parametrize("table", ["t/*.csv", "t/*.parquet", "t/all.csv.gz"])
def test_tables_are_read_and_values_written(bucket: Any, table: str) -> None:
    assert main(["value", f"s3://{BUCKET}/{table}", *LABEL, "-o", f"s3://{BUCKET}/out/far.csv"]) == 0
    assert main(["value", "here.csv", *LABEL, "-o", "near.csv"]) == 0
    far, near = pd.read_csv(bucket.open(f"{BUCKET}/out/far.csv")), pd.read_csv("near.csv")
    pd.testing.assert_frame_equal(far, near, check_exact=False, rtol=0, atol=1e-12)
    assert names(bucket, "out") == ["far.csv"]  # and nothing half written beside it


def test_everything_that_is_written_may_go_there(bucket: Any) -> None:
    there = f"s3://{BUCKET}/out"
    table = f"s3://{BUCKET}/t/*.csv"
    assert main(["value", table, *LABEL, "-o", f"{there}/v.parquet", "--report", f"{there}/r.html"]) == 0
    fixed = ["--fix", f"{there}/f.csv", "--drop", f"{there}/d.csv.gz"]
    assert main(["clean", table, *LABEL, "-o", f"{there}/s.jsonl", *fixed]) == 0
    assert main(["select", table, "-n", "10", *LABEL, "-o", f"{there}/best.csv"]) == 0
    assert main(["remove", table, "-n", "10", *LABEL, "-o", f"{there}/rest.csv"]) == 0
    paid = ["pay", table, "--label", "y", "--owner", "who", "--quiet", "--budget", "100", "--non-negative"]
    assert main([*paid, "-o", f"{there}/paid.csv"]) == 0
    assert names(bucket, "out") == sorted(
        ["v.parquet", "r.html", "s.jsonl", "f.csv", "d.csv.gz", "best.csv", "rest.csv", "paid.csv"]
    )
    values = Values.load(f"{there}/v.parquet")
    assert len(values) == 60
    assert len(pd.read_csv(bucket.open(f"{BUCKET}/out/f.csv"))) == 60
    assert len(pd.read_csv(bucket.open(f"{BUCKET}/out/best.csv"))) == 10
    assert len(pd.read_csv(bucket.open(f"{BUCKET}/out/rest.csv"))) == 50
    assert gzip.decompress(bucket.cat_file(f"{BUCKET}/out/d.csv.gz")).startswith(b"a,b,c,y,who\n")
    assert pd.read_csv(bucket.open(f"{BUCKET}/out/paid.csv")).iloc[:, 1:].to_numpy().size > 0
    kind = bucket.call_s3("head_object", Bucket=BUCKET, Key="out/r.html")["ContentType"]
    assert kind == "text/html"  # a browser shows it
    assert bucket.cat_file(f"{BUCKET}/out/r.html").startswith(b"<!doctype html>")


def test_results_from_python(bucket: Any) -> None:
    values = flat.value(X, Y, Q, T, per_query=True)
    values.save(f"s3://{BUCKET}/v.parquet")
    assert Values.load(f"s3://{BUCKET}/v.parquet").equals(values)
    assert values.report(f"s3://{BUCKET}/r.html", y=Y) == f"s3://{BUCKET}/r.html"
    with pytest.raises(FileNotFoundError, match=rf"cannot read s3://{BUCKET}/no\.parquet: there is no such file"):
        Values.load(f"s3://{BUCKET}/no.parquet")
    bucket.pipe_file(f"{BUCKET}/broken.parquet", b"PAR1 no")
    with pytest.raises(ValueError, match=rf"s3://{BUCKET}/broken\.parquet is not a Parquet file"):
        Values.load(f"s3://{BUCKET}/broken.parquet")


def test_an_upload_that_fails_leaves_the_old_object(
    bucket: Any, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"s3://{BUCKET}/out/v.csv"
    bucket.pipe_file(f"{BUCKET}/out/v.csv", b"old")
    with store.refusing():
        said = refused(capsys, "value", "here.csv", *LABEL, "-o", target)
        assert re.fullmatch(rf"cannot write {target}: .*no more room.*", said)
        with pytest.raises(OSError, match=r"cannot write s3://.*r\.html: .*no more room"):
            Values([1.0, 2.0], n_queries=1).report(f"s3://{BUCKET}/out/r.html")
    assert bucket.cat_file(f"{BUCKET}/out/v.csv") == b"old"
    assert names(bucket, "out") == ["v.csv"]
    assert main(["value", "here.csv", *LABEL, "-o", target]) == 0
    assert bucket.cat_file(f"{BUCKET}/out/v.csv").startswith(b"id,value")


def test_what_is_wrong_is_said_before_any_work(bucket: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.pipe_file(f"{BUCKET}/d.html/t.csv", b"a")
    for arguments, message in (
        (
            ["-o", "s3://no-such-bucket/v.csv"],
            "cannot write s3://no-such-bucket/v.csv: the bucket no-such-bucket does n",
        ),
        (["-o", f"s3://{BUCKET}/t/0.csv"], f"s3://{BUCKET}/t/0.csv is read from and must not be written over"),
        (["-o", f"s3://{BUCKET}/t/"], f"cannot write to s3://{BUCKET}/t/: it is a directory; give a file name"),
        (["-o", "s3://bucket.csv"], "cannot write to s3://bucket.csv: it is a directory; give a file name"),
        (["--report", f"s3://{BUCKET}/d.html"], f"cannot write to s3://{BUCKET}/d.html: it is a directory; give a"),
    ):
        assert refused(capsys, "value", f"s3://{BUCKET}/t/0.csv", *LABEL, *arguments).startswith(message)
    said = refused(capsys, "value", f"s3://{BUCKET}/t/no.csv", *LABEL)
    assert said == f"cannot read s3://{BUCKET}/t/no.csv: there is no such file."
    said = refused(capsys, "value", f"s3://{BUCKET}/t/*.tsv", *LABEL)
    assert said == f"cannot read s3://{BUCKET}/t/*.tsv: no file matches the pattern."
    said = refused(capsys, "value", "here.csv", *LABEL, "--checkpoint", "s3://no-such-bucket/kept")
    assert said.startswith("cannot use s3://no-such-bucket/kept as a checkpoint: ")
    assert "bucket" in said


def test_a_checkpoint_in_a_bucket(bucket: Any) -> None:
    command = ["value", f"s3://{BUCKET}/t/*.parquet", *LABEL, "--checkpoint", f"s3://{BUCKET}/kept/here"]
    assert main([*command, "-o", "first.parquet"]) == 0
    before = stamps(bucket, "kept/here")
    assert "valuation.json" in before
    assert any(re.fullmatch(r"block-\d+\.npz", name) for name in before)
    assert main([*command, "-o", "second.parquet"]) == 0
    assert stamps(bucket, "kept/here") == before
    assert main(["value", "here.csv", *LABEL, "-o", "plain.parquet"]) == 0
    first, second, plain = (Values.load(f"{name}.parquet") for name in ("first", "second", "plain"))
    assert first.equals(second)
    np.testing.assert_allclose(first.values, plain.values, rtol=0, atol=1e-12)


def test_another_valuation_is_refused_and_damage_is_named(bucket: Any) -> None:
    kept = f"s3://{BUCKET}/kept"
    first = flat.value(X, Y, Q, T, checkpoint=kept, block_size=10).compute()
    assert np.array_equal(first.values, pivotal.value(X, Y, Q, T).values)
    with pytest.raises(ValueError, match=r"belongs to another valuation, with other settings \(k\)"):
        flat.value(X, Y, Q, T, checkpoint=kept, block_size=10, k=3)
    bucket.pipe_file(f"{BUCKET}/kept/block-1.npz", b"PK\x03\x04 half a block")
    with pytest.raises(OSError, match=rf"is damaged in {kept}/block-1\.npz: .*Delete that file and run again"):
        flat.value(X, Y, Q, T, checkpoint=kept, block_size=10).compute()
    bucket.rm_file(f"{BUCKET}/kept/block-1.npz")
    again = flat.value(X, Y, Q, T, checkpoint=kept, block_size=10).compute()
    assert again.equals(first)
    bucket.pipe_file(f"{BUCKET}/kept/valuation.json", b"[" * 100_000)
    with pytest.raises(OSError, match=rf"is damaged in {kept}/valuation\.json"):
        flat.value(X, Y, Q, T, checkpoint=kept, block_size=10)


@pytest.mark.usefixtures("bucket")
def test_of_two_valuations_that_begin_at_once_one_is_refused() -> None:
    kept, asked = f"s3://{BUCKET}/kept", [{"k": 3}, {"k": 4}]
    barrier, create = threading.Barrier(2), Folder.create

    def together(self: Folder, name: str, content: bytes) -> bool:
        barrier.wait(timeout=60)  # both have seen that there is none
        return create(self, name, content)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(Folder, "create", together)
        futures = [pool.submit(flat.value, X, Y, Q, T, checkpoint=kept, **settings) for settings in asked]
        errors = [future.exception(timeout=120) for future in futures]
    (error,) = (error for error in errors if error is not None)
    assert re.search(r"belongs to another valuation, with other settings \(k\)", str(error))
    first = asked[errors.index(None)]
    values = flat.value(X, Y, Q, T, checkpoint=kept, **first).compute()
    assert np.array_equal(values.values, flat.value(X, Y, Q, T, **first).values)


DRIVER = textwrap.dedent("""
    import sys, time
    import dask, dask.array as da, numpy as np
    import pivotal

    def wait_here(part, block_info=None):
        if sys.argv[2] == "die" and block_info[None]["chunk-location"][0] == 4:
            while True:
                time.sleep(1)  # until somebody kills us
        return part

    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, 3, size=500)
    Q, t = rng.normal(size=(60, 3)), rng.integers(0, 3, size=60)
    queries = da.map_blocks(wait_here, da.from_array(Q, chunks=(10, -1)), meta=np.empty((0, 3)), token="queries")
    with dask.config.set(scheduler="threads", num_workers=2):
        with pivotal.config_context(checkpoint=sys.argv[1]):
            lazy = pivotal.value(da.from_array(X, chunks=(200, -1)), y, queries, t)
        np.save(sys.argv[3], lazy.compute().values)
    np.save(sys.argv[3] + ".true.npy", pivotal.value(X, y, Q, t).values)
""")


def drive(kept: str, how: str, answer: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", DRIVER, kept, how, str(answer)])


@pytest.mark.faults
def test_a_driver_that_is_killed_goes_on_in_the_bucket(bucket: Any, tmp_path: Path) -> None:
    kept, answer = f"s3://{BUCKET}/kept", tmp_path / "values.npy"
    driver = drive(kept, "die", answer)
    try:
        deadline = time.monotonic() + 240
        while len(names(bucket, "kept")) < 6:  # five blocks of six, and whose they are
            assert driver.poll() is None, "the driver ended by itself"
            assert time.monotonic() < deadline, names(bucket, "kept")
            time.sleep(0.2)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    before = stamps(bucket, "kept")
    assert not answer.exists()
    assert drive(kept, "live", answer).wait(timeout=300) == 0
    after = stamps(bucket, "kept")
    assert len(after) == 7
    assert {name: after[name] for name in before} == before
    assert np.array_equal(np.load(answer), np.load(f"{answer}.true.npy"))


@pytest.mark.faults
def test_two_drivers_of_one_valuation_agree(bucket: Any, tmp_path: Path) -> None:
    kept = f"s3://{BUCKET}/kept"
    answers = [tmp_path / "one.npy", tmp_path / "other.npy"]
    drivers = [drive(kept, "live", answer) for answer in answers]
    assert [driver.wait(timeout=300) for driver in drivers] == [0, 0]
    for answer in answers:
        assert np.array_equal(np.load(answer), np.load(f"{answer}.true.npy"))
    assert len(stamps(bucket, "kept")) == 7


def test_a_cluster_reads_and_writes_the_bucket(bucket: Any) -> None:
    command = ["value", f"s3://{BUCKET}/t/*.parquet", *LABEL, "--scheduler", "local:1"]
    kept = ["--checkpoint", f"s3://{BUCKET}/kept"]
    assert main([*command, *kept, "-o", f"s3://{BUCKET}/out/v.parquet"]) == 0
    assert main(["value", "here.csv", *LABEL, "-o", "plain.parquet"]) == 0
    there, here = Values.load(f"s3://{BUCKET}/out/v.parquet"), Values.load("plain.parquet")
    np.testing.assert_allclose(there.values, here.values, rtol=0, atol=1e-12)
    assert "valuation.json" in names(bucket, "kept")


@pytest.mark.parametrize("how", ["fsspec", "profile"])
def test_ways_to_say_where_the_store_is(bucket: Any, store: Store, tmp_path: Path, how: str) -> None:
    environment = {name: content for name, content in os.environ.items() if name != "AWS_ENDPOINT_URL"}
    if how == "fsspec":
        environment["FSSPEC_S3_ENDPOINT_URL"] = store.url
    else:
        (tmp_path / "config").write_text(f"[profile mine]\nendpoint_url = {store.url}\n", encoding="utf-8")
        (tmp_path / "keys").write_text(
            "[mine]\naws_access_key_id = testing\naws_secret_access_key = testing\n", encoding="utf-8"
        )
        environment |= {
            "AWS_PROFILE": "mine",
            "AWS_CONFIG_FILE": str(tmp_path / "config"),
            "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys"),
        }
    program = "import sys; from pivotal.cli import main; sys.exit(main(sys.argv[1:]))"
    command = ["value", f"s3://{BUCKET}/t/0.csv", *LABEL, "-o", f"s3://{BUCKET}/out/{how}.csv"]
    done = subprocess.run([sys.executable, "-c", program, *command], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert names(bucket, "out") == [f"{how}.csv"]


def test_tables_from_the_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.chdir(tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/t.csv?version=1"
        assert main(["value", url, *LABEL, "-o", "far.jsonl"]) == 0
        server.shutdown()
    assert main(["value", "t.csv", *LABEL, "-o", "near.jsonl"]) == 0
    assert Path("far.jsonl").read_bytes() == Path("near.jsonl").read_bytes()
    assert len([json.loads(line) for line in Path("far.jsonl").read_text(encoding="utf-8").splitlines()]) == 60
