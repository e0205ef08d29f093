"""Finished blocks of queries on disk, so that a valuation goes on where the cluster that ran it died.

A folder has one file for each finished block, and one that says which valuation they belong to. A file appears under
its name only when it is complete.
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from pivotal._whole import whole_file
from pivotal.scaleout.tasks import Account, Parts

__all__ = ["Checkpoint"]

_ABOUT: Final = "valuation.json"
_BLOCK: Final = re.compile(r"block-(\d+)\.npz")


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished blocks, on any file system that fsspec knows.

    Parameters
    ----------
    url : str
        Path or URL; every worker must see the same folder there.
    """

    url: str

    @staticmethod
    def at(path: str | os.PathLike[str]) -> Checkpoint:
        """Return the checkpoint in a folder, which workers in other folders find as well."""
        url = os.fspath(path)
        return Checkpoint(url if "://" in url else str(Path(url).absolute()))

    def open(self, about: Mapping[str, str]) -> set[int]:
        """Return the numbers of the blocks that are finished; a new folder is made the valuation's own.

        Parameters
        ----------
        about : mapping of str to str
            What tells this valuation from any other: data, settings, how queries are cut.
        """
        system, folder = self._system()
        try:
            system.makedirs(folder, exist_ok=True)
            names = {str(entry).rstrip("/").rpartition("/")[2] for entry in system.ls(folder, detail=False)}
            if _ABOUT in names:
                self._check(json.loads(system.cat_file(f"{folder}/{_ABOUT}")), about)
            else:
                self._write(_ABOUT, json.dumps(dict(about), indent=1).encode())
        except (OSError, json.JSONDecodeError) as error:
            raise OSError(
                f"cannot use {self.url} as a checkpoint: {error}. Give a folder that can be written."
            ) from error
        return {int(found[1]) for name in names if (found := _BLOCK.fullmatch(name))}

    def save(self, block: int, parts: Parts) -> None:
        """Keep a finished block."""
        account = parts.account._asdict()
        arrays = {field.name: getattr(parts, field.name) for field in fields(parts) if field.name != "account"}
        content = {**arrays, **{name: entry for name, entry in account.items() if entry is not None}}
        buffer = io.BytesIO()
        np.savez(buffer, **content)
        self._write(f"block-{block}.npz", buffer.getvalue())

    def load(self, block: int) -> Parts:
        """Return a finished block."""
        system, folder = self._system()
        path = f"{folder}/block-{block}.npz"
        try:
            with np.load(io.BytesIO(system.cat_file(path)), allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
            account = Account(
                **{name: content.pop(name) for name in ("everyone", "nobody", "dropped")},
                weights=content.pop("weights", None),
                spread=float(content.pop("spread")),
                depth=int(content.pop("depth")),
                error=float(content.pop("error")),
                short=bool(content.pop("short")),
            )
            return Parts(**content, account=account)
        except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise OSError(f"{self.url} is damaged in {path}: {error}. Delete that file and run again.") from error

    def _check(self, kept: Any, about: Mapping[str, str]) -> None:
        odd = [name for name, token in about.items() if not isinstance(kept, dict) or kept.get(name) != token]
        if odd:
            raise ValueError(
                f"the checkpoint {self.url} belongs to another valuation, with other {', '.join(odd)}. Use another "
                "folder, or delete this one."
            )

    def _write(self, name: str, content: bytes) -> None:
        system, folder = self._system()
        if _is_local(system):
            with whole_file(Path(folder) / name) as file:
                file.write(content)
            return
        temporary = f"{folder}/.{name}.{secrets.token_hex(6)}.tmp"
        system.pipe_file(temporary, content)
        system.mv(temporary, f"{folder}/{name}")

    def _system(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        try:
            system, folder = url_to_fs(self.url)
        except ImportError as error:
            raise ImportError(f"the checkpoint {self.url} needs another package: {error}") from error
        return system, str(folder).rstrip("/")


def _is_local(system: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(system, LocalFileSystem)
