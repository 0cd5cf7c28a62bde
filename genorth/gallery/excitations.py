"""PySCF: excitation energies of molecules by time-dependent Hartree-Fock, a hyperbolic problem.

With the orbital Hessians A and B of the ground state, the excitation energies are the eigenvalues w
of the linear response problem [thouless1961vibrational]

    [[A, B], [B, A]] x = w diag(I, -I) x,   x^T diag(I, -I) x = 1,

and the p lowest ones minimise the trace over the hyperbolic Stiefel manifold [bai2012minimization]:

    min tr(X^T [[A, B], [B, A]] X) over X^T diag(I, -I) X = I_p is w_1 + ... + w_p.

The start is that of a chemist: the p smallest gaps between empty and occupied orbitals. The gaps
are also the metric, a diagonal: that of A without its two-electron integrals.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import genorth as go
from genorth.gallery.base import Entry, Instance, Source
from genorth.gallery.hartree_fock import mean_field
from genorth.gallery.traces import trace_problem
from genorth.linalg.arrays import Array


def _excitations(molecule: str, p: int) -> Instance:
    from pyscf import tdscf

    field = mean_field(molecule)
    field.kernel()
    A, B = (M.reshape(2 * (M.shape[0] * M.shape[1],)) for M in tdscf.rhf.get_ab(field))
    states = tdscf.TDHF(field).set(nstates=p + 4, conv_tol=1e-10)  # with p it may miss one of them
    states.kernel()
    pairs = field.mol.nelectron // 2
    gaps = (field.mo_energy[pairs:] - field.mo_energy[:pairs, None]).ravel()  # empty - occupied
    start = np.zeros((2 * len(gaps), p))
    start[np.argsort(gaps)[:p], np.arange(p)] = 1.0
    return Instance(
        problem=trace_problem(
            np.block([[A, B], [B, A]]),
            go.HyperbolicStiefel(np.repeat([1.0, -1.0], len(gaps)), p),
            np.full(p, 2.0),
            f"excitations-{molecule}",
        ),
        start=start,
        truth=float(np.sort(states.e)[:p].sum()),
        truth_by="pyscf.tdscf.TDHF",
        metric=np.tile(gaps, 2),
        draw=partial(_draw, gaps, np.block([[A, B], [B, A]])),
    )


def _draw(gaps: Array, K: Array, ax: Any, X: Array) -> None:
    found = np.linalg.eigvalsh(X.T @ K @ X)
    ax.hlines(np.sort(gaps)[: len(found)], 0, 1, color="C1", label="orbital gaps (the start)")
    ax.hlines(found, 1.2, 2.2, color="C0", label="excitation energies")
    ax.set(ylabel="energy (hartree)", xticks=[])
    ax.legend()


SOURCE = Source(
    package="pyscf",
    module="pyscf",
    oldest="2.5",
    instances={
        "excitations-water": Entry(
            "The four lowest singlet excitations of water (6-31G), 40 pairs of orbitals.",
            partial(_excitations, "water", 4),
        ),
        "excitations-hydrogen-peroxide": Entry(
            "The four lowest singlet excitations of hydrogen peroxide (6-31G), 117 pairs.",
            partial(_excitations, "hydrogen-peroxide", 4),
        ),
    },
)
