"""scikit-learn: discriminants, canonical correlations and an embedding of its bundled data.

Covariances are shrunk [ledoit2004well], since pixels and blood values are nearly collinear.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.spatial.distance
from scipy.optimize import Bounds

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, least_trace, orthonormal, trace_problem
from genorth.linalg.arrays import Array

_SIGNS = np.array([1.0, 1.0, -1.0])


def scaled(data: str) -> tuple[Array, Array]:
    """The samples in rows, each feature with mean 0 and variance 1; and their labels."""
    import sklearn.datasets
    import sklearn.preprocessing

    samples, labels = getattr(sklearn.datasets, f"load_{data}")(return_X_y=True)
    return sklearn.preprocessing.scale(samples[:, samples.std(axis=0) > 0]), labels


def _instance(A: Array, B: Array, weights: Any, start: Array, draw: Any) -> Instance:
    """Maximise tr(X^T A X N)/2 over X^T B X = I, from a start that is made orthonormal."""
    manifold = go.GeneralizedStiefel(B, len(weights))
    return Instance(
        problem=trace_problem(-A, manifold, weights),
        start=orthonormal(manifold, start),
        truth=least_trace(-A, B, weights),
        truth_by="scipy.linalg.eigh",
        metric="B",
        draw=draw,
    )


def _discriminant(data: str) -> Instance:
    """From the principal components; equal weights, as a classifier needs the subspace alone."""
    import sklearn.discriminant_analysis

    samples, labels = scaled(data)
    lda = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
    lda.fit(samples, labels)
    means, p = lda.means_ - lda.priors_ @ lda.means_, len(lda.classes_) - 1
    between, principal = (
        means.T * lda.priors_ @ means,
        np.linalg.svd(samples, full_matrices=False)[2][:p].T,
    )
    draw = partial(_scatter, (samples, 0), (samples, 1), labels, "coordinate {}")
    return _instance(between, lda.covariance_, np.ones(p), principal, draw)


def _correlation(data: str, first: slice, second: slice, p: int) -> Instance:
    """From partial least squares; weights p, ..., 1, so that the canonical pairs have an order."""
    from sklearn.covariance import ledoit_wolf

    samples, labels = scaled(data)
    one, two = samples[:, first], samples[:, second]
    both = scipy.linalg.block_diag(one, two)
    u, _, v = np.linalg.svd(one.T @ two)
    B = scipy.linalg.block_diag(ledoit_wolf(one)[0], ledoit_wolf(two)[0])
    A = both[: len(one)].T @ both[len(one) :] / len(one)
    draw = partial(
        _scatter,
        (both[: len(one)], 0),
        (both[len(one) :], 0),
        labels,
        "first canonical variate, block {}",
    )
    return _instance(A + A.T, B, np.arange(p, 0, -1), np.concatenate([u[:, :p], v[:p].T]), draw)


def _scatter(x: Any, y: Any, labels: Array, words: str, ax: Any, X: Array) -> None:
    """The samples in the coordinates x and y, each a matrix and a column of X."""
    (H, i), (V, j) = x, y
    ax.scatter(H @ X[:, i], V @ X[:, j], c=labels, s=6, cmap="turbo")
    ax.set(xlabel=words.format(1), ylabel=words.format(2))


# ---------------------------------------------------------------------- an embedding


def _embedding(count: int, landmarks: int) -> Instance:
    """Pseudo-Euclidean embedding [goldfarb1984unified]: minimise |X|^2/2 over X^T K X = J.

    K holds the inner products that d^2(i, j) = |x_i - x_j|^2 would have, with x_0 = 0; d is the
    city-block distance, so that K is indefinite. The minimum is the sum of 1/(2 |lambda|) over the
    largest eigenvalues of K of either sign [kovac1995trace], and K X are the coordinates. Starts at
    the embedding of a few landmarks, whose K is a leading block.
    """
    import sklearn.datasets

    samples, labels = sklearn.datasets.load_digits(return_X_y=True)
    d = scipy.spatial.distance.cdist(samples[: count + 1], samples[: count + 1], "cityblock")
    K = (d[:1, 1:] ** 2 + d[1:, :1] ** 2 - d[1:, 1:] ** 2) / 2
    K /= np.linalg.norm(K, 2)
    values = _largest(scipy.linalg.eigvalsh(K))
    within, vectors = scipy.linalg.eigh(K[:landmarks, :landmarks])
    start = np.zeros((count, len(_SIGNS)))
    start[:landmarks] = _largest(vectors / np.sqrt(np.abs(within)))
    return Instance(
        problem=trace_problem(np.eye(count), go.IndefiniteStiefel(K, _SIGNS)),
        start=start,
        truth=float(np.sum(1 / np.abs(values))) / 2,
        truth_by="scipy.linalg.eigvalsh",
        draw=partial(_coordinates, K, labels[1 : count + 1]),
    )


def _largest(ascending: Array) -> Array:
    """What belongs to the largest positive and negative eigenvalues, in the order of the signs."""
    positive = int(np.sum(_SIGNS > 0))
    return ascending[..., [*range(-1, -positive - 1, -1), *range(len(_SIGNS) - positive)]]


def _coordinates(K: Array, labels: Array, ax: Any, X: Array) -> None:
    x, y, negative = (K @ X).T
    ax.scatter(x, y, c=labels, s=20 + 400 * (negative - negative.min()), cmap="tab10", alpha=0.7)
    ax.set(xlabel="positive", ylabel="positive (size: negative)")


def _clusters(items: int, digits: int) -> Instance:
    """Orthonormal nonnegative columns against the indicators of k-means.

        min -tr(X^T A A^T X),  X^T X = I, X >= 0

    The columns of normalised indicators are such an X; weights within a cluster are better.
    """
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits

    A = load_digits(n_class=digits).data[:items]
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    problem = trace_problem(-2 * A @ A.T, go.Stiefel(items, digits), constraints=Bounds(0, np.inf))

    def indicators(labels: Array) -> Array:
        X = np.eye(digits)[labels]
        return np.asarray(X / np.linalg.norm(X, axis=0))

    labels = KMeans(digits, n_init=10, random_state=0).fit_predict(A)
    return Instance(
        problem=problem,
        start=indicators(np.argmax(A @ A[:digits].T, axis=1)),
        truth=problem.cost(indicators(labels)),
        truth_by="sklearn.cluster.KMeans",
        bound=True,
        several=True,
    )


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    instances={
        "lda-wine": Entry(
            "The two directions that separate three wines best (13 measurements).",
            partial(_discriminant, "wine"),
        ),
        "lda-digits": Entry(
            "The nine directions that separate ten handwritten digits best (61 pixels).",
            partial(_discriminant, "digits"),
        ),
        "cca-diabetes": Entry(
            "What age, sex, weight and blood pressure share with six blood values.",
            partial(_correlation, "diabetes", slice(4), slice(4, 10), 3),
        ),
        "cca-breast-cancer": Entry(
            "What the mean cell of a sample shares with its worst cell (10 measures each).",
            partial(_correlation, "breast_cancer", slice(10), slice(20, 30), 4),
        ),
        "cca-digits": Entry(
            "What the upper half of a handwritten digit shares with the lower half.",
            partial(_correlation, "digits", slice(30), slice(30, 61), 5),
        ),
        "embedding-digits": Entry(
            "Pseudo-Euclidean coordinates of 120 digits, from their city-block distances.",
            partial(_embedding, 120, 20),
        ),
        "nonnegative-digits": Entry(
            "Three clusters of 90 handwritten digits as orthonormal nonnegative columns.",
            partial(_clusters, 90, 3),
        ),
    },
)
