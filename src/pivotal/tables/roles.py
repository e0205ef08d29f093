"""Which column plays which part: as told, or by what it looks like."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import pyarrow as pa

from pivotal.core.types import FloatArray
from pivotal.tables.columns import GAPS, Kind, as_numbers, as_text, is_prose, profile
from pivotal.tables.embedding import USUAL, Embedding, kinds_of
from pivotal.tables.table import Table

__all__ = ["FEATURES", "INSTEAD", "ColumnChoice", "Roles", "Treatment", "choose", "embed_what_there_is", "matching"]

INSTEAD: Final = "use --utility regression to predict numbers"


@dataclass(frozen=True)
class Roles:
    """Which column plays which part.

    Parameters
    ----------
    label : str
        What is to be predicted.
    id, owner : str, optional
        Names of the rows, and to whom they belong.
    features : collection of str, optional
        Columns to use, or patterns such as `pixel*`; all that can be used by default.
    ignore : collection of str
        Columns to omit, or patterns.
    categorical, text, image : collection of str
        Columns to take for such, whatever they look like.
    missing : {"impute", "reject"}
        What to do about gaps: fill them with the median or the most frequent value, or say where they are.
    scale : {"numbers", "all", "none"}
        What to standardise: numbers, also vectors, or nothing.
    gaps : collection of str
        Texts that stand for a missing cell.
    max_categories : int, default=50
        Text with more different values than this is there to be looked at.
    classes : bool, default=False
        Whether labels name classes even where they are numbers that look like amounts.
    instead_of_numbers : str
        What to do about a label that is a number where classes are needed.
    embedding : Embedding
        What texts and images are made features by.
    numbers : collection of str
        Columns of text that hold numbers as people write them: 1,250.50, 12%, $3. Of a pattern, those that do.
    dates : bool, default=False
        Whether dates are features; those that `features` names are in any case.
    """

    label: str
    id: str | None = None
    owner: str | None = None
    features: Collection[str] | None = None
    ignore: Collection[str] = ()
    categorical: Collection[str] = ()
    text: Collection[str] = ()
    image: Collection[str] = ()
    missing: Literal["impute", "reject"] = "impute"
    scale: Literal["numbers", "all", "none"] = "numbers"
    gaps: Collection[str] = GAPS
    max_categories: int = 50
    classes: bool = False
    instead_of_numbers: str = INSTEAD
    embedding: Embedding = field(default_factory=Embedding)
    numbers: Collection[str] = ()
    dates: bool = False


@dataclass(frozen=True)
class Treatment:
    """What was done to one column: what it was taken for, and what became of it."""

    column: str
    kind: str
    done: str


class ColumnChoice(NamedTuple):
    """What each column is, why those that are not used are not, columns of numbers, remarks, and what embeds which."""

    kinds: dict[str, Kind]
    treatments: dict[str, tuple[str, str]]
    numbers: dict[str, FloatArray]
    remarks: dict[str, str]
    embedded: dict[str, Any]

    def features(self) -> dict[str, Kind]:
        """Return the columns that are features, and what they are."""
        return {
            name: kind
            for name, kind in self.kinds.items()
            if kind in FEATURES or name in self.embedded or (kind == "date" and not self.treatments[name][1])
        }


FEATURES: Final = ("number", "category", "vector", "matrix")
"""Kinds that are features wherever they are; dates, texts and images where that is asked for."""


def choose(train: Table, roles: Roles) -> ColumnChoice:
    """Decide what each column is, and say why those that are not used are not."""
    wanted = None if roles.features is None else set(matching(train, roles.features, "--features"))
    ignored = set(matching(train, roles.ignore, "--ignore"))
    said: dict[str, Kind] = {}
    named: tuple[tuple[Kind, Collection[str], str], ...] = (
        ("category", roles.categorical, "--categorical"),
        ("text", roles.text, "--text"),
        ("image", roles.image, "--image"),
    )
    for kind, columns, option in named:
        said |= dict.fromkeys(matching(train, columns, option), kind)
    treatments: dict[str, tuple[str, str]] = {}
    looked_at: list[str] = []
    for name in train.columns:
        treatments[name] = ("", "")  # keeps its place
        if name == roles.label:
            treatments[name] = ("label", "predicted")
        elif name in (roles.id, roles.owner):
            treatments[name] = ("name", "names the rows" if name == roles.id else "names the owners")
        elif name in ignored:
            treatments[name] = ("ignored", "omitted, as asked")
        else:
            looked_at.append(name)
    found = profile(train, looked_at, roles.gaps, roles.max_categories, said)
    embedded = _named(train, roles.embedding, looked_at)
    kinds: dict[str, Kind] = {}
    for name in looked_at:
        kind = found.kinds[name]
        remark = _fields_of(train, name) if kind == "other" else found.remarks.get(name, "")
        asked = wanted is not None and name in wanted
        if name in embedded:
            kinds[name] = kind if kind == "image" else "text"
            treatments[name] = (kinds[name], "")
            continue
        if wanted is not None and not asked and kind not in ("text", "image"):
            treatments[name] = (kind, "omitted, not among the features")
            continue
        kinds[name] = _settle(train, name, kind, asked, roles, remark)
        why = "" if kinds[name] == "date" and (roles.dates or asked) else _WHY.get(kinds[name], "")
        treatments[name] = (kinds[name], f"{why}: {remark}" if why and remark else why)
        if kinds[name] in USUAL and (asked or (wanted is None and said.get(name) != "text")):
            general = roles.embedding.general(kinds[name])
            # Sentences say more of a row than what stands beside them; names and addresses are there to be looked at.
            if general is not None or asked or _reads_as_prose(train, name, kinds[name], roles, remark):
                embedded[name] = general or USUAL[kinds[name]]
            elif not remark and not roles.embedding.off:
                treatments[name] = (kinds[name], f"{why}; --embed {USUAL[kinds[name]]} makes features of it")
    _check_something_to_embed(train, roles, kinds)
    return ColumnChoice(kinds, treatments, found.numbers, found.remarks, embedded)


def _reads_as_prose(train: Table, name: str, kind: Kind, roles: Roles, remark: str) -> bool:
    said = roles.embedding.by or train.beside  # which embedder, or which vectors, stand for what is in the table
    return kind == "text" and not remark and not said and is_prose(train, name, roles.gaps)


def _fields_of(train: Table, name: str) -> str:
    """Say what a column of structs could be."""
    held = train.column(name).type
    if not pa.types.is_struct(held):
        return ""
    fields = [held.field(place).name for place in range(held.num_fields)]
    few = ", ".join(fields[:5]) + (", ..." if len(fields) > 5 else "")
    return f"a struct of {few}; make columns of these to use them"


def _check_something_to_embed(train: Table, roles: Roles, kinds: Mapping[str, Kind]) -> None:
    """Raise where something was named to embed all texts, or all images, and there are none."""
    for column, name in roles.embedding.by:
        takes = () if column is not None or name == "none" else kinds_of(name)
        if not takes or any(kind in takes for kind in kinds.values()):
            continue
        found = ", ".join(f"{one!r} ({kind})" for one, kind in list(kinds.items())[:8])
        raise ValueError(
            f"{train.name} has no {' or '.join(f'{kind}s' for kind in takes)} that {name} could embed; its columns are "
            f"{found or 'all something else'}. Name the column, as in --embed COLUMN={name}, or omit it."
        )


def embed_what_there_is(train: Table, choice: ColumnChoice, roles: Roles) -> dict[str, Kind]:
    """Choose texts and images to be embedded, where there is nothing else to go by; return them."""
    if roles.embedding.off or train.beside:
        return {}
    aside = set(matching(train, roles.text, "--text"))
    aside |= set(choice.remarks)  # amounts and codes, which are no texts
    found = {name: kind for name, kind in choice.kinds.items() if kind in USUAL and name not in aside}
    choice.embedded.update({name: USUAL[kind] for name, kind in found.items()})
    return found


def _named(train: Table, embedding: Embedding, looked_at: Collection[str]) -> dict[str, Any]:
    """Return what embeds the columns that were named for it."""
    found: dict[str, Any] = {}
    for column, name in embedding.by:
        if column is not None:
            found |= dict.fromkeys(matching(train, [column], "--embed"), name)
    odd = next((column for column in found if column not in looked_at), None)
    if odd is not None:
        raise ValueError(
            f"column {odd!r} of {train.name} has another part already and cannot be embedded; omit it from --embed."
        )
    return found


_WHY: Final = {
    "text": "kept to be looked at",
    "image": "kept to be looked at",
    "date": "omitted; --dates makes features of it",
    "rows": "omitted: it numbers the rows",
    "empty": "omitted: it has no content",
    "other": "omitted: neither numbers nor text",
}


def _settle(train: Table, name: str, kind: Kind, asked: bool, roles: Roles, remark: str) -> Kind:
    """Turn down what cannot be used, and use what was asked for."""
    if kind == "mixed":
        text = as_text(train, name, roles.gaps)
        wrong = as_numbers(train, name, roles.gaps).wrong
        fix = f"They are {remark}. Or" if remark else "Fix them,"
        raise ValueError(
            f"column {name!r} of {train.name} must be all numbers or all text; {len(wrong)} of {len(train)} cells are "
            f"not numbers, such as {text[wrong[0]]!r} in {train.row(wrong[0])}. {fix} say --na for texts that "
            f"mean a gap, or --categorical or --ignore with the column's name."
        )
    if asked and kind == "rows":
        return "number"
    if asked and (kind in ("empty", "other") or (kind in USUAL and (roles.embedding.off or remark))):
        hint = f"; one-hot encode it with --categorical {name}, or name what to --embed it by" if kind == "text" else ""
        if kind in USUAL and not remark:
            repeats = f", or one-hot encode it with --categorical {name} if it repeats" if kind == "text" else ""
            hint = f"; omit --embed none to embed it{repeats}"
        hint = f" ({remark}){hint}" if remark else hint
        raise ValueError(f"column {name!r} of {train.name} cannot be a feature: it is {_SAID[kind]}{hint}.")
    return kind


_SAID: Final = {
    "text": "text with too many different values",
    "empty": "without content",
    "other": "neither numbers nor text",
    "image": "a path of images, whose features must be computed first",
}


def matching(table: Table, patterns: Collection[str], option: str) -> list[str]:
    """Return the columns that names and patterns stand for; raise where a name stands for none."""
    found: list[str] = []
    columns = dict.fromkeys(table.columns)
    for pattern in patterns:
        if pattern in columns:
            found.append(pattern)
            continue
        matched = fnmatch.filter(columns, pattern) if any(sign in pattern for sign in "*?[") else []
        found += matched or [table.check_column(pattern, option)]
    return found
