"""Data sets from OpenML: scikit-learn's own client, talking to a server on this machine that answers as OpenML does."""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pytest

from pivotal.research.datasets import load

REAL = "REAL"


class OpenML(ThreadingHTTPServer):
    """Answers from memory; knows what `publish` told it."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages: dict[str, bytes] = {}

    def publish(self, data_id, name, columns, rows, *, version=1, sparse=False, **more):
        """Make a data set known: columns are (name, ARFF type), the last one is the target."""
        lines = [f"@RELATION {name}", *(f"@ATTRIBUTE {column} {kind}" for column, kind in columns), "@DATA", *rows]
        arff = ("\n".join(lines) + "\n").encode()
        api, file = "/api/v1/json/data", f"/data/v1/download/{data_id}"
        about = {
            "id": str(data_id),
            "name": name,
            "version": str(version),
            "description": "made up",
            "format": "Sparse_ARFF" if sparse else "ARFF",
            "status": "active",
            "file_id": str(data_id),
            "url": f"https://www.openml.org{file}",
            "md5_checksum": hashlib.md5(arff).hexdigest(),
            **more,
        }
        features = [
            {
                "index": str(i),
                "name": column,
                "data_type": "nominal" if kind.startswith("{") else "numeric",
                "is_target": str(i == len(columns) - 1).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": str(sum(row.split(",")[-1] == "?" for row in rows)),
            }
            for i, (column, kind) in enumerate(columns)
        ]
        qualities = [{"name": "NumberOfInstances", "value": str(len(rows))}]
        search = f"{api}/list/data_name/{name.lower()}/limit/2/data_version/{version}"
        for path, content in (
            (f"{api}/{data_id}", {"data_set_description": about}),
            (f"{api}/features/{data_id}", {"data_features": {"feature": features}}),
            (f"{api}/qualities/{data_id}", {"data_qualities": {"quality": qualities}}),
            (search, {"data": {"dataset": [{"did": data_id, "name": name, "version": version, "status": "active"}]}}),
        ):
            self.pages[path] = json.dumps(content).encode()
        self.pages[file] = arff


class Answer(BaseHTTPRequestHandler):
    server: OpenML

    def do_GET(self):
        page = self.server.pages.get(self.path)
        self.send_response(200 if page is not None else 412)  # 412 is how OpenML says that it knows no such thing
        self.send_header("Content-Length", str(len(page or b"")))
        self.end_headers()
        self.wfile.write(page or b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def openml(tmp_path, monkeypatch):
    """A server in the place of www.openml.org, and an empty cache."""
    server = OpenML()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    class ToThisMachine(urllib.request.HTTPSHandler):
        def https_open(self, request):
            parts = urlsplit(request.full_url)
            assert parts.hostname is not None
            assert parts.hostname.endswith("openml.org")
            return self.parent.open(f"http://127.0.0.1:{server.server_port}{parts.path}")

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), ToThisMachine())
    monkeypatch.setattr(urllib.request, "_opener", opener)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("PIVOTAL_DATA", raising=False)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def numeric(n_features: int) -> list[tuple[str, str]]:
    return [(f"V{i + 1}", REAL) for i in range(n_features)]


def phoneme(n_features: int = 5) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5404, n_features)).round(4), rng.integers(1, 3, size=5404)
    return X, y, [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def test_a_data_set_comes_from_openml_and_then_from_the_cache(openml):
    X, y, rows = phoneme()
    openml.publish(1489, "phoneme", [*numeric(5), ("Class", "{1,2}")], rows)
    dataset = load("phoneme")
    assert (dataset.source, dataset.variant) == ("OpenML 1489", "full")
    assert dataset.feature_names == ("V1", "V2", "V3", "V4", "V5")
    assert np.array_equal(dataset.X, X.astype(np.float32))
    assert np.array_equal(dataset.y, y - 1)
    openml.pages.clear()
    assert np.array_equal(load("phoneme").X, dataset.X)


def test_a_file_in_the_folder_comes_before_openml(openml, tmp_path):
    X, y, rows = phoneme()
    openml.publish(1489, "phoneme", [*numeric(5), ("Class", "{1,2}")], rows)
    np.savez(tmp_path / "phoneme.npz", X=-X, y=y - 1)
    assert np.array_equal(load("phoneme", data_home=tmp_path).X, -X)
    (tmp_path / "phoneme.npz").unlink()
    assert load("phoneme", data_home=tmp_path).source == "OpenML 1489"


def test_what_openml_sends_must_be_what_it_should(openml):
    _, _, rows = phoneme(4)
    openml.publish(1489, "phoneme", [*numeric(4), ("Class", "{1,2}")], rows)
    with pytest.raises(ValueError, match=r"OpenML 1489 must hold 5404 rows of 5 features in 2 classes; got 5404 rows"):
        load("phoneme")


def test_other_versions_are_taken_as_they_are(openml):
    rows = ["1.5,-1,a,3,9", "2.5,0,b,?,10", "?,1,a,5,2", "0.5,1,c,4,10"]
    columns = [("x", REAL), ("step", "{-1,0,1}"), ("kind", "{a,b,c}"), ("y", REAL), ("class", "{2,9,10}")]
    openml.publish(77, "phoneme", columns, rows, version=3)
    dataset = load("phoneme", version=3)
    expected = [[1.5, -1, 0, 3], [2.5, 0, 1, 4], [1.5, 1, 0, 5], [0.5, 1, 2, 4]]
    assert dataset.X.tolist() == expected
    assert dataset.y.tolist() == [1, 2, 0, 2]  # numbers in their order: 2, 9, 10
    assert dataset.source == "OpenML phoneme version 3"
    assert dataset.note == "categories of 1 column numbered; 2 missing entries set to the median of their column"


def test_a_target_of_real_numbers_is_cut_at_its_mean(openml):
    openml.publish(503, "wind", [*numeric(1), ("MAL", REAL)], ["1,10.5", "2,30", "3,12", "4,11"])
    dataset = load("wind", version=1)
    assert dataset.y.tolist() == [1, 0, 1, 1]  # 1 is below the mean, as in the versions of two classes
    assert dataset.labels == "0 = otherwise, 1 = below the mean"


def test_sparse_data_is_filled_in(openml):
    rows = ["{0 1.5,2 1}", "{1 2,2 -1}", "{2 1}"]
    openml.publish(357, "vehicle_sensIT", [*numeric(2), ("Y", "{-1,1}")], rows, version=1, sparse=True)
    dataset = load("vehicle", version=1)
    assert dataset.X.tolist() == [[1.5, 0], [0, 2], [0, 0]]
    assert dataset.y.tolist() == [1, 0, 1]


def test_what_openml_remarks_is_kept(openml):
    openml.publish(5, "pol", [*numeric(1), ("c", "{N,P}")], ["1,P", "2,N"], version=2, status="deactivated")
    dataset = load("pol", version=2)
    assert dataset.note.startswith("Version 2 of dataset pol is inactive")
    assert dataset.y.tolist() == [1, 0]


def test_labels_must_be_there(openml):
    openml.publish(5, "pol", [*numeric(1), ("c", "{N,P}")], ["1,?", "2,P"], version=2)
    with pytest.raises((ValueError, FileNotFoundError), match=r"OpenML pol version 2 .* missing"):
        load("pol", version=2)


def test_quoted_labels_are_the_same_labels(openml):
    openml.publish(5, "pol", [*numeric(1), ("c", "{'2','10'}")], ["1,'10'", "2,'2'"], version=2)
    dataset = load("pol", version=2)
    assert dataset.y.tolist() == [1, 0]
    assert dataset.labels == "0 = 2, 1 = 10"


def test_a_data_set_without_a_target_is_refused(openml):
    openml.publish(5, "pol", numeric(2), ["1,2", "2,3"], version=2)
    page = json.loads(openml.pages["/api/v1/json/data/features/5"])
    page["data_features"]["feature"][-1]["is_target"] = "false"
    openml.pages["/api/v1/json/data/features/5"] = json.dumps(page).encode()
    with pytest.raises(ValueError, match=r"OpenML pol version 2 must name one target column"):
        load("pol", version=2)


@pytest.mark.usefixtures("openml")
def test_what_openml_does_not_have_says_what_to_do():
    with pytest.raises(
        FileNotFoundError,
        match=r"cpu was not found \(OpenML 761 could not be .*: put cpu.npz into a folder",
    ):
        load("cpu")
    with pytest.raises(FileNotFoundError, match=r"\(OpenML cpu_act version 7 could .*\): go online to download it"):
        load("cpu", version=7)


def test_no_network_says_what_to_do(openml):
    openml.shutdown()
    openml.server_close()  # connections are refused from now on
    with pytest.raises(FileNotFoundError, match=r"mnist was not found \(OpenML 554 .*refused.*\): put mnist.npz"):
        load("mnist")


def test_a_spoilt_download_is_not_taken(openml):
    _, _, rows = phoneme()
    openml.publish(1489, "phoneme", [*numeric(5), ("Class", "{1,2}")], rows, md5_checksum="0" * 32)
    with pytest.raises(FileNotFoundError, match=r"phoneme was not found \(OpenML 1489 .*md5 checksum"):
        load("phoneme")
