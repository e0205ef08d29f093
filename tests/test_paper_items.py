"""Figures, tables and equations have the numbers that the paper's source gives them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pivotal.research.experiments._paper_items import ITEMS

SOURCE = Path(__file__).parents[2] / "shared" / "paper" / "paper.tex"
DOCS = Path(__file__).parents[1] / "docs"
LABELS = {
    "illustration": ["fig:values"],
    "bits": ["fig:ablation:discretization"],
    "k": ["fig:ablation:k"],
    "imbalance": ["fig:ablation:imbalance"],
    "removal": ["fig:rm-full"],
    "selection": ["fig:select-full"],
    "flip": ["fig:flip-full"],
    "scalability": ["fig:scalability"],
    "setup": ["tab:dataset-stats"],
    "mislabel": ["tab:f1", "tab:recall", "tab:precision", "tab:auc-roc"],
}


@pytest.fixture(scope="module")
def numbers() -> dict[str, str]:
    """The number behind each label: counters of floats begin again in the appendix, those of equations do not."""
    if not SOURCE.is_file():
        pytest.skip("the source of the paper is not here")
    text = re.sub(r"(?<!\\)%.*", "", SOURCE.read_text(encoding="utf-8"))
    appendix = text.index("\\appendix")
    assert "\\thefigure{A\\arabic{figure}}" in text[appendix:].replace(" ", "")
    assert "\\thetable}{A\\arabic{table}}" in text[appendix:]
    found = {}
    for kind in ("figure", "table"):
        counts = {"": 0, "A": 0}
        for block in re.finditer(rf"\\begin{{({kind}\*?)}}.*?\\end{{\1}}", text, flags=re.DOTALL):
            part = "A" if block.start() > appendix else ""
            counts[part] += 1
            found |= dict.fromkeys(re.findall(r"\\label{([^}]+)}", block[0]), f"{part}{counts[part]}")
    equations = re.finditer(r"\\begin{(equation|align)}.*?\\end{\1}", text, flags=re.DOTALL)
    for number, block in enumerate(equations, 1):
        found |= {label: str(number) for label in re.findall(r"\\label{([^}]+)}", block[0])}
    return found


@pytest.mark.parametrize("experiment", LABELS)
def test_items_have_the_numbers_of_the_paper(experiment: str, numbers: dict[str, str]) -> None:
    expected = [numbers[label] for label in LABELS[experiment]]
    item = next(item for item in reversed(ITEMS) if item.experiment == experiment)
    found = re.findall(r"A?\d+", item.number)
    assert found == ([expected[0], expected[-1]] if len(expected) > 1 else expected)


@pytest.mark.parametrize(
    ("label", "page", "text"),
    [
        ("eq:bval-knn", "paper.md", "eqs. {} and 3"),
        ("eq:sval-def-weighted", "paper.md", "eqs. 6 and {}"),
        ("eq:knn-value-function", "paper.md", "(eq. {})"),
        ("eq:knn-value-function-multiclass", "paper.md", "the multi-class game, eq. {} "),
        ("eq:bval-mc-permutation", "theory.md", "(eq. {})"),
    ],
)
def test_pages_cite_equations_by_number(label: str, page: str, text: str, numbers: dict[str, str]) -> None:
    assert text.format(numbers[label]) in (DOCS / page).read_text(encoding="utf-8")
