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
    field, built = molecules.energy("water")._field, 0
    get_veff, gen_response = field.get_veff, field.gen_response

    def counted(function):
        def call(*arguments, **named):
            nonlocal built
            built += 1
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(field, "get_veff", counted(get_veff))
    monkeypatch.setattr(field, "gen_response", lambda *a, **b: counted(gen_response(*a, **b)))
    solver = {row.name: row for row in instance.solvers}.get(method, method)
    result = go.minimize(
        instance.problem, instance.start, method=solver, check=False, certify=False
    )
    assert result.success and abs(instance.error(result.fun)) <= 1e-10
    assert built == result.evaluations


@pytest.mark.parametrize("molecule", MOLECULES)
def test_orbital_gaps_come_near_to_diis(molecule):
    """The figure: at most twice the Fock matrices of DIIS, from the core guess."""
    instance = gallery.load(f"hartree-fock-{molecule}")
    diis, _, orbital = (
        go.minimize(instance.problem, instance.start, method=row, certify=False)
        for row in instance.solvers
    )
    assert diis.success and orbital.success and orbital.evaluations <= 2 * diis.evaluations


def test_a_certified_run_leaves_the_saddle_of_the_core_guess():
    """Two chromium atoms: PySCF's Newton method ends at the saddle, and so does ours alone."""
    from genorth.gallery.molecules import energy

    instance = gallery.load("hartree-fock-chromium")
    how = {"preconditioner": energy("chromium").precondition, "check": False}
    alone = go.minimize(instance.problem, instance.start, certify=False, **how)
    found = go.certify(instance.problem, alone.x, preconditioner=how["preconditioner"], rng=0)
    assert alone.success and found.verdict == "saddle"
    result = go.minimize(instance.problem, instance.start, **how)
    assert result.success and result.certificate.verdict == "minimum"
    assert result.fun < alone.fun - 0.1 and instance.error(result.fun) <= 1e-9
    rows = {row.name: row for row in instance.solvers}
    newton, stable = (
        rows[name](instance.problem, instance.start, tol=1e-5)
        for name in ("pyscf-newton", "pyscf-stability")
    )
    assert newton.fun > result.fun + 0.1 and stable.fun == pytest.approx(result.fun, abs=1e-6)


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
        K = instance.problem.euclidean_hessian(instance.start, instance.start)  # 2 K on columns
        assert K.shape == (n, p)
        columns = [
            instance.problem.euclidean_hessian(instance.start, np.eye(n)[:, k : k + p]) / 2
            for k in range(0, n - p + 1, p)
        ]
        rest = n % p
        if rest:
            last = instance.problem.euclidean_hessian(instance.start, np.eye(n)[:, n - p :]) / 2
            columns.append(last[:, p - rest :])
        signs = np.repeat([1.0, -1.0], n // 2)
        w = np.linalg.eigvals(signs[:, None] * np.hstack(columns))
        lowest = np.sort(w.real[w.real > 0])[:p]
        assert instance.truth == pytest.approx(lowest.sum(), rel=1e-9)
