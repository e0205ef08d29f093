"""Wrong classes: what all voters together say of the label of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from pivotal.analysis.label_errors._blend import as_chances, floor_of, margins, mix
from pivotal.analysis.label_errors._counts import count_errors
from pivotal.analysis.label_errors._edit import FittedVoters, Voter
from pivotal.analysis.label_errors._edit_leaves import EditableLeaves
from pivotal.analysis.label_errors._edit_ridge import EditableRidge
from pivotal.analysis.label_errors._errors import LabelErrors
from pivotal.analysis.label_errors._model import ask_model
from pivotal.analysis.label_errors._nearest import one_hot
from pivotal.analysis.label_errors._request import Request
from pivotal.analysis.label_errors._voters import QUICK
from pivotal.core.games import Soft
from pivotal.core.types import AnyArray, CodeArray, FloatArray, IndexArray


def find_wrong_classes(
    request: Request, labels: AnyArray, codes: CodeArray, n_classes: int, kept: FittedVoters | None = None
) -> LabelErrors:
    """Find rows whose class is in doubt; `kept` is filled with the voters, so that they can follow edits."""
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
    names = labels[_first_of_each(codes, n_classes)]
    return LabelErrors(
        **request.judged(near, scores, probable),
        given=labels.copy(),
        suggested=names[predicted],
        confidence=np.maximum(own, rival_votes),
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
    voters: dict[str, Voter] = {} if kept is None else kept.voters
    if "neighbors" in request.voters or n_classes == 1:
        said["neighbors"] = as_chances(nearest)
    if n_classes == 1:
        return said
    if request.voters != QUICK:
        ones, floor = np.eye(n_classes)[codes], floor_of(n_classes)
        leaves, importance, places = request.ask_leaves(codes, ones, keep=kept is not None)
        if leaves is not None:
            said["forest"] = as_chances(leaves).astype(np.float32)
        if leaves is not None and places is not None:
            voters["forest"] = EditableLeaves(places, leaves, codes)
        for name, regression in request.regressions(importance, ones).items():
            fit = regression.fit(ones)
            said[name] = as_chances(fit.predicted, floor=floor).astype(np.float32)
            if kept is not None:
                voters[name] = EditableRidge(fit, codes)
    if request.model is not None:
        how: dict[str, Any] = {"seed": request.seed, "progress": request.resources.progress}
        voters["model"] = said["model"] = ask_model(request.model, request.X, codes, n_classes, **how)
    return said


def _first_of_each(codes: CodeArray, n_classes: int) -> IndexArray:
    """Return a row of each class, so that labels keep their type."""
    rows = np.empty(n_classes, dtype=np.int64)
    rows[codes[::-1]] = np.arange(len(codes))[::-1]
    return rows
