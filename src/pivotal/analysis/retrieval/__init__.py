"""What a document is worth to a retriever: exact values for the corpora of search and of RAG.

tables       TREC and BEIR files, mappings: rankings and judgements by name
search       retrievers: embeddings, indexes, BM25
relevance    relevance where nobody judged: from answers, clicks, a judge
problem      what the user brought, as arrays
judgements   grades, looked up by ranking
players      documents, or groups of them, numbered within each query
engine       the sum over queries, exact or sampled, of documents or of groups
rows         values of each query by itself
dask         blocks of queries on Dask
value        `value_retrieval`
study        distractors, redundant, unused and carrying documents, payouts
multiple     which findings survive looking at many documents
changes      removing and reweighting, judged on unseen queries
report       the page
"""

from pivotal.analysis.retrieval._changes import Advice, advise_retrieval
from pivotal.analysis.retrieval.study import Study, study_retrieval
from pivotal.valuation.retrieval.collections import Collection, make_collection, read_collection
from pivotal.valuation.retrieval.document_values import value_retrieval
from pivotal.valuation.retrieval.relevance import relevance_from_answers, relevance_from_clicks, relevance_from_judge
from pivotal.valuation.retrieval.retrievers import BM25, search_rankings
from pivotal.valuation.retrieval.trec_files import read_corpus, read_qrels, read_queries, read_run

__all__ = [
    "BM25",
    "Advice",
    "Collection",
    "Study",
    "advise_retrieval",
    "make_collection",
    "read_collection",
    "read_corpus",
    "read_qrels",
    "read_queries",
    "read_run",
    "relevance_from_answers",
    "relevance_from_clicks",
    "relevance_from_judge",
    "search_rankings",
    "study_retrieval",
    "value_retrieval",
]
