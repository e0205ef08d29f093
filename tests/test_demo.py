"""The demo on real data: what it says is what it found, and what it wrote."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from absent import PLOTS, load_without
from pivotal.research import demo as demo_module
from pivotal.research.demo import run_demo
from pivotal.results.values import Values


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    lines = []
    result = run_demo(tmp_path_factory.mktemp("demo") / "new" / "out", echo=lines.append)
    return result, "\n".join(lines)


def test_demo_finds_nearly_all_flipped_labels(demo):
    result, _ = demo
    assert len(result.flipped) == 90
    assert result.found >= 0.85 * 90
    assert result.found <= result.found_in_twice <= 90
    assert result.found_in_twice >= 0.95 * 90


def test_demo_counts_what_it_says_it_counts(demo):
    result, _ = demo
    truth = load_digits().target
    assert np.array_equal(result.true, truth)
    assert np.array_equal(np.flatnonzero(result.given != truth), result.flipped)
    worst = np.argsort(result.values.values, kind="stable")
    assert result.found == len(set(worst[:90]) & set(result.flipped))
    assert result.found_in_twice == len(set(worst[:180]) & set(result.flipped))
    worst_hard = np.argsort(result.hard_values.values, kind="stable")
    assert result.found_hard == len(set(worst_hard[:90]) & set(result.flipped))
    assert result.found_hard < result.found
    assert [values.settings["utility"][:4].lower() for values in (result.values, result.hard_values)] == [
        "soft",
        "hard",
    ]


def test_demo_reports_in_words(demo):
    result, report = demo
    assert "1797 handwritten digits; 90 labels flipped" in report
    assert f"Among the  90 least valuable points: {result.found} of the 90 flipped labels" in report
    assert f"Among the 180 least valuable points: {result.found_in_twice} of the 90 flipped labels" in report
    assert f'With utility="hard" it is {result.found_hard} of 90' in report
    assert f"No value is off by more than {result.values.error_bound:.1e}." in report
    assert report.splitlines()[-4] == "Written: " + ", ".join(str(file) for file in result.files)
    assert report.splitlines()[-1].split()[:3] == ["pivotal", "review", str(result.files[-1])]
    worst, best = result.values.order()[[-1, 0]]
    for title, index in (("Least valuable:", worst), ("Most valuable:", best)):
        row = report.split(title)[1].splitlines()[1].split()
        assert [int(cell) for cell in row[:3]] == [index, result.given[index], result.true[index]]
        assert float(row[3]) == pytest.approx(result.values.values[index], rel=0.01)


def test_demo_writes_values_a_picture_and_a_report(demo):
    result, _ = demo
    assert [file.name for file in result.files] == ["values.parquet", "values.png", "report.html", "train.csv"]
    assert Values.load(result.files[0]).equals(result.values)
    picture = result.files[1].read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20]) == 1200  # width in the header
    page = result.files[2].read_text(encoding="utf-8")
    assert "digits: 90 of 1797 labels flipped" in page
    written = sorted(file.name for file in result.files[0].parent.iterdir())
    assert written == ["report.html", "train.csv", "values.parquet", "values.png"]


def test_demo_without_matplotlib_does_everything_else(tmp_path, monkeypatch):
    demo = load_without(monkeypatch, "matplotlib", *PLOTS, "pivotal.research.demo")
    lines = []
    demo.run_demo(tmp_path, data="iris", echo=lines.append)
    assert "No picture: plots need matplotlib; install it with: pip install 'pivotal[plots]'." in lines
    written = ", ".join(str(tmp_path / name) for name in ("values.parquet", "report.html", "train.csv"))
    assert f"Written: {written}" in lines
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.html", "train.csv", "values.parquet"]


def test_demo_takes_any_data_set_of_the_registry(tmp_path):
    lines = []
    result = run_demo(tmp_path, data="wine", noise=0.1, seed=2, echo=lines.append)
    assert lines[:2] == ["178 points of wine; 18 labels flipped to another class at random.", "The data: scikit-learn."]
    assert np.array_equal(result.true, load_wine().target)
    assert result.found >= 14
    assert [file.name for file in result.files] == ["values.parquet", "values.png", "report.html", "train.csv"]
    assert int.from_bytes(result.files[1].read_bytes()[16:20]) == 800  # no images, so the curve alone


def test_demo_draws_from_what_is_too_large_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_module, "_MOST", 1000)
    rng = np.random.default_rng(0)
    y = np.arange(5404) % 2
    np.savez(tmp_path / "phoneme.npz", X=(rng.normal(size=(5404, 5)) + 3 * y[:, None]).astype(np.float32), y=y)
    lines = []
    result = run_demo(tmp_path / "out", data="phoneme", data_home=tmp_path, echo=lines.append)
    assert lines[0] == "1000 points of phoneme; 50 labels flipped to another class at random."
    assert lines[1].endswith("1000 of 5404 rows, drawn at random.")
    assert len(result.values) == len(result.data) == 1000
    assert result.found > 45


def test_demo_needs_the_data(tmp_path, monkeypatch):
    monkeypatch.delenv("PIVOTAL_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name must be one of phoneme, .*; got 'digit'. Did you mean 'digits'\?"):
        run_demo(tmp_path / "out", data="digit")
    with pytest.raises(FileNotFoundError, match="data_home must name a folder"):
        run_demo(tmp_path / "out", data="phoneme", data_home=tmp_path / "none")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 0.0}, r"noise must be more than 0 and at most 0.5; got noise=0.0"),
        ({"noise": 0.51}, r"noise must be more than 0 and at most 0.5; got noise=0.51"),
        ({"noise": float("nan")}, r"noise must be more than 0 and at most 0.5; got noise=nan"),
        ({"seed": -1}, r"seed must be an integer of at least 0; got seed=-1"),
        ({"k": 0}, r"k must be an integer of at least 1; got k=0"),
    ],
)
def test_demo_refuses_bad_options_before_writing(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run_demo(tmp_path / "out", **options)
    assert not any(tmp_path.iterdir())


def test_demo_refuses_a_file_as_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot create the directory .*file: File exists; choose another"):
        run_demo(tmp_path / "file")
