"""
# Deciding about suspects

Someone must look and decide. `pivotal review train.csv --label y` opens a page on this machine; decisions go to a file, and
that file can be applied to the table later, by another person or in a pipeline.

![The review page](../../images/review-queue.png)
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_iris

import pivotal
from pivotal.cli import main

home = Path(tempfile.mkdtemp())
table = load_iris(as_frame=True).frame.rename(columns={"target": "species"})
table["species"] = table["species"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
true = table["species"].copy()
table.loc[[3, 40, 60, 95, 120], "species"] = [
    "virginica",
    "versicolor",
    "setosa",
    "setosa",
    "setosa",
]
table.to_csv(home / "iris.csv", index=False)

# %%
# Decisions are a table: which row, what to do, from which label to which. Here they are made by a rule, the suspects that
# the voters are surest of, instead of by a person.

errors = pivotal.clean(table, label="species")
sure = [row for row in errors.suspects if errors.confidence[row] > 0.7]
decisions = pd.DataFrame(
    {
        "row": sure,
        "action": "fix",
        "from": table["species"][sure].to_numpy(),
        "to": errors.suggested[sure],
    }
)
decisions.to_csv(home / "decisions.csv", index=False)
decisions

# %%
# Apply them: the cleaned table has the same columns, and nothing else is changed.

table_file, decided, out = (
    str(home / name) for name in ("iris.csv", "decisions.csv", "cleaned.csv")
)
main(
    [
        "clean",
        table_file,
        "--label",
        "species",
        "--apply",
        decided,
        "--fix",
        out,
        "--quiet",
    ]
)
cleaned = pd.read_csv(home / "cleaned.csv")
print(
    f"wrong labels before: {(table['species'] != true).sum()}, after: {(cleaned['species'] != true).sum()}"
)

features = table.drop(columns="species")
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True)
for ax, labels, title in zip(
    axes, (table["species"], cleaned["species"]), ("before", "after"), strict=True
):
    for species, part in features.groupby(labels):
        ax.scatter(part.iloc[:, 2], part.iloc[:, 3], s=14, label=species)
    ax.set(title=title, xlabel="petal length (cm)")
axes[0].set_ylabel("petal width (cm)")
axes[0].legend()
figure.tight_layout()
