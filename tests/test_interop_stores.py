"""Neighbours from databases and indexes: real ones, in this process or started here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import pivotal
from pivotal.interop import (
    ChromaNeighbors,
    DuckDBNeighbors,
    LanceNeighbors,
    PgVectorNeighbors,
    QdrantNeighbors,
    StoredNeighbors,
    USearchNeighbors,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
N, LENGTH = 300, 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, LENGTH)).astype(np.float32)
Y = (X[:, 0] + 0.5 * RNG.normal(size=N) > 0).astype(int)
QUERIES = RNG.normal(size=(20, LENGTH)).astype(np.float32)
METRICS = ("euclidean", "cosine")


def lance(folder: Path, metric: str) -> StoredNeighbors:
    package = pytest.importorskip("lancedb")
    rows = [{"id": f"r{n:03}", "vector": X[n], "label": int(Y[n])} for n in range(N)]
    return LanceNeighbors(package.connect(folder).create_table("t", rows), metric=metric)


def qdrant(folder: Path, metric: str) -> StoredNeighbors:
    package = pytest.importorskip("qdrant_client")
    models = package.models
    client = package.QdrantClient(path=str(folder / "qdrant"))
    kind = models.Distance.EUCLID if metric == "euclidean" else models.Distance.COSINE
    client.create_collection("t", vectors_config=models.VectorParams(size=LENGTH, distance=kind))
    points = [models.PointStruct(id=n, vector=X[n].tolist(), payload={"label": int(Y[n])}) for n in range(N)]
    client.upsert("t", points)
    return QdrantNeighbors(client, "t")


def chroma(folder: Path, metric: str) -> StoredNeighbors:
    package = pytest.importorskip("chromadb")
    client = package.PersistentClient(
        str(folder / "chroma"), settings=package.config.Settings(anonymized_telemetry=False)
    )
    space = {"euclidean": "l2", "cosine": "cosine"}[metric]
    made = client.create_collection("items", configuration={"hnsw": {"space": space}}, embedding_function=None)
    made.add(ids=[f"r{n:03}" for n in range(N)], embeddings=X, metadatas=[{"label": int(label)} for label in Y])
    return ChromaNeighbors(made)


def duckdb(folder: Path, metric: str) -> StoredNeighbors:
    package = pytest.importorskip("duckdb")
    connection = package.connect(str(folder / "t.duckdb"))
    connection.execute(f'create table "my ""t" (id integer, vector float[{LENGTH}], label integer)')
    connection.executemany('insert into "my ""t" values (?, ?, ?)', [(n, X[n].tolist(), int(Y[n])) for n in range(N)])
    return DuckDBNeighbors(connection, 'my "t', metric=metric)


def usearch(_: Path, metric: str) -> StoredNeighbors:
    package = pytest.importorskip("usearch.index")
    index = package.Index(ndim=LENGTH, metric="l2sq" if metric == "euclidean" else "cos", dtype="f32")
    index.add(np.arange(N), X)
    return USearchNeighbors(index)


MAKERS: dict[str, Callable[[Path, str], StoredNeighbors]] = {
    "lancedb": lance,
    "qdrant": qdrant,
    "chroma": chroma,
    "duckdb": duckdb,
    "usearch": usearch,
}


def check(store: StoredNeighbors, metric: str) -> None:
    """Compare a store with scikit-learn's exhaustive search."""
    assert len(store) == N
    order = np.argsort(store.keys)
    if metric == "cosine":  # some stores keep only directions
        unit = store.vectors() / np.linalg.norm(store.vectors(), axis=1, keepdims=True)
        assert np.allclose(unit[order], X / np.linalg.norm(X, axis=1, keepdims=True), atol=1e-6)
    else:
        assert np.array_equal(store.vectors()[order], X)
    rows, distances = store.search(QUERIES, 7)
    peer = NearestNeighbors(algorithm="brute", metric=metric).fit(store.vectors().astype(np.float64))
    far, near = peer.kneighbors(QUERIES.astype(np.float64), 7)
    if store.exact:
        assert np.array_equal(rows, near)
        assert np.allclose(distances, far, atol=1e-7)
    else:
        assert np.mean([len(set(a) & set(b)) / 7 for a, b in zip(rows, near, strict=True)]) > 0.8
    labels = store.column("label") if not isinstance(store, USearchNeighbors) else Y
    values = pivotal.value(store.vectors(), labels, k=5, metric=metric, neighbors=store, ids=store.keys)
    assert values.recall is not None
    assert values.recall > 0.8
    if store.exact:
        expected = pivotal.value(store.vectors(), labels, k=5, metric=metric)
        assert values.neighbors_exact
        assert np.allclose(values.values, expected.values, atol=1e-12)
    else:
        assert values.neighbors_exact is False


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", list(MAKERS))
def test_neighbours_from_where_the_vectors_live(tmp_path: Path, name: str, metric: str) -> None:
    check(MAKERS[name](tmp_path, metric), metric)


def test_an_index_in_fewer_bits_is_not_exact_for_the_vectors_it_was_made_of() -> None:
    package = pytest.importorskip("usearch.index")
    index = package.Index(ndim=LENGTH, metric="l2sq", dtype="i8")
    index.add(np.arange(N), X / 4)
    store = USearchNeighbors(index, vectors=X / 4)
    assert store.exact is False
    values = pivotal.value(X / 4, Y, k=5, neighbors=store)
    assert values.neighbors_exact is False
    assert values.recall is not None
    assert USearchNeighbors(index).exact is True  # for what it holds
    with pytest.raises(ValueError, match="vectors must be as many as the index holds, 300; got 3"):
        USearchNeighbors(index, vectors=X[:3]).search(QUERIES, 2)


def test_what_cannot_be_measured_is_turned_down() -> None:
    package = pytest.importorskip("usearch.index")
    with pytest.raises(ValueError, match="must measure by l2sq or cos; it does by IP"):
        USearchNeighbors(package.Index(ndim=3, metric="ip"))
    with pytest.raises(ValueError, match="metric must be euclidean or cosine; got 'dot'"):
        DuckDBNeighbors(pytest.importorskip("duckdb").connect(), "t", metric="dot")  # type: ignore[arg-type]


class Few(StoredNeighbors):
    """A store that finds less than it is asked for, as an approximate index may."""

    def _read(self) -> Any:
        from pivotal.interop._stored_vectors import Content

        return Content(np.array([0, 0] if self.exact else [0, 1]), np.zeros((2, 3)), {})

    def _nearest(self, queries: Any, depth: int) -> Any:
        return [[0]] * len(queries)


def test_too_few_neighbours_and_keys_that_repeat_are_errors() -> None:
    with pytest.raises(ValueError, match="Few found 1 of 2 neighbours; let the index search harder"):
        Few(exact=False).search(np.zeros((1, 3)), 2)
    with pytest.raises(ValueError, match="a key of its own for every row"):
        Few().search(np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="has no column 'label'; it has none"):
        Few().column("label")


def _binaries() -> Path | None:
    """Return where a PostgreSQL is that has the extension: the system's, or a package that carries both."""
    for control in sorted(Path("/usr/share/postgresql").glob("*/extension/vector.control"), reverse=True):
        binaries = Path("/usr/lib/postgresql") / control.parts[-3] / "bin"
        if (binaries / "initdb").exists():
            return binaries
    found = importlib.util.find_spec("pgserver")
    return None if found is None or found.origin is None else Path(found.origin).parent / "pginstall" / "bin"


class Server:
    """A PostgreSQL of this test's own: on a free port, in a temporary folder, as somebody who is not root."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.folder, self._binaries = folder, binaries
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._who: dict[str, Any] = {"user": "nobody"} if os.geteuid() == 0 else {}
        if self._who:
            folder.chmod(0o777)
            for parent in list(folder.parents)[:3]:  # where pytest keeps others out
                parent.chmod(parent.stat().st_mode | 0o011)
        data = folder / "data"
        self._run("initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "unix_socket_directories="]
        self._process = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-p", str(self.port), *settings],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._who,
        )

    def _run(self, name: str, *arguments: Any) -> None:
        subprocess.run([self._binaries / name, *arguments], check=True, cwd="/", capture_output=True, **self._who)

    def connect(self) -> Any:
        psycopg = pytest.importorskip("psycopg")
        for _ in range(300):
            try:
                return psycopg.connect(
                    host="127.0.0.1", port=self.port, user="tester", dbname="postgres", autocommit=True
                )
            except psycopg.OperationalError:
                assert self._process.poll() is None, "the server ended"
                time.sleep(0.1)
        raise AssertionError("the server does not answer")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("psycopg")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("needs a PostgreSQL with the extension vector: run .ci/pgvector, or install pgserver")
    started = Server(binaries, tmp_path_factory.mktemp("postgres"))
    yield started
    started.stop()
    shutil.rmtree(started.folder, ignore_errors=True)


@pytest.mark.cluster
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_from_postgres(server: Server, metric: str) -> None:
    with server.connect() as connection:
        connection.execute("create extension if not exists vector")
        connection.execute("drop schema if exists shop cascade")
        connection.execute("create schema shop")
        connection.execute(f"create table shop.items (id bigint primary key, embedding vector({LENGTH}), label int)")
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into shop.items values (%s, %s, %s)",
                [(n, str(X[n].tolist()), int(Y[n])) for n in range(N)],
            )
        check(PgVectorNeighbors(connection, "shop.items", columns=["label"], metric=metric), metric)
        kind = "vector_l2_ops" if metric == "euclidean" else "vector_cosine_ops"
        connection.execute(f"create index on shop.items using hnsw (embedding {kind}) with (m = 4)")
        connection.execute("set enable_seqscan = off")
        # With an index there, an exact search goes past it, and one that is not uses it.
        check(PgVectorNeighbors(connection, "shop.items", columns=["label"], metric=metric), metric)
        check(PgVectorNeighbors(connection, "shop.items", columns=["label"], metric=metric, exact=False), metric)


@pytest.mark.cluster
def test_a_database_without_the_extension_says_so(server: Server) -> None:
    with server.connect() as connection:
        connection.execute("drop extension if exists vector cascade")
        with pytest.raises(ValueError, match="must have the extension vector; say CREATE EXTENSION vector"):
            PgVectorNeighbors(connection, "items")
