"""What a document is worth to a retriever: exact values for the corpora of search and of RAG.

document_values     `value_retrieval`
trec_files          TREC and BEIR files, mappings: rankings and judgements by name
collections         test collections, on disk or made up
retrievers          embeddings, indexes, BM25
relevance           relevance without judgements: from answers, clicks, a judge
retrieval_problem   what the user passed, as arrays
document_engine     the sum over queries, exact or sampled, of documents or of groups
retrieval_facts     metrics of the full corpus, and of the corpus without a document
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
