"""What a document is worth to a retriever: exact values for the corpora of search and of RAG.

value_retrieval     values of documents, or of their sources
study_retrieval     distractors, redundant, unused and carrying documents, payouts
advise_retrieval    removing and reweighting, judged on unseen queries
relevance_from_*    relevance without judgements: from answers, clicks, a judge
BM25                keyword search; `search_rankings` asks any retriever
read_*              TREC and BEIR files; `make_collection` generates a collection
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
