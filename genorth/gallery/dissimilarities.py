"""scikit-learn: handwritten digits by dissimilarities that are no Euclidean distances."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source
from genorth.gallery.traces import trace_problem
from genorth.linalg.arrays import Array

_SIGNS = np.array([1.0, 1.0, -1.0])


def _embedding(count: int, landmarks: int) -> Instance:
    """Pseudo-Euclidean embedding [goldfarb1984unified]: minimise |X|^2/2 over X^T K X = J.

    K holds the inner products that d^2(i, j) = |x_i - x_j|^2 would have, with x_0 = 0; d is the
    city-block distance, so that K is indefinite. The minimum is the sum of 1/(2 |lambda|) over the
    largest eigenvalues of K of either sign [kovac1995trace], and K X are the coordinates. Starts at
    the embedding of a few landmarks, whose K is a leading block.
    """
    import scipy.linalg
    import scipy.spatial.distance
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
        problem=trace_problem(
            np.eye(count), go.IndefiniteStiefel(K, _SIGNS), np.ones(len(_SIGNS)), "embedding-digits"
        ),
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


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    instances={
        "embedding-digits": Entry(
            "Pseudo-Euclidean coordinates of 120 digits, from their city-block distances.",
            partial(_embedding, 120, 20),
        )
    },
)
