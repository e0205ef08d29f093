"""What the paper says beside what was measured, with the uncertainty of a paired comparison.

A method is compared with another on every data set. Data sets are the sample: the mean of the differences is shown with
its 95 % interval (Student's t), and a sentence agrees or differs only where that interval leaves no doubt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pivotal.research.bench.markdown import table

if TYPE_CHECKING:
    import pandas as pd

AGREES: Final = "agrees"
DIFFERS: Final = "differs"
OPEN: Final = "open"
SUMMARY: Final = "**Verdict**, "
"""How a line begins that says where the paper and the measurements agree."""


class ClaimCheck(NamedTuple):
    """Whether a sentence of the paper holds, and the numbers."""

    verdict: str
    numbers: str


NOT_MEASURED: Final = ClaimCheck("", "not measured")


class Claim(NamedTuple):
    """A sentence of the paper, and what was found at each place where it was looked at."""

    says: str
    findings: Mapping[str, ClaimCheck]


class MeanInterval(NamedTuple):
    """A mean and half the width of its 95 % interval."""

    mean: float
    half: float

    @property
    def verdict(self) -> str:
        """Whether the mean is above 0: it agrees, differs, or is open."""
        if self.half != self.half:  # a single data set says nothing about others
            return OPEN
        return AGREES if self.mean > self.half else DIFFERS if self.mean < -self.half else OPEN

    def text(self, scale: float = 100.0, digits: int = 1) -> str:
        """Write the interval, by default in hundredths."""
        mean = f"{scale * self.mean:+.{digits}f}"
        return mean if self.half != self.half else f"{mean} ± {scale * self.half:.{digits}f}"


def interval(differences: Iterable[float]) -> MeanInterval:
    """Return the mean of differences with half the width of its 95 % interval by Student's t.

    Examples
    --------
    >>> interval([1.0, 2.0, 3.0]).text(scale=1)
    '+2.0 ± 2.5'
    """
    from scipy.stats import t

    found = np.asarray([one for one in differences if one == one], dtype=float)
    if not found.size:
        return MeanInterval(float("nan"), float("nan"))
    if found.size == 1:
        return MeanInterval(float(found[0]), float("nan"))
    half = float(t.ppf(0.975, found.size - 1)) * float(found.std(ddof=1)) / found.size**0.5
    return MeanInterval(float(found.mean()), half)


def as_verdict(holds: bool) -> str:
    """Return the verdict of what is decided without an interval."""
    return AGREES if holds else DIFFERS


def decided(says: str, holds: bool, numbers: str) -> Claim:
    """Return a claim that is looked at in one place, and decided without an interval."""
    return Claim(says, {"here": ClaimCheck(as_verdict(holds), numbers)})


def _weakest(verdicts: Collection[str]) -> str:
    """Return the verdict of a sentence that is true if all its parts are."""
    return DIFFERS if DIFFERS in verdicts else OPEN if OPEN in verdicts else AGREES


def compare(scores: pd.DataFrame, one: str, others: Sequence[str], *, lowest: bool = False) -> ClaimCheck:
    """Compare the method that the paper finds better with each of those it should beat, data set by data set.

    Scores have a row per data set and a column per method, and are shown in hundredths.

    Examples
    --------
    >>> import pandas as pd
    >>> compare(pd.DataFrame({"a": [0.5, 0.6, 0.9], "b": [0.1, 0.3, 0.6]}), "a", ["b"])
    ClaimCheck(verdict='agrees', numbers='a over b +33.3 ± 14.3')
    """
    here = [other for other in others if other in scores]
    if one not in scores or not here:
        return NOT_MEASURED
    sign = -1.0 if lowest else 1.0
    found = {other: interval(sign * (scores[one] - scores[other])) for other in here}
    if any(each.mean != each.mean for each in found.values()):
        return NOT_MEASURED
    verdict = _weakest({each.verdict for each in found.values()})
    return ClaimCheck(verdict, "; ".join(f"{one} over {other} {each.text()}" for other, each in found.items()))


def closest(scores: pd.DataFrame, one: str, others: Sequence[str]) -> ClaimCheck:
    """Compare a method that should beat all others with the one that comes closest to it on average."""
    here = [other for other in others if other in scores]
    if one not in scores or not here:
        return NOT_MEASURED
    best = str(scores[here].mean().idxmax())
    return compare(scores, one, [best])


def best_of(scores: pd.DataFrame, some: Sequence[str], rest: Sequence[str], *, lowest: bool = False) -> ClaimCheck:
    """Compare the best of some methods with the best of the rest, data set by data set."""
    ours, theirs = ([name for name in names if name in scores] for names in (some, rest))
    if not ours or not theirs:
        return NOT_MEASURED
    sign = -1.0 if lowest else 1.0
    found = interval((sign * scores[ours]).max(axis=1) - (sign * scores[theirs]).max(axis=1))
    return ClaimCheck(
        found.verdict, f"the best of {', '.join(ours)} over the best of {', '.join(theirs)} {found.text()}"
    )


def consistency(scores: pd.DataFrame, errors: pd.DataFrame, ones: Sequence[str], *, lowest: bool = False) -> ClaimCheck:
    """Say on how many data sets methods are better and worse than chance, by more than two standard errors.

    A method is inconsistent, as the paper says of some, if there are data sets of both kinds: two at least, as one of
    twelve may be chance. Scores are means over the runs: a row per data set, a column per method.
    """
    here = [one for one in ones if one in scores]
    if not here or "rand" not in scores:
        return NOT_MEASURED
    sign, texts, verdicts = (-1.0 if lowest else 1.0), [], []
    for one in here:
        gain = sign * (scores[one] - scores["rand"])
        doubt = 2.0 * np.hypot(errors[one], errors["rand"])
        better, worse = int((gain > doubt).sum()), int((gain < -doubt).sum())
        texts.append(f"{one} better than rand on {better}, worse on {worse} of {len(gain)}")
        fewer = min(better, worse)
        verdicts.append(AGREES if fewer > 1 else OPEN if fewer else DIFFERS)
    return ClaimCheck(_weakest(verdicts), ", ".join(texts))


def claims_table(claims: Sequence[Claim]) -> str:
    """Write what the paper says and what was found, then where the two agree in words."""
    places = list(dict.fromkeys(place for claim in claims for place in claim.findings))
    rows = []
    for claim in claims:
        cells = []
        for place in places:
            verdict, numbers = claim.findings.get(place, NOT_MEASURED)
            word = f"**{verdict}**" if verdict == DIFFERS else verdict
            cells.append(f"{word}: {numbers}" if word else numbers)
        rows.append([claim.says, *cells])
    return "\n\n".join([table(["The paper says", *places], rows), *(_summary(claims, place) for place in places)])


def _summary(claims: Sequence[Claim], place: str) -> str:
    looked = [(claim.says, claim.findings[place].verdict) for claim in claims if place in claim.findings]
    judged = [(says, verdict) for says, verdict in looked if verdict]
    if not judged:
        return f"{SUMMARY}{place}: nothing could be decided."
    counts = {word: sum(verdict == word for _, verdict in judged) for word in (AGREES, OPEN, DIFFERS)}
    verbs = {AGREES: ("agrees", "agree"), OPEN: ("is open", "are open"), DIFFERS: ("differs", "differ")}
    of_all = f" of {len(judged)} {'statement' if len(judged) == 1 else 'statements'}"
    found = [(word, count) for word, count in counts.items() if count]
    parts = [f"{count}{'' if at else of_all} {verbs[word][count != 1]}" for at, (word, count) in enumerate(found)]
    text = f"{SUMMARY}{place}: {', '.join(parts)}."
    apart = [f"“{says.removeprefix('... ')}”" for says, verdict in judged if verdict == DIFFERS]
    return f"{text} What differs: {'; '.join(apart)}." if apart else text
