"""
# Paying data owners

Four hospitals contribute. One of them labels carelessly, one hands in its data twice. What should each be paid?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import pivotal
from pivotal.analysis import owner_table

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
owners = np.repeat(["north", "south", "east", "west"], [150, 150, 100, 26])
east, north = np.flatnonzero(owners == "east"), np.flatnonzero(owners == "north")
y_train[east[::2]] = 1 - y_train[east[::2]]  # every other label is wrong
X_train, y_train = (
    np.vstack([X_train, X_train[north]]),
    np.append(y_train, y_train[north]),
)  # copies
owners = np.append(owners, owners[north])

# %%
# Two accounts: the values of the points added up, or the owners as the players of the game. The sum pays for copies.

data = (X_train, y_train, X_test, y_test)
points = pivotal.value(*data, k=5, semivalue="shapley")
players = pivotal.value(*data, k=5, semivalue="shapley", groups=owners)
table = owner_table(points, players, owners, budget=1000, decimals=2)
table

# %%
# The bars in one picture.

figure, ax = plt.subplots(figsize=(7, 3.5))
table[["payout_by_sum", "payout_by_player"]].astype(float).plot.bar(ax=ax, rot=0)
ax.set(xlabel="", ylabel="payout of a budget of 1000")
ax.legend(["values of points added up", "owners as players"])
figure.tight_layout()
