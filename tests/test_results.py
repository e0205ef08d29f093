"""The result object: immutable, ordered, normalised, and the same after a trip through a file."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotal import _arrow
from pivotal.results import Values

SETTINGS = {"k": 5, "utility": "hard", "semivalue": "banzhaf", "tol": 1e-16, "panels": [1, 2], "game": {"tie": "lose"}}


def make(values=(0.25, -0.5, 0.75), **changes):
    defaults = {"n_queries": 4, "full_utility": 0.9, "empty_utility": 0.1, "settings": SETTINGS}
    return Values(values, **(defaults | changes))


# ----------------------------------------------------------------------------------------------- construction


def test_fields_are_kept():
    values = make(error_bound=1e-15, standard_error=[0.1, 0.2, 0.3], ids=["a", "b", "c"], vote_resolution=1 / 127)
    assert values.values.tolist() == [0.25, -0.5, 0.75]
    assert values.values.dtype == np.float64
    assert (values.n_queries, values.full_utility, values.empty_utility) == (4, 0.9, 0.1)
    assert (values.error_bound, values.vote_resolution) == (1e-15, 1 / 127)
    assert values.standard_error is not None
    assert values.standard_error.tolist() == [0.1, 0.2, 0.3]
    assert values.ids.tolist() == ["a", "b", "c"]
    assert len(values) == 3


def test_ids_default_to_training_indices():
    assert make().ids.tolist() == [0, 1, 2]
    assert make().standard_error is None


def test_numbers_beside_strings_stay_numbers():
    assert make(ids=["a", 1, None]).ids.tolist() == ["a", 1, None]


def test_nothing_can_be_changed():
    mine = np.array([0.25, -0.5, 0.75])
    panels = [1, 2]
    values = make(
        mine, standard_error=mine**2, ids=["a", "b", "c"], settings={"panels": panels, "game": {"tie": "lose"}}
    )
    mine[0] = 9.0
    panels.append(3)
    assert values.values[0] == 0.25
    assert values.settings["panels"] == (1, 2)
    for array in (values.values, values.standard_error, values.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        values.error_bound = 0.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        values.settings["k"] = 7
    with pytest.raises(TypeError, match="does not support item assignment"):
        values.settings["game"]["tie"] = "win"


def test_settings_take_numpy_scalars():
    frozen = make(settings={"k": np.int64(3), "tol": np.float64(0.5), "flag": np.bool_(True)}).settings
    assert [type(frozen[name]) for name in ("k", "tol", "flag")] == [int, float, bool]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": []}, r"values must be one number per training point, at least one; got shape \(0,\)"),
        ({"values": [[1.0]]}, r"values must be one number .* got shape \(1, 1\)"),
        ({"values": 1.0}, r"values must be one number .* got shape \(\)"),
        ({"values": [0.0, math.nan, 1.0]}, r"values must be finite; got nan at training index 1"),
        (
            {"standard_error": [0.1]},
            r"standard_error must have one entry per training point, shape \(3,\); got .*\(1,\)",
        ),
        ({"standard_error": [0.1, -0.2, 0.1]}, r"standard_error must not be negative; got -0.2"),
        ({"standard_error": [0.1, 0.2, math.inf]}, r"standard_error must be finite; got inf at training index 2"),
        ({"ids": ["a", "b"]}, r"ids must have one entry per training point, shape \(3,\); got shape \(2,\)"),
        ({"ids": "abc"}, r"ids must have one entry .* got shape \(\)"),
        ({"n_queries": 0}, r"n_queries must be a positive integer; got 0"),
        ({"n_queries": 2.5}, r"n_queries must be a positive integer; got 2.5"),
        ({"n_queries": True}, r"n_queries must be a positive integer; got True"),
        ({"error_bound": -1e-9}, r"error_bound must be a finite number >= 0; got -1e-09"),
        ({"error_bound": math.inf}, r"error_bound must be a finite number >= 0; got inf"),
        ({"recall": 1.5}, r"recall must lie in \[0, 1\]; got 1.5"),
        ({"vote_resolution": math.nan}, r"vote_resolution must be a finite number >= 0; got nan"),
        ({"full_utility": math.nan}, r"full_utility must be a finite number; got nan"),
        ({"empty_utility": -math.inf}, r"empty_utility must be a finite number; got -inf"),
        ({"settings": {"tol": math.inf}}, r"settings\['tol'\] must be a finite number; got inf"),
    ],
)
def test_bad_contents_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"metric": max}, r"settings\['metric'\] must be text, a number, None, a list or a mapping; got builtin"),
        ({"a": {"b": [object()]}}, r"settings\['a'\]\['b'\] must be text, .* got object"),
        ({3: "k"}, r"settings must have strings as keys; got 3"),
    ],
)
def test_settings_must_be_json(bad, message):
    with pytest.raises(TypeError, match=message):
        make(settings=bad)


# ----------------------------------------------------------------------------------------------- order and frames


def test_rank_puts_the_most_valuable_first_and_equal_values_by_index():
    assert make([0.0, 1.0, -0.0, 1.0, -2.0]).rank().tolist() == [1, 3, 0, 2, 4]


def test_rank_keeps_the_order_of_many_equal_values():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=1000)
    assert make(signs).rank().tolist() == [*np.flatnonzero(signs > 0), *np.flatnonzero(signs < 0)]


def test_frame_is_in_training_order():
    frame = make(ids=["a", "b", "c"]).to_frame()
    assert frame.columns.tolist() == ["id", "value", "rank"]
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["id"].tolist() == ["a", "b", "c"]
    assert frame["value"].tolist() == [0.25, -0.5, 0.75]
    assert frame["rank"].tolist() == [2, 3, 1]


def test_frame_shows_standard_errors_when_there_are_any():
    assert make(standard_error=[0.1, 0.2, 0.3]).to_frame()["standard_error"].tolist() == [0.1, 0.2, 0.3]


def test_frame_is_the_callers_own():
    values = make()
    frame = values.to_frame()
    frame.loc[0, "value"] = 99.0
    assert values.values[0] == 0.25


def test_top_and_bottom_are_the_two_ends():
    values = make([0.3, 0.1, 0.5, 0.2, 0.4], ids=list("abcde"))
    assert values.top(2)["id"].tolist() == ["c", "e"]
    assert values.top(2).index.tolist() == [2, 4]
    assert values.bottom(2)["id"].tolist() == ["b", "d"]
    assert values.bottom(2)["rank"].tolist() == [5, 4]
    assert len(values.top(100)) == len(values.bottom()) == 5


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_top_needs_a_positive_number(n):
    with pytest.raises(ValueError, match=r"n must be a positive integer; got"):
        make().top(n)
    with pytest.raises(ValueError, match=r"n must be a positive integer; got"):
        make().bottom(n)


# ----------------------------------------------------------------------------------------------- normalisation


def test_normalized_values_sum_to_the_gain():
    values = make(standard_error=[0.1, 0.2, 0.3])
    scaled = values.normalized()
    assert scaled.values == pytest.approx([0.4, -0.8, 1.2])
    assert scaled.values.sum() == pytest.approx(values.full_utility - values.empty_utility)
    assert scaled.standard_error == pytest.approx([0.16, 0.32, 0.48])
    assert scaled.rank().tolist() == values.rank().tolist()
    assert scaled.settings["normalized"] is True
    assert "normalized" not in values.settings


@given(
    truth=st.lists(st.fractions(min_value=-1, max_value=1, max_denominator=1000), min_size=1, max_size=8),
    signs=st.lists(st.sampled_from([-1, 0, 1]), min_size=8, max_size=8),
    bound=st.sampled_from([Fraction(0), Fraction(1, 10**12), Fraction(1, 1000)]),
)
def test_normalized_bound_covers_the_error_of_the_sum(truth, signs, bound):
    """Whatever the true values within the bound, normalising them lands within the new bound."""
    measured = [exact + sign * bound for exact, sign in zip(truth, signs, strict=False)]
    gain = Fraction(1, 2) if sum(measured) > 0 else Fraction(-1, 2)
    declared = float(bound) + 1e-15  # conversion to float is an error too
    values = make([float(x) for x in measured], error_bound=declared, full_utility=float(gain), empty_utility=0.0)
    try:
        scaled = values.normalized()
    except ValueError:
        assert abs(sum(measured)) <= len(truth) * (declared + 1e-12)
        return
    for got, exact in zip(scaled.values, truth, strict=True):
        assert abs(Fraction(got) - gain * exact / sum(truth)) <= Fraction(scaled.error_bound)


@pytest.mark.parametrize(
    ("numbers", "bound"),
    [([0.5, -0.5], 0.0), ([0.0, 0.0], 0.0), ([0.1, 0.2, -0.3], 0.0), ([0.5, -0.5 + 1e-9], 1e-9)],
)
def test_normalizing_needs_a_sum_other_than_zero(numbers, bound):
    with pytest.raises(ValueError, match=r"normalized values need a sum that differs from 0; got .* Use the values"):
        make(numbers, error_bound=bound).normalized()


def test_normalizing_never_turns_the_order_around():
    with pytest.raises(ValueError, match=r"sign of full_utility - empty_utility = 0.8; got -0.75, which would turn"):
        make([-1.0, 0.25]).normalized()
    assert make([-1.0, 0.25], full_utility=0.1, empty_utility=0.9).normalized().rank().tolist() == [1, 0]


def test_normalizing_to_no_gain_gives_zeros():
    assert make(full_utility=0.1).normalized().values.tolist() == [0.0, 0.0, 0.0]


# ----------------------------------------------------------------------------------------------- owners


def test_owners_are_paid_the_sum_of_their_points():
    sums = make([1.0, 2.0, 3.0, -4.0]).by_owner(["ann", "bob", "ann", "cy"])
    assert isinstance(sums, pd.Series)
    assert sums.to_dict() == {"ann": 4.0, "bob": 2.0, "cy": -4.0}
    assert sums.index.tolist() == ["ann", "bob", "cy"]
    assert (sums.name, sums.index.name) == ("value", "owner")


def test_equal_owners_stay_in_order_of_appearance():
    assert make([1.0, 1.0, 2.0, 1.0]).by_owner(["z", "b", "y", "a"]).index.tolist() == ["y", "z", "b", "a"]


def test_owners_are_taken_by_position_not_by_index():
    assert make().by_owner(pd.Series(["x", "y", "x"], index=[7, 0, 1])).to_dict() == {"x": 1.0, "y": -0.5}


def test_owners_may_be_numbers_and_missing_spellings():
    assert make().by_owner([1, 2, 1]).to_dict() == {1: 1.0, 2: -0.5}
    assert make().by_owner(["nan", "None", ""]).to_dict() == {"nan": 0.25, "None": -0.5, "": 0.75}


def test_owners_must_fit():
    with pytest.raises(
        ValueError, match=r"owners must have one entry per training point, shape \(3,\); got shape \(2,\)"
    ):
        make().by_owner(["ann", "bob"])


@pytest.mark.parametrize("missing", [None, math.nan, pd.NaT])
def test_owners_must_not_be_missing(missing):
    with pytest.raises(ValueError, match=r"owners must name an owner for every training point; got 1 missing. Give"):
        make().by_owner(["ann", missing, "bob"])


# ----------------------------------------------------------------------------------------------- as an array, as text


def test_array_follows_numpy_2():
    values = make()
    assert np.asarray(values) is values.values
    own = np.array(values)
    own[0] = 9.0
    assert values.values[0] == 0.25
    assert np.asarray(values, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(values, dtype=np.float32, copy=False)
    assert float(np.mean(values)) == pytest.approx(1 / 6)


def test_repr_is_one_line_with_the_essentials():
    text = repr(make(error_bound=2e-16))
    for part in ("n_train=3", "n_queries=4", "k=5", "utility=hard", "semivalue=banzhaf", "2e-16", "[-0.5, 0.75]"):
        assert part in text
    assert "\n" not in text
    assert "standard_error<=0.3" in repr(make(standard_error=[0.1, 0.2, 0.3]))


def test_html_escapes_ids_and_settings():
    page = make(ids=["<script>alert(1)</script>", "a&b", "c"], settings={"utility": "<b>hard</b>"})._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a&amp;b" in page
    assert "&lt;b&gt;hard" in page


def test_html_of_many_points_shows_both_ends():
    page = make(np.linspace(-1, 1, 101))._repr_html_()
    assert page.count("<tr") <= 13
    shown = [f"<th>{index}</th>" in page for index in (100, 96, 95, 50, 4, 0)]
    assert shown == [True, True, False, False, True, True]


# ----------------------------------------------------------------------------------------------- equality, copies


def test_equals_notices_every_field():
    values = make(error_bound=1e-9, standard_error=[0.1, 0.2, 0.3], ids=["a", "b", "c"])
    assert values.equals(dataclasses.replace(values))
    changes = {
        "values": [0.25, -0.5, 0.5],
        "n_queries": 5,
        "full_utility": 0.8,
        "empty_utility": 0.2,
        "error_bound": 2e-9,
        "standard_error": None,
        "ids": ["a", "b", "d"],
        "vote_resolution": 0.5,
        "recall": 0.75,
        "settings": {**SETTINGS, "k": 6},
    }
    assert set(changes) == {field.name for field in dataclasses.fields(Values)}
    for name, change in changes.items():
        assert not values.equals(dataclasses.replace(values, **{name: change})), name
    assert not values.equals(np.asarray(values))
    assert values != dataclasses.replace(values)  # `==` is identity: two results are compared with equals


def test_equals_tells_dtypes_of_ids_apart():
    assert not make(ids=[1, 2, 3]).equals(make(ids=[1.0, 2.0, 3.0]))
    assert not make(ids=np.array([1, 2, 3], dtype=object)).equals(make(ids=np.array([1.0, 2, 3], dtype=object)))
    assert make(ids=[1.0, math.nan, 3.0]).equals(make(ids=[1.0, math.nan, 3.0]))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda values: pickle.loads(pickle.dumps(values))])
def test_copies_are_equal_and_as_frozen(clone):
    values = make(standard_error=[0.1, 0.2, 0.3], ids=np.array(["a", "b", None], dtype=object))
    twin = clone(values)
    assert twin.equals(values)
    with pytest.raises(ValueError, match="read-only"):
        twin.values[0] = 1.0


# ----------------------------------------------------------------------------------------------- files

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = {
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=True),
    "str": TEXT,
    "bytes": st.binary(max_size=8).filter(lambda raw: not raw.endswith(b"\0")),
    "object of str": st.one_of(st.none(), TEXT),
    "object of int": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    "object of datetime": st.one_of(st.none(), st.datetimes()),
    "object of date": st.dates(),
}


@st.composite
def ids_arrays(draw, size):
    kind = draw(st.sampled_from([*IDS, "numpy datetime", "numpy number"]))
    if kind == "numpy datetime":
        unit = draw(st.sampled_from(["Y", "M", "h", "D", "s", "ms", "us", "ns"]))
        kind = "M" if unit in "YM" else draw(st.sampled_from("Mm"))  # a month has no length
        counts = draw(st.lists(st.integers(-100_000, 100_000), min_size=size, max_size=size))
        return np.array(counts, dtype=np.int64).astype(f"{kind}8[{unit}]")
    if kind == "numpy number":
        dtype = draw(st.sampled_from(["i1", "u2", "i4", "u8", "f2", "f4", ">f8", ">i4"]))
        return draw(hnp.arrays(dtype, size))
    items = draw(st.lists(IDS[kind], min_size=size, max_size=size))
    return np.array(items, dtype=object if kind.startswith("object") else None)


@st.composite
def any_values(draw):
    size = draw(st.integers(1, 12))
    numbers = st.lists(FINITE, min_size=size, max_size=size)
    positive = st.floats(0, 1e300)
    return Values(
        draw(numbers),
        n_queries=draw(st.integers(1, 2**62)),
        full_utility=draw(FINITE),
        empty_utility=draw(FINITE),
        error_bound=draw(positive),
        standard_error=draw(st.none() | st.lists(positive, min_size=size, max_size=size)),
        ids=draw(st.none() | ids_arrays(size)),
        vote_resolution=draw(positive),
        recall=draw(st.none() | st.floats(0, 1)),
        settings=draw(
            st.dictionaries(
                TEXT,
                st.recursive(
                    st.none() | st.booleans() | st.integers() | FINITE | TEXT,
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
                    max_leaves=5,
                ),
                max_size=4,
            )
        ),
    )


@settings(max_examples=150, deadline=None)
@given(values=any_values())
def test_files_give_back_what_was_saved(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("saved") / "values.parquet"
    values.save(path)
    again = Values.load(path)
    assert again.equals(values)
    assert again.values.tobytes() == values.values.tobytes()  # to the last bit, the sign of zero too
    assert again.ids.dtype == values.ids.dtype
    assert [entry.name for entry in path.parent.iterdir()] == ["values.parquet"]


@pytest.mark.parametrize(
    "ids",
    [
        pd.date_range("2020-01-01", periods=3, freq="D", tz="Europe/Paris"),
        np.array([pd.Timestamp(2020, 1, 1, nanosecond=n) for n in (1, 2, 3)], dtype=object),
        pd.date_range("2020-01-01", periods=3, freq="h"),
        pd.Index(["a", "b", "c"]),
        pd.Categorical(["a", "b", "a"]),
        np.array(["a", "", "ccc"], dtype=np.dtypes.StringDType()),
        np.array(["2020-01-01", "NaT", "2020-01-03"], dtype="M8[D]"),
        np.array([np.int64(1), np.int64(2), None], dtype=object),
        np.array(["2020-01-01T05", "2020-01-01T06", "2020-01-01T07"], dtype="M8[h]"),
        np.array([1, -2, 3], dtype="m8[D]"),
        np.array([0.5, 1.5, np.inf], dtype=np.float16),
        np.array([b"a\0b", b"", b"c"]),
    ],
    ids=[
        "zoned",
        "nanoseconds",
        "hours",
        "index",
        "categorical",
        "StringDType",
        "NaT",
        "scalars",
        "numpy hours",
        "durations",
        "half",
        "zero byte",
    ],
)
def test_files_give_back_ids_of_pandas_and_numpy(tmp_path, ids):
    values = make(ids=ids)
    values.save(tmp_path / "values.parquet")
    again = Values.load(tmp_path / "values.parquet")
    assert again.ids.dtype == values.ids.dtype
    for got, expected in zip(again.ids, values.ids, strict=True):
        assert got == expected or (pd.isna(got) and pd.isna(expected))
        assert getattr(got, "tzinfo", None) == getattr(expected, "tzinfo", None)


def test_files_are_plain_parquet(tmp_path):
    values = make(ids=["a", "b", "c"], standard_error=[0.1, 0.2, 0.3])
    values.save(tmp_path / "values.parquet")
    frame = pd.read_parquet(tmp_path / "values.parquet")
    assert frame.columns.tolist() == ["id", "value", "standard_error"]
    assert frame["value"].tolist() == values.values.tolist()
    about = json.loads(pq.read_schema(tmp_path / "values.parquet").metadata[b"pivotal.values"])
    assert about["settings"] == SETTINGS
    assert about["format"] == 1


def test_files_take_text_paths_and_follow_links(tmp_path):
    target = tmp_path / "real.parquet"
    make().save(str(target))
    link = tmp_path / "link.parquet"
    link.symlink_to(target)
    make([1.0, 2.0, 3.0]).save(link)
    assert link.is_symlink()
    assert Values.load(str(target)).values.tolist() == [1.0, 2.0, 3.0]


def test_files_can_be_read_by_others(tmp_path):
    make().save(tmp_path / "values.parquet")
    (tmp_path / "plain").touch()
    assert (tmp_path / "values.parquet").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1, 2.5, 3], dtype=object), r"ids must all be of one type to be saved; got float and int. Turn them"),
        (np.array(["a", math.nan, "c"], dtype=object), r"ids must all be of one type to be saved; got float and str"),
        (np.array([Fraction(1), Fraction(2), Fraction(3)]), r"ids of type Fraction cannot be saved; turn them"),
        (np.array([2**70, 1, 2], dtype=object), r"ids of dtype object cannot be saved \(.*\); turn them into strings"),
        (np.array(["\ud800", "b", "c"], dtype=object), r"ids of dtype object cannot be saved \(.*\); turn them"),
        (
            np.array([1, 2, 3], dtype="M8[ps]"),
            r"ids of dtype datetime64\[ps\] cannot be saved \(whole seconds do not hold",
        ),
        (np.array([1j, 2j, 3j]), r"ids of dtype complex128 cannot be saved \(.*\); turn them into strings first"),
    ],
)
def test_ids_that_parquet_cannot_hold_are_refused(tmp_path, ids, message):
    with pytest.raises(TypeError, match=message):
        make(ids=ids).save(tmp_path / "values.parquet")
    assert not any(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------- failing disks


def test_saving_to_a_directory_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"cannot write to .*: it is a directory; give a file name such as"):
        make().save(tmp_path)


def test_saving_into_no_directory_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"cannot write .*: the directory .*nowhere does not exist; create it"):
        make().save(tmp_path / "nowhere" / "values.parquet")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=r"the directory .*file does not exist"):
        make().save(tmp_path / "file" / "values.parquet")


def test_a_failing_rename_leaves_nothing_behind(tmp_path):
    with pytest.raises(OSError, match=r"cannot write .*: File name too long; nothing was changed on disk"):
        make().save(tmp_path / ("x" * 250 + ".parquet"))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), OSError("disk on fire")])
def test_a_full_disk_keeps_the_older_file(tmp_path, monkeypatch, failure):
    path = tmp_path / "values.parquet"
    make().save(path)

    def fail(_table, file, **_options):
        file.write(b"PAR1 half a file")
        raise failure

    monkeypatch.setattr(_arrow.pq, "write_table", fail)
    reason = failure.strerror or str(failure)
    with pytest.raises(OSError, match=rf"cannot write .*values.parquet: {reason}; nothing was changed on disk"):
        make([1.0, 2.0, 3.0]).save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["values.parquet"]
    assert Values.load(path).equals(make())


def test_ctrl_c_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_table, file, **_options):
        file.write(b"PAR1")
        raise KeyboardInterrupt

    monkeypatch.setattr(_arrow.pq, "write_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        make().save(tmp_path / "values.parquet")
    assert not any(tmp_path.iterdir())


def test_an_unwritable_directory_is_named(tmp_path, monkeypatch):
    def refuse(_path, _mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # modes of directories do not stop an administrator
    with pytest.raises(OSError, match=r"cannot write .*values.parquet: Permission denied; nothing was changed"):
        make().save(tmp_path / "values.parquet")


# ----------------------------------------------------------------------------------------------- files not to be read


def test_loading_needs_a_file(tmp_path):
    for path in (tmp_path / "nothing.parquet", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"cannot read .*: there is no such file"):
            Values.load(path)


@pytest.mark.parametrize("content", [b"", b"id,value\n1,2\n", b"PAR1", b"PAR1" + bytes(100) + b"PAR1"])
def test_loading_needs_parquet(tmp_path, content):
    path = tmp_path / "values.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"values.parquet is not a Parquet file; give a file written by Values.save"):
        Values.load(path)


def test_loading_needs_a_whole_file(tmp_path):
    path = tmp_path / "values.parquet"
    make().save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"is not a Parquet file"):
        Values.load(path)


def test_loading_needs_our_own_parquet(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"id": [1], "value": [2.0]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"is a Parquet file but holds no pivotal values; give a file written by"):
        Values.load(path)


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "values.parquet"
    make(np.random.default_rng(0).normal(size=1000)).save(path)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


def rewrite(path, about=None, **columns):
    """Save the file again with other metadata or columns."""
    table = pq.read_table(path)
    metadata = table.schema.metadata
    for name, column in columns.items():
        place = table.column_names.index(name)
        table = table.remove_column(place) if column is None else table.set_column(place, name, column)
    if about is not None:
        metadata = {b"pivotal.values": about if isinstance(about, bytes) else json.dumps(about).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def test_a_newer_format_asks_for_an_upgrade(tmp_path):
    path = tmp_path / "values.parquet"
    make().save(path)
    about = json.loads(pq.read_schema(path).metadata[b"pivotal.values"])
    rewrite(path, {**about, "format": 2})
    with pytest.raises(ValueError, match=r"has format 2, newer than 1, which this pivotal reads; upgrade pivotal"):
        Values.load(path)


@pytest.mark.parametrize("about", [b"not json", b"[]", b"{}", {"format": "x"}, {"format": 1}])
def test_damaged_metadata_is_noticed(tmp_path, about):
    path = tmp_path / "values.parquet"
    make().save(path)
    rewrite(path, about)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


@pytest.mark.parametrize("columns", [{"value": None}, {"id": None}, {"value": pa.array([1.0, math.nan, 2.0])}])
def test_damaged_columns_are_noticed(tmp_path, columns):
    path = tmp_path / "values.parquet"
    make().save(path)
    rewrite(path, **columns)
    with pytest.raises(ValueError, match=r"values.parquet is damaged \(.+\); save the values again"):
        Values.load(path)


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    path = tmp_path / "values.parquet"
    make().save(path)

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_arrow.pq, "read_schema", refuse)
    with pytest.raises(PermissionError, match=r"cannot read .*values.parquet: Permission denied"):
        Values.load(path)
