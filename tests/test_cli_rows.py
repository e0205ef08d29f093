"""`select`, `remove`, `pay` and `clean`: rows of a table that come out as they went in."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import pivotal
from pivotal.analysis import payouts
from pivotal.analysis.label_errors import find_label_errors
from pivotal.cli import main
from pivotal.cli.select_command import choose


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    label = np.repeat([0, 1], 30)
    X = (rng.normal(size=(60, 2)) + 4 * label[:, np.newaxis]).round(3)
    wrong = label.copy()
    wrong[[4, 17, 44]] ^= 1
    return pd.DataFrame(
        {
            "key": [f"{row:03d}" for row in range(60)],
            "x": X[:, 0],
            "y": X[:, 1],
            "owner": np.array(["ann", "bob", "eve"])[np.arange(60) % 3],
            "animal": np.array(["cat", "dog"])[wrong],
        }
    )


@pytest.fixture
def table(tmp_path, frame):
    """A file with its own delimiter, numbers written in their own way, and cells in quotes."""
    path = tmp_path / "train.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\n")
        writer.writerow([*frame.columns, "note"])
        for row in frame.itertuples(index=False):
            writer.writerow([row.key, f"{row.x:+.5f}", f"{row.y:e}", row.owner, row.animal, f'no. "{row.key}"; free'])
    return str(path)


@pytest.fixture
def features(frame):
    # As the file has them: to five decimals they are what they were.
    return StandardScaler().fit_transform(frame[["x", "y"]].to_numpy())


RANKING = ["select", "-o", "OUT", "--method", "value"]
COMMON = ["--label", "animal", "--features", "x,y", "--text", "note", "--id", "key"]


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_select_keeps_the_most_valuable_rows(tmp_path, frame, table, features, capsys):
    out = tmp_path / "best.csv"
    assert main(["select", table, "-n", "10", "--method", "value", *COMMON, "-o", str(out)]) == 0
    best = sorted(pivotal.value(features, frame["animal"]).order()[:10])
    whole = lines(tmp_path / "train.csv")
    assert lines(out) == [whole[0], *(whole[1 + row] for row in best)]
    assert capsys.readouterr().out.endswith(f"Written: {out} (10 of 60 rows)\n")


def test_select_from_a_warm_start(tmp_path, frame, table, features):
    out = tmp_path / "best.csv"
    ranking = ["select", table, "--size", "10", "--method", "value"]
    assert main([*ranking, "--warm-start", "4", "--seed", "5", *COMMON, "-o", str(out)]) == 0
    warm = np.random.default_rng(5).permutation(60)[:4]
    best = [row for row in pivotal.value(features, frame["animal"]).order() if row not in warm][:6]
    whole = lines(tmp_path / "train.csv")
    assert lines(out)[1:] == [whole[1 + row] for row in sorted([*warm, *best])]


def test_select_by_class(tmp_path, frame, table, features):
    out = tmp_path / "best.csv"
    ranking = ["select", table, "-n", "11", "--method", "value", "--by-class"]
    assert main([*ranking, *COMMON, "-o", str(out), "--quiet"]) == 0
    ranked = pivotal.value(features, frame["animal"]).order()
    labels = frame["animal"].to_numpy()
    counts = {animal: round(11 * np.mean(labels == animal)) for animal in ("cat", "dog")}
    best = [row for animal in ("cat", "dog") for row in ranked[labels[ranked] == animal][: counts[animal]]]
    whole = lines(tmp_path / "train.csv")
    assert lines(out)[1:] == [whole[1 + row] for row in sorted(best)]


@pytest.mark.parametrize(("n", "n_warm"), [(1, 0), (5, 0), (7, 3), (10, 10), (10, 4)])
def test_every_class_gets_its_share(n, n_warm):
    values = pivotal.Values(np.arange(10.0), n_queries=1, full_utility=1.0, empty_utility=0.0)
    classes = np.array(list("aaaaaabbbc"), dtype=object)
    warm, added = choose(values, n, n_warm, 0, classes)
    assert len(warm) == n_warm
    assert len({*warm.tolist(), *added.tolist()}) == n
    left = np.setdiff1d(np.arange(10), warm)
    for name in "abc":
        fair = (n - n_warm) * np.sum(classes[left] == name) / max(1, len(left))
        assert abs(np.sum(classes[added] == name) - fair) < 1
        best = [row for row in left[::-1] if classes[row] == name]
        assert [row for row in added if classes[row] == name] == best[: np.sum(classes[added] == name)]


def test_remove_drops_the_least_valuable_rows(tmp_path, frame, table, features):
    out = tmp_path / "kept.csv"
    assert main(["remove", table, "--share", "0.1", *COMMON, "--utility", "soft", "-o", str(out), "--quiet"]) == 0
    gone = pivotal.value(features, frame["animal"], utility="soft").order()[::-1][:6]
    whole = lines(tmp_path / "train.csv")
    assert lines(out) == [whole[0], *(whole[1 + row] for row in range(60) if row not in gone)]
    assert {4, 17, 44} <= set(gone)


@pytest.mark.parametrize("command", ["remove", "select"])
def test_held_out_rows_judge_and_take_no_part(tmp_path, frame, table, features, capsys, command):
    test = tmp_path / "test.csv"
    rare = [0, 4, 8, *range(30, 60, 3)]  # balanced and plain accuracy differ
    frame.iloc[rare].assign(x=lambda rows: rows["x"] + 2).to_csv(test, index=False)
    apart, with_test = tmp_path / "apart.csv", tmp_path / "with.csv"
    arguments = [command, table, "-n", "7", *COMMON[:4], "-k", "3", "--utility", "soft"]
    arguments += ["--method", "value"] if command == "select" else []
    assert main([*arguments, "-o", str(apart)]) == 0
    capsys.readouterr()
    assert main([*arguments, "--test", str(test), "-o", str(with_test)]) == 0
    assert apart.read_bytes() == with_test.read_bytes()
    said = capsys.readouterr().out
    assert "\nAccuracy of 3 nearest neighbours on 13 test rows: with all 60 rows " in said
    found = re.findall(r"with all 60 rows ([\d.]+), with.* ([\d.]+), with.* at random [\d.]+\.\n", said)
    assert len(found) == 2  # accuracy, and balanced
    every, some = ([float(scores[place]) for scores in found] for place in (0, 1))
    scaler = StandardScaler().fit(frame[["x", "y"]].to_numpy())
    queries = pd.read_csv(test)
    ranked = pivotal.value(features, frame["animal"], k=3, utility="soft").order()
    kept = ranked[:-7] if command == "remove" else ranked[:7]
    for rows, scores in ((np.arange(60), every), (kept, some)):
        model = KNeighborsClassifier(3).fit(features[rows], frame["animal"].to_numpy()[rows])
        predicted = model.predict(scaler.transform(queries[["x", "y"]].to_numpy()))
        expected = (accuracy_score(queries["animal"], predicted), balanced_accuracy_score(queries["animal"], predicted))
        assert scores == pytest.approx(expected, abs=5e-5)


def test_rows_held_out_by_a_split(tmp_path, table, capsys):
    kept, best = tmp_path / "kept.csv", tmp_path / "best.csv"
    assert main(["remove", table, "-n", "5", "--split", "0.25", *COMMON, "-o", str(kept)]) == 0
    assert len(lines(kept)) == 1 + 55  # those held out have no value and stay
    assert main(["select", table, "-n", "5", "--split", "0.25", *COMMON, "-o", str(best)]) == 0
    assert len(lines(best)) == 1 + 5
    said = capsys.readouterr().out
    assert said.count("\nAccuracy of 5 nearest neighbours on 15 test rows: with all 45 rows") == 2
    assert said.count("\nBalanced accuracy of 5 nearest neighbours on 15 test rows: with all 45 rows") == 2


def test_numbers_are_judged_by_r2(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["remove", str(tmp_path / "t.csv"), "-n", "5", "--label", "x", "--utility", "regression"]
    assert main([*arguments, "--split", "0.25", "--ignore", "key", "-o", str(tmp_path / "kept.csv")]) == 0
    assert re.search(r"R² of 5 nearest neighbours on 15 test rows: ", capsys.readouterr().out)


def test_every_format_comes_out_as_it_went_in(tmp_path, frame):
    records = [json.dumps(row) for row in frame.to_dict("records")]
    (tmp_path / "t.jsonl").write_text("\n".join(records), encoding="utf-8")
    frame.to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=frame[["x", "y"]].to_numpy(), y=frame["animal"].to_numpy(dtype=str))
    kept = {}
    for kind in ("jsonl", "parquet", "npz"):
        label = [] if kind == "npz" else ["--label", "animal", "--features", "x,y"]
        out = tmp_path / f"out.{kind}"
        assert main(["remove", str(tmp_path / f"t.{kind}"), "-n", "20", *label, "-o", str(out), "--quiet"]) == 0
        kept[kind] = out
    left = [records.index(line) for line in lines(kept["jsonl"])]
    assert len(left) == 40
    assert pd.read_parquet(kept["parquet"]).equals(frame.iloc[left].reset_index(drop=True))
    with np.load(kept["npz"]) as arrays:
        assert np.array_equal(arrays["X"], frame[["x", "y"]].to_numpy()[left])
        assert arrays["y"].tolist() == frame["animal"].iloc[left].tolist()


def test_a_budget_is_shared(tmp_path, frame, table, features, capsys):
    out = tmp_path / "pay.csv"
    arguments = ["pay", table, "--owner", "owner", "--budget", "1000", *COMMON]
    assert main([*arguments, "--decimals", "2", "-o", str(out)]) == 0
    values = pivotal.value(features, frame["animal"], semivalue="shapley")
    expected = payouts(values, frame["owner"].to_numpy(), budget=1000, decimals=2)
    written = pd.read_csv(out, dtype=str)
    assert written["owner"].tolist() == expected.index.tolist()
    assert written["payout"].tolist() == [str(payout) for payout in expected["payout"]]
    assert sum(round(100 * float(payout)) for payout in written["payout"]) == 100_000
    assert main([*arguments, "--non-negative", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[-4].startswith("owner")


def test_a_budget_in_json(tmp_path, table):
    out = tmp_path / "pay.json"
    assert main(["pay", table, "--owner", "owner", "--decimals", "2", *COMMON, "-o", str(out), "--quiet"]) == 0
    assert sum(round(100 * row["payout"]) for row in json.loads(out.read_text(encoding="utf-8"))) == 100


def test_nothing_to_share(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,who,y\n0,ann,0\n1,bob,1\n2,ann,0\n3,bob,1\n", encoding="utf-8")
    arguments = ["pay", str(tmp_path / "t.csv"), "--owner", "who", "--label", "y", "-k", "1", "--utility", "soft"]
    assert main(arguments) == 2
    assert "payouts need values that add up to more than 0" in capsys.readouterr().err


def test_clean_lists_the_wrong_labels(tmp_path, frame, table, features, capsys):
    out = tmp_path / "suspects.csv"
    before = (tmp_path / "train.csv").read_bytes()
    assert main(["clean", table, *COMMON, "--trees", "0", "-k", "5", "-o", str(out)]) == 0
    found = find_label_errors(features, frame["animal"], n_trees=0, k=5, ids=frame["key"].to_numpy())
    written = pd.read_csv(out, dtype={"id": str})
    assert written["id"].tolist() == frame["key"].to_numpy()[found.suspects].tolist()
    assert {"017", "044"} <= set(written["id"])
    assert written["suggested"].tolist() == found.suggested[found.suspects].tolist()
    assert written["why"].tolist() == [found.explain(row) for row in found.suspects]
    printed = capsys.readouterr().out
    assert printed.startswith(f"{len(written)} of 60 labels are suspects, {found.precision():.0%} of them expected")
    assert written["error_chance"].tolist() == pytest.approx(found.error_chances[found.suspects])
    assert "044  cat    dog" in printed
    assert (tmp_path / "train.csv").read_bytes() == before


def test_clean_writes_corrected_copies(tmp_path, table):
    fixed, kept = tmp_path / "fixed.csv", tmp_path / "kept.csv"
    arguments = ["clean", table, *COMMON, "--trees", "0", "-n", "3", "--quiet"]
    assert main([*arguments, "--fix", str(fixed), "--drop", str(kept)]) == 0
    whole = lines(tmp_path / "train.csv")
    changed = {
        row: (old, new) for row, (old, new) in enumerate(zip(whole[1:], lines(fixed)[1:], strict=True)) if old != new
    }
    assert sorted(changed) == [4, 17, 44]
    for old, new in changed.values():
        pair = ("cat", "dog") if ";dog;" in new else ("dog", "cat")
        assert new == old.replace(f";{pair[0]};", f";{pair[1]};")
    assert lines(kept) == [line for row, line in enumerate(whole, start=-1) if row not in changed]


def test_clean_writes_labels_as_the_table_does(tmp_path, frame):
    codes = frame.assign(animal=np.where(frame["animal"] == "cat", "01", "02"))
    codes.drop(columns="owner").to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "fixed.csv"
    arguments = ["clean", str(tmp_path / "t.csv"), "--label", "animal", "--id", "key", "--trees", "0", "-n", "3"]
    assert main([*arguments, "--quiet", "--fix", str(out)]) == 0
    assert set(pd.read_csv(out, dtype=str)["animal"]) == {"01", "02"}


def test_clean_can_be_asked_by_scripts(tmp_path, table, capsys):
    arguments = ["clean", table, *COMMON, "--trees", "0", "--quiet", "--check"]
    assert main(arguments) == 1
    assert capsys.readouterr() == ("", "")
    assert main([*arguments, "--odds", "1e9", "--drop", str(tmp_path / "kept.csv")]) == 0


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"share": 1.0}, "The 60 most suspicious of 60 labels, {0} of them expected to be wrong; {1}."),
        ({"n": 7}, "The 7 most suspicious of 60 labels, {0} of them expected to be wrong; {1}."),
        ({"n": 1}, "The most suspicious of 60 labels; {1}."),
        ({}, "{2} of 60 labels are suspects, {0} of them expected to be wrong; {1}."),
    ],
)
def test_clean_does_not_call_wrong_what_was_asked_for_by_number(frame, table, features, capsys, asked, sentence):
    number = [part for name, choice in asked.items() for part in (f"--{name}", str(choice))]
    assert main(["clean", table, *COMMON, "--trees", "0", "-k", "5", *number]) == 0
    found = find_label_errors(features, frame["animal"], n_trees=0, k=5, **asked)
    n = found.n_wrong
    wrong = f"an estimated {n.count:.0f} are wrong ({n.low:.0f} to {n.high:.0f})"
    told = capsys.readouterr().out.splitlines()[0]
    assert told == sentence.format(f"{found.precision():.0%}", wrong, found.suspects.size)
    assert "probably" not in told


def test_clean_claims_no_number_where_features_hardly_predict_the_labels(tmp_path, capsys):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc")).assign(kind=rng.choice(["x", "y"], 200))
    table.to_csv(tmp_path / "chance.csv", index=False)
    assert (
        main(["clean", str(tmp_path / "chance.csv"), "--label", "kind", "--trees", "0", "--top", "0", "-n", "9"]) == 0
    )
    sentence = capsys.readouterr().out.splitlines()[0]
    assert re.search(r", at most \d+% of them expected to be wrong; at most \d+ are wrong: features hardly", sentence)


def test_clean_lists_all_rows_with_their_scores(tmp_path, frame, table, features):
    out = tmp_path / "scores.csv"
    assert main(["clean", table, *COMMON, "--trees", "0", "--all", "-o", str(out), "--quiet"]) == 0
    found = find_label_errors(features, frame["animal"], n_trees=0, ids=frame["key"].to_numpy())
    written = pd.read_csv(out, dtype={"id": str}, converters={"score": float})  # to the last digit
    assert written["id"].tolist() == found.ids[found.order].tolist()
    np.testing.assert_array_equal(written["score"], found.scores[found.order])
    assert written["suspect"].sum() == found.suspects.size


def test_clean_prints_what_was_asked_for_even_when_quiet(table, capsys):
    assert main(["clean", table, *COMMON, "--trees", "0", "-n", "4", "--quiet", "--top", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4  # title, header, two rows
    assert main(["clean", table, *COMMON, "--trees", "0", "-n", "4", "--top", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert main(["clean", table, *COMMON, "--trees", "0", "-n", "4", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def prices(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    price = (100 + 20 * X.sum(axis=1) + rng.normal(size=80)).round(1)
    price[7] *= 10
    pd.DataFrame(X, columns=["a", "b"]).assign(price=price).to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def test_clean_on_numbers_gives_advice_that_works(tmp_path, capsys):
    table = prices(tmp_path)
    assert main(["clean", table, "--label", "price"]) == 2
    advice = re.search(r"say (--utility regression) to look for wrong numbers, or --classes", capsys.readouterr().err)
    assert advice is not None
    out, fixed = tmp_path / "suspects.csv", tmp_path / "fixed.csv"
    arguments = ["clean", table, "--label", "price", *advice[1].split(), "--trees", "20"]
    assert main([*arguments, "-o", str(out), "--fix", str(fixed), "--counts", str(tmp_path / "counts.csv")]) == 0
    assert "numbers" in capsys.readouterr().out.splitlines()[0]
    written = pd.read_csv(out)
    assert written["id"][0] == 7
    before, after = pd.read_csv(table), pd.read_csv(fixed)
    assert after["price"][7] == pytest.approx(before["price"][7] / 10, rel=0.2)
    rest = ~before.index.isin(written["id"])
    assert (after["price"] == before["price"])[rest].all()
    assert pd.read_csv(tmp_path / "counts.csv")["by"].tolist() == ["all"]


@pytest.mark.parametrize(("answer", "code"), [("\n", 0), ("yes\n", 0), ("n\n", 2), ("", 0)])
def test_clean_asks_about_numbers_where_somebody_can_answer(tmp_path, monkeypatch, capsys, answer, code):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    table = prices(tmp_path)
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["clean", table, "--label", "price", "--trees", "0"]) == code
    captured = capsys.readouterr()
    assert "Look for wrong numbers? [Y/n]" in captured.err
    assert ("numbers" in captured.out) == (code == 0)


def test_clean_counts_by_class_owner_and_pair(tmp_path, frame, table, features, capsys):
    out = tmp_path / "counts.csv"
    arguments = ["clean", table, *COMMON, "--trees", "0", "--owner", "owner", "--counts", str(out)]
    assert main(arguments) == 0
    assert "Wrong labels expected, by owner" in capsys.readouterr().out
    found = find_label_errors(features, frame["animal"], n_trees=0)
    counts = pd.read_csv(out, keep_default_na=False)
    total = counts[counts["by"] == "all"].iloc[0]
    assert float(total["wrong"]) == pytest.approx(found.n_wrong.count)
    for by in ("class", "owner", "pair"):
        assert counts.loc[counts["by"] == by, "wrong"].astype(float).sum() == pytest.approx(found.n_wrong.count)
    pair = counts[(counts["by"] == "pair") & (counts["name"] == "cat") & (counts["suggested"] == "dog")]
    assert float(pair["wrong"].iloc[0]) == pytest.approx(found.confusion().loc["cat", "dog"])


def test_clean_lets_voters_be_chosen(table, capsys):
    assert main(["clean", table, *COMMON, "--voters", "linear,rbf", "--verbose", "--top", "0"]) == 0
    assert re.search(r"votes: linear 0\.\d+, rbf 0\.\d+", capsys.readouterr().err)
    assert main(["clean", table, *COMMON, "--voters", "psychic"]) == 2
    assert "voters must be some of neighbors, forest, linear, rbf, laplace; got 'psychic'" in capsys.readouterr().err


def test_clean_on_stdout(table, capsys):
    assert main(["clean", table, *COMMON, "--trees", "0", "--fix", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "key;x;y;owner;animal;note"
    assert len(captured.out.splitlines()) == 61
    assert re.search(r"\d+ of 60 labels (is a suspect|are suspects, \d+% of them expected to be wrong);", captured.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["select"], "say where to write the rows with -o"),
        (["select", "-o", "OUT"], "say how many rows to keep, for example --size 10% or -n 1000"),
        ([*RANKING, "-n", "0"], "-n must be between 1 and the 60 rows there are to select from; got 0"),
        ([*RANKING, "-n", "61"], "-n must be between 1 and the 60 rows"),
        ([*RANKING, "-n", "5", "--warm-start", "6"], "--warm-start must be between 0 and the 5 rows to keep"),
        ([*RANKING, "-n", "5", "--by-class", "--utility", "regression", "--label", "x"], "--by-class needs"),
        ([*RANKING, "-n", "5", "--quotas", "data"], "--quotas is no part of a ranking by value; omit it"),
        (["select", "-o", "OUT", "--size", "0"], "size must be an integer from 1 to 60"),
        (["select", "-o", "OUT", "--size", "many"], "size must be an integer from 1 to 60"),
        (["select", "-o", "OUT", "--size", "5", "-n", "5"], "not allowed with argument"),
        (["select", "-o", "OUT", "--keep", "2"], "keep must be"),
        (["select", "-o", "OUT", "-n", "5", "--method", "best"], "--method must be one of exchange"),
        (
            ["select", "-o", "OUT", "-n", "5", "--utility", "soft"],
            "--utility is only for a ranking by value; add --method",
        ),
        (["select", "-o", "OUT", "-n", "5", "--warm-start", "2"], "--warm-start is only for a ranking by value"),
        (["select", "-o", "OUT", "-n", "5", "--price", "x"], "--price and --budget go together"),
        (
            ["select", "-o", "OUT", "--budget", "9", "--price", "owner"],
            "--price must name a column of numbers; got 'ann'",
        ),
        (["select", "-o", "OUT", "-n", "5", "--group", "ownr"], "did you mean 'owner'?"),
        (["select", "-o", "OUT", "-n", "5", "--for-test"], "--for-test serves test rows"),
        (["select", "-o", "OUT", "-n", "5", "--report", "OUT"], "outputs must go to different files"),
        (["select", "-o", "TABLE", "-n", "5"], "is read from and must not be written over"),
        (["remove", "-n", "3"], "say where to write the rows with -o"),
        (["remove", "-o", "OUT", "--utility", "soft"], "--utility is for removing a number of rows; add --share 0.1"),
        (["remove", "-o", "OUT", "-n", "60"], "the rows to remove must be between 1 and 59, one less than there are"),
        (["remove", "-o", "OUT", "--share", "1.5"], "--share must be between 0 and 1, such as 0.1; got 1.5"),
        (["remove", "-o", "OUT", "--share", "0.001"], "the rows to remove must be between 1 and 59"),
        (["remove", "-o", "OUT", "-n", "3", "--share", "0.1"], "not allowed with argument"),
        (["remove", "-o", "TABLE", "-n", "3"], "is read from and must not be written over"),
        (["remove", "-o", "out.npz", "-n", "3"], "cannot be written as NumPy arrays"),
        (
            ["remove", "-o", "OUT", "-n", "3", "--split", "0.2", "--method", "inf"],
            "--method inf needs test rows to value by",
        ),
        (["pay"], "say which column names the owners with --owner"),
        (["pay", "--owner", "owne"], "did you mean 'owner'?"),
        (["pay", "--owner", "owner", "--budget", "-1"], "budget must be"),
        (["pay", "--owner", "owner", "-o", "x.npz"], "results cannot be written to x.npz"),
        (["clean", "--top", "-1"], "--top must be an integer of at least 0; got -1"),
        (["clean", "--share", "2"], "share must"),
        (["clean", "--all"], "--all is about the list that -o writes; say where"),
        (["clean", "--fix", "TABLE"], "is read from and must not be written over"),
        (["clean", "--drop", "TABLE"], "is read from and must not be written over"),
        (["clean", "--fix", "-", "--drop", "-"], "only one output can go to standard output"),
    ],
)
def test_what_cannot_be_done(tmp_path, monkeypatch, table, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "train.csv").read_bytes()
    places = {"OUT": str(tmp_path / "out.csv"), "TABLE": table}
    command, *options = (places.get(word, word) for word in arguments)
    assert main([command, table, *COMMON, "--quiet", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pivotal: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert list(tmp_path.iterdir()) == [tmp_path / "train.csv"]
    assert (tmp_path / "train.csv").read_bytes() == before
