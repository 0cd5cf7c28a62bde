"""Preconditioners: every loop, on M and off; wrong ones are named; the ready-made ones."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import genorth as go
from genorth.gallery.preconditioners import amg_preconditioner, orbital_preconditioner
from genorth.testing import conditioned_symmetric

N, P = 60, 2
D = np.geomspace(1.0, 1e5, N)[:, None]
START = go.Stiefel(N, P).random_point(0)
OURS = [f"r{loop}" for loop in ("gd", "cg", "lbfgs", "tr")] + [
    f"{penalty}-{loop}" for penalty in ("odf", "cdf") for loop in ("gd", "cg", "lbfgs", "tr")
]


def precondition(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    assert X.shape == V.shape == (N, P)
    return V / (D + 1)


def problem(preconditioner: Any = None) -> go.Problem:
    return go.Problem(
        go.Stiefel(N, P),
        lambda X: float(np.vdot(X, D * X)) / 2,
        lambda X: D * X,
        lambda X, Z: D * Z,
        preconditioner=preconditioner,
    )


@pytest.mark.parametrize("method", [*OURS, "auto"])
def test_every_loop_uses_it(method: str) -> None:
    """Given to the problem or to minimize, it is the same run; without it, five times the work."""
    options: dict[str, Any] = {"method": method, "tol": 1e-4}
    if "df" in method:
        options["beta"] = 10.0
    helped = go.minimize(problem(), START, preconditioner=precondition, **options)
    assert helped.success and helped.fun == pytest.approx(float(D[:2].sum()) / 2, rel=1e-6)
    again = go.minimize(problem(precondition), START, **options)
    assert again.evaluations == pytest.approx(helped.evaluations, rel=0.1)
    limit = 3 * helped.evaluations
    assert not go.minimize(problem(), START, max_evaluations=limit, **options).success


@pytest.mark.parametrize("method", OURS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda X, V: -V, "preconditioner: need a positive definite map"),
        (lambda X, V: V * np.nan, "preconditioner: need a positive definite map"),
        (lambda X, V: V[:-1], r"preconditioner: need an array of shape \(60, 2\)"),
    ],
)
def test_a_wrong_one_is_named(method: str, wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        go.minimize(problem(), START, method=method, preconditioner=wrong)


@pytest.mark.parametrize("method", ["landing", "rgd-paper", "cdf-lbfgs-scipy"])
def test_solvers_without_a_place_for_it_say_so(method: str) -> None:
    pytest.importorskip("baselines")
    with pytest.raises(ValueError, match="a solver that uses one"):
        go.minimize(problem(), START, method=method, preconditioner=precondition)
    result = go.minimize(problem(precondition), START, method=method, max_iterations=2)
    assert "no place for the preconditioner" in result.message


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="preconditioner: need a callable"):
        problem(3)
    with pytest.raises(ValueError, match="not both"):
        go.minimize(problem(precondition), START, method="rlbfgs", metric=D[:, 0])
    with pytest.raises(ValueError, match="smallest_gap"):
        orbital_preconditioner(lambda C: C, np.eye(2), 0.0)
    with pytest.raises(ValueError, match="fock"):
        orbital_preconditioner(None, np.eye(2))  # type: ignore[arg-type]


def test_it_takes_the_natural_shape() -> None:
    d = np.geomspace(1.0, 1e4, 40)

    def on_the_sphere(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        assert x.shape == v.shape == (40,)
        return v / (d + 1)

    sphere = go.Problem(go.Sphere(40), lambda x: d @ x**2 / 2, lambda x: d * x)
    plain = go.minimize(sphere, method="rlbfgs", rng=0)
    helped = go.minimize(sphere, method="rlbfgs", rng=0, preconditioner=on_the_sphere)
    assert helped.success and 2 * helped.evaluations < plain.evaluations


def test_the_orbital_one_is_the_inverse_hessian_of_fixed_orbitals() -> None:
    """For E = 2 tr(C^T F C), at its minimum, gaps above `smallest_gap`: exact on the tangents."""
    F, S = np.diag(np.arange(9.0)), conditioned_symmetric(9, 5.0, 0)
    C = scipy.linalg.eigh(F, S)[1][:, :3]
    M = go.GeneralizedStiefel(S, 3)
    precondition = orbital_preconditioner(lambda C: F, S, 1e-3)
    U, V = M.random_ambient(1), M.random_ambient(2)
    assert np.vdot(precondition(C, U), V) == pytest.approx(np.vdot(U, precondition(C, V)))
    assert np.vdot(precondition(C, U), U) > 0
    below, above = np.split(scipy.linalg.eigh(F, S)[0], [3])
    empty = scipy.linalg.eigh(F, S)[1][:, 3:]
    Z = empty @ np.random.default_rng(3).standard_normal((6, 3))  # a rotation into empty orbitals
    hessian = 4 * (F @ Z - S @ Z * below)
    np.testing.assert_allclose(precondition(C, hessian), Z, atol=1e-10)
    assert above[0] > below[-1]


def test_multigrid() -> None:
    pytest.importorskip("pyamg")
    n = 400
    A = scipy.sparse.diags_array([2.0, -1, -1], offsets=[0, -1, 1], shape=(n, n)).tocsr()
    M = go.Stiefel(n, 3)
    laplacian = go.Problem(
        M,
        lambda X: float(np.vdot(X, A @ X)),
        lambda X: 2 * A @ X,
        preconditioner=amg_preconditioner(A),
    )
    result = go.minimize(laplacian, method="rlbfgs", rng=0)
    assert result.success and result.evaluations < 200
