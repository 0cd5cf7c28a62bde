"""Wrong calls of the public API: each raises a ValueError that begins with the argument at fault.

The table is data, by public name: an expression, and the argument that its error has to name. Names
in expressions are those of `NAMES`.
"""

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
from genorth import riemannian


def each(expression: str, argument: str, values: str) -> list[tuple[str, str]]:
    """The expression with each of the values in the place of {}, and the argument at fault."""
    return [(expression.replace("{}", value), argument) for value in values.split()]


#: What no number of rows or columns can be.
SIZES = "0 -1 1.5 True None '3' nan [3] 3j"
#: What no matrix can be.
MATRICES = "None 'B' {} [] [[1,2],[3]] ones((2,3,4)) ones((3,4)) nan*I6"
#: What no seed can be.
SEEDS = "'a' -1 1.5 True object()"
#: What no point of a 6 x 2 manifold can be.
FINITE = "None 'X' 5 X.tolist() X.T X[0] 1j*X masked(X) X.astype(int) X.astype(object)"
FINITE += " X.astype(longdouble)"
POINTS = FINITE + " nan*X inf*X"
GIVEN = POINTS.removeprefix("None ")
#: What no start can be.
STARTS = "'x' 5 X.T nan*X 1j*X {} masked(X)"
#: Options of every solver, and what they cannot be.
OPTIONS = [
    *each("tol={}", "tol", "-1 nan inf '1' True [1]"),
    *each("feasibility_tol={}", "feasibility_tol", "0 -1 nan inf '1' None True"),
    *each("max_iterations={}", "max_iterations", "0 -1 1.5 10.0 nan True '5'"),
    *each("max_evaluations={}", "max_evaluations", "0 -1 1.5 10.0 nan True '5'"),
    *each("max_time={}", "max_time", "0 -1 nan '1' True"),
    *each("callback={}", "callback", "5 'print'"),
    *each("keep_points={}", "keep_points", "'no' 1 None"),
    *each("progress={}", "progress", "0 -1 1.5 '' [] object()"),
    *each("rng={}", "rng", SEEDS),
]
#: What no positive number can be.
POSITIVE = "0 -1 nan inf None '1' True [1] 1j"

WRONG: dict[str, list[tuple[str, str]]] = {
    "Stiefel": [
        *each("go.Stiefel({}, 2)", "n", SIZES),
        *each("go.Stiefel(6, {})", "p", SIZES),
        ("go.Stiefel(2, 6)", "p"),
        *each("go.Stiefel(6, 2, {})", "dtype", "int 'x' longdouble 5 object None"),
    ],
    "SymplecticStiefel": [
        *each("go.SymplecticStiefel({}, 2)", "n", SIZES + " 7"),
        *each("go.SymplecticStiefel(6, {})", "p", SIZES + " 3 8"),
    ],
    "GeneralizedStiefel": [
        *each("go.GeneralizedStiefel({}, 2)", "B", MATRICES),
        *each("go.GeneralizedStiefel(I6, {})", "p", SIZES + " 7"),
        *each("go.GeneralizedStiefel({}, 2)", "B", "triu(ones((6,6))) -I6 0*I6 ones((6,6))"),
        *each("go.GeneralizedStiefel(csr({}), 2)", "B", "triu(ones((6,6))) -I6 inf*I6"),
        *each("go.GeneralizedStiefel(operator({}), 2)", "B", "triu(ones((6,6))) ones((6,5))"),
        *each("go.GeneralizedStiefel({}, 2)", "B", "1j*ones(6) masked(I6)"),
        ("go.GeneralizedStiefel(operator(-I6), 2).random_point(0)", "B"),
    ],
    "HyperbolicStiefel": [
        *each("go.HyperbolicStiefel({}, 2)", "H", MATRICES),
        *each("go.HyperbolicStiefel(I6, {})", "p", SIZES + " 7"),
        ("go.HyperbolicStiefel(-I6, 2)", "H"),
        ("go.HyperbolicStiefel(0 * ones(6), 2)", "H"),
        ("go.HyperbolicStiefel([1.0, -1, -1, -1], 2)", "H"),
        ("go.HyperbolicStiefel(operator(-I6), 2).random_point(0)", "H"),
    ],
    "IndefiniteStiefel": [
        *each("go.IndefiniteStiefel({}, [1.0, -1])", "A", MATRICES),
        *each("go.IndefiniteStiefel(I6, {})", "J", MATRICES),
        ("go.IndefiniteStiefel(I6, [1.0, -1])", "A"),
        ("go.IndefiniteStiefel(I6, [1.0, 2])", "J"),
        ("go.IndefiniteStiefel(I6, [[0.0, 1], [-1, 0]])", "J"),
        ("go.IndefiniteStiefel(I6, ones(7))", "J"),
        ("go.IndefiniteStiefel(I6, 0.0)", "J"),
    ],
    "BilinearStiefel": [
        *each("go.BilinearStiefel({}, I2)", "A", MATRICES),
        *each("go.BilinearStiefel(I6, {})", "R", MATRICES),
        ("go.BilinearStiefel(I6, [[0.0, 1], [-1, 0]])", "A"),
        ("go.BilinearStiefel(I6, [[0.0, 1], [-2, 0]])", "R"),
        ("go.BilinearStiefel(I6, 0 * I2)", "R"),
        ("go.BilinearStiefel(I6, -I2)", "A"),
        ("go.BilinearStiefel(I2, I6)", "R"),
        ("go.BilinearStiefel(0 * I6, I2)", "A"),
    ],
    "TensorStiefel": [
        *each("go.TensorStiefel({}, 2, 3)", "n", SIZES),
        *each("go.TensorStiefel(6, {}, 3)", "p", SIZES),
        *each("go.TensorStiefel(6, 2, {})", "l", SIZES),
        *each(
            "go.TensorStiefel(6, 2, 3, {})",
            "transform",
            "'fft' None 5 I2 0*eye(3) nan*eye(3) [] ones(3)",
        ),
        *each("tensor.from_tensor({})", "tensor", "None 5 ones(3) ones((5,2,4)) 't' [[[1.0]]]"),
        *each("tensor.to_tensor({})", "X", "None 5 ones(3) ones((4,5,2))"),
        ("go.TensorStiefel(5, 2, 3, 'dft').from_tensor(1j * ones((5, 2, 3)))", "tensor"),
    ],
    "from_maps": [
        *each(
            "go.from_maps({}, one, one)",
            "shape",
            "6 None 'ab' (6,) (6,0) (6,2.0) (1,2,3,4) (2,6) (True,True) (6,None) array([6,2])",
        ),
        *each("go.from_maps((6, 2), {}, one)", "phi", "None 5 'phi' I6"),
        *each("go.from_maps((6, 2), one, {})", "psi", "None 5 'psi' I2"),
        *each("go.from_maps((6, 2), one, one, ambient={})", "ambient", "5 I6 'F'"),
        *each(
            "go.from_maps((6, 2), one, one, companion={})",
            "companion",
            "'Q' 5 I6 nan*I2 0*I2 [[1.0,2],[3,4]] {} 1j*I2",
        ),
        *each("go.from_maps((6, 2), one, one, dtype={})", "dtype", "int 'x' None"),
        *each("go.from_maps((6, 2), one, one, definite={})", "definite", "'no' 1 None"),
        *each("go.from_maps((6, 2), one, one, name={})", "name", "5 None b'x'"),
        *each(
            "go.from_maps((6, 2), lambda X: {}, one).random_point(0)",
            "phi",
            "X.T None X.tolist() 5.0 1j*X masked(X) nan*X",
        ),
        *each(
            "go.from_maps((6, 2), one, lambda T: {}).random_point(0)",
            "psi",
            "T[0] None T.tolist() 5.0 1j*T masked(T)",
        ),
        *each(
            "go.from_maps((6, 2), one, one, ambient=lambda Y: {}).random_point(0)",
            "ambient",
            "Y.T None Y.tolist() 5.0",
        ),
    ],
    "GenOrthManifold": [
        *[
            (f"M.{method}({X})", "X")
            for method in ("gram", "constraint", "feasibility", "scale", "dissolve", "restore")
            for X in POINTS.split()
        ],
        *each("M.project({}, X)", "X", POINTS),
        *each("M.project(X, {})", "D", POINTS),
        *each("M.theta(X, {})", "D", POINTS),
        *each("M.gradient(X, {})", "egrad", POINTS),
        *each("M.hessian(X, X, {}, X)", "ehess", POINTS),
        *each("M.hessian(X, X, X, {})", "Z", POINTS),
        *each("M.retract(X, {})", "Z", POINTS),
        *each("M.retract({}, X)", "X", POINTS),
        *each("M.transport(X, {}, X)", "Y", POINTS),
        *each("M.tangency(X, {})", "Z", POINTS),
        *each("M.dissolve_adjoint(X, {})", "T", POINTS),
        *each("M.random_tangent({}, 0)", "X", POINTS),
        *each("M.constraint_adjoint(X, {})", "T", "None 5 'T' X nan*I2"),
        *each("M.symmetrize({})", "T", "None 5 'T' X [[1.0]] ones(2)"),
        *each("M.retract(X, X, {})", "kind", "'newton' None 5 [] {}"),
        *each("M.restore(X, {})", "tol", "-1 nan 'a' [1] 1j True"),
        *each("M.random_point({})", "rng", SEEDS),
        *each("M.random_ambient({})", "rng", SEEDS),
        *each("M.random_tangent(X, {})", "rng", SEEDS),
        *each("M.inner(X, {})", "V", "None 5 'V' X.T"),
        *each("M.norm({})", "U", "None 5 'U' [1.0]"),
    ],
    "Problem": [
        *each("go.Problem({}, zero)", "manifold", "None 5 'M' go.Stiefel X"),
        *each("go.Problem(M, {})", "cost", "None 5 'f' X"),
        *each("go.Problem(M, zero, {})", "euclidean_gradient", "5 'g' X"),
        *each("go.Problem(M, zero, one, {})", "euclidean_hessian", "5 'h' X"),
        *each("go.Problem(M, cost_and_gradient={})", "cost_and_gradient", "5 X"),
        *each("go.Problem(M, zero, autodiff={})", "autodiff", "'numpy' 5 [] True"),
        *each("go.Problem(M, zero, name={})", "name", "5 [] b'x'"),
        *each(
            "go.Problem(M, lambda X: {}).cost(X)",
            "cost",
            "None '1' X [1.0] 1j {} object() ones(2) ones((3,1)) ones((1,3)) ones((1,1,1,2)) I2",
        ),
        *each(
            "go.Problem(M, zero, lambda X: {}).euclidean_gradient(X)",
            "euclidean_gradient",
            "None 5.0 X.T X.tolist() 1j*X masked(X) X.astype(object)",
        ),
        *each(
            "go.Problem(M, zero, one, lambda X, Z: {}).euclidean_hessian(X, X)",
            "euclidean_hessian",
            "None 5.0 X.T X.tolist() 1j*X",
        ),
        *each(
            "go.Problem(M, cost_and_gradient=lambda X: {}).cost(X)",
            "cost_and_gradient",
            "None 5.0 X (0.0,) (0.0,X,X) (X,0.0) (1j,X) ('0',X) (None,X) ([1.0],X) (ones(2),X)",
        ),
        ("go.Problem(M, zero).euclidean_gradient(X)", "euclidean_gradient"),
        ("go.Problem(M, zero).euclidean_hessian(X, X)", "euclidean_gradient"),
        *each("problem.cost({})", "X", FINITE),
        *each("problem.euclidean_hessian(X, {})", "Z", "None 5 X.T 'Z' 1j*X"),
        *each("problem.start({})", "x0", "'x' 5 X.T nan*X 1j*X {}"),
        *each("problem.start(None, {})", "rng", SEEDS),
    ],
    "checks": [
        *each("go.check_assumptions({})", "manifold", "None 5 go.Stiefel problem"),
        *each("go.check_retraction({})", "manifold", "None 5 go.Stiefel problem"),
        *each("go.check_gradient({})", "problem", "None 5 M zero"),
        *each("go.check_hessian({})", "problem", "None 5 M zero"),
        *[
            (f"go.{check}(rng={rng}, {first})", "rng")
            for check, first in (
                ("check_assumptions", "manifold=M"),
                ("check_retraction", "manifold=M"),
                ("check_gradient", "problem=problem"),
                ("check_hessian", "problem=problem"),
            )
            for rng in SEEDS.split()
        ],
        *each("go.check_retraction(M, {})", "kind", "'newton' None 5 []"),
        *each("go.check_retraction(M, X={})", "X", GIVEN),
        *each("go.check_retraction(M, X=X, Z={})", "Z", GIVEN),
        *each("go.check_gradient(problem, {})", "X", GIVEN),
        *each("go.check_hessian(problem, {})", "X", GIVEN),
        ("go.check_gradient(go.Problem(M, zero))", "euclidean_gradient"),
        ("go.check_hessian(go.Problem(M, zero, one))", "euclidean_hessian"),
    ],
    "penalties": [
        call
        for h, kind in (("h", "go.ConstraintDissolving"), ("h_n", "go.OrthogonalDissolving"))
        for call in (
            *each(f"{kind}({{}}, 1)", "problem", "None 5 M zero"),
            *each(f"{kind}(problem, {{}})", "beta", POSITIVE + " 'large'"),
            *each(f"{kind}(problem, 1, keep={{}})", "keep", "0 1.5 None"),
            *each(f"{h}.value({{}})", "X", FINITE),
            *each(f"{h}.gradient({{}})", "X", FINITE),
            *each(f"{h}.value_and_gradient({{}})", "X", FINITE),
            *each(f"{h}.cost({{}})", "X", FINITE),
            *each(f"{h}.feasibility({{}})", "X", FINITE),
            *each(f"{h}.hessian_product(X, {{}})", "Z", FINITE),
        )
    ],
    "exactness_threshold": [
        *each("go.exactness_threshold({}, X)", "problem", "None 5 M zero"),
        *each("go.exactness_threshold(problem, {})", "X", POINTS),
        ("go.exactness_threshold(problem, X, 'sideways')", "dissolving"),
    ],
    "minimize": [
        *each("go.minimize({})", "problem", "None 5 M zero 'p' h"),
        *each("go.minimize(problem, {})", "x0", STARTS),
        *each("go.minimize(problem, method={})", "method", "'newton' None 5 []"),
        *each("go.minimize(problem, beta={})", "beta", POSITIVE + " 'big'"),
        *each("go.minimize(problem, method='rgd', beta={})", "beta", "1 'big'"),
        *[(f"go.minimize(problem, {option})", name) for option, name in OPTIONS],
        *each("go.minimize(problem, check={})", "check", "None 1 'no'"),
        ("go.minimize(go.Problem(M, zero, one))", "euclidean_gradient"),
        ("go.minimize(problem, memory=5, method='cdf-gd')", "memory"),
        ("go.minimize(problem, memory=0, method='rlbfgs')", "memory"),
        ("go.minimize(problem, tolerance=1e-3)", "tolerance"),
        ("go.minimize(problem, method='rgd', geometry='round')", "geometry"),
        ("go.minimize(go.Problem(M, zero))", "problem"),
    ],
    "riemannian": [
        call
        for solver in ("rgd", "rcg", "rlbfgs", "rtr")
        for call in (
            *[(f"riemannian.{solver}({p})", "problem") for p in ("None", "5", "M", "zero")],
            *[(f"riemannian.{solver}(problem, {x0})", "x0") for x0 in STARTS.split()],
            (f"riemannian.{solver}(problem, 0 * X)", "x0"),
            *each(f"riemannian.{solver}(problem, geometry={{}})", "geometry", "'round' None"),
            *each(f"riemannian.{solver}(problem, retraction={{}})", "retraction", "'qr' None"),
            (f"riemannian.{solver}(problem, preconditioner=3)", "preconditioner"),
            (f"riemannian.{solver}(go.Problem(M, zero))", "problem"),
            *[(f"riemannian.{solver}(problem, {option})", name) for option, name in OPTIONS],
        )
    ],
}


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
        "csr": scipy.sparse.csr_array,
        "operator": scipy.sparse.linalg.aslinearoperator,
        "masked": np.ma.masked_array,
        **{
            name: getattr(np, name)
            for name in ("nan", "inf", "eye", "ones", "triu", "array", "longdouble")
        },
    }


NAMES = _names()


@pytest.mark.parametrize(
    ("expression", "argument"),
    [pytest.param(*call, id=call[0]) for calls in WRONG.values() for call in calls],
)
def test_a_wrong_call_names_its_argument(expression, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of inf - inf; an error follows
        with pytest.raises(ValueError, match=rf"^{re.escape(argument)}\b.*: need ") as caught:
            eval(expression, dict(NAMES))
    assert "; got " in str(caught.value)


def test_the_table_is_as_large_as_promised():
    calls = [call for group in WRONG.values() for call in group]
    assert len(calls) == len(set(calls)) >= 400
