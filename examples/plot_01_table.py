"""
# Wrong labels in a table

Some labels of a table are wrong. Which ones, and how many? No clean data is needed: rows vote on each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import pivotal

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
rng = np.random.default_rng(0)
wrong = np.zeros(len(y), bool)
wrong[rng.choice(len(y), 28, replace=False)] = True  # one label in twenty
given = np.where(wrong, 1 - y, y)

# %%
# The result is a ranking of all rows, a list of suspects, and an estimate of how many labels are wrong.

errors = pivotal.find_label_errors(X, given)
print(errors)
print(
    f"{wrong[errors.suspects].sum()} of {wrong.sum()} wrong labels are among the {errors.suspects.size} suspects"
)
print(errors.explain(errors.suspects[0]))

# %%
# How far down the list do you have to look? The ranking by the soft-label value of each row, which needs no other
# model, is nearly as good here; the default utility, which asks whether the majority is right, is made for other things.

soft = pivotal.value(X, given, k=20, utility="soft")
hard = pivotal.value(X, given, k=20)
plt.style.use("tableau-colorblind10")
figure, ax = plt.subplots(figsize=(7, 4))
rankings = {
    "find_label_errors": errors.order,
    "soft-label value, lowest first": soft.order()[::-1],
    "hard-label value, lowest first": hard.order()[::-1],
}
for name, order in rankings.items():
    ax.plot(np.arange(1, 121), wrong[order][:120].cumsum(), label=name)
ax.axhline(wrong.sum(), color="grey", linestyle=":", label="all that are wrong")
ax.set(
    xlabel="rows looked at",
    ylabel="wrong labels found",
    title="Breast cancer, 28 of 569 labels flipped",
)
ax.legend()
figure.tight_layout()
