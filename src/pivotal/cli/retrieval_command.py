"""`pivotal retrieval`: the value of every document of a retriever, from TREC files or a folder in BEIR's layout."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pivotal.cli._options import add_file, add_output, add_running
from pivotal.cli._parser import Parser, UsageError
from pivotal.cli._screen import Screen

if TYPE_CHECKING:
    import pandas as pd

    from pivotal.analysis.retrieval import Study
    from pivotal.results.values import Values

_EXAMPLES: Final = """\
examples:
  pivotal retrieval run.trec qrels.txt -k 10 --metric ndcg -o values.csv
  pivotal retrieval run.trec qrels.txt -k 10 --metric ndcg --sources sources.csv -o values.csv --report page.html
  pivotal retrieval scifact/ -k 10 --metric recall --report page.html
"""
_SHOWN: Final = 10


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.usage = "pivotal retrieval RUN QRELS [-k 10] [--metric ndcg] [options]"
    parser.description = (
        "Value every document by what it does to a retrieval metric of the first k: exact values, given the rankings. "
        "The values are about the metric, not about what a language model does with the texts."
    )
    parser.epilog = _EXAMPLES
    add_file(
        parser,
        "run_path",
        metavar="RUN",
        help="rankings: a TREC run; or a folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), which "
        "is searched with BM25 (needs the extra retrieval)",
    )
    add_file(
        parser,
        "qrels",
        nargs="?",
        metavar="QRELS",
        help="judgements: a TREC file, BEIR's, or a folder in BEIR's layout",
    )
    group = parser.add_argument_group("valuation (as in pivotal.value_retrieval)")
    group.add_argument("-k", "--k", type=int, default=10, help="documents that are retrieved (default: %(default)s)")
    group.add_argument(
        "--metric",
        default="ndcg",
        metavar="NAME",
        help="precision, recall, dcg, ndcg, ndcg-exp, hit, rr or best (default: %(default)s)",
    )
    group.add_argument(
        "--semivalue", default="banzhaf", metavar="NAME", help="banzhaf, shapley, beta(4,1), loo (default: %(default)s)"
    )
    group.add_argument(
        "--unjudged",
        choices=("irrelevant", "ignore"),
        default="irrelevant",
        help="what documents without a judgement are (default: %(default)s)",
    )
    group.add_argument(
        "--no-relevant",
        choices=("zero", "skip"),
        default="zero",
        help="queries without a relevant document: count with 0, or are omitted (default: %(default)s)",
    )
    group.add_argument("--complete", action="store_true", help="documents that are not listed are never retrieved")
    group.add_argument("--split", default="test", metavar="NAME", help="BEIR: which judgements (default: %(default)s)")
    group = parser.add_argument_group("sources")
    add_file(group, "--sources", metavar="FILE", help="CSV of two columns: document and source")
    group.add_argument(
        "--budget", type=float, default=1.0, metavar="SUM", help="what sources share (default: %(default)s)"
    )
    add_file(group, "--payouts", metavar="FILE", help="write the shares of the sources, with intervals")
    add_output(parser, "a row per document: id, value, rank and, with --sources, source")
    add_file(parser, "--report", metavar="FILE.html", help="write a page with distractors, sources and queries")
    add_running(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Value the documents; print and write what was asked for."""
    from pivotal.analysis.retrieval import study_retrieval, value_retrieval

    screen = Screen(options)
    if options.payouts is not None and options.sources is None:
        raise UsageError("--payouts needs --sources, the source of each document; see pivotal retrieval --help.")
    _check_targets(options)
    rankings, relevance, more, texts = _read(options)
    settings: dict[str, Any] = {
        "k": options.k,
        "metric": options.metric,
        "semivalue": options.semivalue,
        "unjudged": options.unjudged,
        "no_relevant": options.no_relevant,
        "n_jobs": options.jobs,
        **more,
    }
    if options.complete:
        settings["complete"] = True
    groups = None if options.sources is None else _read_sources(options.sources)
    if groups is None and options.report is None:
        values, study = value_retrieval(rankings, relevance, **settings), None
    else:
        study = study_retrieval(rankings, relevance, groups=groups, **settings)
        values = study.values
    _print(options, screen, values, study)
    if options.out is not None:
        _write(options, values, study)
        screen.wrote(options.out, f"{len(values)} documents")
    if options.payouts is not None and study is not None:
        from pivotal.tables import write_frame

        write_frame(study.payouts(options.budget, random_state=options.seed), options.payouts, safe=options.safe_csv)
        screen.wrote(options.payouts)
    if options.report is not None and study is not None:
        study.report(options.report, texts, title=f"Documents of {Path(options.run_path).name}")
        screen.wrote(options.report)


def _read_sources(path: str) -> dict[str, str]:
    """Return the source of each document, from a CSV file."""
    import pandas as pd

    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    if table.shape[1] < 2:
        raise ValueError(f"{path} must have two columns, document and source; got {table.shape[1]}.")
    if not {"document", "source"} <= set(table.columns):
        known = ", ".join(map(str, table.columns))
        raise ValueError(f"{path} must have the columns document and source; got {known}.")
    twice = table["document"].duplicated()
    if twice.any():
        raise ValueError(f"{path} must name a document once; got {table['document'][twice].iloc[0]!r} twice.")
    return dict(zip(table["document"], table["source"], strict=True))


def _read(options: argparse.Namespace) -> tuple[Any, Any, dict[str, Any], dict[str, str]]:
    """Return rankings, relevance, settings that they bring, and texts of documents."""
    from pivotal.analysis.retrieval import BM25, read_corpus, read_queries

    run_path, qrels = Path(options.run_path), None if options.qrels is None else Path(options.qrels)
    folder = next((path for path in (run_path, qrels) if path is not None and path.is_dir()), None)
    texts: dict[str, str] = {}
    if folder is not None and (folder / "corpus.jsonl").exists():
        texts = read_corpus(folder / "corpus.jsonl")
    if qrels is None or qrels.is_dir():
        if folder is None:
            raise UsageError("give the judgements after the run, such as qrels.txt; see pivotal retrieval --help.")
        qrels = folder / "qrels" / f"{options.split}.tsv"
    if not run_path.is_dir():
        return run_path, qrels, {"documents": _documents(run_path, qrels, texts)} if texts else {}, texts
    if not texts:
        raise FileNotFoundError(f"there is no {run_path / 'corpus.jsonl'}; a folder must be in BEIR's layout.")
    from pivotal.analysis.retrieval import read_qrels

    judged = set(read_qrels(qrels).queries.tolist())
    queries = {name: text for name, text in read_queries(run_path / "queries.jsonl").items() if name in judged}
    missing = judged - set(queries)
    if missing:
        raise ValueError(
            f"{run_path / 'queries.jsonl'} must hold every judged query; got none called {min(missing)!r}."
        )
    return BM25(texts), qrels, {"queries": queries}, texts


def _documents(run: Path, qrels: Path, texts: dict[str, str]) -> list[str]:
    """Return all documents of a corpus, and those that rankings and judgements name besides."""
    from pivotal.analysis.retrieval import read_qrels, read_run

    named = [*read_run(run).documents.tolist(), *read_qrels(qrels).documents.tolist()]
    return list(dict.fromkeys([*texts, *named]))


def _check_targets(options: argparse.Namespace) -> None:
    """Find out before the work whether its results can be written."""
    from pivotal.core.atomic import check_file
    from pivotal.tables.write import check_results_target

    inputs = {Path(p).resolve() for p in (options.run_path, options.qrels, options.sources) if p is not None}
    for path in (options.out, options.payouts, options.report):
        if path is not None and path != "-":
            if check_file(path) in inputs:
                raise UsageError(f"{path} is read and cannot be written as well; choose another name.")
            if path != options.report:
                check_results_target(path)


def _print(options: argparse.Namespace, screen: Screen, values: Values, study: Study | None) -> None:
    settings = values.settings
    screen.tell(
        f"{settings['utility']} at {settings['k']}: {values.full_utility:.4f}, mean of {values.n_queries} queries; "
        f"{settings['n_documents']} documents, {settings['judged_share']:.1%} of those retrieved judged; no value is "
        f"off by more than {values.error_bound:.2g}, given these rankings."
    )
    if options.out is None and options.report is None and not options.quiet:
        screen.show("Most valuable", values.top(_SHOWN).reset_index())
        screen.show("Least valuable", values.bottom(_SHOWN).reset_index())
    if study is not None and not options.quiet and options.out != "-":
        if study.sources is not None:
            screen.show(f"Shares of {options.budget:g}", study.payouts(options.budget, random_state=options.seed))
        distractors = study.distractors()
        if len(distractors):
            screen.show("Distractors", distractors[["id", "value", "high", "n_queries"]].head(_SHOWN))


def _write(options: argparse.Namespace, values: Values, study: Study | None) -> None:
    from pivotal.tables import write_frame, write_values

    if study is None or study.groups is None:
        write_values(values, options.out, safe=options.safe_csv, form=options.format)
        return
    frame: pd.DataFrame = values.to_frame().reset_index().assign(source=study.groups.astype(str))
    write_frame(frame, options.out, safe=options.safe_csv, form=options.format)
