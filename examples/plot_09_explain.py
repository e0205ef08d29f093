"""
# Explaining a prediction

Which training points decide what a model says about this wine, and which speak against it?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import pivotal

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
values = pivotal.value(
    X_train, y_train, X_test, y_test, k=5, method=pivotal.Exact(per_query=True)
)
print(values.explain(18, n=3))

# %%
# As bars: to the right the points for the true label, to the left those against it.

figure, ax = plt.subplots(figsize=(7, 4))
values.explain(18).plot(ax)
figure.tight_layout()

# %%
# The other way round: whom does one training point help or harm? The least valuable one, here.

worst = int(values.order()[-1])
column = values.per_query[:, [worst]].toarray().ravel()
harmed = np.argsort(column)[:3]
print(
    f"row {worst} harms the predictions of test points {harmed.tolist()} most: {column[harmed].round(3).tolist()}"
)
