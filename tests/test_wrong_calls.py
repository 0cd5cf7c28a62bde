"""Wrong calls of the public API: each raises a ValueError that begins with the argument at fault.

Tables are data: the argument that the error has to name, an expression, and what cannot stand in
the place of {} there. Names in expressions are those of `NAMES`, in upper case those of `VALUES`.
Matrices that manifolds do not take are in manifolds/test_bad_input.py.
"""

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import genorth as go
from genorth import riemannian

#: What no number of rows or columns, seed, point of a 6 x 2 manifold, start or positive
#: number can be.
_FINITE = "'X' 5 X.tolist() X.T X[0] 1j*X masked(X) X.astype(int) X.astype(object)"
_FINITE += " X.astype(longdouble)"
VALUES = {
    "SIZES": "0 -1 1.5 True None '3' nan [3] 3j",
    "SEEDS": "'a' -1 1.5 True object()",
    "FINITE": f"None {_FINITE}",
    "GIVEN": f"{_FINITE} nan*X inf*X",
    "POINTS": f"None {_FINITE} nan*X inf*X",
    "STARTS": "'x' 5 X.T nan*X 1j*X {} masked(X)",
    "POSITIVE": "0 -1 nan inf None '1' True [1] 1j",
}


def calls(table: str, **stands_for: str) -> Iterator[tuple[str, str]]:
    """The expressions of a table, each with the argument at fault."""
    for name, value in stands_for.items():
        table = table.replace(name, value)
    for line in table.strip().replace("\n   |", " |").splitlines():
        argument, expression, *values = line.split(" | ")
        for word in " ".join(values or "-").split():
            for value in VALUES.get(word, word).split():
                yield expression.replace("{}", value), argument


TABLE = """
n | go.Stiefel({}, 2) | SIZES
p | go.Stiefel(6, {}) | SIZES
p | go.Stiefel(2, 6)
dtype | go.Stiefel(6, 2, {}) | int 'x' longdouble 5 object None
n | go.SymplecticStiefel({}, 2) | SIZES 7
p | go.SymplecticStiefel(6, {}) | SIZES 3 8
p | go.GeneralizedStiefel(I6, {}) | SIZES 7
B | go.GeneralizedStiefel({}, 2) | 1j*ones(6) masked(I6)
p | go.HyperbolicStiefel(I6, {}) | SIZES 7
J | go.IndefiniteStiefel(I6, [1.0, 2])
R | go.BilinearStiefel(I6, [[0.0, 1], [-2, 0]])
n | go.TensorStiefel({}, 2, 3) | SIZES
p | go.TensorStiefel(6, {}, 3) | SIZES
l | go.TensorStiefel(6, 2, {}) | SIZES
transform | go.TensorStiefel(6, 2, 3, {}) | 'fft' None 5 I2 0*eye(3) nan*eye(3) [] ones(3)
tensor | tensor.from_tensor({}) | None 5 ones(3) ones((5,2,4)) 't' [[[1.0]]]
X | tensor.to_tensor({}) | None 5 ones(3) ones((4,5,2))
tensor | go.TensorStiefel(5, 2, 3, 'dft').from_tensor(1j * ones((5, 2, 3)))
shape | go.from_maps({}, one, one)
   | 6 None 'ab' (6,) (6,0) (6,2.0) (1,2,3,4) (2,6) (True,True) (6,None) array([6,2])
phi | go.from_maps((6, 2), {}, one) | None 5 'phi' I6
psi | go.from_maps((6, 2), one, {}) | None 5 'psi' I2
ambient | go.from_maps((6, 2), one, one, ambient={}) | 5 I6 'F'
companion | go.from_maps((6, 2), one, one, companion={})
   | I6 {} 1j*I2
dtype | go.from_maps((6, 2), one, one, dtype={}) | int 'x' None
definite | go.from_maps((6, 2), one, one, definite={}) | 'no' 1 None
name | go.from_maps((6, 2), one, one, name={}) | 5 None b'x'
phi | go.from_maps((6, 2), lambda X: {}, one).random_point(0)
   | X.T None X.tolist() 5.0 1j*X masked(X) nan*X
psi | go.from_maps((6, 2), one, lambda T: {}).random_point(0)
   | T[0] None T.tolist() 5.0 1j*T masked(T)
ambient | go.from_maps((6, 2), one, one, ambient=lambda Y: {}).random_point(0)
   | Y.T None Y.tolist() 5.0
X | M.project({}, X) | POINTS
D | M.project(X, {}) | POINTS
D | M.theta(X, {}) | POINTS
egrad | M.gradient(X, {}) | POINTS
ehess | M.hessian(X, X, {}, X) | POINTS
Z | M.hessian(X, X, X, {}) | POINTS
Z | M.retract(X, {}) | POINTS
X | M.retract({}, X) | POINTS
Y | M.transport(X, {}, X) | POINTS
Z | M.tangency(X, {}) | POINTS
T | M.dissolve_adjoint(X, {}) | POINTS
X | M.random_tangent({}, 0) | POINTS
T | M.constraint_adjoint(X, {}) | None 5 'T' X nan*I2
T | M.symmetrize({}) | None 5 'T' X [[1.0]] ones(2)
kind | M.retract(X, X, {}) | 'newton' None 5 [] {}
tol | M.restore(X, {}) | -1 nan 'a' [1] 1j True
rng | M.random_point({}) | SEEDS
rng | M.random_ambient({}) | SEEDS
rng | M.random_tangent(X, {}) | SEEDS
V | M.inner(X, {}) | None 5 'V' X.T
U | M.norm({}) | None 5 'U' [1.0]
manifold | go.Problem({}, zero) | None 5 'M' go.Stiefel X
cost | go.Problem(M, {}) | None 5 'f' X
euclidean_gradient | go.Problem(M, zero, {}) | 5 'g' X
euclidean_hessian | go.Problem(M, zero, one, {}) | 5 'h' X
cost_and_gradient | go.Problem(M, cost_and_gradient={}) | 5 X
autodiff | go.Problem(M, zero, autodiff={}) | 'numpy' 5 [] True
name | go.Problem(M, zero, name={}) | 5 [] b'x'
cost | go.Problem(M, lambda X: {}).cost(X)
   | None '1' X [1.0] 1j {} object() ones(2) ones((3,1)) ones((1,3)) ones((1,1,1,2)) I2
euclidean_gradient | go.Problem(M, zero, lambda X: {}).euclidean_gradient(X)
   | None 5.0 X.T X.tolist() 1j*X masked(X) X.astype(object)
euclidean_hessian | go.Problem(M, zero, one, lambda X, Z: {}).euclidean_hessian(X, X)
   | None 5.0 X.T X.tolist() 1j*X
cost_and_gradient | go.Problem(M, cost_and_gradient=lambda X: {}).cost(X)
   | None 5.0 X (0.0,) (0.0,X,X) (X,0.0) (1j,X) ('0',X) (None,X) ([1.0],X) (ones(2),X)
euclidean_gradient | go.Problem(M, zero).euclidean_gradient(X)
euclidean_gradient | go.Problem(M, zero).euclidean_hessian(X, X)
X | problem.cost({}) | FINITE
Z | problem.euclidean_hessian(X, {}) | None 5 X.T 'Z' 1j*X
x0 | problem.start({}) | 'x' 5 X.T nan*X 1j*X {}
rng | problem.start(None, {}) | SEEDS
manifold | go.check_assumptions({}) | None 5 go.Stiefel problem
manifold | go.check_retraction({}) | None 5 go.Stiefel problem
problem | go.check_gradient({}) | None 5 M zero
problem | go.check_hessian({}) | None 5 M zero
kind | go.check_retraction(M, {}) | 'newton' None 5 []
X | go.check_retraction(M, X={}) | GIVEN
Z | go.check_retraction(M, X=X, Z={}) | GIVEN
X | go.check_gradient(problem, {}) | GIVEN
X | go.check_hessian(problem, {}) | GIVEN
euclidean_gradient | go.check_gradient(go.Problem(M, zero))
euclidean_hessian | go.check_hessian(go.Problem(M, zero, one))
problem | go.exactness_threshold({}, X) | None 5 M zero
X | go.exactness_threshold(problem, {}) | POINTS
dissolving | go.exactness_threshold(problem, X, 'sideways')
problem | go.minimize({}) | None 5 M zero 'p' h
x0 | go.minimize(problem, {}) | STARTS
method | go.minimize(problem, method={}) | 'newton' None 5 []
beta | go.minimize(problem, beta={}) | POSITIVE 'big'
beta | go.minimize(problem, method='rgd', beta={}) | 1 'big'
check | go.minimize(problem, check={}) | None 1 'no'
euclidean_gradient | go.minimize(go.Problem(M, zero, one))
memory | go.minimize(problem, memory=5, method='cdf-gd')
memory | go.minimize(problem, memory=0, method='rlbfgs')
tolerance | go.minimize(problem, tolerance=1e-3)
geometry | go.minimize(problem, method='rgd', geometry='round')
problem | go.minimize(go.Problem(M, zero))
X | M.gram({}) | POINTS
X | M.constraint({}) | POINTS
X | M.feasibility({}) | POINTS
X | M.scale({}) | POINTS
X | M.dissolve({}) | POINTS
X | M.restore({}) | POINTS
rng | go.check_assumptions(M, rng={}) | SEEDS
rng | go.check_retraction(M, rng={}) | SEEDS
rng | go.check_gradient(problem, rng={}) | SEEDS
rng | go.check_hessian(problem, rng={}) | SEEDS
"""
#: Options of every solver, and what they cannot be.
OPTIONS = """
tol | CALL(problem, tol={}) | -1 nan inf '1' True [1]
feasibility_tol | CALL(problem, feasibility_tol={}) | 0 -1 nan inf '1' None True
max_iterations | CALL(problem, max_iterations={}) | 0 -1 1.5 10.0 nan True '5'
max_evaluations | CALL(problem, max_evaluations={}) | 0 -1 1.5 10.0 nan True '5'
max_time | CALL(problem, max_time={}) | 0 -1 nan '1' True
callback | CALL(problem, callback={}) | 5 'print'
keep_points | CALL(problem, keep_points={}) | 'no' 1 None
progress | CALL(problem, progress={}) | 0 -1 1.5 '' [] object()
rng | CALL(problem, rng={}) | SEEDS
"""
PENALTY = """
problem | KIND({}, 1) | None 5 M zero
beta | KIND(problem, {}) | POSITIVE 'large'
keep | KIND(problem, 1, keep={}) | 0 1.5 None
X | PENALTY.value({}) | FINITE
X | PENALTY.gradient({}) | FINITE
X | PENALTY.value_and_gradient({}) | FINITE
X | PENALTY.cost({}) | FINITE
X | PENALTY.feasibility({}) | FINITE
Z | PENALTY.hessian_product(X, {}) | FINITE
"""
SOLVER = """
problem | CALL({}) | None 5 M zero
x0 | CALL(problem, {}) | STARTS
x0 | CALL(problem, 0 * X)
geometry | CALL(problem, geometry={}) | 'round' None
retraction | CALL(problem, retraction={}) | 'qr' None
preconditioner | CALL(problem, preconditioner=3)
problem | CALL(go.Problem(M, zero))
"""
RIEMANNIAN = [f"riemannian.{name}" for name in ("rgd", "rcg", "rlbfgs", "rtr")]
WRONG = [
    *calls(TABLE),
    *calls(PENALTY, KIND="go.ConstraintDissolving", PENALTY="h"),
    *calls(PENALTY, KIND="go.OrthogonalDissolving", PENALTY="h_n"),
    *(call for solver in RIEMANNIAN for call in calls(SOLVER, CALL=solver)),
    *(call for solver in ("go.minimize", *RIEMANNIAN) for call in calls(OPTIONS, CALL=solver)),
]


def _names() -> dict[str, Any]:
    """What expressions may use; made once."""
    manifold = go.GeneralizedStiefel(np.arange(1.0, 7.0), 2)
    problem = go.Problem(
        manifold, lambda X: float(np.vdot(X, X)), lambda X: 2 * X, lambda X, Z: 2 * Z
    )
    return {
        "go": go,
        "riemannian": riemannian,
        "M": manifold,
        "X": manifold.random_point(0),
        "problem": problem,
        "h": go.ConstraintDissolving(problem, 1.0),
        "h_n": go.OrthogonalDissolving(problem, 1.0),
        "tensor": go.TensorStiefel(5, 2, 3),
        "one": lambda X: X,
        "zero": lambda X: 0.0,
        "I2": np.eye(2),
        "I6": np.eye(6),
        "masked": np.ma.masked_array,
        **{
            name: getattr(np, name) for name in ("nan", "inf", "eye", "ones", "array", "longdouble")
        },
    }


NAMES = _names()


@pytest.mark.parametrize(
    ("expression", "argument"),
    [pytest.param(*call, id=call[0]) for call in dict.fromkeys(WRONG)],
)
def test_a_wrong_call_names_its_argument(expression, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of inf - inf; an error follows
        with pytest.raises(ValueError, match=rf"^{re.escape(argument)}\b.*: need ") as caught:
            eval(expression, dict(NAMES))
    assert "; got " in str(caught.value)
