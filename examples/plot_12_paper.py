"""
# An experiment of the paper

`pivotal reproduce` runs the experiments of the paper that pivotal started from. This one, with few rows to be quick: which
methods put mislabelled points at the bottom?
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from pivotal.cli import main

home = Path(tempfile.mkdtemp())
methods = [
    "bv-uw",
    "sv-uw",
    "sv-soft",
    "loo",
    "rand",
]  # the paper's abbreviations: Banzhaf, Shapley, soft-label Shapley
main(["reproduce", "mislabel", "--datasets", "breast_cancer", "wine", "--methods", *methods, "--runs", "2",
      "--offline", "--out", str(home), "--quiet"])  # fmt: skip
print(sorted(path.name for path in home.iterdir()))

# %%
# Every number that a page shows is in a table beside it.

found = pd.read_csv(home / "mislabel.csv")
table = found.pivot_table(
    index="method", columns="data", values="average_precision"
).sort_values("breast_cancer")
table.round(2)

# %%
plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(7, 3.4))
table.plot.barh(ax=ax)
ax.set(xlabel="average precision of finding the mislabelled points", ylabel="")
figure.tight_layout()
