"""What the problems of each source mean in their field, and what an evaluation is there."""

import numpy as np
import pytest

import baselines  # noqa: F401  registers its solvers
import genorth as go
from genorth import gallery


def load(name: str) -> gallery.Instance:
    if reason := gallery.why_not(name):
        pytest.skip(reason)
    return gallery.load(name)


# ---------------------------------------------------------------------- molecules


@pytest.mark.parametrize("method", ["pyscf-diis", "pyscf-newton", "rlbfgs-orbital", "rtr"])
def test_evaluations_are_fock_matrices(method, monkeypatch):
    """What PySCF builds is what the Result counts: a cost with its gradient, a Hessian product."""
    from genorth.gallery import molecules

    molecules.energy.cache_clear()  # no Fock matrix of another test
    instance = load("hartree-fock-water")
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
    how = {"check": False, "certify": False}
    result = go.minimize(instance.problem, instance.start, method=solver, **how)
    assert result.success and abs(instance.error(result.fun)) <= 1e-10
    assert built == result.evaluations


@pytest.mark.parametrize("molecule", ["water", "ammonia", "carbon-monoxide"])
def test_orbital_gaps_come_near_to_diis(molecule):
    """The figure: at most twice the Fock matrices of DIIS, from the core guess."""
    instance = load(f"hartree-fock-{molecule}")
    diis, _, orbital = (
        go.minimize(instance.problem, instance.start, method=row, certify=False)
        for row in instance.solvers
    )
    assert diis.success and orbital.success and orbital.evaluations <= 2 * diis.evaluations


def test_a_certified_run_leaves_the_saddle_of_the_core_guess():
    """Two chromium atoms: PySCF's Newton method ends at the saddle, and so does ours alone."""
    from genorth.gallery.molecules import energy

    instance = load("hartree-fock-chromium")
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

    C = load("hartree-fock-water").problem.manifold.random_point(0)
    U, V = np.random.default_rng(1).standard_normal((2, *C.shape))
    PU, PV = (energy("water").precondition(C, each) for each in (U, V))
    size = np.linalg.norm(PU) * np.linalg.norm(V)
    assert abs(np.vdot(PU, V) - np.vdot(U, PV)) <= 1e-10 * size and np.vdot(PU, U) > 0


@pytest.mark.parametrize("molecule", ["water", "hydrogen-peroxide"])
def test_excitations_are_those_of_the_whole_spectrum(molecule):
    """The truth against all eigenvalues of the linear response problem, with no Davidson method."""
    instance = load(f"excitations-{molecule}")
    n, p = instance.problem.manifold.shape
    columns = [np.eye(n)[:, k : k + p] for k in range(0, n, p)]
    columns[-1] = np.pad(columns[-1], [(0, 0), (0, p - columns[-1].shape[1])])
    product = instance.problem.euclidean_hessian  # 2 K on columns
    K = np.hstack([product(instance.start, each) / 2 for each in columns])[:, :n]
    w = np.linalg.eigvals(np.repeat([1.0, -1.0], n // 2)[:, None] * K)
    lowest = np.sort(w.real[w.real > 0])[:p]
    assert instance.truth == pytest.approx(lowest.sum(), rel=1e-9)


# ---------------------------------------------------------------------- modes


def test_masses_add_up():
    """The mass of all elements: of the airfoil's triangles their area, of the bar its volume."""
    from genorth.gallery import modes

    load("modes-bar")
    airfoil, bar = modes._model("airfoil"), modes._model("bar")
    whole = modes._triangles(airfoil.vertices, airfoil.elements, len(airfoil.vertices))
    corners = airfoil.vertices[airfoil.elements]
    area = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / 2
    assert whole.sum() == pytest.approx(area)
    volume = np.prod(np.ptp(bar.vertices, axis=0))
    masses = modes._bricks(bar.vertices, bar.elements, bar.vertices.size)
    assert masses.sum() / 3 == pytest.approx(volume)


@pytest.mark.parametrize("name", ["modes-airfoil", "modes-bar"])
def test_lobpcg_is_counted_and_not_far_ahead(name):
    """The figure: rlbfgs in the metric of the V-cycle takes at most 1.8 times its products."""
    instance = load(name)
    solve = {"problem": instance.problem, "x0": instance.start}
    lobpcg = go.minimize(**solve, method=instance.solvers[0])
    ours = go.minimize(**solve, method="rlbfgs", metric=instance.metric, tol=1e-6, certify=False)
    assert lobpcg.success and abs(instance.error(lobpcg.fun)) <= 1e-10
    assert lobpcg.trace.evaluations == list(range(1, lobpcg.evaluations + 1))
    assert ours.success and ours.evaluations <= 1.8 * lobpcg.evaluations
    short = go.minimize(**solve, method=instance.solvers[0], max_evaluations=4)
    assert short.status is go.Status.EVALUATION_LIMIT and short.evaluations <= 5


# ---------------------------------------------------------------------- light, waves, pictures


def test_entanglement_shows_below_the_vacuum():
    from genorth.gallery import gaussian_states

    assert load("gaussian-entanglement").truth < 8  # all four below one
    from thewalrus.quantum import is_valid_cov

    V = gaussian_states._entangled(8)
    signs = np.r_[np.ones(8), np.resize([-1.0, 1.0], 8)]
    assert is_valid_cov(signs[:, None] * V * signs)  # a state, before it was transposed
    assert not is_valid_cov(V)  # and none afterwards: it is entangled
    assert is_valid_cov(gaussian_states._network(16))


def test_the_wave_is_projected_better_than_by_pymor_and_worse_than_by_pod():
    instance = load("wave-travelling")
    result = go.minimize(instance.problem, instance.start, method="rtr")
    assert result.success and instance.problem.cost(instance.start) == pytest.approx(1.0)
    pod = instance.draw.args[1]  # type: ignore[union-attr]
    assert pod < result.fun < 0.9 * instance.truth
    K = go.SymplecticStiefel(8, 8).random_point(0)  # another basis of the same span
    assert instance.problem.cost(result.x @ K) == pytest.approx(result.fun, rel=1e-8)


def amari(product: np.ndarray) -> float:
    """Amari's index: 0 for a permutation with scales, 1 at most."""
    A, n = np.abs(product), len(product)
    rows = (A / A.max(axis=1, keepdims=True)).sum()
    columns = (A / A.max(axis=0, keepdims=True)).sum()
    return (rows + columns - 2 * n) / (2 * n * (n - 1))


@pytest.mark.parametrize("rng", [0, 1, 2])
def test_the_pictures_are_separated(rng):
    instance = load("separation-pictures")
    mixing = np.random.default_rng(0).standard_normal((4, 4))
    result = go.minimize(instance.problem, rng=rng)
    assert amari(instance.start.T @ mixing) > 0.2  # whitening alone does not
    assert amari(result.x.T @ mixing) < 0.02
    assert result.fun < instance.truth
