"""Whether OpenDataVal, where it implements the same methods, finds the same values.

    python benchmarks/agreement.py --python PATH [--out docs/agreement.md]

PATH is a Python with OpenDataVal, which needs an environment of its own. Both sides get the same points; OpenDataVal
computes in single precision, so they are rounded to it first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from pivotal import value
from pivotal.baselines.chance import chance
from pivotal.baselines.influence import influence
from pivotal.baselines.lava import lava
from pivotal.baselines.retraining import value_by_retraining
from pivotal.core.semivalues import as_semivalue
from pivotal.research.bench.markdown import record_table

K = 5
FIRST_SIZE = 5  # OpenDataVal's samplers begin with a coalition of five
SIDE = Path(__file__).with_name("opendataval_side.py")


@dataclass
class Row:
    """Two vectors of values beside each other."""

    method: str
    ours: str
    theirs: str
    largest: float
    difference: float
    ranks: float

    @classmethod
    def of(cls, method, ours, theirs, one, other):
        ranks = spearmanr(one, other).statistic
        return cls(method, ours, theirs, float(np.abs(one).max()), float(np.abs(one - other).max()), float(ranks))


def make_tasks(n_many, n_few, n_test):
    """Breast cancer, scaled: some training points for what is quick, a few for what is enumerated."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = scale(X)[order].astype(np.float32), y[order]
    test = slice(len(y) - n_test, len(y))
    return tuple((X[:n], y[:n], X[test], y[test]) for n in (n_many, n_few))


def ask_opendataval(python, many, few, n_models, n_permutations):
    """Run the other side and return its answers."""
    names = ("X_train", "y_train", "X_test", "y_test")
    task = {
        f"{prefix}_{name}": part
        for prefix, data in (("many", many), ("few", few))
        for name, part in zip(names, data, strict=True)
    }
    with tempfile.TemporaryDirectory() as directory:
        np.savez(Path(directory) / "task.npz", k=K, n_models=n_models, n_permutations=n_permutations, **task)
        # Models this small are slower with more threads, and torch and scikit-learn each start their own.
        quiet = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
        subprocess.run([python, SIDE, directory], check=True, env=quiet, stdout=subprocess.DEVNULL)
        with np.load(Path(directory) / "answers.npz") as answers:
            return dict(answers)


# ----------------------------------------------------------------------------------------------- their rules, exactly


def enumerate_by_their_rules(X_train, y_train, X_test, y_test):
    """Accuracy on every coalition: with one class or none, OpenDataVal's wrapper always answers class 0."""
    n = len(y_train)
    earned = np.empty(2**n)
    for mask in range(2**n):
        members = [i for i in range(n) if mask >> i & 1]
        if len(set(y_train[members])) < 2:
            earned[mask] = np.mean(y_test == 0)
        else:
            earned[mask] = LogisticRegression().fit(X_train[members], y_train[members]).score(X_test, y_test)
    return earned


def semivalue_of(earned, semivalue, first_size=0):
    """The semivalue of an enumerated game; marginal contributions to fewer than `first_size` others count as 0."""
    n = int(np.log2(earned.size))
    measure = as_semivalue(semivalue)
    chance = [measure.mass(size, n - 1 - size) for size in range(n)]
    values = np.zeros(n)
    for i, mask in itertools.product(range(n), range(2**n)):
        size = mask.bit_count()
        if not mask >> i & 1 and size >= first_size:
            values[i] += chance[size] * (earned[mask | 1 << i] - earned[mask])
    return values


# ----------------------------------------------------------------------------------------------- the comparison


def banzhaf_by_their_rules(earned):
    """Mean with the point minus mean without it; coalitions whose indices are all 0, none or the first, are skipped."""
    n = int(np.log2(earned.size))
    masks = np.arange(2, earned.size)
    joined = masks[:, np.newaxis] >> np.arange(n) & 1 == 1
    return np.array([earned[masks[with_it]].mean() - earned[masks[~with_it]].mean() for with_it in joined.T])


def products_of_gradients(weights, X_train, y_train, X_test, y_test):
    """For each training point, the product of its gradient with those of all test points, summed.

    The model has a logistic output for each of two classes; its loss is the mean of their binary cross entropies.
    """

    def parts(X, y):
        design = np.hstack([X, np.ones((len(X), 1))])
        return design, (expit(design @ weights.T) - np.eye(2)[y]) / 2

    (train, residuals), (test, others) = parts(X_train, y_train), parts(X_test, y_test)
    return (residuals * (train @ (test.T @ others))).sum(axis=1)


def compare(answers, many, few):
    shapley = value(*many, k=K, utility="jia2019", semivalue="shapley").values
    rows = [
        Row.of(
            "nearest neighbours, Shapley",
            'value(utility="jia2019", semivalue="shapley")',
            "KNNShapley",
            shapley,
            answers["knn"],
        )
    ]
    left_out = value_by_retraining(
        LogisticRegression(), *many, semivalue="loo", sampler="coalitions", n_samples=2, n_jobs=1
    )
    rows.append(
        Row.of("leave-one-out", 'value_by_retraining(semivalue="loo")', "LeaveOneOut", left_out.values, answers["loo"])
    )
    smoothed = lava(*many, label_weight=0.5, regularization=0.2, max_iter=20_000).values / 2
    words = "lava(label_weight=0.5, regularization=0.2) / 2"
    rows += [
        Row.of("LAVA", words, "LavaEvaluator", smoothed, answers["lava"]),
        Row.of("LAVA", words, "the same, in finer steps", smoothed, answers["lava-finer"]),
        Row.of("LAVA", "lava() / 2", "LavaEvaluator", lava(*many).values / 2, answers["lava"]),
    ]
    plain = products_of_gradients(answers["weights"], *many)
    rows.append(Row.of("influence", "products of gradients", "InfluenceFunction", plain, answers["influence"]))
    solved = influence(*many, scale=False).values * len(many[3])
    rows.append(Row.of("influence", "influence(scale=False)", "InfluenceFunction", solved, answers["influence"]))
    earned = enumerate_by_their_rules(*few)
    for name, theirs, semivalue, first in (
        ("Banzhaf", "banzhaf", "banzhaf", 0),
        ("Beta Shapley (4, 1)", "beta", "beta(4,1)", FIRST_SIZE),
        ("Shapley", "shapley", "shapley", FIRST_SIZE),
    ):
        exact = value_by_retraining(LogisticRegression(), *few, semivalue=semivalue, sampler="exact", n_jobs=1).values
        runs = [answers[f"{theirs}-{seed}"] for seed in (0, 1)]
        method = f"{name} of a logistic regression"
        mean = (runs[0] + runs[1]) / 2
        rows.append(Row.of(method, "by enumeration", "mean of two runs", exact, mean))
        by_their_rules = banzhaf_by_their_rules(earned) if first == 0 else semivalue_of(earned, semivalue, first)
        rows.append(Row.of(method, "by enumeration, their rules", "mean of two runs", by_their_rules, mean))
        rows.append(Row.of(method, "one run there", "another run there", *runs))
    rows.append(
        Row.of(
            "random",
            "chance(random_state=0)",
            "RandomEvaluator",
            chance(*many, random_state=0).values,
            answers["random"],
        )
    )
    return rows


HEAD = """\
# Agreement with OpenDataVal

Written by `python benchmarks/agreement.py --python PATH --out docs/agreement.md`, where PATH is a Python with
OpenDataVal {version}. Breast cancer data, scaled and rounded to single precision, in which OpenDataVal computes:
{n_many} training points, {n_few} where all coalitions are enumerated, {n_test} test points, k = {k}. OpenDataVal's
samplers drew {n_models:,} coalitions (Banzhaf) and {n_permutations:,} permutations (Shapley) in each of two runs.

"""
WORDS = """

## Where the two differ, and why

- **Nearest neighbours, leave-one-out.** The same values, up to single precision.
- **LAVA.** The same problem, solved less far. OpenDataVal halves squared distances, and halves what moving one class
  onto another costs once more; so `label_weight=0.5` and a factor of 2 speak of the same cost. It always smooths, by
  0.1 in its units, which is `regularization=0.2` here. Its solver, geomloss, lowers the smoothing step by step and
  stops when it has arrived, before the masses are met. In finer steps (`scaling=0.999` instead of 0.5) it comes to
  the values here, except where the sizes of the two sets make a kink: there even that is not fine enough. The default
  here is the exact problem, with labels at full weight.
- **Influence.** OpenDataVal's `InfluenceFunction` leaves the Hessian out, as a comment in its source says: it adds up
  products of gradients, and that is what the first row reproduces, from the weights of its own model. The second row
  has the values of `influence`, times the number of test points: they solve the system with the Hessian and so
  estimate leave-one-out, which the tests check by refitting, and they belong to a model with a penalty that was
  fitted to the end.
- **Shapley and Beta Shapley of a model.** OpenDataVal's sampler starts every permutation with five points: what the
  first five contribute is counted as 0, and their weight is not given to the others. With few points, or with a Beta
  (4, 1) that favours small coalitions, that is most of the value. Enumerated by these rules, the values agree within
  the chance of sampling, of which two runs of OpenDataVal give an idea.
- **Coalitions of one class.** OpenDataVal's wrapper of scikit-learn models answers class 0 for a coalition of one
  class, whichever that is. Here such a coalition names its own class. This is part of "their rules" above. So is that
  `DataBanzhaf` passes over the empty coalition and that of the first point alone. But for chance, nothing else
  separates the two Banzhaf values.
- **Random** values of two different generators have nothing to agree on.
"""


def page(rows, settings):
    def code(words):
        return f"`{words}`" if "(" in words or words.isidentifier() else words

    columns = {
        "method": "{method}",
        "here": "{ours}",
        "there": "{theirs}",
        "largest value here": "{largest:.3g}",
        "largest difference": "{difference:.2g}",
        "rank correlation": "{ranks:.4f}",
    }
    lines = record_table(columns, [{**vars(row), "ours": code(row.ours), "theirs": code(row.theirs)} for row in rows])
    return HEAD.format(k=K, **settings) + lines + WORDS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, metavar="PATH", help="a Python with OpenDataVal")
    parser.add_argument("--out", type=Path, help="Markdown page to write; the figures go beside it as JSON")
    parser.add_argument("--many", type=int, default=100, help="training points (default: %(default)s)")
    parser.add_argument(
        "--few", type=int, default=10, help="training points that are enumerated (default: %(default)s)"
    )
    parser.add_argument("--test", type=int, default=80, help="test points (default: %(default)s)")
    parser.add_argument("--models", type=int, default=4000, help="of Data Banzhaf (default: %(default)s)")
    parser.add_argument("--permutations", type=int, default=500, help="of Data Shapley (default: %(default)s)")
    options = parser.parse_args()
    many, few = make_tasks(options.many, options.few, options.test)
    answers = ask_opendataval(options.python, many, few, options.models, options.permutations)
    settings = {
        "version": str(answers.pop("version")),
        "n_many": options.many,
        "n_few": options.few,
        "n_test": options.test,
        "n_models": options.models,
        "n_permutations": options.permutations,
    }
    rows = compare(answers, many, few)
    text = page(rows, settings)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        figures = {"settings": settings, "rows": [asdict(row) for row in rows]}
        options.out.with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
