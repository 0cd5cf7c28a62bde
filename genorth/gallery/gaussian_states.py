"""The Walrus: symplectic eigenvalues of Gaussian states of light, on the symplectic manifold.

The covariance V of N modes (x_1 ... x_N, p_1 ... p_N, hbar = 2, so that the vacuum has V = I) has
the symplectic eigenvalues nu_i of Williamson's form V = S diag(nu, nu) S^T
[williamson1936algebraic], and the k smallest ones minimise a trace [bhatia2015symplectic]
[son2021computing]:

    min tr(X^T V X) over X^T J X = J_2k is 2 (nu_1 + ... + nu_k).

The noise of a state is that of its modes, nu_i = 2 n_i + 1 with n_i thermal photons, whatever
squeezers and beam splitters did to it. With the sign of the momenta on one side reversed (partial
transposition), nu_i < 1 says that the two sides are entangled [simon2000peres]. The start takes the
first k modes as they are; the metric V makes f the square of the norm.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, trace_problem
from genorth.linalg.arrays import Array


def _network(modes: int) -> Array:
    """Thermal light, squeezed, mixed by a mesh of beam splitters, and squeezed again."""
    from thewalrus import symplectic

    S = symplectic.squeezing(np.linspace(0.2, 1.0, modes))
    for i in (i for layer in range(modes) for i in range(1 + layer % 2, modes, 2)):
        splitter = symplectic.beam_splitter(np.pi / 4, 0.7 * i)
        S = symplectic.expand(splitter, [i - 1, i], modes) @ S
    S = symplectic.squeezing(np.linspace(0.5, 0.1, modes)) @ S
    return S * np.tile(2 * np.linspace(2.0, 0.1, modes) + 1, 2) @ S.T  # 2 to 0.1 photons


def _entangled(modes: int) -> Array:
    """Squeezed pairs with losses, one mode of each on either side, where it is squeezed and mixed.

    The modes 0, 2, ... are on one side, which is transposed.
    """
    from thewalrus import symplectic

    S = np.eye(2 * modes)
    for i in range(0, modes, 2):
        pair = symplectic.two_mode_squeezing(0.9 - 0.5 * i / modes, 0.0)
        S = symplectic.expand(pair, [i, i + 1], modes) @ S
    mean, V = np.zeros(2 * modes), S @ S.T
    for i in range(modes):
        mean, V = symplectic.loss(mean, V, 0.9 - 0.4 * i / modes, i, nbar=0.1)
    local = symplectic.squeezing(np.linspace(0.3, 1.0, modes))
    for i in 2 * list(range(modes - 2)):
        splitter = symplectic.beam_splitter(np.pi / 4, 0.7 * (i + 1))
        local = symplectic.expand(splitter, [i, i + 2], modes) @ local
    signs = np.r_[np.ones(modes), np.resize([-1.0, 1.0], modes)]
    return signs[:, None] * (local @ V @ local.T) * signs


def _instance(make: Any, modes: int, k: int) -> Instance:
    from thewalrus.decompositions import williamson

    V = make(modes)
    V = (V + V.T) / 2
    nu = np.sort(np.diag(williamson(V)[0])[:modes])
    return Instance(
        problem=trace_problem(2 * V, go.SymplecticStiefel(2 * modes, 2 * k)),
        start=np.eye(2 * modes)[:, np.r_[:k, modes : modes + k]],
        truth=2 * float(nu[:k].sum()),
        truth_by="thewalrus.decompositions.williamson",
        metric=V,
        draw=partial(_draw, V, nu),
    )


def _draw(V: Array, nu: Array, ax: Any, X: Array) -> None:
    from thewalrus.decompositions import williamson

    k = X.shape[1] // 2
    found = np.sort(np.diag(williamson(X.T @ V @ X)[0])[:k])
    ax.bar(np.arange(len(nu)), nu, color="0.8", label="Williamson")
    ax.plot(np.arange(k), found, "o", label="X")
    ax.axhline(1.0, color="k", lw=0.8, ls="--", label="vacuum")
    ax.set(xlabel="mode", ylabel="symplectic eigenvalue")
    ax.legend()


SOURCE = Source(
    package="thewalrus",
    module="thewalrus",
    oldest="0.22",
    instances={
        "gaussian-network": Entry(
            "The four quietest of 16 modes of noisy light behind an interferometer.",
            partial(_instance, _network, 16, 4),
        ),
        "gaussian-entanglement": Entry(
            "The four smallest symplectic eigenvalues of eight partially transposed modes: all "
            "below one, so that the two sides are entangled.",
            partial(_instance, _entangled, 8, 4),
        ),
    },
)
