"""Folders that are tables: images in one folder per class, and data sets of Hugging Face's."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pivotal.core.extras import needed
from pivotal.core.notices import notify
from pivotal.core.pictures import ENDINGS
from pivotal.tables._limits import Limit
from pivotal.tables._phrases import first_line
from pivotal.tables.table import Table

_LITTER: Final = frozenset({"thumbs.db", "desktop.ini"})  # that systems leave in folders of pictures
_PARTS: Final = frozenset({"train", "test", "val", "valid", "validation", "dev"})
_SCHEME: Final = "hf://"


def is_dataset(path: str) -> bool:
    """Whether a path names a data set of the hub's, `hf://name`, and not a file there, `hf://datasets/name/file.csv`."""
    return path.startswith(_SCHEME) and not path.startswith((f"{_SCHEME}datasets/", f"{_SCHEME}buckets/"))


def folder_kind(path: Path) -> str | None:
    """Return what a folder is: "hf" as `save_to_disk` writes it, "images" with one folder per class, None otherwise."""
    if not path.is_dir():
        return None
    if (path / "state.json").is_file() or (path / "dataset_dict.json").is_file():
        return "hf"
    return "images" if any(_is_image(file) for folder in _folders_in(path) for file in _files_in(folder)) else None


def _folders_in(path: Path) -> list[Path]:
    with os.scandir(path) as entries:
        return sorted(Path(entry) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _files_in(folder: Path) -> list[Path]:
    """Return the files in a folder and in folders of it, in the order of their names, hidden ones aside."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place) / name for name in sorted(files) if not name.startswith(".")]
    return found


def _is_image(file: Path) -> bool:
    return file.name.lower().endswith(ENDINGS)


def read_images(path: Path, name: str, limit: Limit) -> Table:
    """Return a table of the images in a folder with one folder per class: their paths, and the names of the folders."""
    classes = _folders_in(path)
    apart = [folder.name for folder in classes if folder.name.lower() in _PARTS]
    if apart and len(apart) == len(classes) and any(_folders_in(folder) for folder in classes):
        first = next((part for part in apart if part.lower() == "train"), apart[0])
        others = [part for part in apart if part != first]
        test = f", and the test rows with --test {path / others[0]}" if others else ""
        raise ValueError(f"{name} holds parts, not classes; name one of them, such as {path / first}{test}.")
    paths: list[str] = []
    labels: list[str] = []
    strays = [file for file in path.iterdir() if file.is_file() and _is_image(file)]
    for folder in classes:
        files = _files_in(folder)
        images = [file for file in files if _is_image(file)]
        strays += [file for file in files if not _is_image(file) and file.name.lower() not in _LITTER]
        paths += [file.relative_to(path).as_posix() for file in images]
        labels += [folder.name] * len(images)
        limit.check(len(paths), name)
    if strays:
        notify(f"{name}: {_left_out(strays, path)}")
    return Table(pa.table({"path": paths, "label": labels}), name, "images", folder=path)


def from_one_folder(tables: list[Table]) -> list[Table]:
    """Return tables of images with paths from the folder that all of their folders are in."""
    folders = [(table.folder or Path()).resolve() for table in tables]
    common = Path(os.path.commonpath(folders))
    moved = []
    for table, folder in zip(tables, folders, strict=True):
        start = folder.relative_to(common)
        paths = [(start / cell).as_posix() for cell in table.column("path").to_pylist()]
        cells = table.cells.set_column(table.columns.index("path"), "path", pa.array(paths, pa.string()))
        moved.append(replace(table, cells=cells, folder=common))
    return moved


def _left_out(files: list[Path], root: Path) -> str:
    """Say which files of a folder are not among its images."""
    without = sum(file.parent == root for file in files)
    endings = Counter(file.suffix.lower() or "no ending" for file in files if file.parent != root)
    kinds = ", ".join(f"{n} with {ending}" for ending, n in endings.most_common(4))
    reasons = [f"{without} in no folder of a class"] if without else []
    reasons += [f"{kinds}{', ...' if len(endings) > 4 else ''}"] if endings else []
    which = "1 file is" if len(files) == 1 else f"{len(files)} files are"
    return f"{which} omitted: {'; '.join(reasons)}. Images end in {', '.join(ENDINGS)}."


def read_dataset(path: str, limit: Limit) -> Table:
    """Read a data set of Hugging Face's: a folder that was saved to disk, or `hf://name`, `hf://name:config#split`.

    Classes are given by their names. Images are kept as they are in the data set.
    """
    with needed("data sets of Hugging Face's need datasets", "datasets"):
        import datasets
    folder, split = split_of(path)
    try:
        if path.startswith(_SCHEME):
            name, _, config = folder.removeprefix(_SCHEME).partition(":")
            found: Any = datasets.load_dataset(name, config or None, split=split or None)
        else:
            found = datasets.load_from_disk(folder)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise ValueError(f"{path} cannot be read as a data set of Hugging Face's: {first_line(error)}.") from error
    if isinstance(found, dict):
        found = _chosen_split(found, folder, split)
    limit.check(len(found), path)
    cells = cells_of_dataset(found)
    # Images of the hub that are files of their own lie where its client keeps them.
    home = Path(datasets.config.HF_CACHE_HOME) if path.startswith(_SCHEME) else Path(folder)
    return Table(cells, path, "hf", folder=home)


def split_of(path: str) -> tuple[str, str]:
    """Return a data set's folder or name, and the split that is named after the `#`; a folder may have one in its name.

    >>> split_of("hf://glue:sst2#train")
    ('hf://glue:sst2', 'train')
    """
    if Path(path).is_dir():
        return path, ""
    name, _, split = path.partition("#")
    return name, split


def _chosen_split(splits: Any, path: str, wanted: str) -> Any:
    """Return the split that is meant: the one that was named, or the only one."""
    if wanted in splits or (len(splits) == 1 and not wanted):
        return splits[wanted or next(iter(splits))]
    first = "train" if "train" in splits else next(iter(splits))
    got = f", and none called {wanted}" if wanted else ""
    raise ValueError(f"{path} has the splits {', '.join(splits)}{got}; name one, such as {path}#{first}.")


def cells_of_dataset(dataset: Any) -> pa.Table:
    """Return the cells of a Dataset of Hugging Face's, classes by their names."""
    cells: pa.Table = dataset.with_format("arrow")[:]
    for place, (column, feature) in enumerate(dataset.features.items()):
        names = getattr(feature, "names", None)
        if names is not None and hasattr(feature, "int2str"):
            codes = cells.column(column).to_pylist()
            known = [None if code is None or code < 0 else int(code) for code in codes]
            cells = cells.set_column(place, column, pa.array([*names]).take(pa.array(known, pa.int64())))
    return cells.replace_schema_metadata()
