"""SciPy alone: electrons on a lattice in a magnetic field, on the complex Stiefel manifold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source
from genorth.gallery.traces import least_trace, trace_problem
from genorth.linalg.arrays import Array


def _dot(side: int, electrons: int) -> Instance:
    """Electrons on a lattice in a trap and a magnetic field: the least sum of energies.

    Hops have Peierls' phases [hofstadter1976energy]. Starts at the sites of the lowest potential.
    """
    import scipy.sparse

    hop, square = scipy.sparse.eye_array(side, k=1), np.arange(side) - (side - 1) / 2
    phases = scipy.sparse.diags_array(np.exp(0.4j * square))
    eye = scipy.sparse.eye_array(side)
    hops = scipy.sparse.kron(eye, hop) + scipy.sparse.kron(hop, phases)
    potential = 0.02 * np.add.outer(square**2, square**2).ravel()
    H = (scipy.sparse.diags_array(potential + 4) - hops - hops.conj().T).tocsr()
    manifold = go.Stiefel(side**2, electrons, complex)
    lowest = np.argsort(potential, kind="stable")[:electrons]
    return Instance(
        problem=trace_problem(H, manifold, np.ones(electrons), "dot-magnetic"),
        start=np.eye(side**2, dtype=complex)[:, lowest],
        truth=least_trace(H.toarray(), None, np.ones(electrons)),
        truth_by="scipy.linalg.eigh",
        draw=partial(_density, side),
    )


def _density(side: int, ax: Any, X: Array) -> None:
    ax.imshow((np.abs(X) ** 2).sum(axis=1).reshape(side, side), cmap="magma")
    ax.set(title="density of the electrons", xticks=[], yticks=[])


SOURCE = Source(
    package="scipy",
    module="scipy",
    oldest="1.13",
    instances={
        "dot-magnetic": Entry(
            "Ten electrons in a trap on a lattice of 16 x 16 sites, in a magnetic field.",
            partial(_dot, 16, 10),
        )
    },
)
