"""Texts and pictures in a review, from the file to the decision: what they are compared by, and what is seen."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from review_pages import Opened, browser, in_chromium, opened, run

__all__ = ["browser", "opened", "run"]  # fixtures
pytestmark = in_chromium

WRONG = set(range(0, 300, 25))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts beside numbers that say nothing, some with the wrong label."""
    pick = random.Random(0)
    good = ["great value", "works well", "love it", "very happy", "arrived early", "highly recommended", "perfect fit"]
    bad = ["broke at once", "waste of money", "arrived late", "never again", "very disappointed", "stopped working"]
    rows = []
    for number in range(300):
        kind = number % 2
        said = pick.sample(bad if kind else good, 3)
        label = "bad" if kind != (number in WRONG) else "good"
        rows.append((f"The {pick.choice(['lamp', 'tent', 'clock'])}: {', '.join(said)}!", pick.random(), label))
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    pd.DataFrame(rows, columns=["text", "noise", "label"]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Digits in one folder per class, some in the wrong one."""
    home = tmp_path_factory.mktemp("pictures") / "digits"
    digits = load_digits()
    for number in range(300):
        digit = digits.target[number]
        folder = home / str((digit + 1) % 10 if number in WRONG else digit)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[number] * 15).astype("uint8")).save(folder / f"{number:03}.png")
    return home


def title(page: Any) -> str:
    text: str = page.inner_text("#row-title")
    return text.removeprefix("Row ")


def fix(page: Any) -> str:
    """Take the suggested label of the row that is shown; return its name."""
    row = title(page)
    page.keyboard.press("f")
    page.wait_for_function("row => document.getElementById('row-title')?.textContent !== `Row ${row}`", arg=row)
    return row


def test_texts_are_compared_by_what_they_say(reviews: Path, run: Any, opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "cleaned.csv"
    review = run(reviews, "--embed", "tfidf", "--trees", "0", "-o", str(out))
    page = opened(review.url)
    before = pd.read_csv(reviews)
    decided = set()
    for _ in range(8):
        assert page.inner_text(".words") == before.text[int(title(page))]
        decided.add(int(fix(page)))
    assert decided <= WRONG
    review.stop()
    changed = before.label != pd.read_csv(out).label
    assert set(changed[changed].index) == decided


def test_pictures_are_seen_and_named_by_their_paths(photos: Path, run: Any, opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    review = run(photos, "-o", str(out))
    page = opened(review.url)
    decided = set()
    for _ in range(5):
        row = title(page)
        assert (photos / row).is_file()
        page.wait_for_function("document.querySelector('#card img, main img')?.naturalWidth > 0")
        decided.add(fix(page))
    assert {int(Path(one).stem) for one in decided} <= WRONG
    review.stop()
    labels = pd.read_csv(out).set_index("path")["label"]
    for path in decided:
        name = next(one for one in labels.index if one.endswith(f"digits/{path}"))
        assert str(labels[name]) != path.split("/")[0]
