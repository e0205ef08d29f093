"""Finished blocks of queries on disk, so that a valuation resumes after the cluster that ran it died.

A folder has one file for each finished block, and one that says which valuation they belong to. A file appears under
its name only when it is complete, and the one that names the valuation is made once: of two valuations that begin at
the same time in one folder, one is refused. Every block says, too, which valuation it is of.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Final, Self

from pivotal.core.urls import first_line
from pivotal.valuation.dask.blocks import Expected, pack, unpack
from pivotal.valuation.dask.dask_tasks import Parts
from pivotal.valuation.dask.folder import Folder

_ABOUT: Final = "valuation.json"
_ABOUT_BYTES: Final = 2**20
_BLOCK: Final = re.compile(r"block-(0|[1-9]\d{0,17})\.npz")

_READABLE: Final = ("version of pivotal", "format of blocks")

Identity = dict[str, str | dict[str, str]]
"""What tells a valuation from any other, by name: a token, or several of them."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished blocks, of which every worker must see the same one."""

    folder: Folder
    identity: str = ""
    """Hexadecimal digits that tell the valuation from any other; known once the checkpoint is opened."""

    @property
    def url(self) -> str:
        """Path or URL of the folder."""
        return self.folder.url

    def open(self, about: Identity) -> tuple[Self, frozenset[int]]:
        """Return the checkpoint of a valuation, and which blocks are finished; a new folder becomes its own.

        A folder that cannot be used, or that is damaged, is an OSError, that of another valuation a ValueError.
        """
        content = json.dumps(about, indent=1, sort_keys=True).encode()
        try:
            names = self.folder.names()
            if _ABOUT not in names:
                self.folder.create(_ABOUT, content)
        except OSError as error:
            raise OSError(
                f"cannot use {self.url} as a checkpoint: {first_line(error)}. Give a folder that can be written."
            ) from error
        self._compare(self._read(_ABOUT, _ABOUT_BYTES), about)  # ours, or that of who was first
        opened = replace(self, identity=hashlib.sha256(content).hexdigest())
        return opened, frozenset(int(found[1]) for name in names if (found := _BLOCK.fullmatch(name)))

    def of_data(self, content: str) -> Self:
        """Return the same for blocks of certain data, given by a text that stands for what they hold."""
        return replace(self, identity=hashlib.sha256(f"{self.identity} {content}".encode()).hexdigest())

    def save(self, block: int, parts: Parts) -> None:
        """Keep a finished block."""
        self.folder.write(_name(block), pack(parts, self.identity))

    def load(self, block: int, expected: Expected) -> Parts:
        """Return a finished block, after making sure that it is one; an OSError says what is wrong."""
        content = self._read(_name(block))
        try:
            return unpack(content, expected)
        except ValueError as error:
            raise self._damaged(_name(block), error) from error

    def _read(self, name: str, max_bytes: int | None = None) -> bytes:
        try:
            return self.folder.read(name, max_bytes)
        except ValueError as error:
            raise self._damaged(name, error) from error
        except OSError as error:
            reason = error.strerror or first_line(error)
            raise OSError(f"cannot read {self.url}/{name}: {reason}. Run again once it can be read.") from error

    def _damaged(self, name: str, error: Exception) -> OSError:
        return OSError(
            f"{self.url} is damaged in {self.url}/{name}: {first_line(error)}. Delete that file and run again."
        )

    def _compare(self, content: bytes, about: Identity) -> None:
        """Say in what the valuation that a folder belongs to differs."""
        try:
            kept = json.loads(content)
            if not isinstance(kept, dict):
                raise ValueError("it must hold an object")
        except (ValueError, RecursionError) as error:
            raise self._damaged(_ABOUT, error) from error
        if kept == about:
            return
        # Another version explains all the rest.
        names = [name for name in _READABLE if kept.get(name) != about.get(name)] or dict.fromkeys([*about, *kept])
        odd = [_difference(name, kept.get(name), about.get(name)) for name in names]
        raise ValueError(
            f"the checkpoint {self.url} belongs to another valuation, with other "
            f"{', '.join(name for name in odd if name)[:1000]}. Use another folder, or delete this one."
        )


def _name(block: int) -> str:
    return f"block-{block}.npz"


def _difference(name: str, kept: object, token: str | dict[str, str] | None) -> str:
    """Return the name of what differs, with parts that differ in brackets; empty if nothing does."""
    if kept == token:
        return ""
    if isinstance(kept, dict) and isinstance(token, dict):
        return f"{name} ({', '.join(sorted(part for part in {*token, *kept} if kept.get(part) != token.get(part)))})"
    if isinstance(kept, str) and isinstance(token, str) and name in _READABLE:
        return f"{name} ({kept[:60]}; this is {token})"
    return name if token is not None else repr(name)[:60]
