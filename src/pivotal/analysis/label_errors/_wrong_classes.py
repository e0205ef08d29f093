"""Wrong classes: what all voters together say of the label of each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pivotal.analysis.label_errors._blend import as_chances, floor_of, margins, mix
from pivotal.analysis.label_errors._counts import count_errors
from pivotal.analysis.label_errors._edit import FittedVoters
from pivotal.analysis.label_errors._edit_leaves import EditableLeaves
from pivotal.analysis.label_errors._edit_ridge import EditableRidge
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._model import ask_model
from pivotal.analysis.label_errors._nearest import one_hot
from pivotal.analysis.label_errors._request import Request
from pivotal.core.games import Soft
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray


def find_wrong_classes(
    request: Request, labels: AnyArray, codes: CodeArray, n_classes: int, kept: FittedVoters | None = None
) -> LabelErrors:
    """Find rows whose class is in doubt.

    Parameters
    ----------
    request : Request
    labels : array of shape (n_rows,)
        Labels as given.
    codes : int32 array of shape (n_rows,)
        Their class codes.
    n_classes : int
    kept : FittedVoters, optional
        Filled with the voters, so that they can follow edits.
    """
    n_rows = len(codes)
    rows = np.arange(n_rows)
    near, verdict = request.ask_nearest(codes, one_hot(codes, n_classes), Soft())
    chances = _ask(request, codes, n_classes, near.votes, kept)
    votes, weights = mix(list(chances.values()), codes)

    own = votes[rows, codes]
    votes[rows, codes] = -1.0
    rival = votes.argmax(axis=1).astype(np.int32)
    rival_votes = np.maximum(votes[rows, rival], 0.0)
    outvoted = rival_votes > own
    predicted = np.where(outvoted, rival, codes)
    scores = margins(own, rival_votes) if n_classes > 1 else np.ones(n_rows)
    probable = outvoted & (rival_votes >= request.odds * own)
    order, suspects = request.choose(scores, probable)
    names = labels[_first_of_each(codes, n_classes)]
    return LabelErrors(
        scores=scores,
        order=order,
        suspects=suspects,
        given=labels.copy(),
        suggested=names[predicted],
        confidence=np.maximum(own, rival_votes),
        values=near.values,
        nearest=near.indices,
        spoiled=near.spoiled,
        probable=probable,
        ids=request.ids,
        settings=request.settings(
            "classification", dict(zip(chances, weights, strict=True)), n_classes=n_classes, **verdict
        ),
        support=own,
        rival_support=rival_votes,
        rivals=names[rival],
        estimate=count_errors(own, rival_votes, codes, predicted),
    )


def _ask(
    request: Request, codes: CodeArray, n_classes: int, nearest: FloatArray, kept: FittedVoters | None
) -> dict[str, FloatArray]:
    """Return what each voter says; in single precision, as there may be many rows and classes."""
    said: dict[str, FloatArray] = {}
    voters = FittedVoters().voters if kept is None else kept.voters
    if "neighbors" in request.voters or n_classes == 1:
        said["neighbors"] = as_chances(nearest)
    if n_classes == 1:
        return said
    if set(request.voters) > {"neighbors"} or "neighbors" not in request.voters:
        ones, floor = np.eye(n_classes)[codes], floor_of(n_classes)
        opinions = replace(request.opinions, keep=kept is not None)
        leaves, importance, places = opinions.forest(codes, ones)
        if leaves is not None:
            said["forest"] = as_chances(leaves).astype(np.float32)
        if leaves is not None and places is not None:
            voters["forest"] = EditableLeaves(places, leaves, codes)
        for name, regression in opinions.regressions(importance, ones).items():
            fit = regression.fit(ones)
            said[name] = as_chances(fit.predicted, floor=floor).astype(np.float32)
            if kept is not None:
                voters[name] = EditableRidge(fit, codes)
    if request.model is not None:
        said["model"] = ask_model(
            request.model, request.X, codes, n_classes, seed=request.seed, progress=request.progress
        )
        voters["model"] = said["model"]
    return said


def _first_of_each(codes: CodeArray, n_classes: int) -> IndexArray:
    """Return a row of each class, so that labels keep their type."""
    rows = np.empty(n_classes, dtype=np.int64)
    rows[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows
