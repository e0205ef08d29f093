"""Data sets of a hub by name: the real client loads them from a hub on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from hub import serve_hub

if find_spec("datasets") is None:  # processes import it
    pytest.skip("needs datasets", allow_module_level=True)

LOAD = """
import sys
import pivotal

for name in sys.argv[1:]:
    try:
        ready = pivotal.read_table(name, label="label")
        print("ROWS", len(ready.y), sorted(set(map(str, ready.y))), ready.treatments[0].kind)
    except ValueError as error:
        print("REFUSED", error)
"""


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    texts = tmp_path / "hub" / "ann" / "reviews-v1.5"
    texts.mkdir(parents=True)
    kinds = ["good", "bad"] * 20
    frame = pd.DataFrame({"text": [f"{kind} film {n} of {n % 7}" for n, kind in enumerate(kinds)], "label": kinds})
    frame.iloc[:30].to_csv(texts / "train.csv", index=False)
    frame.iloc[30:].to_csv(texts / "test.csv", index=False)
    pictures = tmp_path / "hub" / "ann" / "pictures"
    for number in range(8):
        home = pictures / "train" / ("cat", "dog")[number % 2]
        home.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((9, 9, 3), 30 * number, dtype=np.uint8)).save(home / f"{number}.png")
    return tmp_path / "hub"


def load(address: str, home: Path, *names: str) -> list[str]:
    """Load data sets in a process of its own, as the client reads its settings when it is imported."""
    settings = {"HF_ENDPOINT": address, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", LOAD, *names],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return [line for line in found.stdout.splitlines() if line.startswith(("ROWS", "REFUSED"))]


def test_data_sets_by_name(hub: Path, tmp_path: Path) -> None:
    with serve_hub(hub) as (address, asked):
        told = load(
            address,
            tmp_path / "home",
            "hf://ann/reviews-v1.5#train",
            "hf://ann/reviews-v1.5",
            "hf://ann/reviews-v1.5#dev",
            "hf://ann/pictures#train",
            "hf://datasets/ann/reviews-v1.5/test.csv",
            "hf://ann/nothing",
        )
    assert any(line.startswith("GET datasets/ann/reviews-v1.5/resolve/") for line in asked)
    assert told[0] == "ROWS 30 ['bad', 'good'] text"
    assert "has the splits train, test; name one, such as hf://ann/reviews-v1.5#train." in told[1]
    assert told[2].startswith("REFUSED hf://ann/reviews-v1.5#dev cannot be read as a data set")
    assert told[3] == "ROWS 8 ['cat', 'dog'] image"
    assert told[4] == "ROWS 10 ['bad', 'good'] text"
    assert told[5].startswith("REFUSED hf://ann/nothing cannot be read as a data set of Hugging Face's: ")
    assert "doesn't exist on the Hub" in told[5]


@pytest.mark.faults  # the client tries for half a minute to reach a hub that is gone
def test_a_data_set_that_was_loaded_is_there_without_the_hub(hub: Path, tmp_path: Path) -> None:
    with serve_hub(hub) as (address, _):
        first = load(address, tmp_path / "home", "hf://ann/reviews-v1.5#train")
    assert load(address, tmp_path / "home", "hf://ann/reviews-v1.5#train") == first
