"""`pivotal check`: findings on the screen, in files, on a page, and as exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pivotal.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with an id column, a constant one, an empty one, gaps, copies and one far row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 150)
    frame = pd.DataFrame(rng.standard_normal((150, 3)) + 4.0 * y[:, np.newaxis], columns=["a", "b", "c"])
    frame["kind"] = np.array(["cat", "dog"])[y]
    frame["key"] = rng.permutation(150) + 1000
    frame["same"] = "x"
    frame["void"] = ""
    frame.loc[3, "b"] = np.nan
    frame.loc[7, "a"] = 90.0
    copies = frame.iloc[[20, 21]].assign(kind=["dog", "dog"])
    path = tmp_path / "train.csv"
    pd.concat([frame, copies]).to_csv(path, index=False)
    return path


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_findings_are_told_with_what_to_do(table, capsys):
    assert run("check", table, "--label", "kind", "--ignore", "key", "--skip", "label_errors") == 0
    told = capsys.readouterr().out
    assert "Exact duplicates (duplicates)\n  4 rows of 152 occur more than once (2 groups)." in told
    assert "1 column of 5: always the same (same)." in told
    assert "1 column of 5: no content, or hardly any (void)." in told
    assert "1 cell in 1 row and 1 column is missing, most of them in b (0.7%)." in told
    assert "1 row of 152 is far from all others" in told
    assert "Not looked for: leakage, as there are no test rows" in told


def test_id_columns_are_found_and_named_as_a_reason(table, capsys):
    frame = pd.read_csv(table)
    frame["key"] = np.arange(len(frame))
    frame.to_csv(table, index=False)
    assert run("check", table, "--label", "kind", "--only", "id_columns,order") == 0
    told = capsys.readouterr().out
    assert "(key)" in told
    assert "Columns that name the rows may be the reason: key." in told


def test_files_and_page(table, tmp_path, capsys):
    out, page, everything = tmp_path / "found.csv", tmp_path / "check.html", tmp_path / "check.json"
    words = ("--label", "kind", "--skip", "label_errors", "--test", table)
    assert run("check", table, *words, "-o", out, "--report", page, "--json", everything) == 0
    lines = pd.read_csv(out)
    assert (lines["finding"] == "leakage").sum() == 152
    names = [one["name"] for one in json.loads(everything.read_text())["findings"]]
    assert "conflicts" in names
    assert "152 training rows of 152 are in the test set" in page.read_text()
    assert run("check", table, *words, "--all", "-o", tmp_path / "scores.parquet", "--quiet") == 0
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    assert len(scores) == 152
    assert scores["is_leakage"].all()
    assert capsys.readouterr().err.count("152 rows") == 1


def test_conditions_decide_the_exit_code(table, capsys):
    words = ("check", table, "--label", "kind", "--skip", "label_errors", "--quiet")
    assert run(*words, "--fail-on", "leakage,duplicates>4") == 0
    assert run(*words, "--fail-on", "duplicates>0.02") == 1
    assert run(*words, "--fail-on", "any") == 1
    assert capsys.readouterr().out == ""


def test_thresholds_from_the_command_line(table, capsys):
    words = ("check", table, "--label", "kind", "--only", "outliers", "--ignore", "key")
    assert run(*words, "--threshold", "outliers=0.0001", "--fail-on", "outliers") == 0
    assert run(*words, "--threshold", "outliers=0.5", "--fail-on", "outliers") == 1
    assert "far from all others: more than 2 times" in capsys.readouterr().out


def test_numbers_need_a_word(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(60), "price": rng.standard_normal(60)})
    frame.to_csv(tmp_path / "houses.csv", index=False)
    assert run("check", tmp_path / "houses.csv", "--label", "price") == 2
    assert "--regression" in capsys.readouterr().err
    assert run("check", tmp_path / "houses.csv", "--label", "price", "--regression", "--skip", "label_errors") == 0


def test_amounts_are_integers_too(tmp_path, capsys):
    a = np.random.default_rng(0).standard_normal(200)
    price = np.round(100 * a + 500).astype(int)
    price[7] *= 10
    pd.DataFrame({"a": a, "price": price}).to_csv(tmp_path / "houses.csv", index=False)
    words = ["check", tmp_path / "houses.csv", "--label", "price", "--only", "label_errors,conflicts"]
    assert run(*words, "--regression", "--fail-on", "label_errors", "-o", tmp_path / "found.csv") == 1
    assert "of 200 look" in capsys.readouterr().out
    assert pd.read_csv(tmp_path / "found.csv")["row"][0] == 7
    assert run(*words, "--classes") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fail-on", "duplicats"), "Did you mean 'duplicates'"),
        (("--threshold", "outliers"), "NAME=NUMBER"),
        (("--threshold", "far=1"), "thresholds must name findings"),
        (("--report", "page.txt"), "--report check.html"),
        (("--json", "page.txt"), "--json check.json"),
        (("--all",), "-o scores.csv"),
        (("--only", "nothing"), "only must name findings"),
    ],
)
def test_bad_words_get_a_sentence(table, capsys, words, message):
    assert run("check", table, "--label", "kind", *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "bug" not in error
