"""`pivotal cache`: embeddings that are kept on disk, by model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pivotal.cli._options import add_folder
from pivotal.cli._parser import Parser
from pivotal.cli._screen import print_table

if TYPE_CHECKING:
    from pivotal.embed import CachedModel

_EXAMPLES: Final = """\
examples:
  pivotal cache
  pivotal cache --model MiniLM --clear
  pivotal cache --path
"""
_KEY: Final = 8  # digits that are shown, and are enough to tell models apart
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")


def describe(parser: Parser) -> None:
    """Add what the command takes."""
    parser.description = (
        "List the vectors of texts and images that models have computed and that are kept on disk, so that nothing is "
        "embedded twice; or delete them."
    )
    parser.epilog = _EXAMPLES
    add_folder(
        parser, "--embed-cache", help="where they are kept (default: $PIVOTAL_CACHE, or the user's cache folder)"
    )
    parser.add_argument(
        "--model", metavar="TEXT", help="only models whose name has this in it, or whose key begins with it"
    )
    do = parser.add_mutually_exclusive_group()
    do.add_argument("--clear", action="store_true", help="delete what would be listed")
    do.add_argument("--path", action="store_true", help="print the folder, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what is kept, or delete it."""
    from pivotal.embed import EmbeddingCache

    cache = EmbeddingCache(options.embed_cache)
    if options.path:
        print(cache.folder)
        return
    models = cache.models()
    if options.model is not None:
        text = options.model.lower()
        models = [one for one in models if text in one.name.lower() or one.key.startswith(text)]
        if not models:
            raise ValueError(f"no model in {cache.folder} matches --model {options.model}; see pivotal cache.")
    if options.clear:
        cache.clear(models)
        print(f"Deleted from {cache.folder}: {_sum(models)}")
        return
    print(f"{cache.folder}: {_sum(models)}")
    if models:
        _print_models(models)


def _print_models(models: Sequence[CachedModel]) -> None:
    import datetime as dt

    rows = [
        (
            one.name or ("" if one.is_current else "of an earlier version, not used any more"),
            one.key[:_KEY],
            one.n_vectors,
            _size(one.n_bytes),
            dt.datetime.fromtimestamp(one.written).astimezone().strftime("%Y-%m-%d %H:%M"),
        )
        for one in models
    ]
    print_table("", ["model", "key", "vectors", "size", "last written"], rows)


def _sum(models: Sequence[CachedModel]) -> str:
    n_vectors = sum(one.n_vectors for one in models)
    return (
        f"{n_vectors:,} vector{'s'[: n_vectors != 1]} of {len(models)} model{'s'[: len(models) != 1]}, "
        f"{_size(sum(one.n_bytes for one in models))}"
    )


def _size(n_bytes: int) -> str:
    """Return a size as people write it."""
    size, unit = float(n_bytes), 0
    while size >= 999.5 and unit + 1 < len(_UNITS):
        size, unit = size / 1000.0, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 99.5 else f"{size:.2g} {_UNITS[unit]}"
