"""Texts, images and vectors in files of their own as features, beside numbers and categories, none of them drowned."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances

import pivotal
from pivotal import embed
from pivotal.cli import main
from pivotal.tables import Roles, Table, prepare
from pivotal.tables.embedding import Embedding
from pivotal.tables.vectors_beside import with_embeddings

SPORT = ["the striker scored a late goal", "the keeper saved the penalty", "a goal in the second half", "the team won"]
WEATHER = ["rain and wind in the north", "a sunny day with light wind", "heavy rain is expected", "snow in the hills"]


def texts(n=40, seed=0):
    """Return sentences of two kinds, no two alike, and which kind each is of."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(n) % 2
    return [
        f"{rng.choice((SPORT, WEATHER)[kind])} {rng.choice(SPORT + WEATHER)[:6]} {n}" for n, kind in enumerate(kinds)
    ], kinds


def table_of(folder=None, **columns):
    return Table(pa.table(columns), "t.csv", "csv", folder=folder)


def done(prepared):
    return {one.column: one.done for one in prepared.treatments}


def write_images(folder, n=24):
    """Write light and dark images into a folder, and return their names and which each is."""
    rng = np.random.default_rng(0)
    kinds, names = np.arange(n) % 2, []
    for place, kind in enumerate(kinds):
        pixels = rng.integers(0, 80, (12, 12, 3)) + 150 * kind
        names.append(f"{place}.png")
        Image.fromarray(pixels.astype(np.uint8)).save(folder / names[-1])
    return names, kinds


def test_a_table_of_text_alone_is_embedded():
    words, kinds = texts()
    prepared = prepare(table_of(text=words, y=[str(kind) for kind in kinds]), None, Roles("y"))
    assert sparse.issparse(prepared.X)
    alone = embed.TfidfText().fit_transform(words)
    assert np.array_equal(prepared.X.toarray(), alone.toarray())
    assert done(prepared)["text"].startswith("TF-IDF of words and character n-grams, ")
    assert prepared.text == words  # and it is still there to be read


def test_text_is_the_only_feature_where_others_are_constant():
    words, kinds = texts()
    prepared = prepare(table_of(text=words, lang=["en"] * 40, y=[str(kind) for kind in kinds]), None, Roles("y"))
    assert done(prepared)["lang"] == "omitted: constant"
    assert done(prepared)["text"].startswith("TF-IDF")


def test_text_beside_numbers_is_offered_asked_for_or_turned_down():
    words, kinds = texts()
    table = table_of(text=words, x=np.arange(40.0) % 7, y=[str(kind) for kind in kinds])
    for roles, used in (
        (Roles("y"), False),
        (Roles("y", embedding=Embedding.of("none")), False),
        (Roles("y", embedding=Embedding.of("tfidf"), text=["text"]), False),
        (Roles("y", embedding=Embedding.of("tfidf"), features=["x"]), False),
        (Roles("y", embedding=Embedding.of("tfidf")), True),
        (Roles("y", embedding=Embedding.of("text=tfidf:5")), True),
        (Roles("y", features=["x", "text"]), True),
    ):
        prepared = prepare(table, None, roles)
        assert (prepared.X.shape[1] > 1) == used, roles
        assert ("weighed to count as much as all numbers" in done(prepared)["text"]) == used
    assert done(prepare(table, None, Roles("y")))["text"].endswith("--embed tfidf makes features of it")


def sentences(n=60, seed=0):
    words, kinds = texts(n, seed)
    return [f"{one}, we hear from those who were there today" for one in words], kinds


def test_sentences_beside_numbers_are_features_without_being_asked_for():
    words, kinds = sentences()
    names = [f"Ann B. Smith, {i} Long Street" for i in range(60)]
    table = table_of(text=words, name=names, x=np.arange(60.0) % 7, y=[str(kind) for kind in kinds])
    prepared = prepare(table, None, Roles("y"))
    said = done(prepared)
    assert prepared.X.shape[1] > 100
    assert said["text"].startswith("TF-IDF")
    assert "weighed to count as much as all numbers" in said["text"]
    assert said["name"].endswith("--embed tfidf makes features of it")
    for roles in (
        Roles("y", embedding=Embedding.of("none")),
        Roles("y", text=["text"]),
        Roles("y", features=["x"]),
        Roles("y", embedding=Embedding.of("name=tfidf")),  # who names one column has spoken of all
    ):
        assert not done(prepare(table, None, roles))["text"].startswith("TF-IDF"), roles


def test_vectors_beside_a_table_stand_for_its_sentences(tmp_path):
    words, kinds = sentences()
    np.save(tmp_path / "emb.npy", np.eye(60)[:, :5])
    table = table_of(tmp_path, text=words, y=[str(kind) for kind in kinds])
    prepared = prepare(with_embeddings(table, [str(tmp_path / "emb.npy")]), None, Roles("y"))
    assert prepared.X.shape[1] == 5


def test_sentences_in_half_of_the_cells_and_gaps():
    words, kinds = sentences()
    y = [str(kind) for kind in kinds]
    x = np.arange(60.0) % 7
    for short, used in ((20, True), (40, False)):
        mixed = [f"ok {i}" if i < short else word for i, word in enumerate(words)]
        prepared = prepare(table_of(text=mixed, x=x, y=y), None, Roles("y"))
        assert done(prepared)["text"].startswith("TF-IDF") == used
    gaps = [None if i % 4 else word for i, word in enumerate(words)]
    assert done(prepare(table_of(text=gaps, x=x, y=y), None, Roles("y")))["text"].startswith("TF-IDF")
    typed = pa.array(words).dictionary_encode()
    assert done(prepare(table_of(text=typed, x=x, y=y), None, Roles("y")))["text"].startswith("TF-IDF")


def test_wrong_labels_of_sentences_beside_numbers_are_found():
    words, kinds = sentences(200)
    rng = np.random.default_rng(1)
    wrong = rng.choice(200, 10, replace=False)
    given = kinds.copy()
    given[wrong] = 1 - given[wrong]
    frame = pd.DataFrame({"text": words, "price": rng.normal(size=200), "shop": rng.choice(list("abc"), 200)})
    errors = pivotal.clean(frame.assign(y=[f"c{kind}" for kind in given]), label="y")
    assert len(set(np.argsort(errors.scores)[:10]) & set(wrong)) >= 9


def test_no_block_drowns_another():
    """Numbers and text together know more than either; side by side as they stand, text is lost."""
    rng = np.random.default_rng(0)
    n = 300
    kinds = rng.integers(0, 4, n)
    words = [f"{rng.choice((SPORT, WEATHER)[kind // 2])} {rng.integers(1000)}" for kind in kinds]
    numbers = rng.normal(size=(n, 6)) + 1.4 * (kinds % 2)[:, np.newaxis]
    table = table_of(text=words, **{f"x{i}": numbers[:, i] for i in range(6)}, y=[str(kind) for kind in kinds])
    both = prepare(table, None, Roles("y", embedding=Embedding.of("tfidf")))
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    plain = np.hstack([scaled, embed.TfidfText().fit_transform(words).toarray()])

    def right(X):
        squares = euclidean_distances(X, squared=True)
        np.fill_diagonal(squares, np.inf)
        nearest = np.argsort(squares, axis=1)[:, :9]
        return np.mean([np.bincount(kinds[row]).argmax() == kind for row, kind in zip(nearest, kinds, strict=True)])

    weighed = right(both.X)
    assert weighed > 0.85
    assert weighed > right(plain) + 0.1
    assert weighed > right(scaled) + 0.2


def test_what_is_learned_is_learned_from_training_rows():
    words, kinds = texts()
    y = [str(kind) for kind in kinds]
    train = table_of(text=words[:30], x=np.arange(30.0) % 7, y=y[:30])
    test = table_of(text=words[30:], x=np.arange(30.0, 40.0) % 7, y=y[30:])
    roles = Roles("y", embedding=Embedding.of("tfidf"))
    prepared = prepare(train, test, roles)
    other = prepare(train, test.take(np.arange(3)), roles)
    assert np.array_equal(prepared.X.toarray(), other.X.toarray())
    assert np.array_equal(prepared.X_test[:3].toarray(), other.X_test.toarray())


def test_images_are_found_beside_the_table_and_missing_ones_are_counted(tmp_path):
    names, kinds = write_images(tmp_path)
    (tmp_path / "broken.png").write_bytes(b"no image")
    names = [*names, "broken.png", "nowhere.png", "../outside.png", None]
    y = [*(str(kind) for kind in kinds), "0", "1", "0", "1"]
    prepared = prepare(table_of(tmp_path, photo=names, y=y), None, Roles("y"))
    assert prepared.X.shape[0] == 28
    assert "principal components of histograms" in done(prepared)["photo"]
    told = (
        "4 images are not embedded: 1 without a path, 1 outside of the folder of images, 1 missing, 1 not readable as"
    )
    assert told in done(prepared)["photo"]
    off = prepared.X - prepared.X[:24].mean(axis=0)
    assert np.allclose((off[24:] ** 2).sum(axis=1), (off[:24] ** 2).sum(axis=1).mean(), rtol=1e-3)
    assert prepared.images == names


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "columns"])
def test_vectors_in_a_file_of_their_own(tmp_path, kind):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20, 3)).astype(np.float32)
    table = table_of(key=[f"k{n}" for n in range(20)], y=["a", "b"] * 10)
    file = str(tmp_path / f"e.{'parquet' if kind == 'columns' else kind}")
    if kind == "npy":
        np.save(file, vectors)
    elif kind == "npz":
        np.savez(file, embeddings=vectors)
    elif kind == "parquet":
        pd.DataFrame({"vector": list(vectors)}).to_parquet(file)
    else:
        pd.DataFrame(vectors, columns=list("abc")).to_parquet(file)
    prepared = prepare(with_embeddings(table, [file]), None, Roles("y", id="key"))
    assert np.array_equal(prepared.X, vectors)
    assert done(prepared)[file] == "3 numbers of each row, as they are, in the order of the rows"
    half = prepare(with_embeddings(table, [file]).take(np.arange(5, 15)), None, Roles("y", id="key"))
    assert np.array_equal(half.X, vectors[5:15])


def test_vectors_are_matched_by_the_names_of_rows(tmp_path):
    vectors = np.arange(20.0).reshape(10, 2)
    shuffled = np.random.default_rng(0).permutation(10)
    file = str(tmp_path / "e.parquet")
    pd.DataFrame({"key": [f"k{n}" for n in shuffled], "vector": list(vectors[shuffled])}).to_parquet(file)
    table = table_of(key=[f"k{n}" for n in range(10)], y=["a", "b"] * 5)
    for key in ("key", None):  # what a file says of its rows is never ignored
        beside = with_embeddings(table, [file], key).beside[file]
        assert np.array_equal(beside.vectors, vectors)
        assert beside.how == "matched by 'key'"
    with pytest.raises(ValueError, match=r"1 are missing, the first is 'k10', by column 'key'"):
        with_embeddings(table_of(key=[f"k{n}" for n in range(1, 11)], y=["a", "b"] * 5), [file], "key")
    pd.DataFrame({"key": ["k1"] * 10, "vector": list(vectors)}).to_parquet(file)
    with pytest.raises(ValueError, match="must name each row once; 'k1' is there twice"):
        with_embeddings(table, [file], "key")


def test_columns_that_both_have_are_no_vectors(tmp_path):
    file = str(tmp_path / "e.parquet")
    pd.DataFrame({"key": [3, 2, 1, 0], "x": [1.0, 2.0, 3.0, 4.0], "e": [5.0, 6.0, 7.0, 8.0]}).to_parquet(file)
    table = table_of(key=[0, 1, 2, 3], x=[4.0, 3.0, 3.0, 1.0], y=["a", "b", "a", "b"])
    with pytest.raises(ValueError, match=r"has the columns 'key', 'x', as t\.csv has; match them by one with --id key"):
        with_embeddings(table, [file])
    assert with_embeddings(table, [file], "key").beside[file].vectors[:, 1].tolist() == [8.0, 7.0, 6.0, 5.0]
    table = table_of(x=[4.0, 3.0, 3.0, 1.0], y=["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="none of them names each row of the table once"):
        with_embeddings(table, [file])


@pytest.mark.parametrize("kind", ["lists", "columns", "npz", "index"])
def test_names_in_a_file_are_heeded_whatever_they_are_called(tmp_path, kind):
    """Vectors in another order than the table, with names in a column that the table calls something else."""
    vectors = np.arange(24.0).reshape(12, 2)
    shuffled = np.random.default_rng(1).permutation(12)
    number = kind in ("columns", "index")
    names = [10 + n if number else f"img/{n}.png" for n in range(12)]
    held = [names[n] for n in shuffled]
    file = str(tmp_path / f"e.{'npz' if kind == 'npz' else 'parquet'}")
    if kind == "npz":
        np.savez(file, vectors=vectors[shuffled], ids=np.array(held), labels=np.arange(12) % 2)
    elif kind == "lists":
        pd.DataFrame({"file": held, "kind": ["a", "b"] * 6, "v": list(vectors[shuffled])}).to_parquet(file)
    else:
        frame = pd.DataFrame(vectors[shuffled], columns=["e0", "e1"], index=held if kind == "index" else None)
        (frame if kind == "index" else frame.assign(row=held)).to_parquet(file)
    table = table_of(photo=names, x=[0.5, 1.5] * 6, y=["a", "b"] * 6)
    for key in ("photo", None):
        beside = with_embeddings(table, [file], key).beside[file]
        assert np.array_equal(beside.vectors, vectors), key
        assert re.fullmatch(r"matched by '\w+', which is 'photo' of the table", beside.how)
    fewer = table_of(photo=[*names[:-1], 99 if number else "img/99.png"], y=["a", "b"] * 6)
    with pytest.raises(ValueError, match=r"1 of the 12 names in 'photo' of t\.csv are not there, such as '(img/)?99"):
        with_embeddings(fewer, [file], "photo")


def test_names_that_the_table_does_not_have_are_said_to_be_unused(tmp_path):
    file = str(tmp_path / "e.parquet")
    pd.DataFrame({"said": ["one", "two", "two"], "v": [[1.0], [2.0], [3.0]]}).to_parquet(file)
    beside = with_embeddings(table_of(key=["k1", "k2", "k3"], y=["a", "b", "a"]), [file], "key").beside[file]
    assert beside.how == "in the order of the rows; its 'said' is not used"
    np.savez(tmp_path / "e.npz", X=np.eye(3), y=np.array([1, 0, 1]))
    beside = with_embeddings(table_of(n=[0, 1, 2], y=["a", "b", "a"]), [str(tmp_path / "e.npz")])
    assert "its 'y' is not used" in next(iter(beside.beside.values())).how


def test_what_differs_in_every_row_is_no_category():
    words, kinds = texts()
    with pytest.raises(
        ValueError, match=r"must repeat to be a category; 40 of 40 cells differ.*Embed text, --embed text=tfidf"
    ):
        prepare(table_of(text=words, y=kinds), None, Roles("y", categorical=["text"]))


@pytest.mark.parametrize(("by", "kind"), [("histograms", "images"), ("tfidf,pixels", "images")])
def test_an_embedder_with_nothing_to_embed_says_so(by, kind):
    words, kinds = texts()
    name = by.split(",")[-1]
    with pytest.raises(ValueError, match=rf"t\.csv has no {kind} that {name} could embed; .*'text' \(text\)"):
        prepare(table_of(text=words, y=kinds), None, Roles("y", embedding=Embedding.of(by)))


@pytest.mark.parametrize("by", ["tfidf", "tfidf:20"])
def test_rows_without_a_text_are_far_from_all_others(by):
    """Rows of zeros would be nearer to texts than these are to each other."""
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{word}" for word in "abcdefghijkl"] for topic in ("red", "blue", "green", "grey")]
    words = [" ".join(rng.choice(topics[n % 4], 4)) for n in range(80)]
    blank = {3: None, 20: "", 41: "   ", 62: "!?"}
    for row, text in blank.items():
        words[row] = text
    prepared = prepare(table_of(text=words, y=["a", "b", "c", "d"] * 20), None, Roles("y", embedding=Embedding.of(by)))
    apart = euclidean_distances(prepared.X)
    np.fill_diagonal(apart, np.inf)
    others = np.setdiff1d(np.arange(80), list(blank))
    nearest = apart.argsort(axis=1)[others, :5]
    assert np.isin(nearest, list(blank)).mean() < len(blank) / 80  # no more often than by chance
    assert (np.median(apart[others][:, list(blank)], axis=0) > 0.9 * np.median(apart[others][:, others])).all()
    assert "; 4 texts without words are far from all others" in done(prepared)["text"]


def test_rows_of_which_nothing_is_known_are_no_suspects(tmp_path, capsys):
    """A picture that cannot be read says nothing of its label, and --fix does not guess another."""
    for n in range(60):
        folder = tmp_path / "pics" / "ab"[n % 2]
        folder.mkdir(parents=True, exist_ok=True)
        if n in (5, 20, 33):
            (folder / f"{n}.png").write_bytes(b"not a picture")
        else:
            dark = (n % 2) ^ (n == 8)  # one label is wrong
            noise = np.random.default_rng(n).integers(0, 60, (16, 16, 3))
            Image.fromarray((noise + 150 * dark).astype("uint8")).save(folder / f"{n}.png")
    out = tmp_path / "fixed.csv"
    assert main(["clean", str(tmp_path / "pics"), "--fix", str(out)]) == 0
    said = capsys.readouterr()
    assert "3 of these rows have no text or image to judge them by: no suspects." in said.err
    fixed = pd.read_csv(out)
    changed = fixed[fixed.label != fixed.path.map(lambda path: path.split("/")[-2])]
    assert [path.split("/")[-1] for path in changed.path] == ["8.png"]
    found = pivotal.clean(tmp_path / "pics")
    assert [found.ids[row] for row in found.suspects] == ["a/8.png"]
    assert found.n_probable == 1
    ready = pivotal.read_table(tmp_path / "pics")
    assert sorted(ready.ids[ready.unknown]) == ["a/20.png", "b/33.png", "b/5.png"]


def test_rows_of_which_nothing_is_known_are_no_suspects_in_any_label(tmp_path, capsys):
    """Cells of other rows, which have the numbers of these rows, still are."""
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{word}" for word in "abcdefgh"] for topic in ("red", "blue")]
    table = pd.DataFrame({"text": [" ".join(rng.choice(topics[n % 2], 6)) for n in range(60)]})
    table["red"], table["blue"] = [1 - n % 2 for n in range(60)], [n % 2 for n in range(60)]
    table.loc[4, "red"] = 0  # cell 8: wrong
    table.loc[8, "text"], table.loc[8, "red"] = "!?", 0  # row 8, cell 16: of which nothing is known
    table.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "suspects.csv"
    words = ["clean", tmp_path / "t.csv", "--labels", "red,blue", "--embed", "tfidf", "--top", "120", "-n", "40"]
    assert main([str(word) for word in [*words, "-o", out]]) == 0
    assert "1 of these rows have no text or image to judge them by: no suspects." in capsys.readouterr().err
    suspects = pd.read_csv(out)
    assert (4, "red") in set(zip(suspects["id"], suspects["label"], strict=True))
    assert 8 not in set(suspects["id"])


def test_texts_without_words_count_as_unknown_where_there_is_nothing_else():
    words, kinds = texts()
    words[3], words[7] = None, "..."
    for by in ("tfidf", "tfidf:5"):
        alone = prepare(table_of(text=words, y=kinds), None, Roles("y", embedding=Embedding.of(by)))
        assert alone.unknown.tolist() == [3, 7]
        beside = table_of(text=words, x=np.arange(40.0) ** 2, y=kinds)
        assert prepare(beside, None, Roles("y", embedding=Embedding.of(by))).unknown.size == 0


def test_a_function_that_fails_is_named(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("text,y\none two,a\nthree,b\nfour one,a\nfive,b\n", encoding="utf-8")
    (tmp_path / "mine.py").write_text("def counts(texts):\n    return [len(texts) / 0]\n", encoding="utf-8")
    table = [str(tmp_path / "t.csv"), "--label", "y", "--embed"]
    assert main(["clean", *table, f"python:{tmp_path / 'mine.py'}:counts"]) == 2
    said = capsys.readouterr().err
    assert (
        "by counts, a custom model: it failed with ZeroDivisionError: division by zero. It gets a list of texts" in said
    )
    (tmp_path / "mine.py").write_text("def counts(texts)\n", encoding="utf-8")
    assert main(["clean", *table, f"python:{tmp_path / 'mine.py'}:counts"]) == 2
    assert "cannot be imported: " in capsys.readouterr().err


def test_test_rows_need_embeddings_in_python_too(tmp_path):
    np.save(tmp_path / "e.npy", np.eye(4))
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]})
    with pytest.raises(ValueError, match="test rows need embeddings as the training rows have them"):
        pivotal.read_table(frame, "y", test=frame, embeddings=tmp_path / "e.npy")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 2)), "must have a row for each row of t.csv, in its order; it has 3, and the table 4"),
        (np.zeros(4), r"must hold one array of shape \(n_rows, length\)"),
        (np.full((4, 2), np.nan), r"must be finite numbers; .* row 0 \(0-based\)"),
    ],
)
def test_vectors_that_do_not_fit_are_turned_down(tmp_path, array, message):
    file = str(tmp_path / "e.npy")
    np.save(file, array)
    with pytest.raises(ValueError, match=message):
        with_embeddings(table_of(y=["a", "b", "a", "b"]), [file])


def test_an_embedder_that_does_not_take_a_column_says_so():
    words, kinds = texts()
    table = table_of(text=words, y=[str(kind) for kind in kinds])
    with pytest.raises(
        ValueError, match=r"'text' of t\.csv holds texts, and histograms embeds images; .*--embed text=tfidf"
    ):
        prepare(table, None, Roles("y", embedding=Embedding.of("text=histograms")))
    with pytest.raises(ValueError, match=r"column 'y' of t\.csv has another part already"):
        prepare(table, None, Roles("y", embedding=Embedding.of("y=tfidf")))
    with pytest.raises(ValueError, match="has no column 'txt', which --embed names; did you mean 'text'"):
        prepare(table, None, Roles("y", embedding=Embedding.of("txt=tfidf")))
    with pytest.raises(ValueError, match="embed must be one of tfidf"):
        prepare(table, None, Roles("y", embedding=Embedding.of("tf-idf")))


def test_models_of_ones_own_embed_columns():
    words, kinds = texts()
    table = table_of(text=words, word=[text.split()[0] for text in words], y=[str(kind) for kind in kinds])

    def lengths(batch):
        return [[len(text), text.count("g")] for text in batch]

    by = Embedding.of({"text": lengths, "word": "tfidf"})
    prepared = prepare(table, None, Roles("y", embedding=by))
    told = done(prepared)
    assert told["text"].startswith("by lengths, a custom model; one of 2 blocks of equal say")
    assert told["word"].endswith("weighed to count as much as the first of its kind")


def test_wrong_labels_of_reviews_are_found_from_the_command_line(tmp_path, capsys):
    words, kinds = texts(120)
    labels = np.where(kinds, "weather", "sport").astype(object)
    wrong = np.random.default_rng(1).choice(120, 8, replace=False)
    labels[wrong] = np.where(kinds[wrong], "sport", "weather")
    pd.DataFrame({"text": words, "label": labels}).to_csv(tmp_path / "t.csv", index=False)
    assert main(["clean", str(tmp_path / "t.csv"), "--label", "label", "--all", "-o", str(tmp_path / "s.csv")]) == 0
    assert "TF-IDF of words and character n-grams" in capsys.readouterr().err
    scores = pd.read_csv(tmp_path / "s.csv").set_index("id")["score"].sort_index()
    assert roc_auc_score(np.isin(np.arange(120), wrong), -scores) > 0.95


@pytest.mark.parametrize("command", ["value", "clean", "pay", "select", "remove"])
def test_every_command_takes_embeddings(tmp_path, capsys, command):
    words, kinds = texts()
    owners = np.arange(40) % 3
    pd.DataFrame({"text": words, "who": owners, "x": kinds, "label": kinds}).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(40, 4)))
    more = {
        "value": ["--owner", "who"],
        "pay": ["--owner", "who", "--budget", "10"],
        "select": ["-n", "10", "--no-estimate"],
        "remove": ["-n", "10"],
        "clean": ["--ignore", "who"],
    }[command]
    given = [str(tmp_path / "t.csv"), "--label", "label", "--embed", "tfidf", "--embeddings", str(tmp_path / "e.npy")]
    assert main([command, *given, *more, "-o", str(tmp_path / "o.csv")]) == 0
    told = capsys.readouterr().err
    assert "TF-IDF of words" in told
    assert "4 numbers of each row, as they are, in the order of the rows; weighed to count" in told
    rows = pd.read_csv(tmp_path / "o.csv")
    assert not any("e.npy" in name for name in rows.columns)  # vectors are not written into the table


def test_test_rows_need_embeddings_too(tmp_path, capsys):
    pd.DataFrame({"y": [0, 1] * 10}).to_csv(tmp_path / "t.csv", index=False)
    np.save(tmp_path / "e.npy", np.random.default_rng(0).normal(size=(20, 4)))
    np.save(tmp_path / "f.npy", np.random.default_rng(0).normal(size=(20, 3)))
    table, file, short = (str(tmp_path / name) for name in ("t.csv", "e.npy", "f.npy"))
    command = ["value", table, "--label", "y", "--embeddings", file, "--test", table]
    assert main(command) == 2
    assert "test rows need embeddings as the table has them" in capsys.readouterr().err
    assert main([*command, "--test-embeddings", short]) == 2
    assert "embeddings must have one length; got 4 numbers" in capsys.readouterr().err
    assert main([*command, "--test-embeddings", file]) == 0


def test_models_are_cached_where_they_are_told_to_be(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "def lengths(texts):\n    return [[len(text), text.count('g')] for text in texts]\n", encoding="utf-8"
    )
    words, kinds = texts()
    pd.DataFrame({"text": words, "label": kinds}).to_csv(tmp_path / "t.csv", index=False)
    command = [
        "clean",
        str(tmp_path / "t.csv"),
        "--label",
        "label",
        "--embed",
        f"python:{tmp_path / 'mine.py'}:lengths",
    ]
    assert main([*command, "--embed-cache", str(tmp_path / "cache"), "--embed-batch", "7"]) == 0
    assert "by lengths, a custom model" in capsys.readouterr().err
    assert embed.EmbeddingCache(tmp_path / "cache").size() > 0
    assert main([*command, "--embed-cache", "none"]) == 0


def test_the_library_finds_the_same_as_its_parts():
    words, kinds = texts(60)
    prepared = prepare(table_of(text=words, y=[str(kind) for kind in kinds]), None, Roles("y"))
    found = pivotal.find_label_errors(prepared.X, prepared.y)
    again = pivotal.find_label_errors(embed.TfidfText().fit_transform(words), [str(kind) for kind in kinds])
    assert np.array_equal(found.scores, again.scores)


@pytest.fixture
def labelled_vectors(tmp_path, monkeypatch):
    """Vectors in one file and labels in another, and the folder they are in as the current one."""
    monkeypatch.chdir(tmp_path)
    sentences, kinds = texts()
    np.save("emb.npy", np.column_stack([kinds, np.arange(40) / 40.0]))
    pd.DataFrame({"text": sentences, "y": np.array(["a", "b"])[kinds]}).to_csv("labels.csv", index=False)


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["emb.npy"], "with --embeddings emb.npy beside it, or both arrays as"),
        (["emb.npy", "--label", "y"], "emb.npy holds vectors and no labels; name the table that has the labels"),
        (["emb.npy", "labels.csv", "--label", "y"], "Vectors of the table's rows go beside it: --embeddings emb.npy."),
        (["emb.npy,labels.csv", "--label", "y"], "go beside it: labels.csv --embeddings emb.npy."),
        (["labels.csv,labels.csv", "--label", "y"], "put blanks, not commas, between the files of a table."),
        (["labels.csv", "--label", "y", "--embed", "none"], "omit --embed none, which keeps these from being"),
        (
            ["labels.csv", "--label", "y", "--embed", "none", "--features", "text"],
            "text with too many different values; omit --embed none",
        ),
        (["labels.csv", "--label", "y", "--embed-options", "batchsize=3"], "tfidf has no option 'batchsize'; it has"),
        (["labels.csv", "--label", "y", "--embed-options", "root=/"], "root cannot be chosen for embedders of a table"),
    ],
)
@pytest.mark.usefixtures("labelled_vectors")
def test_messages_about_vectors_and_texts_say_what_to_type(words, fix, capsys):
    assert main(["clean", *words]) == 2
    assert fix in capsys.readouterr().err


@pytest.mark.usefixtures("labelled_vectors")
def test_what_the_messages_say_works(capsys):
    assert main(["clean", "labels.csv", "--label", "y", "--embeddings", "emb.npy", "--trees", "0"]) == 0
    assert "2 numbers of each row" in capsys.readouterr().err
    assert main(["clean", "labels.csv", "--label", "y", "--trees", "0", "--embed-options", "characters=null"]) == 0
    assert "TF-IDF of words, " in capsys.readouterr().err


def test_structs_are_named_with_their_fields():
    info = [{"height": 1.0, "width": 2.0}] * 3 + [{"height": 2.0, "width": 1.0}] * 3
    prepared = prepare(table_of(info=info, a=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], y=list("aaabbb")), None, Roles("y"))
    assert done(prepared)["info"] == (
        "omitted: neither numbers nor text: a struct of height, width; make columns of these to use them"
    )


def test_no_image_outside_of_the_tables_folder_is_embedded(tmp_path):
    inside, outside = tmp_path / "table", tmp_path / "private"
    for home in (inside, outside):
        home.mkdir()
        Image.fromarray(np.full((16, 16, 3), 200, dtype=np.uint8)).save(home / "a.png")
    Image.fromarray(np.arange(768, dtype=np.uint32).astype(np.uint8).reshape(16, 16, 3)).save(inside / "b.png")
    (inside / "link.png").symlink_to(outside / "a.png")
    (inside / "folder").symlink_to(outside)
    (inside / "near.png").symlink_to(inside / "a.png")
    away = ["../private/a.png", str(outside / "a.png"), "link.png", "folder/a.png", "x/../../private/a.png"]
    here = ["a.png", "b.png", "near.png", str(inside / "b.png")]
    (inside / "t.csv").write_text(
        "photo,y\n" + "".join(f"{name},{place % 2}\n" for place, name in enumerate(here + away))
    )
    for how in ("histograms", "pixels"):
        ready = pivotal.read_table(inside / "t.csv", "y", embed=how)
        assert "5 images are not embedded: 5 outside of the folder of images" in done(ready)["photo"]
        np.testing.assert_allclose(ready.X[[0, 1]], ready.X[[2, 3]], atol=1e-6)
        assert euclidean_distances(ready.X[4:], ready.X[:4]).min() > 0.1
