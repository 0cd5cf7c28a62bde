"""SciPy alone: electrons on a lattice, and the work in a chain of spins, in complex entries."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, least_trace, trace_problem
from genorth.linalg.arrays import Array

_PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


# ---------------------------------------------------------------------- electrons on a lattice


def _dot(side: int, electrons: int) -> Instance:
    """Electrons on a lattice in a trap and a magnetic field: the least sum of energies.

    Hops have Peierls' phases [hofstadter1976energy]. Starts at the sites of the lowest potential.
    """
    hop, square = scipy.sparse.eye_array(side, k=1), np.arange(side) - (side - 1) / 2
    phases = scipy.sparse.diags_array(np.exp(0.4j * square))
    hops = scipy.sparse.kron(scipy.sparse.eye_array(side), hop) + scipy.sparse.kron(hop, phases)
    potential = 0.02 * np.add.outer(square**2, square**2).ravel()
    H = (scipy.sparse.diags_array(potential + 4) - hops - hops.conj().T).tocsr()
    return Instance(
        problem=trace_problem(H, go.Stiefel(side**2, electrons, complex)),
        start=np.eye(side**2, dtype=complex)[:, np.argsort(potential, kind="stable")[:electrons]],
        truth=least_trace(H.toarray(), None, np.ones(electrons)),
        truth_by="scipy.linalg.eigh",
        draw=partial(_density, side),
    )


def _density(side: int, ax: Any, X: Array) -> None:
    ax.imshow((np.abs(X) ** 2).sum(axis=1).reshape(side, side), cmap="magma")
    ax.set(title="density of the electrons", xticks=[], yticks=[])


# ---------------------------------------------------------------------- a chain of spins


def _chain(spins: int, field: tuple[float, float, float]) -> Array:
    """Heisenberg's chain in a field, with a twist (Dzyaloshinskii-Moriya) that makes it complex."""

    def on(operator: Array, site: int) -> Array:
        return reduce(np.kron, (operator if k == site else np.eye(2) for k in range(spins)))

    x, y, z = ([on(pauli, site) for site in range(spins)] for pauli in _PAULI)
    bonds = range(spins - 1)
    return (
        sum(a[k] @ a[k + 1] for a in (x, y, z) for k in bonds)
        + 0.5 * sum(x[k] @ y[k + 1] - y[k] @ x[k + 1] for k in bonds)
        + sum(f * s for f, a in zip(field, (x, y, z), strict=True) for s in a)
        + sum(f * a[0] for f, a in zip(field, (x, y, z), strict=True)) / 2  # no symmetry is left
    )


def _ergotropy(spins: int) -> Instance:
    """The state of least energy that unitaries reach [allahverdyan2004maximal].

    min tr(H U rho U^T) over unitary U, where rho is the thermal state of the chain in another
    field: the sum of the eigenvalues of H, ascending, times those of rho, descending.
    """
    H = _chain(spins, (0.3, 0.2, 1.0))
    rho = scipy.linalg.expm(-_chain(spins, (0.9, -0.4, -0.5)) / 4)
    rho = (rho + rho.conj().T) / (2 * np.trace(rho).real)
    return Instance(
        problem=trace_problem(2 * H, go.Stiefel(len(H), len(H), complex), rho),
        start=np.eye(len(H), dtype=complex),  # nothing is done to the state
        truth=float(np.linalg.eigvalsh(H) @ np.linalg.eigvalsh(rho)[::-1]),
        truth_by="numpy.linalg.eigvalsh",
        draw=partial(_populations, H, rho),
    )


def _populations(H: Array, rho: Array, ax: Any, U: Array) -> None:
    energies, states = np.linalg.eigh(H)
    for label, X in (("before", states), ("after", U.conj().T @ states)):
        ax.plot(energies, np.einsum("ij,ij->j", X.conj(), rho @ X).real, "o-", label=label)
    ax.set(xlabel="energy", ylabel="population")
    ax.legend()


SOURCE = Source(
    package="scipy",
    module="scipy",
    oldest="1.13",
    instances={
        "dot-magnetic": Entry(
            "Ten electrons in a trap on a lattice of 16 x 16 sites, in a magnetic field.",
            partial(_dot, 16, 10),
        ),
        "ergotropy-spins": Entry(
            "The most work that a unitary extracts from the thermal state of four spins.",
            partial(_ergotropy, 4),
        ),
    },
)
