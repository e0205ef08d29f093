"""Utilities of coalitions, remembered: in memory for one run, or in a file that later runs use."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn

from pivotal.baselines.retraining_game import ModelGame
from pivotal.core.identity import token
from pivotal.core.types import FloatArray

__all__ = ["UtilityStore", "key_of", "open_store"]

_MOST_REMEMBERED = 1_000_000  # about 150 MB; random coalitions of many points never come twice anyway
_KEYS_AT_ONCE = 500  # values in one question; SQLite takes 999 or more

_OURS = "cache must be a file that value_by_retraining made, or a new one"

Key = bytes


def key_of(mask: npt.NDArray[np.bool_]) -> Key:
    """Return 16 bytes that stand for a coalition."""
    return blake2b(np.packbits(mask).tobytes(), digest_size=16).digest()


class UtilityStore:
    """Utilities by coalition, in SQLite, under the identity of the game, so that one file serves many games.

    Each `remember` is one transaction: an interruption leaves what was remembered before. The path ":memory:" is for
    what one run remembers, and at most `limit` coalitions are.
    """

    def __init__(self, path: str, game: str, limit: int | None = None) -> None:
        self._path, self._game, self._left = path, game, math.inf if limit is None else limit
        with self._explained():
            self._file = sqlite3.connect(path, timeout=60.0)
        try:
            with self._explained():
                self._file.execute(
                    "CREATE TABLE IF NOT EXISTS utilities "
                    "(game TEXT, coalition BLOB, utility REAL, PRIMARY KEY (game, coalition)) WITHOUT ROWID"
                )
                self._file.execute("SELECT game, coalition, utility FROM utilities LIMIT 1")
        except BaseException:
            self._file.close()
            raise

    def recall(self, keys: Sequence[Key]) -> FloatArray:
        """Return what the coalitions earned, NaN where that is not known."""
        known: dict[Key, float] = {}
        with self._explained(), closing(self._file.cursor()) as cursor:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                some = keys[start : start + _KEYS_AT_ONCE]
                places = ", ".join("?" * len(some))
                asked = f"SELECT coalition, utility FROM utilities WHERE game = ? AND coalition IN ({places})"
                known.update(cursor.execute(asked, (self._game, *some)))
        # A column of SQLite may hold anything, whatever its type says.
        rows = (known.get(key) for key in keys)
        return np.array([row if isinstance(row, float) and math.isfinite(row) else np.nan for row in rows])

    def remember(self, utilities: Iterable[tuple[Key, float]]) -> None:
        """Keep what coalitions earned, as long as there is room."""
        if self._left <= 0:
            return
        rows = [(self._game, key, utility) for key, utility in utilities]
        self._left -= len(rows)
        with self._explained(), self._file:
            self._file.executemany("INSERT OR REPLACE INTO utilities (game, coalition, utility) VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in a sentence what is wrong with the file."""
        name = self._path
        try:
            yield
        except sqlite3.OperationalError as error:
            if "no such column" in str(error):
                raise ValueError(f"{_OURS}; got {name!r} ({error}).") from error
            raise OSError(f"cache must be a file that can be written; got {name!r} ({error}).") from error
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{_OURS}; got {name!r} ({error}).") from error


def open_store(cache: bool | str | os.PathLike[str], game: ModelGame, scoring: Any) -> UtilityStore:
    """Return where utilities are remembered: nowhere, in memory, or in a file."""
    if isinstance(cache, bool):
        return UtilityStore(":memory:", "", limit=_MOST_REMEMBERED if cache else 0)
    if not isinstance(cache, str | os.PathLike):
        raise TypeError(f"cache must be True, False or the path of a file; got {cache!r}.")
    return UtilityStore(os.fspath(Path(cache).absolute()), _identity(game, scoring))


def _identity(game: ModelGame, scoring: Any) -> str:
    """Stand for all that the utility of a coalition depends on: the content of models and functions, never a name."""
    points = game.X_train, game.y_train, game.X_test, game.y_test
    try:
        return token(game.model, scoring, *points, game.empty_utility, game.on_failure, sklearn.__version__)
    except TypeError as error:
        raise ValueError(
            f"a cache on disk needs a model and a scoring that are known by their content, but {error} "
            "Or use cache=True."
        ) from error
