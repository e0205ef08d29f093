"""Texts by the words and the character n-grams that are in them: nothing to download, nothing to train."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
from scipy import sparse

from pivotal.core.types import IndexArray
from pivotal.core.validation import check_count
from pivotal.embed._embedder import Embedder, unit_rows
from pivotal.embed._items import TextItems

_MOST_WORDS: Final = 1 << 16  # features of either kind that are kept, the most frequent ones


class TfidfText(Embedder):
    """TF-IDF of words and of character n-grams, as rows of length 1.

    Between such rows Euclidean distance orders as cosine similarity does. A row of zeros would be nearer to all others
    than most of them are to each other. Texts without words that `fit` sees therefore share a feature of their own, as
    far from the others as texts without a common n-gram; reduced by SVD, each gets a direction of its own.

    Parameters
    ----------
    n_components : int, optional
        Reduce to this many columns by a truncated SVD of the TF-IDF matrix, and give the rows length 1 again. A sparse
        matrix of all n-grams by default.
    words, characters : (int, int) or None
        Shortest and longest n-grams; None omits the kind. Words and pairs of them, and 3 to 5 characters within
        words, by default.
    random_state : int, default=0
        Seed of the SVD.

    Examples
    --------
    >>> from pivotal.embed import TfidfText
    >>> X = TfidfText().fit_transform(["a good film", "a good movie", "rain again"])
    >>> X.shape[0], bool((X[0] @ X[1].T) > (X[0] @ X[2].T))
    (3, True)
    """

    modality: Literal["text"] = "text"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        words: tuple[int, int] | None = (1, 2),
        characters: tuple[int, int] | None = (3, 5),
        random_state: int = 0,
    ) -> None:
        super().__init__()
        if words is None and characters is None:
            raise ValueError("words and characters must not both be None; name the n-grams of at least one of them.")
        self.n_components = None if n_components is None else check_count(n_components, "n_components")
        self.words, self.characters, self.random_state = words, characters, random_state
        self._parts: list[Any] = []
        self._svd: Any = None
        self._n_features = self._n_blank = 0

    @property
    def note(self) -> str:
        kinds = " and ".join(
            name for name, on in (("words", self.words), ("character n-grams", self.characters)) if on is not None
        )
        how = f"TF-IDF of {kinds}"
        if self._n_features:
            how += f", {self._n_features} features"
        if self._svd is not None:
            how += f", reduced to {self._svd.n_components} by SVD"
        many = "1 text without words is" if self._n_blank == 1 else f"{self._n_blank} texts without words are"
        return f"{how}; {many} far from all others" if self._n_blank else how

    def fit_transform(self, items: Any, y: Any = None) -> Any:
        texts = TextItems(items).texts
        kinds = [("word", self.words), ("char_wb", self.characters)]
        made = [_fitted(texts, analyzer, ngrams) for analyzer, ngrams in kinds if ngrams is not None]
        self._parts = [vectorizer for vectorizer, rows in made if rows is not None]
        if not self._parts:
            raise ValueError("texts must have words in them; these have neither words nor characters to count.")
        X = _side_by_side([rows for _, rows in made if rows is not None])
        blank = _blank(X)
        self._n_features, self._svd, self._n_blank = X.shape[1], None, len(blank)
        self.absent_ = blank
        if self.n_components is None or self.n_components >= min(X.shape):
            return _with_blank(X, blank) if len(blank) else X
        from sklearn.decomposition import TruncatedSVD

        self._svd = TruncatedSVD(self.n_components, random_state=self.random_state)
        with np.errstate(divide="ignore", invalid="ignore"):  # shares of the variance, of which there is none
            reduced = self._svd.fit_transform(X)
        return self._fill(unit_rows(reduced), blank, learn=True)

    def transform(self, items: Any) -> Any:
        if not self._parts:
            raise ValueError("an embedder must learn first what words there are; call fit with the training texts.")
        texts = TextItems(items).texts
        X = _side_by_side([vectorizer.transform(texts) for vectorizer in self._parts])
        if self._svd is not None:
            return self._fill(unit_rows(self._svd.transform(X)), _blank(X), learn=False)
        self.absent_ = _blank(X)
        return _with_blank(X, self.absent_) if self._n_blank else X


def _blank(X: Any) -> IndexArray:
    """Return the rows without any n-gram."""
    return np.flatnonzero(np.diff(X.indptr) == 0)


def _with_blank(X: Any, blank: IndexArray) -> Any:
    """Return rows of length 1 with one more feature, which is that of having no other."""
    one = sparse.csr_array((np.ones(len(blank)), (blank, np.zeros(len(blank), dtype=int))), shape=(X.shape[0], 1))
    return sparse.csr_array(sparse.hstack([X, one], format="csr"))


def _fitted(texts: list[str], analyzer: str, ngrams: tuple[int, int]) -> tuple[Any, Any]:
    """Return a vectorizer and the rows it makes; None twice where there is nothing to count."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    # An n-gram of one text alone makes no two texts alike; in a few short ones all may be such.
    for minimum in (2, 1):
        vectorizer = TfidfVectorizer(
            analyzer=analyzer,
            ngram_range=ngrams,
            min_df=minimum,
            max_features=_MOST_WORDS,
            sublinear_tf=True,
            strip_accents="unicode",
            token_pattern=r"(?u)\b\w+\b" if analyzer == "word" else None,
            dtype=np.float64,
        )
        try:
            return vectorizer, vectorizer.fit_transform(texts)
        except ValueError as error:
            if "empty vocabulary" not in str(error) and "no terms remain" not in str(error):
                raise
    return None, None


def _side_by_side(blocks: list[Any]) -> Any:
    """Return blocks in one CSR matrix with rows of length 1: each kind of n-gram has an equal say in a text."""
    from sklearn.preprocessing import normalize

    X = sparse.hstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    return sparse.csr_array(normalize(X))
