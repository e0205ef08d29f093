"""Answers to questions: who misleads, who is redundant, who is not used, who carries a query alone, who is paid."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from pivotal.analysis._evidence import evidence_of, rejected
from pivotal.core.config import Resources
from pivotal.core.games import Game
from pivotal.core.games.definition import check_option
from pivotal.core.method_choice import Exact
from pivotal.core.providers import provided
from pivotal.core.random import check_random_state
from pivotal.core.semivalues import LeaveOneOut, Semivalue
from pivotal.core.types import AnyArray, FloatArray, IndexArray
from pivotal.core.validation import check_share
from pivotal.results.values import Values
from pivotal.valuation.retrieval.problem_values import value_problem
from pivotal.valuation.retrieval.retrieval_facts import full_utilities, group_names
from pivotal.valuation.retrieval.retrieval_problem import RetrievalProblem
from pivotal.valuation.retrieval.retrieval_spec import RetrievalSpec
from pivotal.valuation.retrieval.searched_problem import open_problem

__all__ = ["Study", "study_retrieval"]

Correction = Literal["fdr", "holm", "none"]


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Values of documents with all that it takes to say what they mean.

    Parameters
    ----------
    values : Values
        Of the documents, with those of every query.
    leave_one_out : Values
        What each document alone is missed for, likewise.
    sources : Values or None
        Of the groups of documents, where there are any.
    problem : RetrievalProblem
        Rankings and judgements.
    groups : array of shape (n_documents,) or None
        Source of each document.
    game : Game
        Utility of a coalition.
    k : int
        Number of documents that are retrieved.
    """

    values: Values
    leave_one_out: Values
    sources: Values | None
    problem: RetrievalProblem
    groups: AnyArray | None
    game: Game
    k: int

    def intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Return where the mean value of each document over queries like these lies.

        The queries are taken as a sample. A document that changes anything in few of them has a wide interval; one
        query alone is no evidence.

        Returns
        -------
        frame : pandas DataFrame with a row per document
            Columns id, value, low, high, p_value (that the mean is not below 0) and n_queries (where it matters).
        """
        level = check_share(level, "level")
        rows = _rows(self.values)
        n, width = rows.shape
        total = np.bincount(rows.indices, weights=rows.data, minlength=width).astype(np.float64)
        squares = np.bincount(rows.indices, weights=rows.data**2, minlength=width).astype(np.float64)
        matters = _n_queries_of(self.values)
        found = evidence_of(total, squares, matters, n, level, self.values.error_bound or 0.0)
        columns = {"id": self.values.ids, "value": found.mean, "low": found.low, "high": found.high}
        return pd.DataFrame({**columns, "p_value": found.p_below, "n_queries": matters})

    def distractors(self, level: float = 0.95, correction: Correction = "fdr", n_queries: int = 5) -> pd.DataFrame:
        """Return the documents of surely negative value, worst first, with the queries that they spoil.

        Parameters
        ----------
        level : float, default=0.95
            One minus the share of false ones that is allowed.
        correction : {"fdr", "holm", "none"}
            Of all that are returned this share is false on average (Benjamini and Hochberg); or one of all documents is
            falsely returned with this chance (Holm); or no correction for looking at many documents.
        n_queries : int, default=5
            How many queries to name for each.

        Returns
        -------
        frame : pandas DataFrame
            As `intervals`, with the columns spoils, the queries in which it costs most, and pushes_down, the relevant
            documents behind it there.
        """
        check_option("distractors", "correction", correction, ("fdr", "holm", "none"))
        frame = self.intervals(level)
        tested = frame["n_queries"].to_numpy() > 1
        sure = np.zeros(len(frame), dtype=np.bool_)
        sure[tested] = rejected(frame["p_value"].to_numpy()[tested], 1.0 - level, correction)
        found = frame[sure & (frame["value"].to_numpy() + (self.values.error_bound or 0.0) < 0.0)]
        found = found.sort_values(["value", "id"], kind="stable")
        columns = sparse.csc_array(_rows(self.values))
        spoiled, behind = [], []
        for document in found.index:
            part = slice(columns.indptr[document], columns.indptr[document + 1])
            worst = columns.indices[part][np.argsort(columns.data[part], kind="stable")]
            worst = worst[: min(n_queries, int((columns.data[part] < 0.0).sum()))]
            spoiled.append([str(self.problem.queries[query]) for query in worst])
            behind.append(sorted({name for query in worst for name in self._behind(int(document), int(query))}))
        return found.assign(spoils=_column(spoiled), pushes_down=_column(behind))

    def redundant(self) -> pd.DataFrame:
        """Return relevant documents of positive value that no query would miss: others stand in for each of them alone.

        Their leave-one-out value is 0 in every query. Removing several of them at once may well cost something.
        """
        return self._frame((self.values.values > 0.0) & (_n_queries_of(self.leave_one_out) == 0))

    def unused(self) -> pd.DataFrame:
        """Return documents that change nothing: not in the first k of any query, and of value 0 in every one."""
        used = _n_queries_of(self.values) > 0
        first = np.asarray(self.problem.indices)[:, : self.k]
        used[first[first >= 0]] = True
        return self._frame(~used)

    def carrying(self) -> pd.DataFrame:
        """Return documents that queries depend on, by how many: the metric of these falls to 0 without them.

        Returns
        -------
        frame : pandas DataFrame
            Columns id, value, leave_one_out, carried (number of queries) and queries (their names).
        """
        utility = self.query_utilities()
        loo = _rows(self.leave_one_out).tocoo()
        alone = (loo.data > 0.0) & np.isclose(loo.data, utility[loo.row], rtol=1e-9, atol=0.0)
        documents, queries = loo.col[alone], loo.row[alone]
        count = np.bincount(documents, minlength=loo.shape[1])
        frame = self._frame(count > 0)
        named = [[str(self.problem.queries[q]) for q in np.sort(queries[documents == d])] for d in frame.index]
        frame = frame.assign(carried=count[frame.index.to_numpy()], queries=_column(named))
        return frame.sort_values(["carried", "leave_one_out"], ascending=False, kind="stable")

    def query_utilities(self) -> FloatArray:
        """Return the metric of every query with the corpus as it is."""
        return full_utilities(self.problem, self.game, self.k)

    def payouts(
        self, budget: float = 1.0, level: float = 0.95, n_draws: int = 2000, random_state: Any = 0
    ) -> pd.DataFrame:
        """Share a budget among the sources, in proportion to their positive values, with intervals.

        Queries are drawn with replacement, as often as there are any, and the budget is shared out again each time.

        Parameters
        ----------
        budget : float, default=1.0
            What is shared out.
        level : float, default=0.95
            Share of the draws between low and high.
        n_draws : int, default=2000
            How often queries are drawn.
        random_state : int, Generator or None
            Where draws start.

        Returns
        -------
        frame : pandas DataFrame
            Columns source, documents, value, payout, low and high, the best paid first.
        """
        if self.sources is None:
            raise ValueError("payouts need sources; got none. Pass groups=, the source of each document.")
        level = check_share(level, "level")
        if not (np.isfinite(budget) and budget > 0):
            raise ValueError(f"budget must be a finite number above 0; got {budget!r}.")
        rows = _rows(self.sources)
        rng = np.random.default_rng(check_random_state(random_state))
        n_queries = rows.shape[0]
        counts = rng.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries), size=n_draws)
        drawn = _shares(np.asarray(counts @ rows) / n_queries) * budget
        paid = _shares(self.sources.values[np.newaxis])[0] * budget
        low, high = np.quantile(drawn, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
        frame = pd.DataFrame(
            {
                "source": self.sources.ids,
                "documents": list(self.sources.settings["points"]),
                "value": self.sources.values,
                "payout": paid,
                "low": low,
                "high": high,
            }
        )
        return frame.sort_values("payout", ascending=False, kind="stable").reset_index(drop=True)

    def explain(self, query: int | str, n: int = 5) -> Any:
        """Say which documents decide a query; as `Values.explain`."""
        return self.values.explain(query, n)

    def report(self, path: str | os.PathLike[str], texts: Mapping[Any, str] | None = None, title: str = "") -> Path:
        """Write a page with all of this, one HTML file that needs no network.

        Parameters
        ----------
        path : path-like
            File to write.
        texts : mapping of documents to str, optional
            What the documents say, to be shown beside their names.
        title : str
            Heading of the page.
        """
        written: Path = provided("retrieval page").write_page(self, path, texts or {}, title)
        return written

    def _behind(self, document: int, query: int) -> list[str]:
        """Names of the relevant documents behind one in a query."""
        ranking = np.asarray(self.problem.indices[query])
        later = ranking[int(np.flatnonzero(ranking == document)[0]) + 1 :]
        later = later[later >= 0]
        grades = np.asarray(self.problem.judgements.matrix[[query]].toarray())[0]
        return [str(self.problem.documents[other]) for other in later[grades[later] > 0.0][:3]]

    def _frame(self, chosen: AnyArray) -> pd.DataFrame:
        columns = {"id": self.values.ids, "value": self.values.values, "leave_one_out": self.leave_one_out.values}
        return pd.DataFrame(columns)[chosen].sort_values("value", ascending=False, kind="stable")

    def __repr__(self) -> str:
        utility = self.values.full_utility
        assert utility is not None
        return f"Study({self.values.settings['utility']} at {self.k} is {utility:.4g}; {self.values!r})"


def study_retrieval(
    rankings: Any,
    relevance: Any,
    k: int = 10,
    metric: str | Game = "ndcg",
    semivalue: str | Semivalue = "banzhaf",
    groups: Any = None,
    **options: Any,
) -> Study:
    """Value the documents of a corpus, and their sources, and return what answers questions about them.

    Parameters
    ----------
    rankings, relevance, k, metric, semivalue, groups
        As in `pivotal.value_retrieval`.
    **options
        queries, depth, similarity, documents, query_ids, complete, unjudged, no_relevant, tol, n_jobs, block_size and
        progress, as there; and method, which is for groups: documents are always valued exactly.

    Examples
    --------
    >>> run = {f"q{i}": ["ad", f"answer{i}", "other"] for i in range(8)}
    >>> study = study_retrieval(run, {f"q{i}": {f"answer{i}": 1} for i in range(8)}, k=1)
    >>> study.distractors()["id"].tolist()
    ['ad']
    """
    asked = ("queries", "depth", "similarity", "documents", "query_ids")
    search = {name: options.pop(name) for name in asked if name in options}
    resources = Resources.of(**{name: options.pop(name, None) for name in ("n_jobs", "block_size", "progress")})
    spec = RetrievalSpec.of(k, metric, semivalue, **options, per_query=True)
    problem = open_problem(rankings, relevance, spec, resources, **search)
    exactly = replace(spec, method=Exact())
    values = value_problem(problem, exactly, resources)
    loo = value_problem(problem, replace(exactly, semivalue=LeaveOneOut()), resources)
    sources, owners = None, None
    if groups is not None:
        owners = np.asarray(group_names(groups, problem.documents), dtype=object)
        sources = value_problem(problem, spec, resources, groups=owners)
    # What is asked later is asked of the same queries and lists.
    problem = problem.answerable() if spec.no_relevant == "skip" else problem
    problem = problem.without_unjudged() if spec.unjudged == "ignore" else problem
    return Study(values, loo, sources, problem, owners, spec.game, spec.k)


def _rows(values: Values) -> sparse.csr_array:
    assert values.per_query is not None
    return values.per_query


def _n_queries_of(values: Values) -> IndexArray:
    """Return in how many queries each document has a value other than 0."""
    rows = _rows(values)
    return np.bincount(rows.indices[rows.data != 0.0], minlength=rows.shape[1]).astype(np.int64)


def _column(lists: list[list[str]]) -> AnyArray:
    """Return lists as a column of a table."""
    column = np.empty(len(lists), dtype=object)
    column[:] = lists
    return column


def _shares(values: FloatArray) -> FloatArray:
    """Share out 1 in proportion to positive values, row by row; nothing where no value is positive."""
    positive = np.maximum(values, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    shares: FloatArray = positive / np.where(total > 0.0, total, 1.0)
    return shares
