"""`pivotal select` and `pivotal remove`: rows chosen together, and what is said of them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.analysis.selection import _surroundings
from pivotal.cli import main


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Forests are as small as those of very many rows, for the commands and for the library alike."""
    monkeypatch.setattr(_surroundings, "_LEAVES", 0)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1], 60)
    X = (rng.normal(size=(120, 2)) + 4 * label[:, np.newaxis]).round(3)
    wrong = label.copy()
    wrong[rng.choice(120, 14, replace=False)] ^= 1
    return pd.DataFrame(
        {
            "x": X[:, 0],
            "y": X[:, 1],
            "owner": np.array(["ann", "bob", "eve", "kim"])[np.arange(120) % 4],
            "price": np.where(np.arange(120) % 2, 1.5, 9.0),
            "must": np.where(np.arange(120) < 2, "yes", ""),
            "animal": np.array(["cat", "dog"])[wrong],
        }
    )


@pytest.fixture
def table(tmp_path, frame):
    frame.to_csv(tmp_path / "train.csv", index=False)
    return str(tmp_path / "train.csv")


LABEL = ["--label", "animal", "--features", "x,y"]


def chosen(frame, out):
    """Positions of the rows that were written."""
    written = pd.read_csv(out, keep_default_na=False)
    places = {(row.x, row.y): place for place, row in enumerate(frame.itertuples())}
    return [places[row.x, row.y] for row in written.itertuples()]


def test_select_writes_what_the_library_selects_and_says_what_to_expect(tmp_path, frame, table, capsys):
    out = tmp_path / "small.csv"
    assert main(["select", table, *LABEL, "--size", "10%", "-o", str(out)]) == 0
    said = capsys.readouterr().out
    X = StandardScaler().fit_transform(frame[["x", "y"]].to_numpy())
    found = pivotal.select(X, frame["animal"].to_numpy(), 12)
    assert chosen(frame, out) == found.indices.tolist()
    assert said.startswith("Selected 12 of 120 rows (10 %) by exchange.\nExpected accuracy ")
    percent = [float(number) / 100 for number in re.findall(r"([\d.]+) ± [\d.]+ %", said)]
    expected = found.expected
    assert percent == pytest.approx([expected.accuracy, expected.random, expected.everything], abs=6e-4)
    assert said.endswith(f"Written: {out} (12 of 120 rows)\n")


def test_select_the_fewest_rows_and_write_a_page(tmp_path, frame, table, capsys):
    out, page = tmp_path / "small.csv", tmp_path / "page.html"
    assert main(["select", table, *LABEL, "--keep", "0.9", "--report", str(page), "-o", str(out)]) == 0
    n = len(chosen(frame, out))
    assert n <= 60
    text = page.read_text(encoding="utf-8")
    assert f"{n} of 120" in text
    assert "Other sizes" in text
    assert "<script" not in text
    assert f"Written: {page}" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["random", "herding", "shapley"])
def test_select_by_other_methods(tmp_path, frame, table, method, capsys):
    out = tmp_path / "small.csv"
    assert main(["select", table, *LABEL, "-n", "9", "--method", method, "--no-estimate", "-o", str(out)]) == 0
    assert len(chosen(frame, out)) == 9
    assert f"by {method}" in capsys.readouterr().out


def test_select_with_wishes(tmp_path, frame, table, capsys):
    out = tmp_path / "small.csv"
    quick = [*LABEL, "--no-estimate", "-o", str(out)]
    assert main(["select", table, *quick, "-n", "9", "--include", "must"]) == 0
    assert {0, 1} <= set(chosen(frame, out))
    assert main(["select", table, *quick, "-n", "9", "--exclude", "must"]) == 0
    assert not {0, 1} & set(chosen(frame, out))
    assert main(["select", table, *quick, "-n", "70", "--group", "owner"]) == 0
    owners = frame["owner"].to_numpy()
    rows = chosen(frame, out)
    assert sorted(rows) == np.flatnonzero(np.isin(owners, owners[rows])).tolist()
    assert len(rows) <= 70
    assert f"Selected {len(rows)} of 120 rows (50 %) of 2 groups by exchange." in capsys.readouterr().out
    assert main(["select", table, *quick, "--budget", "30", "--price", "price"]) == 0
    spent = frame["price"].to_numpy()[chosen(frame, out)].sum()
    assert spent <= 30.0
    assert f"for {spent:g} of 30 by exchange." in capsys.readouterr().out
    assert main(["select", table, *quick, "-n", "10", "--quotas", "balanced", "--class-weight", "balanced"]) == 0
    labels = frame["animal"].to_numpy()[chosen(frame, out)]
    assert (labels == "cat").sum() == 5
    capsys.readouterr()
    assert main(["select", table, *quick, "-n", "10", "--split", "0.3"]) == 0
    assert "nearest neighbours on 36 test rows: with all 84 rows" in capsys.readouterr().out
    assert main(["select", table, *quick, "-n", "10", "--split", "0.3", "--for-test"]) == 0
    assert "test rows: with" not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--group", "--include", "--exclude"])
def test_a_column_that_is_not_there_is_named_with_its_option(tmp_path, table, option, capsys):
    out = tmp_path / "small.csv"
    assert main(["select", table, *LABEL, "-n", "9", option, "ownr", "-o", str(out)]) == 2
    assert f"no column 'ownr', which {option} names; did you mean 'owner'?" in capsys.readouterr().err
    assert not out.exists()


def test_remove_says_what_it_does_and_does_it(tmp_path, frame, table, capsys):
    out = tmp_path / "kept.csv"
    assert main(["remove", table, *LABEL, "-o", str(out)]) == 0
    X = StandardScaler().fit_transform(frame[["x", "y"]].to_numpy())
    found = pivotal.remove_harmful(X, frame["animal"].to_numpy())
    assert len(found) > 5
    assert chosen(frame, out) == found.kept.tolist()
    assert capsys.readouterr().out.startswith(f"{len(found)} of 120 rows do harm")
    clean = frame.assign(animal=np.repeat(["cat", "dog"], 60))
    clean.to_csv(tmp_path / "clean.csv", index=False)
    assert main(["remove", str(tmp_path / "clean.csv"), *LABEL, "-o", str(out)]) == 0
    assert capsys.readouterr().out.startswith("Nothing is reliably harmful among 120 rows")
    assert len(pd.read_csv(out)) == 120
    assert main(["remove", table, *LABEL, "-o", str(out), "--split", "0.1"]) == 0
    assert "12 test rows: with all 108 rows" in capsys.readouterr().out
