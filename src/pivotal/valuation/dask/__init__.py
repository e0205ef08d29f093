"""The same call on Dask: training points and queries that no single machine holds.

Training points come in *shards*, queries in *blocks*, both cut by rows; every task sees one of each at most:

    labels of each shard ──► plan (classes, number of points, how long lists must be)
    shard × block ──► the nearest of the shard for each query of the block
                      ──► merged by a tree, nearest first, ties in order of the training index
                      ──► values of the block's neighbours, by the engine ──► parts, one for each shard
    parts of all blocks ──► sums of the shard, added in the order of the queries ──► values of the shard

    dask_inputs  Dask arrays and dataframes, or plain arrays, as chunks of rows
    recipe       what is decided once, from the labels alone
    dask_tasks   what workers run
    graph        which task needs which
    blocks       finished blocks as bytes, believed only after every number was looked at
    folder       files that all workers see, on a disk or in a bucket
    checkpoint   finished blocks in a folder, for a valuation that is resumed
    lazy_values  the result: what stands for `Values` until they are computed

What moves between workers is lists of neighbours: their number grows with the queries, never with the points.
"""

from __future__ import annotations

from pivotal.valuation.dask.lazy_values import LazyValues, value_lazily

__all__ = ["LazyValues", "value_lazily"]
