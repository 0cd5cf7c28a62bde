"""scikit-learn: its sample pictures, separated from mixtures and compressed by the t-SVD."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, orthonormal, trace_problem
from genorth.linalg.arrays import Array, ct

_SHIFTS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (2, 2), (0, 3), (3, 0), (3, 3), (0, 4), (4, 0))


# ---------------------------------------------------------------------- separated from mixtures


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
            manifold, cost_and_gradient=cost_and_gradient, euclidean_hessian=hessian
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


# ---------------------------------------------------------------------- compressed by the t-SVD


def _compression(tensor: Array, p: int, transform: str, draw: Any) -> Instance:
    """The best basis of p slices [kilmer2011factorization]: min |A - X * X^T * A|^2/2.

    On blocks this is (|A|^2 - sum_k |X_k^T A_k|^2)/2; the minimum is half of the sum of the squares
    of all singular values but the p largest of each block.
    """
    manifold = go.TensorStiefel(tensor.shape[0], p, tensor.shape[2], transform)
    A = manifold.from_tensor(tensor)
    gram = A @ ct(A)
    whole = float(np.trace(gram, axis1=1, axis2=2).sum().real)
    return Instance(
        problem=trace_problem(-gram, manifold, constant=whole / 2),
        start=orthonormal(manifold, A[:, :, :: A.shape[2] // p][:, :, :p]),  # some of the slices
        truth=float(np.sum(np.linalg.svd(A, compute_uv=False)[:, p:] ** 2)) / 2,
        truth_by="numpy.linalg.svd",
        draw=partial(draw, manifold, tensor),
    )


def _photograph(p: int) -> Instance:
    """Rows x columns x colours of every fourth pixel, without the mean column; cosine transform."""
    from sklearn.datasets import load_sample_image

    picture = np.asarray(load_sample_image("flower.jpg")[::4, ::4], float) / 255
    mean = picture.mean(axis=1, keepdims=True)
    return _compression(picture - mean, p, "dct", partial(_compressed, mean))


def _digits(p: int) -> Instance:
    """Rows x samples x columns; the Fourier transform makes * the t-product."""
    from sklearn.datasets import load_digits

    tensor = np.moveaxis(load_digits().images, 0, 1) / 16
    return _compression(tensor, p, "dft", _restored)


def _projected(manifold: go.TensorStiefel, tensor: Array, X: Array) -> Array:
    """X * X^T * A."""
    return manifold.to_tensor(X @ (ct(X) @ manifold.from_tensor(tensor)))


def _compressed(mean: Array, manifold: go.TensorStiefel, tensor: Array, ax: Any, X: Array) -> None:
    both = np.hstack([mean + tensor, mean + _projected(manifold, tensor, X)])
    ax.imshow(np.clip(both, 0, 1))
    ax.set(title="the picture, and from the basis", xticks=[], yticks=[])


def _restored(manifold: go.TensorStiefel, tensor: Array, ax: Any, X: Array) -> None:
    few = tensor[:, :10]
    rows = [np.hstack([*np.moveaxis(A, 1, 0)]) for A in (few, _projected(manifold, few, X))]
    ax.imshow(np.vstack(rows), cmap="gray_r", vmin=0, vmax=1)
    ax.set(title="ten digits; below, from the basis", xticks=[], yticks=[])


SOURCE = Source(
    package="scikit-learn",
    module="sklearn",
    oldest="1.5",
    also=("PIL",),
    instances={
        "separation-pictures": Entry(
            "Four patches of two photographs, separated from four mixtures of them.", _separation
        ),
        "tsvd-flower": Entry(
            "A photograph (107 x 160 pixels, 3 colours) from a basis of ten columns.",
            partial(_photograph, 10),
        ),
        "tsvd-digits": Entry(
            "All 1797 handwritten digits from a basis of three columns, by the t-product.",
            partial(_digits, 3),
        ),
    },
)
