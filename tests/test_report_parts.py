"""The parts of the report one by one: bins, groups, the map, images, guarantees, the small form for notebooks."""

from __future__ import annotations

import base64
import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import pivotal
from effort import examples
from pivotal import Values
from pivotal.report import compact_html
from pivotal.report._facts import check_efficiency, guarantees
from pivotal.report._groups import by_group, by_response, histogram
from pivotal.report._shown import choose_shown, number_neighbours
from pivotal.report._words import number
from pivotal.report.encode import as_json, as_text, pack, pack_whole
from pivotal.report.point_map import project
from pivotal.report.thumbnails import Images

numbers = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30).map(np.array)


def make(values: Any = (0.25, -0.5, 0.75), **more: Any) -> Values:
    return Values(values, **{"n_queries": 4, "full_utility": 0.9, "empty_utility": 0.0, **more})


# ------------------------------------------------------------------------------------------------------- bins, groups


@given(numbers)
def test_bins_hold_every_value_and_meet_at_zero(values: Any) -> None:
    bins = histogram(values)
    edges, counts = np.array(bins["edges"]), bins["counts"]
    assert sum(counts) == len(values)
    assert len(edges) == len(counts) + 1
    assert (np.diff(edges) > 0).all()
    slack = 1e-9 * max(1e-300, np.abs(values).max())
    assert edges[0] - slack <= values.min()
    assert values.max() <= edges[-1] + slack
    if len(counts) > 1 and values.min() < 0 < values.max():
        assert 0.0 in edges
    assert len(counts) <= 50


@pytest.mark.parametrize("same", [0.0, -3.0, 1e-300, 1e12])
def test_equal_values_fill_one_bin(same: float) -> None:
    bins = histogram(np.full(7, same))
    assert bins["counts"] == [7]
    assert bins["edges"][0] < bins["edges"][1]


@given(numbers, st.integers(1, 5), st.randoms(use_true_random=False))
def test_groups_add_up(values: Any, n_groups: int, random: Any) -> None:
    names = np.array([random.randrange(n_groups) for _ in values])
    table = by_group(values, names)
    assert sum(table["points"]) == len(values)
    for name, points, mean, total, negative in zip(
        table["name"], table["points"], table["mean"], table["sum"], table["negative"], strict=True
    ):
        own = values[names == int(name)]
        assert points == len(own)
        assert total == pytest.approx(own.sum(), abs=1e-6)
        assert mean == pytest.approx(own.mean(), abs=1e-6)
        assert negative == pytest.approx((own < 0).mean())
    assert table["sum"] == sorted(table["sum"], reverse=True)


def test_of_very_many_groups_both_ends_are_listed() -> None:
    table = by_group(np.arange(5000.0), np.arange(5000))
    assert table["total"] == 5000
    assert len(table["name"]) == 400
    assert (table["name"][0], table["name"][-1]) == ("4999", "0")


@given(numbers)
def test_ranges_of_responses_add_up(responses: Any) -> None:
    table = by_response(responses, responses)
    assert sum(table["points"]) == len(responses)
    assert len(table["name"]) == len(table["mean"]) <= 10
    assert table["mean"] == sorted(table["mean"])


# --------------------------------------------------------------------------------------------------------- encodings


@examples(50)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4), max_leaves=8))
def test_json_comes_back_and_holds_no_tag(content: Any) -> None:
    content = json.loads(json.dumps(content).encode("utf-8", "replace"))
    text = as_json(content)
    assert "<" not in text
    assert json.loads(text) == content


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json(float("nan"))


@given(st.text(st.characters()), st.integers(1, 20))
def test_text_can_always_be_written(text: str, most: int) -> None:
    told = as_text(text, most)
    told.encode("utf-8")
    assert len(told) <= most


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_whole_numbers_come_back(content: list[int]) -> None:
    packed = pack_whole(np.array(content, dtype=np.int64))
    assert np.frombuffer(base64.b64decode(packed["data"]), f"<{packed['type']}").tolist() == content


def test_times_stay_times() -> None:
    assert as_text(np.datetime64("2024-05-01T12:30:00.000000000")) == "2024-05-01T12:30:00.000000000"


def test_floats_come_back_to_the_last_bit() -> None:
    content = np.array([0.1, -1e-300, np.pi])[::-1]
    assert np.frombuffer(base64.b64decode(pack(content, "f8")["data"])).tolist() == content.tolist()


@pytest.mark.parametrize(
    ("real", "text"), [(0.0, "0"), (-0.5, "−0.5"), (12345.678, "12\u202f346"), (3e-7, "3 × 10⁻⁷"), (-2e9, "−2 × 10⁹")]
)
def test_numbers_in_words(real: float, text: str) -> None:
    assert number(real) == text


# -------------------------------------------------------------------------------------------------- points, neighbours


def test_neighbours_are_told_by_place() -> None:
    shown = np.array([2, 5, 7, 9])
    packed = number_neighbours(shown, np.array([5, 9, 3]), np.array([[9, 2], [4, -1], [2, 5]]))
    table = np.frombuffer(base64.b64decode(packed["neighbours"]["data"]), "u1").reshape(4, 2)
    none = packed["none"]
    assert table.tolist() == [[none, none], [3, 0], [none, none], [none, none]]


def test_all_points_are_shown_when_they_fit() -> None:
    rng = np.random.default_rng(0)
    assert choose_shown(make(), np.empty(0, int), 3, rng).tolist() == [0, 1, 2]
    assert len(choose_shown(make(np.arange(9.0)), np.array([4]), 1, rng)) == 1


# --------------------------------------------------------------------------------------------------------------- map


def test_the_map_keeps_distances_of_points_in_a_plane() -> None:
    plane = np.random.default_rng(0).normal(size=(30, 2))
    turned = plane @ np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0][:2]
    places, axes, note = project(turned, np.zeros(30), np.arange(30), 0)
    gaps = np.linalg.norm(plane[:, np.newaxis] - plane, axis=2)
    assert np.linalg.norm(places[:, np.newaxis] - places, axis=2) == pytest.approx(gaps)
    assert axes[0].startswith("first component")
    assert "% of their variance" in note


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("thin", [False, True])
def test_the_map_is_finite(scale: float, thin: bool) -> None:
    table = np.random.default_rng(0).normal(size=(12, 4)) * scale
    places, _, _ = project(sparse.csr_array(table) if thin else table, np.zeros(12), np.arange(3, 9), 0)
    assert places.shape == (6, 2)
    assert np.isfinite(places).all()
    assert np.ptp(places) > 0


@pytest.mark.parametrize("table", [np.zeros((5, 3)), np.ones((5, 3)), sparse.csr_array((5, 3)), np.ones((1, 4))])
def test_points_in_one_place_are_shown_there(table: Any) -> None:
    places, _, note = project(table, np.zeros(table.shape[0]), np.arange(table.shape[0]), 0)
    assert not places.any()
    assert note == "All points lie in one place."


def test_one_feature_is_drawn_against_the_value() -> None:
    places, axes, _ = project(sparse.csr_array([[1.0], [2.0]]), np.array([0.5, -0.5]), np.arange(2), 0)
    assert places.tolist() == [[1.0, 0.5], [2.0, -0.5]]
    assert axes == ["feature", "value"]


def test_many_points_are_projected_from_some_of_them() -> None:
    table = np.random.default_rng(0).normal(size=(20_500, 3)) * [5.0, 2.0, 0.1]
    places, _, _ = project(table, np.zeros(20_500), np.arange(50), 0)
    assert np.abs(np.corrcoef(places[:, 0], table[:50, 0])[0, 1]) > 0.99


# ------------------------------------------------------------------------------------------------------------ images


def pixels(uri: str) -> Any:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))


@pytest.mark.parametrize("shape", [(3, 8, 6), (3, 8, 6, 3), (3, 8, 6, 4)])
def test_small_images_are_kept_to_the_pixel(shape: tuple[int, ...]) -> None:
    stack = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    images = Images(stack, 3)
    assert images.sharp
    made = images.thumbnails([2, 0], 10**6).uris
    assert list(made) == [2, 0]
    assert np.array_equal(pixels(made[2]), stack[2])


def test_other_numbers_are_scaled_from_black_to_white() -> None:
    stack = np.array([[[0.0, 8.0]], [[16.0, 4.0]]])
    assert pixels(Images(stack, 2).thumbnails([1], 10**6).uris[1]).tolist() == [[255, 64]]
    assert pixels(Images(stack > 5, 2).thumbnails([0], 10**6).uris[0]).tolist() == [[0, 255]]
    assert pixels(Images(np.ones((1, 2, 2, 1)), 1).thumbnails([0], 10**6).uris[0]).tolist() == [[0, 0], [0, 0]]


def test_large_images_shrink_and_the_budget_holds() -> None:
    stack = np.random.default_rng(0).integers(0, 256, (9, 200, 100, 3), dtype=np.uint8)
    made, left_out, complete = Images(stack, 9).thumbnails(range(9), 6000)
    assert (sum(left_out.values()), complete) == (0, False)
    assert 1 <= len(made) < 9
    assert sum(map(len, made.values())) <= 6000
    assert pixels(made[0]).shape == (56, 28, 3)


def test_images_from_files(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGBA", (120, 60), (255, 0, 0, 128)).save(tmp_path / "clear.png")
    Image.new("CMYK", (90, 90)).save(tmp_path / "print.jpg")
    made = Images([tmp_path / "clear.png", str(tmp_path / "print.jpg")], 2).thumbnails([0, 1], 10**6).uris
    assert pixels(made[0]).shape == (28, 56, 4)
    assert pixels(made[1]).shape == (56, 56, 3)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 4, 4)), "one per training point, 3; got 2"),
        (np.zeros((3, 4)), r"shape \(n_train, height, width"),
        (np.zeros((3, 4, 4, 2)), "1, 3 or 4 channels"),
        (np.full((3, 4, 4), np.nan), "images must be finite"),
        ([np.zeros((2, 2)), np.zeros((3, 3)), np.zeros((2, 2))], "of one size"),
        ([1, 2, "a"], "images must be"),
    ],
)
def test_bad_images_are_refused(images: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Images(images, 3)


def test_images_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'pivotal\[report\]'"):
        Images(np.zeros((1, 2, 2)), 1)


# -------------------------------------------------------------------------------------------------------- guarantees


def test_efficiency_is_checked_for_shapley_values() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(size=(20, 2)), rng.integers(0, 2, 20), rng.normal(size=(5, 2)), rng.integers(0, 2, 5)
    values = pivotal.value(*data, k=3, semivalue="shapley")
    assert (check_efficiency(values) or {})["ok"] is True
    wrong = make([0.5, 0.5], error_bound=1e-12, settings={"semivalue": "shapley"})
    found = check_efficiency(wrong) or {}
    assert found["ok"] is False
    assert "something is wrong" in found["text"]
    assert (check_efficiency(make(settings={"semivalue": "banzhaf"})) or {})["ok"] is None
    sampled = make([0.5, 0.4], standard_error=[0.1, 0.1], settings={"semivalue": "shapley"})
    assert (check_efficiency(sampled) or {})["ok"] is None


def test_every_source_of_error_is_told() -> None:
    values = make(proved_bound=1e-9, standard_error=[0.1, 0.2, 0.3], recall=0.975, vote_resolution=0.004)
    told = {item["title"]: item["text"] for item in guarantees(values)}
    assert told["Sampled"] == (
        "Standard errors are 0.2 in the median and at most 0.3. Besides chance, no value is off by more than 1 × 10⁻⁹, "
        "given the lists of neighbours."
    )
    assert "97.5 %" in told["Approximate neighbours"]
    assert "0.004" in told["Rounded weights"]


# ----------------------------------------------------------------------------------------------------------- compact


class Shape(HTMLParser):
    """Counts tags, and sees that every one is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in ("rect", "line"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag


def shape_of(page: str) -> dict[str, int]:
    parser = Shape()
    parser.feed(page)
    assert parser.open == []
    assert len(page.encode()) < 30_000
    return parser.count


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 100_000])
def test_compact_shows_both_ends_once(n: int) -> None:
    values = make(np.random.default_rng(0).normal(size=n))
    page = compact_html(values)
    count = shape_of(page)
    assert count["svg"] == 1
    assert "script" not in count
    assert count["tr"] == min(n, 10) + count["table"]
    assert f"<th>{values.order()[0]}</th>" in page
    assert f"<th>{values.order()[-1]}</th>" in page


def test_compact_escapes_and_cuts() -> None:
    ids = ["<img src=x onerror=alert(1)>", "a&b", "é" * 5000]
    page = compact_html(make(ids=ids, settings={"utility": "<b>hard</b>" * 900}))
    count = shape_of(page)
    assert "img" not in count
    assert "b" not in count
    assert "a&amp;b" in page
    assert "&lt;img" in page


def test_compact_of_what_is_not_a_game() -> None:
    values = Values([0.5, -1.0], n_queries=1, error_bound=None, settings={"method": "lava"})
    assert "method=lava" in compact_html(values)


def test_compact_loads_nothing_heavy() -> None:
    import subprocess

    code = (
        "import sys; from pivotal import Values; from pivotal.report import compact_html; "
        "compact_html(Values([1.0], n_queries=1)); "
        "assert not {'numba', 'sklearn', 'matplotlib', 'PIL'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
