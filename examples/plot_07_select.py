"""
# Training on fewer rows

A tenth of the rows that serves on unseen data: `pivotal.select` beside random rows and beside the rows of highest value,
which are *not* a good choice.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import pivotal

X, y = load_digits(return_X_y=True)
X, X_fresh, y, y_fresh = train_test_split(X / 16, y, test_size=0.5, random_state=0)

# %%
# What is to be expected of a selection is estimated without the fresh points.

chosen = pivotal.select(X, y, 0.1)
print(chosen.expected)

# %%
# And what the fresh points say, for two models and several sizes.

values = pivotal.value(X, y, k=5, utility="soft")
rng = np.random.default_rng(0)
sizes = [0.02, 0.05, 0.1, 0.2]
models = {
    "nearest neighbour": KNeighborsClassifier(1),
    "logistic regression": LogisticRegression(max_iter=1000),
}
plt.style.use("tableau-colorblind10")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
rows = {
    "pivotal.select": {size: [pivotal.select(X, y, size).indices] for size in sizes},
    "random, 10 draws": {
        size: [rng.choice(len(y), int(size * len(y)), replace=False) for _ in range(10)]
        for size in sizes
    },
    "highest values": {size: [values.order()[: int(size * len(y))]] for size in sizes},
}
for ax, (model_name, model) in zip(axes, models.items(), strict=True):
    for name, by_size in rows.items():
        scores = [
            np.mean(
                [
                    model.fit(X[part], y[part]).score(X_fresh, y_fresh)
                    for part in by_size[size]
                ]
            )
            for size in sizes
        ]
        ax.plot(sizes, scores, marker="o", label=name)
    ax.set(title=model_name, xlabel="share of the rows")
axes[0].set_ylabel("accuracy on fresh points")
axes[0].legend()
figure.tight_layout()
