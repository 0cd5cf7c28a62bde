"""PySCF: Hartree-Fock over C^T S C = I and excitations, with the integrals of real molecules.

The energy of the orbitals C, with the density D = 2 C C^T and the Fock matrix
F = h + J(D) - K(D)/2 [roothaan1951new], by PySCF [sun2020recent], is

    E(C) = tr(C^T (h + F) C) + E_nuc,  G = 4 F C,  H[Z] = 4 F Z + 4 (J - K/2)(2 Z C^T + 2 C Z^T) C.

With a density functional, J - K/2 becomes J + v_xc in F, and its derivative in H.

An evaluation is one Fock matrix, which is nearly all of the time for larger molecules. The start is
the core guess, the lowest eigenvectors of h. PySCF's own solvers are rows: DIIS
[pulay1980convergence] and a Newton method [sun2016ciah], counted in Fock matrices like all others.
The metric B = S makes the orbitals orthonormal. The curvature of the energy is about 4 times the
gap between an empty and an occupied orbital. It differs from column to column, so that no constant
metric follows it: the row `rlbfgs-orbital` is `rlbfgs` with these gaps as preconditioner
[vanvoorhis2002geometric].

Excitation energies by time-dependent Hartree-Fock are a hyperbolic problem. With the orbital
Hessians A and B of the ground state, they are the eigenvalues w of the linear response problem
[thouless1961vibrational]

    [[A, B], [B, A]] x = w diag(I, -I) x,   x^T diag(I, -I) x = 1,

and the p lowest ones minimise the trace over the hyperbolic Stiefel manifold [bai2012minimization]:

    min tr(X^T [[A, B], [B, A]] X) over X^T diag(I, -I) X = I_p is w_1 + ... + w_p.

The start is that of a chemist: the p smallest gaps between empty and occupied orbitals. The gaps
are also the metric, a diagonal: that of A without its two-electron integrals.

With unpaired electrons the two spins have orbitals of their own, and the problem is on a product.
The energy of unrestricted Hartree-Fock [pople1954self], with the densities D_s = C_s C_s^T of both
spins and the Fock matrices F_s = h + V_s(D), V_s = J(D_a + D_b) - K(D_s), is

    E = sum over s of tr(C_s^T (h + F_s) C_s)/2 + E_nuc,  G_s = 2 F_s C_s,
    H_s[Z] = 2 F_s Z_s + 2 V_s(Z C^T + C Z^T) C_s,

over C_s^T S C_s = I for both. An evaluation is a pair of Fock matrices. The start is PySCF's guess:
atomic densities, and the lowest orbitals in their field. It has the symmetry of the molecule, and
so has what DIIS finds from there, the bound: a saddle, with lower solutions without it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.linalg

import genorth as go
from genorth.gallery.base import Entry, Instance, Source, Visit, domain_solver, trace_problem
from genorth.gallery.preconditioners import (
    orbital_levels,
    orbital_preconditioner,
    unrestricted_preconditioner,
)
from genorth.linalg.arrays import Array
from genorth.linalg.cache import ContentCache
from genorth.solve.solver import RIEMANNIAN

#: Of PySCF's methods: no files, and full accuracy.
ACCURATE = {"chkfile": None, "conv_tol": 1e-13, "conv_tol_grad": 1e-8, "max_cycle": 500}
_STABLE = 10  # rounds of Newton's method and PySCF's stability analysis
#: Atoms, basis, and the number of unpaired electrons, if any.
_MOLECULES: dict[str, tuple[Any, ...]] = {
    "water": ("O 0 0 0; H 0 -0.757 0.587; H 0 0.757 0.587", "6-31g"),
    "ammonia": (
        "N 0 0 0.116; H 0 0.9377 -0.2718; H 0.8121 -0.4689 -0.2718; H -0.8121 -0.4689 -0.2718",
        "6-31g*",
    ),
    "carbon-monoxide": ("C 0 0 0; O 0 0 1.128", "6-31g"),
    "hydrogen-peroxide": (
        "O 0.7266 0 0; O -0.7266 0 0; H 0.8943 0.7883 0.5317; H -0.8943 -0.7883 0.5317",
        "6-31g",
    ),
    "chromium": ("Cr 0 0 0; Cr 0 0 1.68", "sto-3g"),
    "nickel-oxide": ("Ni 0 0 0; O 0 0 1.63", "sto-3g"),
    "chromium-pbe": ("Cr 0 0 0; Cr 0 0 1.68", "sto-3g"),
    "nickel-oxide-pbe": ("Ni 0 0 0; O 0 0 1.63", "sto-3g"),
    "nitrogen-dioxide": ("N 0 0 0; O 0 1.0989 0.4653; O 0 -1.0989 0.4653", "6-31g", 1),
}


def mean_field(molecule: str) -> Any:
    """PySCF's Hartree-Fock method for the molecule, silent, without files, to full accuracy.

    The unrestricted one where electrons are unpaired; with "-pbe" in the name Kohn-Sham's, on a
    coarse grid.
    """
    from pyscf import dft, gto, scf

    atoms, basis, *unpaired = _MOLECULES[molecule]
    mol = gto.M(atom=atoms, basis=basis, spin=sum(unpaired), verbose=0)
    field = scf.UHF(mol) if unpaired else scf.RHF(mol)
    if molecule.endswith("-pbe"):
        field = dft.RKS(mol, xc="pbe")
        field.grids.level = 0
    return field.set(**ACCURATE)


class Energy:
    """The energy of a molecule; the Fock matrices at the last two C are remembered."""

    def __init__(self, molecule: str) -> None:
        self._field = field = mean_field(molecule)
        self.S, self.h, self.nuclear = field.get_ovlp(), field.get_hcore(), field.energy_nuc()
        self.pairs = field.mol.nelectron // 2
        self.manifold: Any = go.GeneralizedStiefel(self.S, self.pairs)
        self._focks = ContentCache(keep=2)
        self.precondition = orbital_preconditioner(self.fock, self.S)
        self.response: Array = np.zeros_like(self.h)  # J - K/2 of the last Hessian product

    def fock(self, C: Array) -> Array:
        """F = h + J(D) - K(D)/2."""
        return self.h + np.asarray(self.two_electron(C))

    def two_electron(self, C: Array) -> Any:
        """J(D) - K(D)/2 at D = 2 C C^T by PySCF, with the energies that belong to it."""
        return self._focks.get(C, lambda C: self._field.get_veff(dm=2 * C @ C.T))

    def cost_and_gradient(self, C: Array) -> tuple[float, Array]:
        """E(C) and 4 F C."""
        V = self.two_electron(C)
        energy = self._field.energy_elec(2 * C @ C.T, self.h, V)[0]
        return self.nuclear + float(energy), 4 * (self.h + np.asarray(V)) @ C

    def hessian(self, C: Array, Z: Array) -> Array:
        """4 F Z + 4 (J - K/2)(2 Z C^T + 2 C Z^T) C."""
        half = 2 * Z @ C.T
        respond = self._field.gen_response(C, np.full(self.pairs, 2.0), hermi=1)
        self.response = np.asarray(respond(half + half.T))
        return 4 * (self.fock(C) @ Z + self.response @ C)

    @staticmethod
    def occupied(mo_coeff: Array, mo_occ: Array) -> Array:
        """The occupied ones of PySCF's orbitals."""
        return np.ascontiguousarray(mo_coeff[:, mo_occ > 0])

    def levels(self, C: Array) -> tuple[Array, Array, Array, Array]:
        """The energies and orbitals that diagonalise F among the occupied ones and the others."""
        return orbital_levels(self.fock(C), self.S, C)

    def filled(self, C: Array) -> Any:
        """How many electrons each orbital has."""
        return np.full(C.shape[1], 2.0)

    def rotation(self, C: Array, dm: Array) -> tuple[Array, Array]:
        """C and the Z of dm = 2 Z C^T + 2 C Z^T."""
        return C, dm @ self.S @ C / 2

    def orbitals(self, C: Array) -> tuple[Array, Array]:
        """All orbitals, the occupied ones C first, and how many electrons each has."""
        empty = self.levels(C)[3]
        return np.hstack([C, empty]), np.repeat([2.0, 0.0], [self.pairs, empty.shape[1]])


class OpenEnergy:
    """The energy of both spins; the Fock matrices at the last two points are remembered."""

    def __init__(self, molecule: str) -> None:
        self._field = field = mean_field(molecule)
        self.S, self.h, self.nuclear = field.get_ovlp(), field.get_hcore(), field.energy_nuc()
        self.manifold = go.Product(*(go.GeneralizedStiefel(self.S, n) for n in field.nelec))
        self._focks = ContentCache(keep=2)
        self.response: Array = np.zeros((2, *self.h.shape))  # V of the last Hessian product
        self.precondition = self.manifold.mapped(unrestricted_preconditioner(self.fock, self.S))

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
        return tuple(map(Energy.occupied, mo_coeff, mo_occ))

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

    @staticmethod
    def filled(C: Any) -> list[Array]:
        """How many electrons each orbital has."""
        return [np.ones(c.shape[1]) for c in C]

    def rotation(self, C: Any, dm: Any) -> tuple[Array, Array]:
        """C and the Z of dm_s = Z C^T + C Z^T."""
        Z = [D @ self.S @ c for D, c in zip(dm, C, strict=True)]
        return self.manifold.inward(C), self.manifold.inward(Z)

    def orbitals(self, C: Any) -> tuple[Array, Array]:
        """All orbitals, the occupied ones C first, and how many electrons each has."""
        pairs = list(zip(self.fock(*C), C, strict=True))
        every = [np.hstack([c, orbital_levels(F, self.S, c)[3]]) for F, c in pairs]
        return np.array(every), np.array([np.arange(len(self.h)) < c.shape[1] for c in C], float)


@cache  # one for each molecule and process: problem and rows share Fock matrices
def energy(molecule: str) -> Any:
    """The energy of a molecule."""
    return OpenEnergy(molecule) if len(_MOLECULES[molecule]) > 2 else Energy(molecule)


def _visited(
    here: Any, visit: Callable[[Any], Any], _: Any = None, dm: Any = None, *__: Any, **___: Any
) -> Any:
    """PySCF's get_veff(mol, dm, ...), evaluated where it is counted; `here` has the energy."""
    C = here.occupied(dm.mo_coeff, dm.mo_occ)
    visit(C)
    return here.two_electron(C)


def _diis(molecule: str, _: go.Problem, x0: Any, visit: Visit) -> None:
    here, field = energy(molecule), mean_field(molecule)
    field.get_veff = partial(_visited, here, visit)
    field.kernel(dm0=field.make_rdm1(x0, here.filled(x0)))


def _newton(molecule: str, problem: go.Problem, x0: Any, visit: Callable[[Any], Any]) -> Any:
    here, field = energy(molecule), mean_field(molecule)
    field.get_veff = partial(_visited, here, visit)
    solver = field.newton()

    def gen_response(mo_coeff: Any, mo_occ: Any, *_: Any, **__: Any) -> Any:
        C = here.occupied(mo_coeff, mo_occ)

        def respond(dm: Any) -> Array:
            problem.euclidean_hessian(*here.rotation(C, dm))  # counted
            return np.asarray(here.response)

        return respond

    solver.gen_response = gen_response
    solver.kernel(*here.orbitals(x0))
    return solver


def _stable(molecule: str, problem: go.Problem, x0: Array, visit: Visit) -> None:
    """Newton's method, and again from where `stability` leads, until that finds a minimum."""

    def quietly(C: Array) -> Any:  # a small gradient is not yet the end
        visit.monitor.check()
        return problem.evaluate(C)

    solver = _stabilised(_newton(molecule, problem, x0, quietly))
    visit(Energy.occupied(solver.mo_coeff, solver.mo_occ))


def _orbital(
    problem: go.Problem, x0: Any = None, *, molecule: str, loop: str, **arguments: Any
) -> go.Result:
    precondition = energy(molecule).precondition
    return go.SOLVERS[loop].run(problem, x0, preconditioner=precondition, **arguments)


def _rows(molecule: str, product: go.Product | None, *loops: str) -> tuple[go.Solver, ...]:
    """PySCF's methods, and Riemannian loops with the orbital gaps as preconditioner."""
    domain = (("diis", _diis, "pulay1980convergence"), ("newton", _newton, "sun2016ciah"))
    return (
        *(
            domain_solver(f"pyscf-{name}", partial(run, molecule), cites=cites, product=product)
            for name, run, cites in domain
        ),
        *(
            go.Solver(
                name=f"{loop}-orbital",
                family=RIEMANNIAN,
                run=partial(_orbital, molecule=molecule, loop=loop),
                algorithm=loop[1:],
                variant="orbital",
                cites="vanvoorhis2002geometric",
            )
            for loop in loops
        ),
    )


def _certified(problem: go.Problem, x0: Any = None, **arguments: Any) -> go.Result:
    return go.minimize(problem, x0, check=False, **arguments)


def _hartree_fock(molecule: str, stable: bool = True) -> Instance:
    """The ground state; the core guess leads to a saddle where it is not `stable`."""
    here, field = energy(molecule), mean_field(molecule)
    best = field.run() if stable else _stabilised(field.newton().run())
    further = (
        domain_solver("pyscf-stability", partial(_stable, molecule), cites="sun2020recent"),
        go.Solver(name="auto-certified", family=RIEMANNIAN, run=_certified, algorithm="auto"),
    )
    return Instance(
        problem=go.Problem(
            here.manifold,
            cost_and_gradient=here.cost_and_gradient,
            euclidean_hessian=here.hessian,
        ),
        start=np.ascontiguousarray(scipy.linalg.eigh(here.h, here.S)[1][:, : here.pairs]),
        truth=float(best.e_tot),
        truth_by="pyscf.scf.RHF" if stable else "pyscf.scf.newton with stability",
        bound=not stable,
        several=not stable,
        metric="B",
        solvers=(
            *(() if stable else further),
            *_rows(molecule, None, "rlbfgs"),
        ),
        draw=partial(_draw, molecule),
    )


def _stabilised(solver: Any) -> Any:
    """PySCF's Newton method after a run, led on by its `stability` until that finds a minimum."""
    for _ in range(_STABLE):
        orbitals, _, stable, _ = solver.stability(return_status=True)
        if stable:
            break
        solver.kernel(orbitals, solver.mo_occ)
    return solver


def _draw(molecule: str, ax: Any, C: Array) -> None:
    below, _, above, _ = energy(molecule).levels(C)
    ax.hlines(below[1:], 0, 1, color="C0", label="occupied")  # the lowest one is far below
    ax.hlines(above, 0, 1, color="C1", label="empty")
    ax.set(ylabel="orbital energy (hartree)", xticks=[], xlim=(-0.5, 1.5))
    ax.legend()


# ---------------------------------------------------------------------- unpaired electrons


def _unrestricted(molecule: str) -> Instance:
    here, field = energy(molecule), mean_field(molecule)
    start = here.start()
    field.kernel(dm0=np.array([C @ C.T for C in start]))
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
        solvers=_rows(molecule, here.manifold, "rlbfgs", "rtr"),
        draw=partial(_draw_spins, molecule),
    )


def _draw_spins(molecule: str, ax: Any, x: Any) -> None:
    here = energy(molecule)
    for spin, (F, C) in enumerate(zip(here.fock(*x), x, strict=True)):
        below, _, above, _ = orbital_levels(F, here.S, C)
        for values, colour, label in ((below, "C0", "occupied"), (above, "C1", "empty")):
            near = values[np.abs(values) < 2]
            ax.hlines(near, spin, spin + 0.8, color=colour, label=None if spin else label)
    ax.set(ylabel="orbital energy (hartree)", xticks=[0.4, 1.4], xticklabels=["up", "down"])
    ax.legend()


# ---------------------------------------------------------------------- excitations


def _excitations(molecule: str, p: int) -> Instance:
    from pyscf import tdscf

    field = mean_field(molecule)
    field.kernel()
    A, B = (M.reshape(2 * (M.shape[0] * M.shape[1],)) for M in tdscf.rhf.get_ab(field))
    K = np.block([[A, B], [B, A]])
    states = tdscf.TDHF(field).set(nstates=p + 4, conv_tol=1e-10)  # with p it may miss one of them
    states.kernel()
    pairs = field.mol.nelectron // 2
    gaps = (field.mo_energy[pairs:] - field.mo_energy[:pairs, None]).ravel()  # empty - occupied
    start = np.zeros((2 * len(gaps), p))
    start[np.argsort(gaps)[:p], np.arange(p)] = 1.0
    return Instance(
        problem=trace_problem(2 * K, go.HyperbolicStiefel(np.repeat([1.0, -1.0], len(gaps)), p)),
        start=start,
        truth=float(np.sort(states.e)[:p].sum()),
        truth_by="pyscf.tdscf.TDHF",
        metric=np.tile(gaps, 2),
        draw=partial(_draw_levels, gaps, K),
    )


def _draw_levels(gaps: Array, K: Array, ax: Any, X: Array) -> None:
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
        "hartree-fock-water": Entry(
            "The ground state of water: five orbitals in 13 basis functions (6-31G).",
            partial(_hartree_fock, "water"),
        ),
        "hartree-fock-ammonia": Entry(
            "The ground state of ammonia: five orbitals in 20 basis functions (6-31G*).",
            partial(_hartree_fock, "ammonia"),
        ),
        "hartree-fock-carbon-monoxide": Entry(
            "The ground state of carbon monoxide: seven orbitals in 18 basis functions (6-31G).",
            partial(_hartree_fock, "carbon-monoxide"),
        ),
        "hartree-fock-chromium": Entry(
            "Two chromium atoms (STO-3G); the core guess leads to a saddle.",
            partial(_hartree_fock, "chromium", stable=False),
        ),
        "hartree-fock-nickel-oxide": Entry(
            "Nickel oxide (STO-3G), with several minima.",
            partial(_hartree_fock, "nickel-oxide", stable=False),
        ),
        "kohn-sham-chromium": Entry(
            "Two chromium atoms with the functional PBE (STO-3G).",
            partial(_hartree_fock, "chromium-pbe", stable=False),
        ),
        "kohn-sham-nickel-oxide": Entry(
            "Nickel oxide with the functional PBE (STO-3G).",
            partial(_hartree_fock, "nickel-oxide-pbe", stable=False),
        ),
        "excitations-water": Entry(
            "The four lowest singlet excitations of water (6-31G), 40 pairs of orbitals.",
            partial(_excitations, "water", 4),
        ),
        "excitations-hydrogen-peroxide": Entry(
            "The four lowest singlet excitations of hydrogen peroxide (6-31G), 117 pairs.",
            partial(_excitations, "hydrogen-peroxide", 4),
        ),
        "unrestricted-nitrogen-dioxide": Entry(
            "Nitrogen dioxide, one unpaired electron (6-31G).",
            partial(_unrestricted, "nitrogen-dioxide"),
        ),
    },
)
