"""Influence functions: what the test loss of a logistic regression owes to each training point, to first order.

Koh and Liang, "Understanding Black-box Predictions via Influence Functions", ICML 2017. The model is fitted once. How
its parameters would move if a point counted a little more follows from the gradient of the point's loss and the Hessian
of the whole; one linear system answers for all points.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pivotal.baselines._baseline_inputs import classification
from pivotal.core.random import as_generator
from pivotal.core.threads import count_threads
from pivotal.core.types import CodeArray, FloatArray
from pivotal.core.validation import check_count, check_positive, is_sparse
from pivotal.core.version import __version__
from pivotal.results.values import Values

__all__ = ["influence"]

_MOST_EXACT = 2000  # parameters whose Hessian is written down: 32 MB, and a second or two
_RTOL = 1e-10  # residual at which conjugate gradients stop, relative to the right-hand side
_SOLVERS = ("auto", "exact", "cg")


def influence(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    C: float = 1.0,
    scale: bool = True,
    solver: str = "auto",
    max_iter: int = 1000,
    ids: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = -1,
    progress: bool = False,  # noqa: ARG001
) -> Values:
    """Value training points by their influence on the test loss of a logistic regression.

    The value of point i estimates how much the mean log loss on the test set would rise without it: leave-one-out, up
    to terms of second order, for the price of one fit. Positive means helpful.

    Parameters
    ----------
    X_train, y_train, X_test, y_test
        As in `pivotal.value`; class labels of any type, two classes or more.
    C : float, default=1.0
        Inverse strength of the penalty, as in scikit-learn's `LogisticRegression`. The intercept is not penalised.
    scale : bool, default=True
        Whether features are scaled to mean 0 and variance 1 first (sparse ones only to variance 1). The scales count
        as given: a point's influence on them is not followed.
    solver : {"auto", "exact", "cg"}, default="auto"
        How the linear system with the Hessian is solved: by its Cholesky factors, by conjugate gradients from products
        with the Hessian alone, or by the former up to 2000 parameters and the latter beyond.
    max_iter : int, default=1000
        Most steps of the fit; conjugate gradients may take ten times as many.
    ids
        As in `pivotal.value`.
    random_state, n_jobs, progress
        Part of the signature that all baselines share; nothing here is random or split into parts.

    Returns
    -------
    Values
        Without utilities and error bound: a first-order estimate is not the value of a game.

    Notes
    -----
    A query whose label no training point has costs the model the same whatever the weights are; it counts among the
    queries and adds nothing. With one class in training there is nothing to fit, and all values are 0.

    The estimate is poor for points that carry a class or a feature alone: without them the model would be another one.

    Examples
    --------
    >>> from pivotal.baselines.influence import influence
    >>> X = [[0.0], [1.0], [2.0], [5.0], [6.0], [7.0], [6.5]]
    >>> influence(X, ["a", "a", "a", "b", "b", "b", "a"], [[0.5], [6.5]], ["a", "b"]).order()[-1]
    np.int64(6)
    """
    task = classification(X_train, y_train, X_test, y_test, ids, "influence")
    C = check_positive(C, "C")
    max_iter = check_count(max_iter, "max_iter")
    if solver not in _SOLVERS:
        raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}; got {solver!r}.")
    if not isinstance(scale, bool | np.bool_):
        raise ValueError(f"scale must be True or False; got {scale!r}.")
    as_generator(random_state)
    count_threads(n_jobs)
    values = np.zeros(task.y_train.size)
    used = "none"
    if task.n_known > 1:
        train, test = _design(task.X_train, task.X_test, scale=bool(scale))
        weights = _fit(train, task.y_train, C, max_iter)
        used = solver if solver != "auto" else ("exact" if weights.size <= _MOST_EXACT else "cg")
        known = task.y_test < task.n_known
        slope = test[known].T @ _residuals(test[known], task.y_test[known], weights) / task.y_test.size
        answer = _solve(train, weights, np.asarray(slope), C, exact=used == "exact", max_iter=10 * max_iter)
        # The gradient of a point's loss is its residual times its features: no need to write it down.
        values = (_residuals(train, task.y_train, weights) * (train @ answer)).sum(axis=1)
    return Values(
        values,
        n_queries=task.y_test.size,
        ids=task.ids,
        settings={
            "method": "influence",
            "model": "logistic regression",
            "C": C,
            "scale": bool(scale),
            "solver": used,
            "version": __version__,
        },
    )


def _design(X_train: Any, X_test: Any, *, scale: bool) -> tuple[Any, Any]:
    """Return both tables as float64, scaled if wanted, with a column of ones behind."""
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    tables = [X_train.astype(np.float64), X_test.astype(np.float64)]
    thin = is_sparse(X_train)
    if scale:
        scaler = StandardScaler(with_mean=not thin).fit(tables[0])
        tables = [scaler.transform(table) for table in tables]
    ones = [np.ones((table.shape[0], 1)) for table in tables]
    stack: Any = partial(sparse.hstack, format="csr") if thin else np.hstack
    train, test = (stack(pair) for pair in zip(tables, ones, strict=True))
    return train, test


def _fit(design: Any, codes: CodeArray, C: float, max_iter: int) -> FloatArray:
    """Return the weights of the penalised model, shape (n_features + 1, n_outputs), the intercepts in the last row.

    Two classes have one output, the log odds of the second; more have one each.
    """
    from sklearn.linear_model import LogisticRegression

    n_classes = int(codes.max()) + 1
    n_parameters = design.shape[1] * (1 if n_classes == 2 else n_classes)
    solver = "newton-cholesky" if n_parameters <= _MOST_EXACT and not is_sparse(design) else "newton-cg"
    model = LogisticRegression(C=C, solver=solver, tol=1e-10, max_iter=max_iter)
    model.fit(design[:, :-1], codes)
    return np.asarray(np.vstack([model.coef_.T, model.intercept_]))


def _chances(design: Any, weights: FloatArray) -> FloatArray:
    """Return the modelled chance of each output; shape (n_points, n_outputs)."""
    from scipy.special import expit, softmax

    scores = design @ weights
    return np.asarray(expit(scores) if weights.shape[1] == 1 else softmax(scores, axis=1))


def _residuals(design: Any, codes: CodeArray, weights: FloatArray) -> FloatArray:
    """Return what the log loss of each point grows by per unit of each output's score."""
    residuals = _chances(design, weights)
    if weights.shape[1] == 1:
        residuals[:, 0] -= codes
    else:
        residuals[np.arange(codes.size), codes] -= 1.0
    return residuals


def _solve(design: Any, weights: FloatArray, right: FloatArray, C: float, *, exact: bool, max_iter: int) -> FloatArray:
    """Solve Hessian · answer = right, all of the shape of the weights."""
    chances = _chances(design, weights)
    penalty = np.full((weights.shape[0], 1), 1.0 / C)
    penalty[-1] = 0.0
    if exact:
        return _solve_exactly(design, chances, penalty, right)
    return _solve_by_products(design, chances, penalty, right, max_iter)


def _solve_exactly(design: Any, chances: FloatArray, penalty: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    n_features, n_outputs = right.shape
    hessian = np.zeros((n_outputs, n_features, n_outputs, n_features))
    for one in range(n_outputs):
        for other in range(one + 1):
            curvature = chances[:, one] * (float(one == other) - chances[:, other])
            weighted = design.multiply(curvature[:, np.newaxis]) if is_sparse(design) else design * curvature[:, None]
            block = design.T @ weighted
            block = block.toarray() if is_sparse(block) else block
            hessian[one, :, other] = block
            hessian[other, :, one] = block.T
        hessian[one, range(n_features), one, range(n_features)] += penalty[:, 0]
    if n_outputs > 1:
        hessian[:, -1, :, -1] += _anchor(chances)
    try:
        factors = cho_factor(hessian.reshape(right.size, right.size), overwrite_a=True)
    except LinAlgError:
        raise ValueError(
            "influence needs a Hessian that can be inverted; that of this fit is singular in double precision. Lower C."
        ) from None
    answer = cho_solve(factors, right.T.ravel())
    return np.asarray(answer.reshape(n_outputs, n_features).T)


def _solve_by_products(
    design: Any, chances: FloatArray, penalty: FloatArray, right: FloatArray, max_iter: int
) -> FloatArray:
    import warnings

    from scipy.sparse.linalg import LinearOperator, cg
    from sklearn.exceptions import ConvergenceWarning

    anchor = _anchor(chances) if right.shape[1] > 1 else 0.0

    def times_hessian(flat: FloatArray) -> FloatArray:
        direction = flat.reshape(right.shape)
        scores = design @ direction
        moved = chances * (scores - (chances * scores).sum(axis=1, keepdims=True))
        product = design.T @ moved + penalty * direction
        product[-1] += anchor * direction[-1].sum()
        return np.asarray(product.ravel())

    squares = design.multiply(design) if is_sparse(design) else design**2
    diagonal = (squares.T @ (chances * (1.0 - chances)) + penalty).ravel()
    diagonal = np.maximum(diagonal, np.finfo(np.float64).tiny)
    shape = (right.size, right.size)
    answer, unfinished = cg(
        LinearOperator(shape, matvec=times_hessian, dtype=np.float64),
        right.ravel(),
        rtol=_RTOL,
        maxiter=max_iter,
        M=LinearOperator(shape, matvec=lambda flat: flat / diagonal, dtype=np.float64),
    )
    if unfinished:
        warnings.warn(
            f"conjugate gradients have not converged after {max_iter} steps; lower C or raise max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return np.asarray(answer.reshape(right.shape))


def _anchor(chances: FloatArray) -> float:
    """Weight of a penalty on the sum of the intercepts.

    Adding the same to all of them changes no chance, which would make the Hessian singular. No gradient points that
    way, so holding the sum in place changes no answer.
    """
    return float((chances * (1.0 - chances)).sum() / chances.shape[1])
