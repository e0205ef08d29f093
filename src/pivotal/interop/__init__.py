"""Other packages: their results, graphs, tables and models, in and out.

    from_knn_graph, value_knn_graph      a sparse graph of neighbours, as cleanlab and scikit-learn make it
    to_datalab, add_to_datalab           cleanlab's Datalab
    to_pydvl, from_pydvl                 pyDVL's ValuationResult; `pydvl_arguments` where both cannot be installed
    value_dataset, with_values           columns of a Hugging Face Dataset
    LanceNeighbors, QdrantNeighbors,     neighbours from where the vectors live, for `neighbors=`
    ChromaNeighbors, PgVectorNeighbors,
    DuckDBNeighbors, USearchNeighbors

None of the packages is imported before it is used, and most are not imported at all: what they made is enough.
"""

from pivotal.interop._chroma import ChromaNeighbors
from pivotal.interop._datalab import add_to_datalab, to_datalab
from pivotal.interop._duckdb import DuckDBNeighbors
from pivotal.interop._graphs import from_knn_graph, value_knn_graph
from pivotal.interop._huggingface import value_dataset, with_values
from pivotal.interop._lancedb import LanceNeighbors
from pivotal.interop._pgvector import PgVectorNeighbors
from pivotal.interop._pydvl import from_pydvl, pydvl_arguments, to_pydvl
from pivotal.interop._qdrant import QdrantNeighbors
from pivotal.interop._stored_vectors import StoredNeighbors
from pivotal.interop._usearch import USearchNeighbors

__all__ = [
    "ChromaNeighbors",
    "DuckDBNeighbors",
    "LanceNeighbors",
    "PgVectorNeighbors",
    "QdrantNeighbors",
    "StoredNeighbors",
    "USearchNeighbors",
    "add_to_datalab",
    "from_knn_graph",
    "from_pydvl",
    "pydvl_arguments",
    "to_datalab",
    "to_pydvl",
    "value_dataset",
    "value_knn_graph",
    "with_values",
]
