"""Who is near: queries to the training points nearest to them.

An index answers `search(queries, depth)` with two arrays of shape (n_queries, depth): training indices, nearest first,
and distances. Points at the same distance come in the order of their training index.

    "auto", "brute"                    BruteIndex     every metric, exact; the same for any threads and blocks
    "kd_tree", "ball_tree"             TreeIndex      scikit-learn's trees: fast in few dimensions
    a fitted scikit-learn estimator    ForeignIndex   whatever it finds, checked
    an object with `search`            ForeignIndex   an approximate index, a vector database, a metric of your own
"""

from pivotal.neighbors._choice import BruteIndex, as_index, blocks
from pivotal.neighbors._guests import ForeignIndex, TreeIndex
from pivotal.neighbors._index import Index, NeighborIndex

__all__ = ["BruteIndex", "ForeignIndex", "Index", "NeighborIndex", "TreeIndex", "as_index", "blocks"]
