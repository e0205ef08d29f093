"""
# Several labels per row

A picture shows a dog *and* a beach; a text has three topics. A table of 0 and 1 takes the place of the labels. Here every
digit has five properties, and some are noted wrongly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import pivotal

digits = load_digits()
X, digit = digits.data[:900], digits.target[:900]
members = {
    "even": [0, 2, 4, 6, 8],
    "five or more": [5, 6, 7, 8, 9],
    "prime": [2, 3, 5, 7],
    "has a loop": [0, 6, 8, 9],
    "straight": [1, 4, 7],
}
Y = np.column_stack([np.isin(digit, which) for which in members.values()]).astype(int)
rng = np.random.default_rng(0)
wrong = rng.random(Y.shape) < 0.02
given = np.where(wrong, 1 - Y, Y)

errors = pivotal.find_label_errors(X, given)
print(errors)
found = wrong.ravel()[errors.order[: wrong.sum()]].sum()  # cells are counted row by row
print(f"{found} of the {wrong.sum()} most suspicious cells are wrong")

# %%
# What each row is worth, label by label, from one search for neighbours. The value for all labels is their mean.

train, test = slice(0, 600), slice(600, None)
together = pivotal.value(X[train], given[train], X[test], Y[test], k=5, utility="soft")
each = np.array(
    [
        pivotal.value(
            X[train], given[train, i], X[test], Y[test, i], k=5, utility="soft"
        ).values
        for i in range(5)
    ]
)
print(
    f"largest difference from the mean of the labels: {abs(each.mean(axis=0) - together.values).max():.1e}"
)

lowest = together.order()[::-1][:12]
figure, ax = plt.subplots(figsize=(8, 3.6))
limit = abs(each[:, lowest]).max()
shown = ax.imshow(each[:, lowest], cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
for column, row in enumerate(lowest):
    for label in np.flatnonzero(wrong[train][row]):
        ax.text(column, label, "wrong", ha="center", va="center", fontsize=8)
ax.set(xlabel="row (the twelve of lowest value)")
ax.set_yticks(range(5), members)
ax.set_xticks(range(12), lowest)
figure.colorbar(shown, label="value")
figure.tight_layout()
