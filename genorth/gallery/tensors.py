"""scikit-learn: pictures as tensors, compressed by the t-SVD."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, orthonormal
from genorth.linalg.arrays import Array, ct


def _compression(tensor: Array, p: int, transform: str, name: str, draw: Any) -> Instance:
    """The best basis of p slices [kilmer2011factorization]: min |A - X * X^T * A|^2/2.

    On blocks this is (|A|^2 - sum_k |X_k^T A_k|^2)/2; the minimum is half of the sum of the squares
    of all singular values but the p largest of each block.
    """
    manifold = go.TensorStiefel(tensor.shape[0], p, tensor.shape[2], transform)
    A = manifold.from_tensor(tensor)
    gram = A @ ct(A)
    whole = float(np.trace(gram, axis1=1, axis2=2).sum().real)

    def cost_and_gradient(X: Array) -> tuple[float, Array]:
        G = -gram @ X
        return (whole + float(np.vdot(X, G).real)) / 2, G

    tail = np.linalg.svd(A, compute_uv=False)[:, p:]
    return Instance(
        problem=go.Problem(
            manifold,
            cost_and_gradient=cost_and_gradient,
            euclidean_hessian=lambda _, Z: -gram @ Z,
            name=name,
        ),
        start=orthonormal(manifold, A[:, :, :: A.shape[2] // p][:, :, :p]),  # some of the slices
        truth=float(np.sum(tail**2)) / 2,
        truth_by="numpy.linalg.svd",
        draw=partial(draw, manifold, tensor),
    )


def _photograph(p: int) -> Instance:
    """Rows x columns x colours of every fourth pixel, without the mean column; cosine transform."""
    from sklearn.datasets import load_sample_image

    picture = np.asarray(load_sample_image("flower.jpg")[::4, ::4], float) / 255
    mean = picture.mean(axis=1, keepdims=True)
    return _compression(picture - mean, p, "dct", "tsvd-flower", partial(_compressed, mean))


def _digits(p: int) -> Instance:
    """Rows x samples x columns; the Fourier transform makes * the t-product."""
    from sklearn.datasets import load_digits

    tensor = np.moveaxis(load_digits().images, 0, 1) / 16
    return _compression(tensor, p, "dft", "tsvd-digits", _restored)


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
