"""Hartree-Fock and excitations: what an evaluation is, and that it takes no more than it should."""

import numpy as np
import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth import gallery

pytest.importorskip("pyscf", reason="the extra `gallery` is not installed")
MOLECULES = ("water", "ammonia", "carbon-monoxide")


@pytest.mark.parametrize("method", ["pyscf-diis", "pyscf-newton", "rlbfgs-orbital", "rtr"])
def test_evaluations_are_fock_matrices(method, monkeypatch):
    """What PySCF builds is what the Result counts: a cost with its gradient, a Hessian product."""
    from genorth.gallery import molecules

    molecules.energy.cache_clear()  # no Fock matrix of another test
    instance = gallery.load("hartree-fock-water")
    energy, built = molecules.energy("water"), 0
    exact = energy.two_electron

    def counted(D: np.ndarray) -> np.ndarray:
        nonlocal built
        built += 1
        return exact(D)

    monkeypatch.setattr(energy, "two_electron", counted)
    solver = {row.name: row for row in instance.solvers}.get(method, method)
    result = go.minimize(instance.problem, instance.start, method=solver, check=False)
    assert result.success and abs(instance.error(result.fun)) <= 1e-10
    assert built == result.evaluations


@pytest.mark.parametrize("molecule", MOLECULES)
def test_orbital_gaps_come_near_to_diis(molecule):
    """The figure: at most twice the Fock matrices of DIIS, from the core guess."""
    instance = gallery.load(f"hartree-fock-{molecule}")
    diis, _, orbital = (
        go.minimize(instance.problem, instance.start, method=row) for row in instance.solvers
    )
    assert diis.success and orbital.success and orbital.evaluations <= 2 * diis.evaluations


def test_the_preconditioner_is_symmetric_and_positive():
    from genorth.gallery.molecules import energy

    instance = gallery.load("hartree-fock-water")
    precondition, C = energy("water").precondition, instance.problem.manifold.random_point(0)
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((2, *C.shape))
    PU, PV = precondition(C, U), precondition(C, V)
    size = np.linalg.norm(PU) * np.linalg.norm(V)
    assert abs(np.vdot(PU, V) - np.vdot(U, PV)) <= 1e-10 * size and np.vdot(PU, U) > 0


def test_excitations_are_those_of_the_whole_spectrum():
    """The truth against all eigenvalues of the linear response problem, with no Davidson method."""
    for name in ("water", "hydrogen-peroxide"):
        instance = gallery.load(f"excitations-{name}")
        n, p = instance.problem.manifold.shape
        columns = [np.eye(n)[:, k : k + p] for k in range(0, n, p)]
        columns[-1] = np.pad(columns[-1], [(0, 0), (0, p - columns[-1].shape[1])])
        product = instance.problem.euclidean_hessian  # 2 K on columns
        K = np.hstack([product(instance.start, each) / 2 for each in columns])[:, :n]
        signs = np.repeat([1.0, -1.0], n // 2)
        w = np.linalg.eigvals(signs[:, None] * K)
        lowest = np.sort(w.real[w.real > 0])[:p]
        assert instance.truth == pytest.approx(lowest.sum(), rel=1e-9)
