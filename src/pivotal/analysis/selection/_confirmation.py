"""Which labels the other rows confirm: votes of neighbours by distance, and by the leaves of a forest."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pivotal.analysis._linked_rows import count_classes
from pivotal.analysis.label_errors._leaves import as_trees_have_it, votes_of_leaves
from pivotal.analysis.label_errors._nearest import ask_nearest, one_hot
from pivotal.analysis.selection._selection_data import SelectionData
from pivotal.core.games import Soft
from pivotal.core.progress import tqdm
from pivotal.core.semivalues import Banzhaf
from pivotal.core.types import CodeArray, FloatArray
from pivotal.neighbors import Index, blocks
from pivotal.neighbors.lists import leave_out_own

_VOTERS: Final = 20  # nearest rows that vote on a label
_ENOUGH: Final = 0.3  # of the votes of the label that has most, that confirm another; borderline rows have more
_PLURALITY: Final = 5  # nearest rows whose plurality confirms a label as well
_RARE: Final = 0.5  # a class is rare if it has at most this much of an equal share
_LIFT: Final = 1.5  # votes for the label of a row of a rare class, over its share of all rows, that confirm it
_PAIRS: Final = 10**10  # of rows and voters; of more rows, some vote on all
_FEWEST_VOTERS: Final = 20_000


class Confirmation(NamedTuple):
    """What the neighbours say of each row's label."""

    confirmed: npt.NDArray[np.bool_]
    """Whether they confirm it."""

    agreement: FloatArray
    """Share of their votes that agree with it."""


def ask_others(data: SelectionData, index: Index, forest: Any, *, seed: int, progress: bool) -> Confirmation:
    """Let the neighbours of every row vote on its label.

    A label is confirmed if no other has many times its votes, those of the 20 nearest rows and of the rows in the same
    leaves together; or if no other has more among the 5 nearest rows alone; or, if its class is rare, if it has clearly
    more votes than the class has rows. All rows vote; of very many, some that are drawn do on all others, unless an
    approximate index finds who is near. The forest, if there is one, was grown on the rows.
    """
    codes, rows, ones = data.codes, np.arange(data.n_rows), one_hot(data.codes, data.n_classes)
    n_sampled = max(_FEWEST_VOTERS, _PAIRS // data.n_rows)
    if data.n_rows <= n_sampled or index.exact is False or not data.has_features:
        voters = min(_VOTERS, max(_PLURALITY, data.n_rows // _VOTERS))  # of few rows, the twentieth nearest is far
        near = ask_nearest(index, codes, ones, Soft(), voters, max_memory=data.max_memory, progress=progress)
        votes, nearest = near.votes, codes[near.indices[:, :_PLURALITY]]
    else:
        votes, nearest = _sample_votes(data, n_sampled, seed, progress=progress)
    if forest is not None:
        votes = votes + votes_of_leaves(forest, as_trees_have_it(data.X), ones.toarray(), progress=progress)
    few = count_classes(nearest, data.n_classes)
    own = votes[rows, codes] / votes.sum(axis=1)
    # Either jury will do: votes of many neighbours know label errors better, the nearest five know small clusters.
    confirmed = (votes[rows, codes] >= _ENOUGH * votes.max(axis=1)) | (few[rows, codes] >= few.max(axis=1))
    # A rare class hardly ever has most votes. More of them than by chance are evidence enough.
    shares = data.class_counts() / data.n_rows
    rare = shares <= _RARE / data.n_classes
    confirmed |= rare[codes] & (own >= _LIFT * shares[codes])
    return Confirmation(confirmed, own)


def _sample_votes(data: SelectionData, n_sampled: int, seed: int, *, progress: bool) -> tuple[FloatArray, CodeArray]:
    """Return the votes of the nearest of some rows on each row's label, and the labels of the very nearest."""
    jury = np.sort(np.random.default_rng(seed).choice(data.n_rows, n_sampled, replace=False))
    positions = np.full(data.n_rows, -1)
    positions[jury] = np.arange(n_sampled)
    index, codes = data.part(jury).index(), data.codes[jury]
    reach = Banzhaf().reach(_VOTERS, 3 * _VOTERS)
    votes = np.zeros((data.n_rows, data.n_classes))
    nearest = np.empty((data.n_rows, _PLURALITY), np.int32)
    depth = len(reach)
    with tqdm(total=data.n_rows, unit="row", disable=not progress, desc="asking neighbours") as bar:
        for part in blocks(data.n_rows, index.block_size(depth + 1, data.max_memory)):
            found = index.search(data.X[part], depth + 1)[0]
            labels = codes[leave_out_own(positions[part], found)[0]]  # no row votes on its own label
            for code in range(data.n_classes):
                votes[part, code] = (labels == code) @ reach
            nearest[part] = labels[:, :_PLURALITY]
            bar.update(part.stop - part.start)
    return votes / reach.sum(), nearest
