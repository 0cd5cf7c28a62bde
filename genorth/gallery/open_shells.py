"""PySCF: molecules with unpaired electrons, whose two spins have orbitals of their own.

The energy of unrestricted Hartree-Fock [pople1954self], with the densities D_s = C_s C_s^T of both
spins and the Fock matrices F_s = h + V_s(D), V_s = J(D_a + D_b) - K(D_s), is

    E = sum over s of tr(C_s^T (h + F_s) C_s)/2 + E_nuc,  G_s = 2 F_s C_s,
    H_s[Z] = 2 F_s Z_s + 2 V_s(Z C^T + C Z^T) C_s,

over C_s^T S C_s = I for both. An evaluation is a pair of Fock matrices. The start is PySCF's guess:
atomic densities, and the lowest orbitals in their field. It has the symmetry of the molecule, and
so has what DIIS finds from there, the bound: a saddle, with lower solutions without it. PySCF's
DIIS and Newton method are rows, and so are `rlbfgs` and `rtr` with the orbital gaps of each spin as
preconditioner [vanvoorhis2002geometric].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg

import genorth as go
from genorth.gallery import molecules
from genorth.gallery.base import Entry, Instance, Source, domain_solver
from genorth.gallery.preconditioners import orbital_levels, unrestricted_preconditioner
from genorth.linalg.arrays import Array
from genorth.linalg.cache import ContentCache

#: Atoms, basis, and the number of unpaired electrons.
_MOLECULES = {
    "nitrogen-dioxide": ("N 0 0 0; O 0 1.0989 0.4653; O 0 -1.0989 0.4653", "6-31g", 1),
}


def mean_field(molecule: str) -> Any:
    """PySCF's unrestricted method for the molecule, silent, without files, to full accuracy."""
    from pyscf import gto, scf

    atoms, basis, spin = _MOLECULES[molecule]
    return scf.UHF(gto.M(atom=atoms, basis=basis, spin=spin, verbose=0)).set(**molecules.ACCURATE)


class Energy:
    """The energy of both spins; the Fock matrices at the last two points are remembered."""

    def __init__(self, molecule: str) -> None:
        self._field = field = mean_field(molecule)
        self.S, self.h, self.nuclear = field.get_ovlp(), field.get_hcore(), field.energy_nuc()
        self.manifold = go.Product(*(go.GeneralizedStiefel(self.S, n) for n in field.nelec))
        self._focks = ContentCache(keep=2)
        self.response: Array = np.zeros((2, *self.h.shape))  # V of the last Hessian product
        self.precondition = unrestricted_preconditioner(self.fock, self.S)

    def potentials(self, D: Any) -> Array:
        """V_s of both densities, by PySCF."""
        return np.asarray(self._field.get_veff(dm=np.asarray(D)))

    def fock(self, *C: Array) -> Array:
        """F_s of both spins."""
        return self._focks.get(
            self.manifold.inward(C), lambda _: self.h + self.potentials([c @ c.T for c in C])
        )

    def two_electron(self, C: Any) -> Array:
        """V_s of both spins."""
        return self.fock(*C) - self.h

    @staticmethod
    def occupied(mo_coeff: Any, mo_occ: Any) -> tuple[Array, ...]:
        """The occupied ones of PySCF's orbitals, for each spin."""
        return tuple(map(molecules.Energy.occupied, mo_coeff, mo_occ))

    def cost_and_gradient(self, *C: Array) -> tuple[float, tuple[Array, ...]]:
        """E and 2 F_s C_s."""
        FC = tuple(F @ c for F, c in zip(self.fock(*C), C, strict=True))
        terms = zip(C, FC, strict=True)
        energy = sum(float(np.vdot(c, self.h @ c + fc)) for c, fc in terms) / 2
        return self.nuclear + energy, tuple(2 * fc for fc in FC)

    def hessian(self, *both: Array) -> tuple[Array, ...]:
        """2 F_s Z_s + 2 V_s(Z C^T + C Z^T) C_s."""
        C, Z = both[:2], both[2:]
        halves = [z @ c.T for z, c in zip(Z, C, strict=True)]
        self.response = self.potentials([half + half.T for half in halves])
        parts = zip(self.fock(*C), Z, self.response, C, strict=True)
        return tuple(2 * (F @ z + V @ c) for F, z, V, c in parts)

    def start(self) -> tuple[Array, ...]:
        """The lowest orbitals in the field of PySCF's guess."""
        focks = self.h + self.potentials(self._field.get_init_guess())
        return tuple(
            np.ascontiguousarray(scipy.linalg.eigh(F, self.S)[1][:, : M.shape[1]])
            for F, M in zip(focks, self.manifold.factors, strict=True)
        )


energy = cache(Energy)  # one for each molecule and process: problem and rows share Fock matrices


def _diis(molecule: str, _: Any, x0: Any, visit: Callable[[Any], Any]) -> None:
    here, field = energy(molecule), mean_field(molecule)
    field.get_veff = partial(molecules.visited, here, visit)
    field.kernel(dm0=field.make_rdm1(x0, [np.ones(C.shape[1]) for C in x0]))


def _newton(molecule: str, problem: go.Problem, x0: Any, visit: Callable[[Any], Any]) -> None:
    here, field = energy(molecule), mean_field(molecule)
    field.get_veff = partial(molecules.visited, here, visit)
    solver = field.newton()

    def gen_response(mo_coeff: Any, mo_occ: Any, *_: Any, **__: Any) -> Any:
        C = here.occupied(mo_coeff, mo_occ)

        def respond(dm: Any) -> Array:  # dm_s = Z C^T + C Z^T
            Z = [D @ here.S @ c for D, c in zip(dm, C, strict=True)]
            problem.euclidean_hessian(*map(here.manifold.inward, (C, Z)))  # counted
            return here.response

        return respond

    solver.gen_response = gen_response
    focks = zip(here.fock(*x0), x0, strict=True)
    orbitals = [np.hstack([C, orbital_levels(F, here.S, C)[3]]) for F, C in focks]
    n = len(here.h)
    solver.kernel(np.array(orbitals), np.array([np.arange(n) < C.shape[1] for C in x0], float))


def _orbital(
    problem: go.Problem, x0: Any = None, *, molecule: str, loop: str, **arguments: Any
) -> go.Result:
    here = energy(molecule)
    points = here.manifold

    def precondition(C: Array, V: Array) -> Array:
        return points.inward(here.precondition(points.outward(C), points.outward(V)))

    return go.SOLVERS[loop].run(problem, x0, preconditioner=precondition, **arguments)


def _hartree_fock(molecule: str) -> Instance:
    here, field = energy(molecule), mean_field(molecule)
    start = here.start()
    field.kernel(dm0=np.array([C @ C.T for C in start]))
    solvers = (
        domain_solver(f"pyscf-{name}", partial(solve, molecule), cites=cites, product=here.manifold)
        for name, solve, cites in (
            ("diis", _diis, "pulay1980convergence"),
            ("newton", _newton, "sun2016ciah"),
        )
    )
    return Instance(
        problem=go.Problem(
            here.manifold,
            cost_and_gradient=here.cost_and_gradient,
            euclidean_hessian=here.hessian,
        ),
        start=start,
        truth=float(field.e_tot),
        truth_by="pyscf.scf.UHF",
        bound=True,  # of the symmetry of the start; solutions without it can be lower
        metric=("B", "B"),
        solvers=(
            *solvers,
            *(
                molecules.orbital_row(loop, partial(_orbital, molecule=molecule, loop=loop))
                for loop in ("rlbfgs", "rtr")
            ),
        ),
        draw=partial(_draw, molecule),
    )


def _draw(molecule: str, ax: Any, x: Any) -> None:
    here = energy(molecule)
    for spin, (F, C) in enumerate(zip(here.fock(*x), x, strict=True)):
        below, _, above, _ = orbital_levels(F, here.S, C)
        for values, colour, label in ((below, "C0", "occupied"), (above, "C1", "empty")):
            near = values[np.abs(values) < 2]
            ax.hlines(near, spin, spin + 0.8, color=colour, label=None if spin else label)
    ax.set(ylabel="orbital energy (hartree)", xticks=[0.4, 1.4], xticklabels=["up", "down"])
    ax.legend()


SOURCE = Source(
    package="pyscf",
    module="pyscf",
    oldest="2.5",
    instances={
        "unrestricted-nitrogen-dioxide": Entry(
            "Nitrogen dioxide, one unpaired electron (6-31G).",
            partial(_hartree_fock, "nitrogen-dioxide"),
        ),
    },
)
