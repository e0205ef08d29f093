"""One page of label errors, from Python and the command line: it says what the result says, of every kind of label."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pivotal.analysis.label_errors import LabelErrors, ManyLabelErrors, find_label_errors
from pivotal.cli import main

NAMES = ["<b>red</b>", "green", "blue"]


def clusters(n: int = 90) -> tuple[np.ndarray, np.ndarray]:
    """Three clusters, one label wrong in each."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 2)) + 9.0 * np.column_stack([y == 1, y == 2])
    y[:3] = [1, 2, 0]
    return X, np.array(["<ant>", "bee", "cow"])[y]


def many(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Three labels told by signs of three features, two cells wrong."""
    X = np.random.default_rng(1).normal(size=(n, 3))
    X += np.sign(X)
    table = (X > 0).astype(int)
    table[5, 1] ^= 1
    table[9, 2] ^= 1
    return X, table


def written(errors: LabelErrors, path: Path, **what: Any) -> str:
    assert errors.report(path, **what) == path
    return html.unescape(re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8")))


@pytest.fixture
def films(tmp_path: Path) -> Path:
    X, table = many()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        **dict(zip(("drama", "comedy", "horror"), table.T, strict=True))
    )
    frame.assign(who=np.where(np.arange(len(X)) < 20, "eve", "ann")).to_csv(tmp_path / "films.csv", index=False)
    return tmp_path


def test_the_page_of_classes_has_counts_groups_pairs_and_every_suspect(tmp_path: Path) -> None:
    X, y = clusters()
    errors = find_label_errors(X, y, n_trees=20)
    text = [f"row <i>{row}</i>" for row in range(len(y))]
    path = tmp_path / "page.html"
    page = written(errors, path, text=text, groups=np.arange(len(y)) % 2, title="Animals & more")
    assert set(errors.suspects.tolist()) == {0, 1, 2}
    for row in errors.suspects:
        assert errors.explain(row) in page
        assert text[row] in page
    assert "Animals & more" in page
    assert str(errors.n_wrong) in page
    assert errors.n_wrong.sentence[1:] in page
    for part in ("By label", "By group", "What is taken for what", "Suspects"):
        assert part in page
    raw = path.read_text(encoding="utf-8")
    assert "<ant>" not in raw  # names of labels and texts are text
    assert "<i>" not in raw
    assert "http" not in raw
    assert "<script" not in raw


def test_without_suspects_the_page_says_so(tmp_path: Path) -> None:
    X, y = clusters()
    y = np.array(["ant", "bee", "cow"])[np.arange(len(y)) % 3]
    errors = find_label_errors(X, y, n_trees=20)
    page = written(errors, tmp_path / "page.html")
    assert errors.suspects.size == 0
    assert "There are none." in page
    assert "By group" not in page


def test_pages_of_numbers_and_of_many_labels(tmp_path: Path) -> None:
    X, table = many()
    cells = find_label_errors(X, pd.DataFrame(table, columns=NAMES), n_trees=20)
    page = written(cells, tmp_path / "cells.html", text=[f"film {row}" for row in range(len(X))])
    assert {(place // 3, place % 3) for place in cells.suspects.tolist()} >= {(5, 1), (9, 2)}
    assert all(cells.explain(cell) in page for cell in cells.suspects)
    assert "film 5" in page
    assert "By label" in page
    assert "What is taken" not in page
    price = X @ [1.0, 2.0, 3.0]
    price[7] += 40.0
    numbers = find_label_errors(X, price, n_trees=20)
    page = written(numbers, tmp_path / "numbers.html")
    assert numbers.explain(7) in page
    assert numbers.n_wrong.sentence[1:] in page
    assert "By label" not in page


def test_texts_must_be_as_many_as_rows(tmp_path: Path) -> None:
    X, y = clusters()
    errors = find_label_errors(X, y, n_trees=0)
    with pytest.raises(ValueError, match=r"text must have an entry for each of the 90 rows; got 1\."):
        errors.report(tmp_path / "page.html", text=["one"])
    assert not (tmp_path / "page.html").exists()


def test_one_label_of_many_needs_no_other_and_no_warning() -> None:
    X, table = many()
    errors = find_label_errors(X, table[:, 1:2], task="multilabel", n_trees=20)
    assert isinstance(errors, ManyLabelErrors)
    assert errors.suspects[0] == 5


def test_the_command_line_takes_many_labels(films: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = ["--fix", "fixed.csv", "--drop", "kept.csv", "-o", "cells.csv", "--counts", "n.csv", "--report", "p.html"]
    files = [films / one if "." in one else one for one in outputs]
    words = ["clean", films / "films.csv", "--labels", "drama,comedy,horror", "--owner", "who", "--all", *files]
    assert main([str(one) for one in words]) == 0
    said = capsys.readouterr().out
    before = pd.read_csv(films / "films.csv")
    assert re.match(r"\d+ of 360 cells are suspects", said)
    cells = pd.read_csv(films / "cells.csv")
    assert len(cells) == 360
    wrong = cells[cells["suspect"]]
    assert {(5, "comedy"), (9, "horror")} <= set(zip(wrong["id"], wrong["label"], strict=True))
    assert (wrong["given"] != wrong["suggested"]).all()
    fixed = pd.read_csv(films / "fixed.csv")
    changed = [
        (row, name) for name in ("drama", "comedy", "horror") for row in np.flatnonzero(fixed[name] != before[name])
    ]
    assert sorted(changed) == sorted(zip(wrong["id"], wrong["label"], strict=True))
    kept = pd.read_csv(films / "kept.csv")
    assert len(kept) == 120 - wrong["id"].nunique()
    counts = pd.read_csv(films / "n.csv")
    assert counts["by"].tolist() == ["all", "label", "label", "label", "owner", "owner"]
    assert counts["rows"].tolist()[:4] == [360, 120, 120, 120]
    assert "By group" in (films / "p.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "drama,comdy"], "has no column 'comdy', which --labels names; did you mean 'comedy'?"),
        (["--labels", "drama,a"], "films.csv must hold 0 and 1, as --labels names it; got '1.34"),
        (["--labels", "drama"], "--labels must name at least two different columns; got drama. Use --label for one."),
        (["--labels", "drama,drama"], "--labels must name at least two different columns; got drama, drama."),
        (["--labels", "drama,comedy", "--label", "horror"], "--label is about one; omit one of them."),
        (["--labels", "drama,comedy", "--utility", "regression"], "--utility is about one; omit one of them."),
        (
            ["--label", "drama", "--report", "page.pdf"],
            "the report is an HTML file, for example --report suspects.html",
        ),
    ],
)
def test_wrong_words_get_a_sentence(
    films: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["clean", str(films / "films.csv"), *words, "--quiet"]) == 2
    assert message in capsys.readouterr().err


def test_the_page_of_wrong_numbers_from_the_command_line(tmp_path: Path) -> None:
    X, _ = many()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(price=X @ [1.0, 2.0, 3.0])
    frame.loc[7, "price"] += 40.0
    frame.to_csv(tmp_path / "houses.csv", index=False)
    page = tmp_path / "page.html"
    words = ["clean", tmp_path / "houses.csv", "--label", "price", "--utility", "regression", "--report", page]
    assert main([*map(str, words), "--quiet"]) == 0
    assert "row 7 has" in page.read_text(encoding="utf-8")
