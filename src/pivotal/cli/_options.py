"""Options that several commands share, in groups; their names mirror those of `pivotal.value`."""

from __future__ import annotations

import argparse
from typing import Any, Final

from pivotal.cli._parser import Parser, names

# What shells complete with; the words are those of shtab, which need not be installed.
FILE: Final = {"bash": "_shtab_compgen_files", "zsh": "_files", "fish": "(__fish_complete_path (commandline -ct))"}
FOLDER: Final = {"bash": "_shtab_compgen_dirs", "zsh": "_files -/", "fish": "(__fish_complete_directories)"}
WRITABLE: Final = ("csv", "tsv", "json", "jsonl", "parquet", "feather")


def add_file(group: Any, *flags: str, **settings: Any) -> None:
    """Add an argument that is a file, so that shells complete it as one."""
    group.add_argument(*flags, **settings).complete = FILE


def add_names(group: Any, flag: str, metavar: str, what: str) -> None:
    """Add an option that takes several names with commas between them, none of them by default."""
    group.add_argument(flag, type=names, default=[], metavar=metavar, help=what)


def output(name: str) -> str:
    """Return where to write: the names that systems give to standard output all mean `-`."""
    return "-" if name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else name


def add_folder(group: Any, flag: str, **settings: Any) -> None:
    """Add an option that is a folder."""
    group.add_argument(flag, metavar="DIR", **settings).complete = FOLDER


def add_table(parser: Parser, what: str = "table to value") -> None:
    """Add the table itself and how to read it."""
    add_file(
        parser,
        "table",
        nargs="+",
        metavar="TABLE",
        help=f"{what}: CSV, TSV, Parquet, Feather, Arrow, JSON (lines or an array), npz, or a pair X.npy,y.npy; "
        "several, or a pattern in quotes such as 'parts/*.csv', are read as one, as are URLs such as "
        "'s3://bucket/*.csv'; - is CSV from standard input; book.xlsx::sheet, data.sqlite::table, data.duckdb::table, "
        "or a query after the ::; a folder with one folder of images per class; a data set of Hugging Face's, as a "
        "folder or hf://name#split",
    )
    group = parser.add_argument_group("reading")
    group.add_argument("--delimiter", metavar="CHAR", help="between the cells of CSV (default: found from the header)")
    group.add_argument("--encoding", default="utf-8", metavar="NAME", help="of text files (default: %(default)s)")
    group.add_argument(
        "--decimal", default=".", choices=(".", ","), help="before the decimals in text files (default: %(default)s)"
    )
    group.add_argument("--no-header", action="store_true", help="CSV has no header: columns are called c0, c1, ...")
    add_names(group, "--na", "TEXT,...", "strings to treat as missing, beside NA, NaN, null, ?, ...")
    add_names(
        group,
        "--embeddings",
        "FILE,...",
        "vectors of the rows in a .npy, .npz or .parquet file, in the order of the table; matched by names where the "
        "file has them",
    )
    group.add_argument(
        "--max-rows", type=int, metavar="N", help="refuse tables with more rows (default: 1000000; none on a cluster)"
    )


def add_columns(parser: Parser, *, owner: str | None = "whose row it is, for the report") -> None:
    """Add which column plays which part."""
    group = parser.add_argument_group("columns (names; several with commas between them, patterns such as 'pixel*')")
    group.add_argument("--label", metavar="COLUMN", help="what is predicted (default for npz and npy: y)")
    group.add_argument(
        "--classes",
        action="store_true",
        help="the labels name classes, even if they are numbers that look like amounts",
    )
    group.add_argument("--id", metavar="COLUMN", help="names of the rows (default: their numbers, from 0)")
    if owner:
        group.add_argument("--owner", metavar="COLUMN", help=owner)
    group.add_argument("--features", type=names, metavar="COLUMN,...", help="columns to use (default: all that can be)")
    for flag, what in (
        ("--ignore", "columns to omit"),
        ("--categorical", "columns to one-hot encode in any case"),
        ("--text", "columns to show beside the rows, not to use"),
        ("--image", "columns of image paths, relative to the table; shown in the report"),
        (
            "--numbers",
            "columns of numbers as people write them: 1,250.50, 12%%, $3, (4.00); '*' is all that look like that",
        ),
    ):
        add_names(group, flag, "COLUMN,...", what)
    group.add_argument("--dates", action="store_true", help="make features of dates: time passed, year, week, day")
    group.add_argument(
        "--unlabelled",
        choices=("reject", "drop"),
        default="reject",
        help="rows without a label: refuse, or omit from everything (default: %(default)s)",
    )
    group.add_argument(
        "--missing",
        choices=("impute", "reject"),
        default="impute",
        help="gaps: fill with the median or the most frequent value, or refuse (default: %(default)s)",
    )
    group.add_argument(
        "--scale",
        choices=("numbers", "all", "none"),
        default="numbers",
        help="what to standardise: numbers, also vectors (embeddings), or nothing (default: %(default)s)",
    )
    group.add_argument(
        "--max-categories",
        type=int,
        default=50,
        metavar="N",
        help="text with more different values is not one-hot encoded (default: %(default)s)",
    )
    add_embedding(parser)


def add_embedding(parser: Parser) -> None:
    """Add what makes features of texts and images."""
    group = parser.add_argument_group("texts and images as features")
    group.add_argument(
        "--embed",
        type=names,
        metavar="NAME,...",
        help="by what, for all such columns or as COLUMN=NAME: tfidf, histograms, pixels, onnx:FILE, "
        "sentence-transformers:FOLDER, model2vec:FOLDER, timm:FOLDER, open_clip:FOLDER, python:MODULE:FUNCTION; none "
        "keeps them to be looked at (default: tfidf for sentences; tfidf and histograms for all texts and images where "
        "there are no other features or where --features names them)",
    )
    group.add_argument(
        "--embed-options",
        type=_parameters,
        default={},
        metavar="NAME=VALUE,...",
        help="options of the model's own, such as normalize=false, size=64, output=pooled or trust_remote_code=true",
    )
    group.add_argument("--embed-batch", type=int, metavar="N", help="texts or images per call of a model")
    group.add_argument("--embed-device", metavar="NAME", help="cpu, cuda, cuda:1, mps (default: the fastest there is)")
    add_folder(
        group,
        "--embed-cache",
        help="where vectors of models are kept, so that nothing is embedded twice; none keeps nothing (default: the "
        "user's cache folder)",
    )


def add_held_out(parser: Parser, test: str, split: str) -> None:
    """Add test rows: a file of their own, or a share of the table."""
    group = parser.add_argument_group("test rows").add_mutually_exclusive_group()
    add_file(group, "--test", metavar="TABLE", help=test)
    add_file(parser, "--test-embeddings", type=names, default=[], metavar="FILE,...", help="those of the test rows")
    group.add_argument("--split", type=float, metavar="SHARE", help=split)


def add_valuation(parser: Parser, *, semivalue: str = "banzhaf", method: str = "--method") -> None:
    """Add what `pivotal.value` takes; whatever is omitted keeps the library's own default, of which the help says one.

    The option for the method of valuation is called otherwise where another method is chosen by ``--method``.
    """
    group = parser.add_argument_group("valuation (as in pivotal.value)")
    group.add_argument("-k", "--k", type=int, help="number of neighbours that vote (default: 5)")
    group.add_argument(
        "--utility",
        metavar="NAME",
        help="utility of a set of rows: hard, plurality, soft, soft-k, threshold(r), regression, or a convention "
        "(default: hard)",
    )
    group.add_argument(
        "--semivalue",
        metavar="NAME",
        help=f"how coalitions are drawn: banzhaf, banzhaf(0.2), shapley, beta(4,1), loo (default: {semivalue})",
    )
    group.add_argument(
        "--weights", metavar="NAME", help="how votes fall: uniform, distance, rbf, linear (default: uniform)"
    )
    group.add_argument("--bits", type=int, help="bits that weights are rounded to (default: 7)")
    group.add_argument("--metric", metavar="NAME", help="any metric of scikit-learn (default: euclidean)")
    group.add_argument(
        "--neighbors", metavar="NAME", help="how neighbours are found: auto, brute, kd_tree, faiss-flat, ..."
    )
    group.add_argument("--tol", type=float, help="what may be omitted from a value (default: 1e-16)")
    group.add_argument("--max-memory", metavar="SIZE", help="for lists of neighbours, such as 2GB")
    group = parser.add_argument_group("method")
    group.add_argument(
        method, dest="method", metavar="NAME", help="a name that `pivotal methods` lists (default: exact)"
    )
    group.add_argument(
        "--params", type=_parameters, metavar="NAME=VALUE,...", help="options of the method's own, such as C=0.1"
    )
    group.add_argument("--samples", type=int, metavar="N", help="samples, for methods that sample")
    group.add_argument("--target-se", type=float, metavar="SE", help="stop at this standard error")
    group.add_argument("--max-time", type=float, metavar="SECONDS", help="stop after this many seconds")


def add_output(parser: Parser, what: str, *, rows: bool = False) -> None:
    """Add where results go: a table of them, or rows of the table that was read."""
    group = parser.add_argument_group("output")
    kinds = "in any format that is read" if rows else ".csv, .tsv, .parquet, .feather, .json or .jsonl"
    needed = "" if rows else "; without it they are only printed"
    about = f"{what}, {kinds}; - is standard output{needed}"
    add_file(group, "-o", "--out", type=output, metavar="FILE", help=about)
    group.add_argument("--format", choices=WRITABLE, help="for standard output (default: csv)")
    group.add_argument("--safe-csv", action="store_true", help="quote cells that a spreadsheet would take for formulas")


def add_running(parser: Parser) -> None:
    """Add what is not about the data."""
    group = parser.add_argument_group("running")
    group.add_argument("--seed", type=int, default=0, help="of everything drawn at random (default: %(default)s)")
    group.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads; -1 is all (default: %(default)s)")
    noise = group.add_mutually_exclusive_group()
    noise.add_argument("--quiet", action="store_true", help="print only what was asked for, and errors")
    noise.add_argument("--verbose", action="store_true", help="print settings and times as well")
    add_file(
        group,
        "--config",
        metavar="FILE.toml",
        help='options from a file, such as k = 7 or features = ["age", "height"]; the command line wins',
    )


def add_cluster(parser: Parser) -> None:
    """Add where to compute, and where to keep what is done of it."""
    group = parser.add_argument_group("larger than one machine (needs the extra dask)")
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="compute on a Dask cluster, such as tcp://host:8786; local is one on this machine, local:4 with 4 "
        "workers; tables are then Parquet files, folders or patterns of them, which only workers read",
    )
    add_folder(
        group,
        "--checkpoint",
        help="keep what is finished in this folder, or at this URL; the same command resumes an interrupted run",
    )


def _parameters(text: str) -> dict[str, Any]:
    import json

    found: dict[str, Any] = {}
    for part in names(text):
        key, sign, content = part.partition("=")
        if not (key and sign):
            raise argparse.ArgumentTypeError(f"expected NAME=VALUE; got {part!r}")
        try:
            found[key.strip()] = json.loads(content)
        except ValueError:
            found[key.strip()] = content
    return found
