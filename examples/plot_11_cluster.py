"""
# On a cluster

The same call with Dask arrays; the values are the same to the last bit. Here the cluster is two processes of this machine.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

import pivotal

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((20_000, 2)), rng.standard_normal((2_000, 2))
    y, t = (
        (X[:, 0] + X[:, 1] ** 2 > 1).astype(int),
        (Q[:, 0] + Q[:, 1] ** 2 > 1).astype(int),
    )

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        lazy = pivotal.value(
            da.from_array(X, chunks=(5_000, -1)),
            y,
            da.from_array(Q, chunks=(1_000, -1)),
            t,
            k=5,
        )
        print(lazy)  # nothing has been computed yet
        values = lazy.compute()

    print(values)
    print(
        "same as on one machine:",
        bool((values.values == pivotal.value(X, y, Q, t, k=5).values).all()),
    )

    figure, ax = plt.subplots(figsize=(7, 4))
    limit = np.quantile(abs(values.values), 0.99)
    dots = ax.scatter(*X.T, c=values.values, s=4, cmap="RdBu", vmin=-limit, vmax=limit)
    ax.set(
        xlabel="first feature",
        ylabel="second feature",
        title="Points near the boundary decide",
    )
    figure.colorbar(dots, label="value")
    figure.tight_layout()
