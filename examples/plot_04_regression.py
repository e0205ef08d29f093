"""
# Wrong numbers

A response that does not fit its neighbours may be a typing error. The same function finds it, and values of points are
computed for regression as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import pivotal

X, y = load_diabetes(return_X_y=True)
X = scale(X)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y), 15, replace=False)
given = y.copy()
given[wrong] = given[wrong] * 10  # a zero too many

errors = pivotal.find_label_errors(X, given, task="regression")
print(errors)
print(
    f"{np.isin(errors.order[:15], wrong).sum()} of the 15 most suspicious have a zero too many"
)

# %%
# What each patient is worth to the predictions of others: minus the squared error, averaged over the nearest five. The
# value of a point with a wrong number is far below zero.

rows = np.arange(len(y))
train, test = train_test_split(rows, random_state=0)
values = pivotal.value(
    X[train],
    given[train],
    X[test],
    y[test],
    k=5,
    utility="regression",
    semivalue="shapley",
)
figure, ax = plt.subplots(figsize=(7, 3.8))
bad = np.isin(train, wrong)
ax.scatter(given[train][~bad], values.values[~bad], s=12, label="as measured")
ax.scatter(
    given[train][bad], values.values[bad], s=24, marker="x", label="a zero too many"
)
ax.set(xlabel="response", ylabel="value", xscale="log", title="Diabetes progression")
ax.legend()
figure.tight_layout()
