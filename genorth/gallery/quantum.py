"""SciPy alone: electrons on a lattice, work in a chain of spins, a tree for its ground state."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

import genorth as go
from genorth.gallery.base import (
    Entry,
    Instance,
    Source,
    least_trace,
    on_product,
    trace_problem,
)
from genorth.linalg.arrays import Array

_PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])
_SPINS = 8  # of the tree
_SWEEPS = 20_000
_STILL = 1e-15  # relative decrease of the energy at which the sweeps end


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


def _paulis(spins: int) -> list[list[Array]]:
    """The Pauli matrices X, Y and Z of each spin."""

    def on(operator: Array, site: int) -> Array:
        return reduce(np.kron, (operator if k == site else np.eye(2) for k in range(spins)))

    return [[on(pauli, site) for site in range(spins)] for pauli in _PAULI]


def _chain(spins: int, field: tuple[float, float, float]) -> Array:
    """Heisenberg's chain in a field, with a twist (Dzyaloshinskii-Moriya) that makes it complex."""
    (x, y, z), bonds = _paulis(spins), range(spins - 1)
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


# ---------------------------------------------------------------------- a tree of isometries


def ising(spins: int, field: float) -> Array:
    """H = -sum Z_i Z_i+1 - g sum X_i, the transverse Ising chain."""
    x, _, z = _paulis(spins)
    bonds = sum(z[k] @ z[k + 1] for k in range(spins - 1))
    return np.asarray(-bonds - field * sum(x)).real


class Tree:
    """The energy of a tree of seven isometries, for eight spins.

    Four isometries of the first layer join two spins each, two of the second layer two of these,
    and the top is a vector. With the Kronecker product x and W_i^T W_i = I, V_i^T V_i = I, |t| = 1,

        E(W_1, ..., W_4, V_1, V_2, t) = psi^T H psi,  psi = (W_1 x W_2 x W_3 x W_4)(V_1 x V_2) t

    The method of the field is a row: each tensor in turn becomes the polar factor of minus its
    gradient, where H is shifted to be negative definite [evenbly2009algorithms]. What it reaches is
    a bound; the exact ground state, by diagonalisation, is 1.7 percent lower, as the tree keeps two
    states of each pair and of each half.

    Args:
        field: g.
        lower: The number of states that are kept of two spins.
        upper: The number of states that are kept of four.
    """

    def __init__(self, field: float, lower: int, upper: int) -> None:
        self.H = ising(_SPINS, field)
        pair, four = go.Stiefel(4, lower), go.Stiefel(lower**2, upper)
        self.manifold = go.Product(pair, pair, pair, pair, four, four, go.Stiefel(upper**2, 1))
        self.upper = upper

    def halves(self, parts: tuple[Array, ...]) -> tuple[list[Array], list[Array], Array]:
        """The maps of pairs and of halves, and the top as a matrix."""
        W, V, t = parts[:4], parts[4:6], parts[6].reshape(self.upper, self.upper)
        pairs = [np.kron(W[0], W[1]), np.kron(W[2], W[3])]
        return pairs, [K @ v for K, v in zip(pairs, V, strict=True)], t

    def state(self, *parts: Array) -> Array:
        """psi, a matrix with a row for each state of the left half."""
        _, (left, right), t = self.halves(parts)
        return np.asarray(left @ t @ right.T)

    def cost(self, *parts: Array) -> float:
        """psi^T H psi."""
        psi = self.state(*parts).ravel()
        return float(psi @ self.H @ psi)

    def gradient(self, *parts: Array, shift: float = 0.0) -> tuple[Array, ...]:
        """The gradient with H - shift I, from the top down."""
        pairs, (left, right), t = self.halves(parts)
        psi = (left @ t @ right.T).ravel()
        E = 2 * (self.H @ psi - shift * psi).reshape(16, 16)
        below: list[Array] = []
        middle: list[Array] = []
        for i, outer in enumerate((E @ right @ t.T, E.T @ left @ t)):
            middle.append(pairs[i].T @ outer)
            one, two = parts[2 * i : 2 * i + 2]
            K = (outer @ parts[4 + i].T).reshape(4, 4, *one.shape[1:], *two.shape[1:])
            below += [np.einsum("abij,bj->ai", K, two), np.einsum("abij,ai->bj", K, one)]
        return (*below, *middle, (left.T @ E @ right).reshape(-1, 1))


tree = cache(Tree)


def _sweeps(key: Any, _: Any, x0: Any, visit: Callable[[Any], Any]) -> None:
    here = tree(*key)
    parts, top, before = list(x0), float(scipy.linalg.eigvalsh(here.H)[-1]), np.inf
    for _sweep in range(_SWEEPS):
        visit(tuple(parts))
        for i in range(len(parts)):
            parts[i] = -scipy.linalg.polar(here.gradient(*parts, shift=top)[i])[0]
        if before - (before := here.cost(*parts)) <= _STILL * abs(before):
            break


def _tree(*key: Any) -> Instance:
    here, rows = tree(*key), partial(_sweeps, key)
    start = here.manifold.random_point(0)  # the usual one: no guess is known
    draw, words = partial(_correlations, key), "sweeps of Evenbly and Vidal"
    return on_product(here, start, rows, "sweeps", "evenbly2009algorithms", words, draw)


def _correlations(key: Any, ax: Any, x: Any) -> None:
    """The correlations <Z_1 Z_j> of the tree and of the exact ground state."""
    here, exact = tree(*key), np.linalg.eigh(tree(*key).H)[1][:, 0]
    signs = 1 - 2.0 * ((np.arange(2**_SPINS)[:, None] >> np.arange(_SPINS)[::-1]) & 1)
    for psi, style, label in ((here.state(*x).ravel(), "o-", "tree"), (exact, "x--", "exact")):
        ax.plot((signs[:, :1] * signs).T @ psi**2, style, label=label)
    ax.set(xlabel="distance of two spins", ylabel="correlation")
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
        "ising-tree": Entry(
            "Eight spins of the critical Ising chain by a tree of seven isometries.",
            partial(_tree, 1.0, 2, 2),
        ),
    },
)
