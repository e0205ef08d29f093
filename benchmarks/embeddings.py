"""Which embedding finds wrong labels of texts and pictures, beside cleanlab on the same vectors?

    python benchmarks/embeddings.py --data DIR [--sentences FOLDER] [--out docs/embeddings.md] [--seeds 0 1 2]

DIR holds snippets.csv.gz (texts with their source), mnist.npz, cifar10_10k.npz and cifar10_test_resnet56.npz (arrays X
and y). Texts are written as a CSV file, pictures as PNG files in one folder per class, and both are read by
`pivotal.read_table`, as a user would. FOLDER holds a model of sentence-transformers. Finished figures are kept in a
JSON file beside the page and not computed again, each ranking by itself; `--again NAME` measures one of the rankings
anew, `--vectors DIR` keeps vectors for such runs, and `--write-only` makes the page of what there is. Needs cleanlab:
pip install 'pivotal[bench]'.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from cleanlab.rank import get_label_quality_scores
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

import pivotal
from pivotal.research.bench.markdown import table
from pivotal.research.bench.stopwatch import Stopwatch
from pivotal.research.datasets import flip_labels

ROWS, NOISE, FOLDS = 2000, 0.1, 5
OURS = "pivotal.clean"
LOGISTIC, NEAREST = "cleanlab, logistic regression", "cleanlab, 10 nearest neighbours"
METHODS = (OURS, LOGISTIC, NEAREST)


class Embedded(NamedTuple):
    """Features, labels, which of these are wrong, and how long it took to read and embed."""

    X: Any
    y: Any
    wrong: Any
    seconds: float

    def save(self, file: Path) -> None:
        sparse = scipy.sparse.issparse(self.X)
        matrix = {"X": self.X} if not sparse else {name: getattr(self.X, name) for name in _CSR}
        np.savez(file, y=self.y, wrong=self.wrong, seconds=self.seconds, **matrix)

    @classmethod
    def load(cls, file: Path) -> Embedded:
        with np.load(file) as kept:
            X = (
                kept["X"]
                if "X" in kept
                else scipy.sparse.csr_array(tuple(kept[name] for name in _CSR[:3]), kept["shape"])
            )
            return cls(X, kept["y"], kept["wrong"], float(kept["seconds"]))


_CSR = ("data", "indices", "indptr", "shape")


class Rows:
    """Rows of a data set with some labels flipped, written to files as people have them."""

    def __init__(self, data: Path, name: str, seed: int, folder: Path) -> None:
        rng = np.random.default_rng(seed)
        self.vectors: Any = None
        if name == "snippets":
            table = pd.read_csv(data / "snippets.csv.gz")
            rows = rng.permutation(len(table))[:ROWS]
            true = table["source"].to_numpy(dtype=str)[rows]
        else:
            with np.load(data / ("mnist.npz" if name == "mnist" else "cifar10_10k.npz")) as arrays:
                y, X = arrays["y"], arrays["X"]
            rows = rng.permutation(len(y))[:ROWS]
            true = np.array([f"class {label}" for label in y[rows]])
        self.labels, self.wrong = flip_labels(true, NOISE, random_state=seed)
        if name == "snippets":
            self.source: Any = folder / "reviews.csv"
            pd.DataFrame({"text": table["text"].to_numpy()[rows], "label": self.labels}).to_csv(
                self.source, index=False
            )
        else:
            self.source = folder / "pictures"
            pixels = X[rows].astype(np.uint8)
            pixels = (
                pixels.reshape(-1, 28, 28) if name == "mnist" else pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            )
            for place, (picture, label) in enumerate(zip(pixels, self.labels, strict=True)):
                home = self.source / label
                home.mkdir(parents=True, exist_ok=True)
                Image.fromarray(picture).save(home / f"{place:05}.png")
        if name == "cifar10":
            with np.load(data / "cifar10_test_resnet56.npz") as arrays:
                self.vectors = arrays["X"][rows]

    def read(self, embed: str) -> Embedded:
        """Read and embed the rows."""
        with Stopwatch() as watch:
            if embed == "given":
                ready = pivotal.read_table(self.source, "label", embed="none", embeddings=self._in_order())
            else:
                ready = pivotal.read_table(self.source, "label", embed=embed, embed_options={"cache": False})
        return Embedded(ready.X, np.asarray(ready.y, dtype=str), self.wrong[self._order()], watch.seconds)

    def _order(self) -> Any:
        """Return which rows the table has, in its order: pictures are in the order of their folders."""
        if self.source.suffix:
            return np.arange(ROWS)
        files = sorted(self.source.glob("*/*.png"), key=lambda file: (file.parent.name, file.name))
        return np.array([int(file.stem) for file in files])

    def _in_order(self) -> Any:
        return self.vectors[self._order()]


def by_ours(X: Any, y: Any) -> Any:
    return pivotal.find_label_errors(X, y).scores


def by_cleanlab(model: Any) -> Callable[[Any, Any], Any]:
    def score(X: Any, y: Any) -> Any:
        codes = pd.factorize(y, sort=True)[0]
        shares = cross_val_predict(model, X, codes, cv=FOLDS, method="predict_proba")
        return get_label_quality_scores(codes, shares)

    return score


SCORES = {
    OURS: by_ours,
    LOGISTIC: by_cleanlab(LogisticRegression(max_iter=1000)),
    NEAREST: by_cleanlab(KNeighborsClassifier(10)),
}


def tasks(sentences: Path | None) -> list[tuple[str, str, str]]:
    """Return data sets, embeddings, and what the page calls them."""
    texts = [("tfidf", "`tfidf`"), ("tfidf:100", "`tfidf:100`")]
    if sentences is not None:
        texts.append((f"sentence-transformers:{sentences}", "`sentence-transformers:` all-MiniLM-L6-v2"))
    pictures = [("pixels", "`pixels`"), ("histograms", "`histograms`")]
    return [
        *(("snippets", *one) for one in texts),
        *(("mnist", *one) for one in pictures),
        *(("cifar10", *one) for one in pictures),
        ("cifar10", "given", "`--embeddings`, a ResNet-56 trained on other pictures"),
    ]


def measure(arguments: argparse.Namespace, known: dict[str, Any], save: Callable[[], None]) -> None:
    for cell in known.values():
        for method in arguments.again:
            cell.pop(method, None)
    for seed in arguments.seeds:
        for name, embed, words in tasks(arguments.sentences):
            cell = known.setdefault(f"{name}/{words}/{seed}", {})
            wanted = [method for method in METHODS if method not in cell]
            if not wanted:
                continue
            rows = embedded(arguments, name, embed, seed)
            seconds = min(rows.seconds, cell.get("embed_seconds", rows.seconds))
            cell |= {"rows": len(rows.y), "features": int(rows.X.shape[1]), "embed_seconds": seconds}
            for method in wanted:
                with Stopwatch() as watch:
                    cell[method] = float(average_precision_score(rows.wrong, -SCORES[method](rows.X, rows.y)))
                cell[f"{method}, seconds"] = watch.seconds
                if method == OURS:
                    cell.pop("pivotal", None)  # the version that it was measured with before
                save()
            print(name, words, seed, {key: round(content, 3) for key, content in cell.items()}, flush=True)


def embedded(arguments: argparse.Namespace, name: str, embed: str, seed: int) -> Embedded:
    """Return the rows of a task, from the folder of vectors where it has them."""
    file = None
    if arguments.vectors is not None:
        file = arguments.vectors / f"{name}-{embed.split('/')[0].replace(':', '')}-{seed}.npz"
        if file.exists():
            return Embedded.load(file)
    with tempfile.TemporaryDirectory() as folder:
        rows = Rows(arguments.data, name, seed, Path(folder)).read(embed)
    if file is not None:
        rows.save(file)
    return rows


def page(known: dict[str, Any], command: str) -> str:
    """Return the page: a line for each data set and embedding."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, cell in known["cells"].items():
        if any(method not in cell for method in METHODS):
            continue  # not finished
        name, rest = key.split("/", 1)
        groups.setdefault((name, rest.rsplit("/", 1)[0]), []).append(cell)
    lines = [
        "# Texts and pictures",
        "",
        f"{ROWS} rows of each data set, a tenth of the labels flipped to another class at random; draws of rows",
        "and flips as the table says. *Texts*: snippets of reviews, editorials and tweets, labelled by where they come",
        "from (4 classes), as a CSV file. *Pictures*: handwritten digits and small photographs (10 classes each), as",
        "PNG files in one folder per class. All are read by `pivotal.read_table`; all methods get the same vectors and",
        "labels. Numbers are average precision of the ranking, most suspicious first: mean over the draws, ± its",
        "standard error where there are several. A random order has 0.1.",
        "",
    ]
    rows = []
    names = {"snippets": "texts", "mnist": "digits", "cifar10": "photographs"}
    for name in names:
        for (one, words), cells in groups.items():
            if one != name:
                continue
            rates = [cell["rows"] / cell["embed_seconds"] for cell in cells if "embed_seconds" in cell]
            rate = "" if "--embeddings" in words else f"{max(rates):,.0f}"
            best = max(METHODS, key=lambda method: np.mean([cell[method] for cell in cells]))
            columns = []
            for method in METHODS:
                found = np.array([cell[method] for cell in cells])
                error = f" ± {found.std(ddof=1) / np.sqrt(len(found)):.3f}" if len(found) > 1 else ""
                mark = "**" if method == best else ""
                columns.append(f"{mark}{found.mean():.3f}{mark}{error}")
            width = f"{int(np.median([cell['features'] for cell in cells])):,}"
            rows.append([names[name], words, width, len(cells), rate, *columns])
    about = known["about"]
    earlier = {cell["pivotal"]: words for (_, words), cells in groups.items() for cell in cells if "pivotal" in cell}
    lines += [
        table(["data", "embedding", "features", "draws", "rows per second", *METHODS], rows),
        "",
        "Rows per second: reading the file or the pictures and embedding them, the best draw. Other work ran on the",
        "machine, more of it at some times than at others: these are rates that were reached, not a comparison.",
        "Nothing was taken from a cache. cleanlab gets out-of-fold probabilities",
        f"({FOLDS} folds) of the model named, on the same vectors.",
        "",
        *_behind(groups, names),
        "What logistic regression sees there and the voters of `pivotal.clean` do not is not explained. Part of it was",
        "that the linear voter standardised principal components, which gives the last as much say as the first; it",
        "keeps columns as they are now where that predicts labels better, and the figure is 0.536 instead of 0.526.",
        "",
        "Networks with weights that must be downloaded (`timm`, `open_clip`) are not in the table: there was no",
        "network where it was made. The ResNet stands for what such features do.",
        "",
        f"`{command}`: pivotal {about['pivotal']},",
        f"cleanlab {about['cleanlab']}, scikit-learn {about['scikit-learn']},",
        f"Python {about['python']}, {about['processors']} processors. Numbers: `docs/embeddings.json`.",
        *(f"Measured earlier, {one}: draws of {words}." for one, words in earlier.items()),
        "",
    ]
    return "\n".join(lines)


def _behind(groups: dict[tuple[str, str], list[dict[str, Any]]], names: dict[str, str]) -> list[str]:
    """Say in which rows of the table another ranking is ahead, and by how much."""
    sentences = []
    for (name, words), cells in groups.items():
        for method in METHODS[1:]:
            ahead = np.array([cell[method] - cell[OURS] for cell in cells])
            if ahead.mean() > 0.0:
                error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else np.nan
                sentences.append(
                    f"On {names[name]} by {words}, {method.replace(', ', ' with ')} is ahead of `{OURS}` by "
                    f"{ahead.mean():.3f} ± {error:.3f} (draw by draw)."
                )
    return sentences or [f"`{OURS}` is ahead in every row."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/embeddings.md"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--again", nargs="+", default=[], choices=METHODS, help="rankings to measure anew")
    parser.add_argument("--vectors", type=Path, help="folder that keeps vectors")
    parser.add_argument("--write-only", action="store_true")
    arguments = parser.parse_args()
    kept = arguments.out.with_suffix(".json")
    known: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"cells": {}}
    if not arguments.write_only:
        known["about"] = {
            "pivotal": pivotal.__version__,
            **{name: version(name) for name in ("cleanlab", "scikit-learn")},
            "python": platform.python_version(),
            "processors": os.cpu_count(),
        }

    def save() -> None:
        kept.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")

    if not arguments.write_only:
        measure(arguments, known["cells"], save)
    save()
    arguments.out.write_text(
        page(known, "python benchmarks/embeddings.py --data DIR --sentences FOLDER"), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
