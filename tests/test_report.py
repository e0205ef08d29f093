"""The report as a file: what it holds, what it omits, how it is written."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

import pivotal
from pivotal import Values
from pivotal.report import write_report

WINE = load_wine()
X = (WINE.data - WINE.data.mean(axis=0)) / WINE.data.std(axis=0)
Y = WINE.target_names[WINE.target]
EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def payload_of(path: Path) -> dict[str, Any]:
    found = re.findall(r'<script id="data" type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert len(found) == 1
    content: dict[str, Any] = json.loads(found[0])
    return content


def unpack(packed: dict[str, str]) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}")


def some_values(n: int = 12, **more: Any) -> Values:
    numbers = np.random.default_rng(0).normal(size=n)
    return Values(numbers, **{"n_queries": 4, "full_utility": 0.9, "empty_utility": 0.0, **more})


@pytest.fixture(scope="module")
def wine() -> Values:
    return pivotal.value(X[::2], Y[::2], X[1::2], Y[1::2], k=5, utility="soft", semivalue="shapley")


# ----------------------------------------------------------------------------------------------------- what it holds


def test_everything_that_was_given_is_there(wine: Values, tmp_path: Path) -> None:
    owners = np.where(np.arange(89) % 3, "ann", "bob")
    path = write_report(
        wine, tmp_path / "wine.html", X=X[::2], y=Y[::2], X_test=X[1::2], y_test=Y[1::2], owners=owners,
        text=[f"bottle {i}" for i in range(89)], title="Wine",
    )  # fmt: skip
    assert path == tmp_path / "wine.html"
    page = payload_of(path)
    assert page["title"] == "Wine"
    assert "Shapley values of 89 training points in the soft-label game with k = 5" in page["sentence"]
    assert {item["title"]: item["ok"] for item in page["guarantees"]} == {
        "Bounded error": True,
        "What the queries leave open": None,
        "Efficiency": True,
    }
    assert any(str(wine.sign()) in item["text"] for item in page["guarantees"])
    assert dict(page["settings"])["k"] == "5"
    assert sum(page["histogram"]["counts"]) == 89
    assert page["left_out"] == []

    points = page["points"]
    assert np.array_equal(unpack(points["value"]), wine.values)
    assert np.array_equal(unpack(points["rank"]), wine.to_frame()["rank"])
    assert [points["labels"][code] for code in unpack(points["label"])] == Y[::2].tolist()
    assert [points["owners"][code] for code in unpack(points["owner"])] == owners.tolist()
    assert points["text"][7] == "bottle 7"
    assert points["ids"] is None

    classes, people = (group["table"] for group in page["groups"])
    assert sorted(classes["name"]) == sorted(WINE.target_names)
    assert dict(zip(people["name"], people["sum"], strict=True)) == pytest.approx(wine.by_owner(owners).to_dict())


def test_neighbours_are_those_of_an_exhaustive_search(wine: Values, tmp_path: Path) -> None:
    page = payload_of(write_report(wine, tmp_path / "wine.html", X=X[::2], y=Y[::2], suspects=False))
    gaps = np.linalg.norm(X[::2, np.newaxis] - X[::2], axis=2)
    np.fill_diagonal(gaps, np.inf)
    expected = np.argsort(gaps, axis=1, kind="stable")[:, :5]
    assert page["points"]["width"] == 5
    assert np.array_equal(unpack(page["points"]["neighbours"]).reshape(89, 5), expected)


def test_curves_start_from_all_points_and_end_with_all(wine: Values, tmp_path: Path) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    page = payload_of(
        write_report(wine, tmp_path / "w.html", X=X[::2], y=Y[::2], X_test=X[1::2], y_test=Y[1::2], k=3, suspects=False)
    )
    score = KNeighborsClassifier(3).fit(X[::2], Y[::2]).score(X[1::2], Y[1::2])
    removal, selection = page["curves"]["charts"]
    assert {line["name"] for line in removal["lines"]} == {
        "least valuable first",
        "most valuable first",
        "random",
    }
    for line in removal["lines"]:
        assert line["counts"][0] == 0
        assert line["scores"][0] == pytest.approx(score)
    for line in selection["lines"]:
        assert line["counts"][-1] == 89
        assert line["scores"][-1] == pytest.approx(score)
    for chart in (removal, selection):
        random, band = chart["lines"][-1]["scores"], chart["band"]
        assert all(low <= mean + 1e-12 for low, mean in zip(band["low"], random, strict=True))
        assert all(mean <= high + 1e-12 for mean, high in zip(random, band["high"], strict=True))


def test_planted_label_errors_are_suspected(tmp_path: Path) -> None:
    digits = load_digits()
    features, labels = digits.data[:300], digits.target[:300].copy()
    wrong = [11, 57, 140, 222]
    labels[wrong] = (labels[wrong] + 5) % 10
    values = pivotal.value(features, labels, k=5, utility="soft")
    page = payload_of(write_report(values, tmp_path / "digits.html", X=features, y=labels))
    rows = page["suspects"]["rows"]
    assert set(wrong) <= {row["at"] for row in rows}
    suggested = {row["at"]: row["suggested"] for row in rows}
    assert [suggested[row] for row in wrong] == [str(digits.target[row]) for row in wrong]
    assert all(row["why"] for row in rows)


def test_suspects_of_the_users_own(tmp_path: Path) -> None:
    from pivotal.analysis.label_errors import find_label_errors

    labels = Y.copy()
    labels[3] = "class_2"
    errors = find_label_errors(X, labels, n=2)
    page = payload_of(write_report(some_values(len(Y)), tmp_path / "w.html", y=labels, suspects=errors))
    assert [row["at"] for row in page["suspects"]["rows"]] == list(errors.suspects)
    assert page["points"]["width"] >= 1  # the neighbours came with the suspects


def test_regression_has_ranges_instead_of_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    responses = features.sum(axis=1)
    values = pivotal.value(features[:40], responses[:40], features[40:], responses[40:], k=3, utility="regression")
    page = payload_of(
        write_report(
            values, tmp_path / "r.html", X=features[:40], y=responses[:40], X_test=features[40:], y_test=responses[40:]
        )
    )
    (group,) = page["groups"]
    assert group["title"] == "Responses"
    assert sum(group["table"]["points"]) == 40
    assert page["curves"]["charts"][0]["score"] == "R²"
    assert np.array_equal(unpack(page["points"]["response"]), responses[:40])
    assert page["suspects"]["note"] == "No number looks wrong."


def test_how_sure_values_are_is_drawn_and_told(wine: Values, tmp_path: Path) -> None:
    page = payload_of(write_report(wine, tmp_path / "wine.html"))
    chart, order, signs = page["certainty"], wine.order(), wine.sign()
    low, high = wine.interval(0.95)
    assert chart["rank"] == list(range(1, 90))
    assert chart["note"].startswith(str(signs))
    assert (chart["low"], chart["high"]) == (low[order].tolist(), high[order].tolist())
    assert chart["sign"] == signs.signs[order].tolist()
    assert chart["counts"] == {"up": len(signs.helpful), "quiet": len(signs.unknown), "down": len(signs.harmful)}
    best, worst = wine.rank_interval()
    points = page["points"]
    assert unpack(points["half_width"]) == pytest.approx((high - low) / 2)
    assert np.array_equal(unpack(points["best"]), best)
    assert np.array_equal(unpack(points["worst"]), worst)
    assert np.array_equal(unpack(points["sign"]), signs.signs + 1)
    many = some_values(2000, query_standard_error=np.full(2000, 0.1), error_bound=0.0)
    chart = payload_of(write_report(many, tmp_path / "many.html"))["certainty"]
    assert len(chart["rank"]) == 400
    assert (chart["rank"][0], chart["rank"][-1]) == (1, 2000)
    assert sum(chart["counts"].values()) == 2000
    assert "400 points of 2\u202f000 are drawn, evenly by rank" in chart["note"]
    assert payload_of(write_report(some_values(), tmp_path / "none.html"))["certainty"] is None


def test_wrong_numbers_are_suspected(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(150, 3))
    numbers = features @ [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=150)
    numbers[[8, 20]] += 7.0
    values = pivotal.value(features, numbers, features[:40], numbers[:40], k=3, utility="regression")
    page = payload_of(write_report(values, tmp_path / "numbers.html", X=features, y=numbers))
    rows = page["suspects"]["rows"]
    assert {row["at"] for row in rows[:2]} == {8, 20}
    first = rows[0]["at"]
    assert float(rows[0]["suggested"]) == pytest.approx(numbers[first] - 7.0, abs=1.0)
    assert rows[0]["why"].startswith(f"Row {first} has {numbers[first]:.6g}; ")
    assert re.match(
        r"\d+ numbers? looks? wrong by the votes of the other rows; an estimated ", page["suspects"]["note"]
    )
    assert "are wrong or rare, off by more than three times the usual error (0 to " in page["suspects"]["note"]
    same = payload_of(write_report(some_values(), tmp_path / "same.html", X=np.eye(12), y=np.full(12, 0.5)))
    assert "all numbers are the same." in [one["needs"] for one in same["left_out"]]


def test_many_labels_have_names_and_suspects_by_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 3))
    table = pd.DataFrame({"red": features[:, 0] > 0, "green": features[:, 1] > 0}).astype(int)
    far = np.flatnonzero((np.abs(features[:, :2]) > 0.7).all(axis=1))[:2]
    table.iloc[far[0]] = 1 - table.iloc[far[0]]  # both cells of a row
    table.iloc[far[1], 0] = 1 - table.iloc[far[1], 0]
    values = pivotal.value(features, table, features[:50], table[:50], k=5)
    page = payload_of(write_report(values, tmp_path / "many.html", X=features, y=table))
    points, rows = page["points"], {row["at"]: row for row in page["suspects"]["rows"]}
    assert set(points["labels"]) == {"red, green", "red", "green", "none"}
    assert set(far) <= set(rows)
    assert len(rows) == len(page["suspects"]["rows"])
    right = {(1, 1): "red, green", (1, 0): "red", (0, 1): "green", (0, 0): "none"}
    assert rows[far[0]]["suggested"] == right[tuple(1 - table.iloc[far[0]])]
    assert rows[far[0]]["why"].count("labelled") == 2
    assert re.match(r"\d+ cells look wrong by the votes of the other rows; ", page["suspects"]["note"])
    whole = payload_of(write_report(values, tmp_path / "own.html", X=features, y=table, X_test=features, y_test=table))
    assert "they are of one label per point, and these have many." in [one["needs"] for one in whole["left_out"]]


def test_a_report_on_nothing_but_values_says_what_else_there_could_be(tmp_path: Path) -> None:
    page = payload_of(write_report(some_values(), tmp_path / "bare.html"))
    assert [item["part"] for item in page["left_out"]] == [
        "Suspected label errors",
        "A map of the points",
        "Removal and selection curves",
        "Values by class",
        "Values by owner",
        "What the points look like",
    ]
    assert page["map"] is None
    assert page["curves"] is None
    assert page["suspects"] is None
    assert page["groups"] == []


def test_values_write_their_own_report(tmp_path: Path) -> None:
    values = some_values()
    page = values.report(tmp_path / "own.html", title="Ours")
    assert page == tmp_path / "own.html"
    assert page.read_bytes() == write_report(values, tmp_path / "same.html", title="Ours").read_bytes()
    with pytest.raises(TypeError, match="colour"):
        values.report(tmp_path / "own.html", colour="red")


def test_one_point_is_enough(tmp_path: Path) -> None:
    values = pivotal.value([[0.0, 1.0]], ["cat"], [[0.1, 1.0]], ["cat"], k=1)
    path = write_report(
        values, tmp_path / "one.html", X=[[0.0, 1.0]], y=["cat"], X_test=[[0.1, 1.0]], y_test=["cat"], owners=["ann"]
    )
    page = payload_of(path)
    assert unpack(page["points"]["value"]).tolist() == [1.0]
    needs = {item["part"]: item["needs"] for item in page["left_out"]}
    assert needs["Suspected label errors"] == "there is only one class."
    assert "at least 10 training points" in needs["Removal and selection curves"]


def test_scores_that_are_no_values_of_a_game(tmp_path: Path) -> None:
    values = Values([0.5, -1.0], n_queries=1, error_bound=None, settings={"method": "lava"})
    page = payload_of(write_report(values, tmp_path / "lava.html"))
    assert page["sentence"] == "Lava values of 2 training points, averaged over 1 query."
    assert [item["title"] for item in page["guarantees"]] == ["No error bound"]
    assert not any("utility" in name for name, _ in page["stats"])


def test_distances_are_no_features(tmp_path: Path) -> None:
    few = X[::9]
    gaps = np.linalg.norm(few[:, np.newaxis] - few, axis=2)
    values = pivotal.value(gaps, Y[::9], metric="precomputed", k=3)
    page = payload_of(write_report(values, tmp_path / "gaps.html", X=gaps, y=Y[::9], X_test=gaps, y_test=Y[::9]))
    assert page["map"] is None
    assert page["curves"] is None
    assert page["suspects"] is not None
    near = unpack(page["points"]["neighbours"]).reshape(20, 5)
    assert near[0, 0] == np.argsort(gaps[0])[1]


def test_sparse_features_and_files(wine: Values, tmp_path: Path) -> None:
    dense = payload_of(write_report(wine, tmp_path / "d.html", X=X[::2], y=Y[::2], suspects=False))
    thin = payload_of(write_report(wine, tmp_path / "s.html", X=sparse.csr_array(X[::2]), y=Y[::2], suspects=False))
    np.save(tmp_path / "X.npy", X[::2])
    filed = payload_of(write_report(wine, tmp_path / "f.html", X=tmp_path / "X.npy", y=Y[::2], suspects=False))
    assert filed == dense
    assert thin["points"] == dense["points"]
    assert unpack(thin["map"]["places"]) == pytest.approx(unpack(dense["map"]["places"]), abs=1e-9)


# -------------------------------------------------------------------------------------------------------- large data


def test_many_points_are_sampled_and_the_page_says_so(tmp_path: Path) -> None:
    values = some_values(500)
    page = payload_of(write_report(values, tmp_path / "many.html", coordinates=np.zeros((500, 2)), max_points=80))
    shown = unpack(page["points"]["index"])
    assert len(shown) == len(set(shown.tolist())) == 80
    assert set(values.order()[:10]) <= set(shown.tolist())
    assert set(values.order()[-10:]) <= set(shown.tolist())
    assert np.array_equal(unpack(page["points"]["value"]), values.values[shown])
    assert "80 of 500 points are shown" in page["points"]["note"]
    assert sum(page["histogram"]["counts"]) == 500
    assert len(unpack(page["map"]["places"])) == 160


def test_sampled_points_include_suspects_with_their_neighbours(tmp_path: Path) -> None:
    digits = load_digits()
    features, labels = digits.data[:300], digits.target[:300].copy()
    labels[7] = (labels[7] + 5) % 10
    values = some_values(300)
    page = payload_of(write_report(values, tmp_path / "s.html", X=features, y=labels, max_points=60))
    shown = unpack(page["points"]["index"]).tolist()
    told = page["suspects"]["rows"]
    assert 7 in [shown[row["at"]] for row in told]
    near = unpack(page["points"]["neighbours"]).reshape(60, -1)
    own = near[shown.index(7)]
    assert (own < page["points"]["none"]).all()
    gaps = np.linalg.norm(features - features[7], axis=1)
    gaps[7] = np.inf
    assert shown[own[0]] == gaps.argmin()


@pytest.mark.parametrize("n", [10_000, 12_000])
def test_ten_thousand_points_stay_under_three_megabytes(n: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = some_values(n, ids=[f"2024-customer-{i:08d}" for i in range(n)], standard_error=np.ones(n))
    path = write_report(
        values,
        tmp_path / "large.html",
        X=rng.normal(size=(n, 4)).astype(np.float32),
        y=rng.integers(0, 100, n),
        suspects=False,
        owners=[f"owner {i}" for i in rng.integers(0, 3000, n)],
        text=["a text that is long enough not to fit ten thousand times, so it must be cut; " * 9] * n,
        images=rng.integers(0, 256, (n, 12, 12), dtype=np.uint8),
    )
    assert 2_000_000 < path.stat().st_size < 3_000_000
    page = payload_of(path)
    assert len(unpack(page["points"]["value"])) == 10_000
    assert len(page["points"]["images"]) > 100
    assert "room for the images of" in page["points"]["note"]


# --------------------------------------------------------------------------------------------------- text and escapes


def test_what_the_data_says_never_becomes_markup(tmp_path: Path) -> None:
    values = some_values(12, ids=[f"{EVIL}{i}" for i in range(12)], settings={"utility": EVIL})
    path = write_report(values, tmp_path / "evil.html", y=[EVIL] * 12, text=[EVIL] * 12, owners=[EVIL] * 12, title=EVIL)
    page = path.read_text("utf-8")
    assert "<script>window.hacked" not in page
    assert "<img src=x" not in page
    content = payload_of(path)
    assert content["title"] == EVIL
    assert content["points"]["text"][3] == EVIL
    assert content["points"]["labels"] == [EVIL]


def test_any_language_and_any_type(tmp_path: Path) -> None:
    ids = np.array(["äöü", "日本語", "🎈", "\ud83d", b"bytes", 3.5], dtype=object)
    labels = ["naïve", "naïve", "Ω", "Ω", "\u2028", "Ω"]
    page = payload_of(write_report(some_values(6, ids=ids), tmp_path / "ü.html", y=labels, title="Größe"))
    assert page["points"]["ids"] == ["äöü", "日本語", "🎈", "\ufffd", "bytes", "3.5"]
    assert page["points"]["labels"] == ["naïve", "Ω", "\u2028"]


def test_missing_texts_are_empty(tmp_path: Path) -> None:
    page = payload_of(write_report(some_values(3), tmp_path / "t.html", text=["a", None, float("nan")]))
    assert page["points"]["text"] == ["a", "", ""]


def test_the_page_allows_only_its_own_scripts(tmp_path: Path) -> None:
    page = write_report(some_values(), tmp_path / "p.html").read_text("utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    markup = re.sub(r"(<script[^>]*>).*?(</script>)", r"\1\2", page, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="([^"]*)"', markup) == ["data:,", "#main"]


# ------------------------------------------------------------------------------------------------------- the file


def test_the_same_input_gives_the_same_file(wine: Values, tmp_path: Path) -> None:
    inputs: dict[str, Any] = {"X": X[::2], "y": Y[::2], "X_test": X[1::2], "y_test": Y[1::2], "max_points": 50}
    first = write_report(wine, tmp_path / "a.html", **inputs).read_bytes()
    assert write_report(wine, tmp_path / "b.html", **inputs).read_bytes() == first
    other = write_report(wine, tmp_path / "c.html", **inputs, random_state=np.random.default_rng(1)).read_bytes()
    assert other != first


def test_inputs_are_left_as_they_were(tmp_path: Path) -> None:
    features, labels = X.copy(), Y.copy()
    texts = [None] * len(Y)
    write_report(some_values(len(Y)), tmp_path / "w.html", X=features, y=labels, text=texts, X_test=X, y_test=Y)
    assert np.array_equal(features, X)
    assert np.array_equal(labels, Y)
    assert texts == [None] * len(Y)


@pytest.mark.faults
def test_an_existing_file_survives_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    code = (
        "import resource, signal; from pivotal import Values; from pivotal.report import write_report\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "write_report(Values([1.0], n_queries=1), 'report.html')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "OSError: cannot write" in done.stderr
    assert "the file was left as it was" in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]  # noqa: PTH208


def test_places_that_cannot_be_written_are_named_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=r"give a file name such as report\.html"):
        write_report(some_values(), tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; create it first"):
        write_report(some_values(), tmp_path / "nowhere" / "report.html")


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"X": np.zeros((5, 2))}, "X must have a row per training point, 12; got 5"),
        ({"X": np.full((12, 2), np.nan)}, "X must be finite"),
        ({"X": np.zeros(12)}, "X must be two-dimensional"),
        ({"y": [1, 2]}, "y must have one entry per training point, 12; got 2"),
        ({"y": [None] * 12}, "y must have a label for every point"),
        ({"y": [0.5] * 11 + [np.nan]}, "y must have a label for every point"),
        ({"X_test": [[0.0]]}, "X_test and y_test go together"),
        ({"X": np.zeros((12, 2)), "y": [0] * 12, "X_test": [[0.0]], "y_test": [0]}, "as many columns"),
        ({"X_test": [[0.0]], "y_test": [0, 1]}, "same length"),
        ({"owners": ["ann"]}, "owners must have one entry per training point, 12; got 1"),
        ({"owners": ["ann"] * 11 + [None]}, "owners must name one for every training point; got 1 missing"),
        ({"text": ["a"]}, "text must have one entry per training point, 12; got 1"),
        ({"coordinates": np.zeros((12, 3))}, r"coordinates must have shape \(12, 2\)"),
        ({"coordinates": np.full((12, 2), np.inf)}, "coordinates must be finite; got 24"),
        ({"coordinates": [["a", "b"]] * 12}, "coordinates must hold numbers"),
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"max_points": 0}, "max_points must be an integer of at least 1; got max_points=0"),
        ({"max_points": 2.5}, "max_points must be an integer"),
        ({"random_state": -1}, "random_state must be an integer of at least 0, a numpy Generator or None; got -1"),
        ({"random_state": "a"}, "random_state must be an integer of at least 0"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(inputs: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write_report(some_values(), tmp_path / "bad.html", **inputs)
    assert not list(tmp_path.iterdir())


def test_wrong_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"values must be a pivotal\.Values; got list"):
        write_report([1.0], tmp_path / "bad.html")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"suspects must come from pivotal\.find_label_errors"):
        write_report(some_values(), tmp_path / "bad.html", suspects=[1, 2])


def test_suspects_of_other_data_are_refused(tmp_path: Path) -> None:
    from pivotal.analysis.label_errors import find_label_errors

    with pytest.raises(ValueError, match="suspects must be of these 12 training points; got some of 20 rows"):
        write_report(some_values(), tmp_path / "bad.html", suspects=find_label_errors(X[::9], Y[::9], n_trees=0))
