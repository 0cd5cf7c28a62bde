"""scikit-learn: patches of its sample pictures, separated from mixtures of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, orthonormal
from genorth.linalg.arrays import Array

_SHIFTS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 2), (0, 3), (3, 0), (3, 3), (0, 4), (4, 0))


def _separation() -> Instance:
    """Four patches, mixed; X^T unmixes: min sum_k |off(X^T R_k X)|^2/4 over X^T R_0 X = I.

    R_k are the covariances at shifts k of the mixtures' horizontal differences (SOBI
    [belouchrani1997blind]; differences commute with mixing, and those of other pictures are nearly
    uncorrelated). The bound is f at the true unmixing, made orthonormal.
    """
    from sklearn.datasets import load_sample_images

    patches = [
        picture[row : row + 200, column : column + 300].mean(axis=2)
        for picture in load_sample_images().images
        for row, column in ((0, 0), (200, 300))
    ]
    sources = np.stack([patch / np.diff(patch).std() for patch in patches])
    mixing = np.random.default_rng(0).standard_normal((4, 4))
    mixtures = np.tensordot(mixing, sources, 1)
    differences = np.diff(mixtures)
    R0, *lags = (_covariance(differences, *shift) for shift in ((0, 0), *_SHIFTS))
    R, manifold = np.stack(lags), go.GeneralizedStiefel(R0, 4)

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        RX = R @ X
        off = _off(X.T @ RX)
        return float(np.vdot(off, off)) / 4, (RX @ off).sum(axis=0)

    def hessian(X: Array, Z: Array) -> Array:
        RX, RZ = R @ X, R @ Z
        T = X.T @ RZ
        return (RZ @ _off(X.T @ RX) + RX @ _off(T + T.mT)).sum(axis=0)

    truth = cost_and_gradient(orthonormal(manifold, np.linalg.inv(mixing).T))[0]
    return Instance(
        problem=go.Problem(
            manifold,
            cost_and_gradient=cost_and_gradient,
            euclidean_hessian=hessian,
            name="separation-pictures",
        ),
        start=orthonormal(manifold, np.eye(4)),  # the mixtures, whitened
        truth=truth,
        truth_by="the known mixing",
        bound=True,
        metric="B",
        draw=partial(_separated, mixtures),
    )


def _covariance(signals: Array, down: int, right: int) -> Array:
    """The covariance of the signals with their shifted selves, made symmetric."""
    height, width = signals.shape[1:]
    here = signals[:, : height - down, : width - right].reshape(len(signals), -1)
    R = here @ signals[:, down:, right:].reshape(here.shape).T / here.shape[1]
    return (R + R.T) / 2


def _off(T: Array) -> Array:
    return T * (1 - np.eye(T.shape[-1]))


def _separated(mixtures: Array, ax: Any, X: Array) -> None:
    rows = [np.hstack(list(each)) for each in (mixtures, np.tensordot(X.T, mixtures, 1))]
    rows = [(row - row.mean()) / row.std() for row in rows]
    ax.imshow(np.vstack(rows)[::2, ::2], cmap="gray", vmin=-3, vmax=3)
    ax.set(title="the mixtures; below, separated", xticks=[], yticks=[])


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    also=("PIL",),
    instances={
        "separation-pictures": Entry(
            "Four patches of two photographs, separated from four mixtures of them.", _separation
        )
    },
)
