"""Who is near: queries to the training points nearest to them.

An index answers `search(queries, depth)` with two arrays of shape (n_queries, depth): training indices, nearest first,
and distances. Points at the same distance come in the order of their training index.

    "auto"                             AutoIndex      exact: brute force, or a tree where that is faster
    "brute"                            BruteIndex     every metric, exact; the same for any threads and blocks
    "kd_tree", "ball_tree"             TreeIndex      scikit-learn's trees: fast in few dimensions
    "faiss-flat"                       FaissFlat      exact
    "faiss-ivf", "faiss-hnsw"          FaissIVF, FaissHNSW         approximate
    "pynndescent", "hnswlib"           PyNNDescent, HNSWLib        approximate
    ClusteredIndex(X)                                 approximate, for very many rows; needs no other package
    a fitted scikit-learn estimator    ExternalIndex  whatever it finds
    an object with `search`            ExternalIndex  an approximate index, a vector database, a custom metric

An index also answers `search_radius(queries, radius)` with all points that near, as `Balls`: lists of any length.

`measure_recall` tells how many of the true neighbours an index finds. `NeighborAudit` does so for every valuation with
an index that is not known to be exact; `Index.exact` says what it is, and an object of the user's may have an attribute
`exact` of its own, which is believed as long as the sample does not show otherwise.
"""

from pivotal.neighbors._approximate import ApproximateIndex, Settings
from pivotal.neighbors._audit import NeighborAudit, Verdict, audited_queries, measure_recall, recall_of
from pivotal.neighbors._balls import Balls, as_balls
from pivotal.neighbors._clustered import ClusteredIndex, as_index_of_many
from pivotal.neighbors._external import ExternalIndex, TreeIndex
from pivotal.neighbors._factory import AutoIndex, BruteIndex, as_index, blocks, is_exact, orders_of, shells_of
from pivotal.neighbors._faiss import FaissFlat, FaissHNSW, FaissIVF
from pivotal.neighbors._hnsw import HNSWLib, PyNNDescent
from pivotal.neighbors._kept_lists import KeptLists
from pivotal.neighbors._orders import Orders
from pivotal.neighbors._shells import Shells
from pivotal.neighbors._sources import RowSource, is_source, open_source
from pivotal.neighbors.chunks import ChunkedIndex
from pivotal.neighbors.index import Index, NeighborIndex, fitting_queries

__all__ = [
    "ApproximateIndex",
    "AutoIndex",
    "Balls",
    "BruteIndex",
    "ChunkedIndex",
    "ClusteredIndex",
    "ExternalIndex",
    "FaissFlat",
    "FaissHNSW",
    "FaissIVF",
    "HNSWLib",
    "Index",
    "KeptLists",
    "NeighborAudit",
    "NeighborIndex",
    "Orders",
    "PyNNDescent",
    "RowSource",
    "Settings",
    "Shells",
    "TreeIndex",
    "Verdict",
    "as_balls",
    "as_index",
    "as_index_of_many",
    "audited_queries",
    "blocks",
    "fitting_queries",
    "is_exact",
    "is_source",
    "measure_recall",
    "open_source",
    "orders_of",
    "recall_of",
    "shells_of",
]
