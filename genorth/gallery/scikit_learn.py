"""scikit-learn: discriminant analysis and canonical correlation of its bundled data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, orthonormal
from genorth.linalg.arrays import Array


def trace_problem(A: Array, manifold: go.GenOrthManifold, weights: Any, name: str) -> go.Problem:
    """Minimise -tr(X^T A X N)/2, N = diag(weights), whose Hessian product is -A Z N."""
    N = np.asarray(weights, float)

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        G = -(A @ X) * N
        return float(np.vdot(X, G).real) / 2, G

    return go.Problem(
        manifold,
        cost_and_gradient=cost_and_gradient,
        euclidean_hessian=lambda _, Z: -(A @ Z) * N,
        name=name,
    )


def fan(A: Array, B: Array, weights: Array) -> float:
    """The minimum of -tr(X^T A X N)/2 over X^T B X = I, weights descending (Fan's theorem)."""
    import scipy.linalg

    values = scipy.linalg.eigh(A, B, eigvals_only=True)[::-1]
    return -float(values[: len(weights)] @ weights) / 2


def _discriminant(data: str) -> Instance:
    import sklearn.datasets
    import sklearn.discriminant_analysis
    import sklearn.preprocessing

    samples, labels = getattr(sklearn.datasets, f"load_{data}")(return_X_y=True)
    samples = sklearn.preprocessing.scale(samples[:, samples.std(axis=0) > 0])
    lda = sklearn.discriminant_analysis.LinearDiscriminantAnalysis("eigen", shrinkage="auto")
    lda.fit(samples, labels)
    centred = lda.means_ - lda.priors_ @ lda.means_
    between, within = centred.T * lda.priors_ @ centred, lda.covariance_
    p = len(lda.classes_) - 1
    manifold = go.GeneralizedStiefel(within, p)
    principal = np.linalg.svd(samples, full_matrices=False)[2][:p].T
    return Instance(
        problem=trace_problem(between, manifold, np.ones(p), f"lda-{data}"),
        start=orthonormal(manifold, principal),
        truth=fan(between, within, np.ones(p)),
        truth_by="scipy.linalg.eigh",
        metric="B",
        draw=partial(_scatter, samples, labels),
    )


def _scatter(samples: Array, labels: Array, ax: Any, X: Array) -> None:
    scores = samples @ X
    ax.scatter(scores[:, 0], scores[:, -1], c=labels, s=8, cmap="tab10")
    ax.set(xlabel="first direction", ylabel="last direction")


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.3",
    instances={
        "lda-wine": Entry(
            "The two directions that separate three wines best (13 measurements).",
            partial(_discriminant, "wine"),
        ),
        "lda-digits": Entry(
            "The nine directions that separate ten handwritten digits best (61 pixels).",
            partial(_discriminant, "digits"),
        ),
    },
)
