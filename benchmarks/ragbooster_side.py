"""RAGBooster's side of `benchmarks/retrieval.py`, for an environment of its own.

    python benchmarks/ragbooster_side.py INPUT.npz OUTPUT.npz

INPUT holds lists (n_queries, depth) of documents, their contributions, k and n_documents. The compiled part is loaded
by itself, as importing the package needs a language model's libraries. One step from weights of 1/2 is the gradient of
the multilinear extension there: the Banzhaf value of the mean contribution of the first k.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def load() -> Any:
    for folder in map(Path, sys.path):
        for file in (folder / "ragbooster").glob("ragbooster*.so"):
            spec = importlib.util.spec_from_file_location("ragbooster", file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("ragbooster is not installed here; run pip install ragbooster.")


def main(given: str, target: str) -> None:
    learn = load().learn_importance
    data = np.load(given)
    k, n_documents, steps, rate = (data[name].item() for name in ("k", "n_documents", "steps", "rate"))
    encoded = [
        {"retrieved": row.tolist(), "utility_contributions": gains.tolist()}
        for row, gains in zip(data["lists"], data["gains"], strict=True)
    ]
    start = time.perf_counter()
    weights = learn(encoded, k=k, learning_rate=rate, num_epochs=steps, n_jobs=-1, grouping=list(range(n_documents)))
    seconds = time.perf_counter() - start
    np.savez(target, seconds=seconds, weights=np.array(weights))


if __name__ == "__main__":
    main(*sys.argv[1:])
