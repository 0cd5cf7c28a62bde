"""Wrong calls of the public API: each raises a ValueError that begins with the argument at fault.

The table is data, by public name: an expression, and the argument that its error has to name. Names
in expressions are those of `NAMES`. `EACH` is filled in for every value of a wrong kind.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go
from genorth import riemannian

#: What no number of rows or columns can be.
SIZES = ["0", "-1", "1.5", "True", "None", "'3'", "nan", "[3]", "3j"]
#: What no matrix can be.
MATRICES = [
    "None",
    "'B'",
    "{}",
    "[]",
    "[[1, 2], [3]]",
    "ones((2, 3, 4))",
    "ones((3, 4))",
    "nan * I6",
]
#: What no seed can be.
SEEDS = ["'a'", "-1", "1.5", "True", "object()"]
#: What no point of a 6 x 2 manifold can be.
POINTS = [
    "None",
    "'X'",
    "5",
    "X.tolist()",
    "X.T",
    "X[0]",
    "nan * X",
    "inf * X",
    "1j * X",
    "X.astype(int)",
    "X.astype(object)",
    "X.astype(longdouble)",
    "masked(X)",
]
#: What no start can be.
STARTS = ["'x'", "5", "X.T", "nan * X", "1j * X", "{}", "masked(X)"]
#: Options of every solver, and what they cannot be.
OPTIONS = [
    *[(f"tol={value}", "tol") for value in ("-1", "nan", "inf", "'1'", "None", "True", "[1]")],
    *[
        (f"feasibility_tol={value}", "feasibility_tol")
        for value in ("0", "-1", "nan", "'1'", "True")
    ],
    *[(f"max_iterations={value}", "max_iterations") for value in ("0", "-1", "1.5", "True", "'5'")],
    *[(f"max_evaluations={value}", "max_evaluations") for value in ("0", "-1", "1.5", "True")],
    *[(f"max_time={value}", "max_time") for value in ("0", "-1", "nan", "'1'", "True")],
    *[(f"callback={value}", "callback") for value in ("5", "'print'")],
    *[(f"keep_points={value}", "keep_points") for value in ("'no'", "1", "None")],
    *[(f"rng={value}", "rng") for value in SEEDS],
]
#: What no positive number can be.
POSITIVE = ["0", "-1", "nan", "inf", "None", "'1'", "True", "[1]", "1j"]

WRONG: dict[str, list[tuple[str, str]]] = {
    "Stiefel": [
        *[(f"go.Stiefel({size}, 2)", "n") for size in SIZES],
        *[(f"go.Stiefel(6, {size})", "p") for size in SIZES],
        ("go.Stiefel(2, 6)", "p"),
        *[(f"go.Stiefel(6, 2, {kind})", "dtype") for kind in ("int", "'x'", "longdouble", "5")],
        ("go.Stiefel(6, 2, object)", "dtype"),
        ("go.Stiefel(6, 2, None)", "dtype"),
    ],
    "SymplecticStiefel": [
        *[(f"go.SymplecticStiefel({size}, 2)", "n") for size in [*SIZES, "7"]],
        *[(f"go.SymplecticStiefel(6, {size})", "p") for size in [*SIZES, "3", "8"]],
    ],
    "GeneralizedStiefel": [
        *[(f"go.GeneralizedStiefel({B}, 2)", "B") for B in MATRICES],
        *[(f"go.GeneralizedStiefel(I6, {size})", "p") for size in [*SIZES, "7"]],
        ("go.GeneralizedStiefel(triu(ones((6, 6))), 2)", "B"),
        ("go.GeneralizedStiefel(-I6, 2)", "B"),
        ("go.GeneralizedStiefel(0 * I6, 2)", "B"),
        ("go.GeneralizedStiefel(ones((6, 6)), 2)", "B"),
        ("go.GeneralizedStiefel(1j * ones(6), 2)", "B"),
        ("go.GeneralizedStiefel(csr(triu(ones((6, 6)))), 2)", "B"),
        ("go.GeneralizedStiefel(csr(-I6), 2)", "B"),
        ("go.GeneralizedStiefel(csr(inf * I6), 2)", "B"),
        ("go.GeneralizedStiefel(operator(triu(ones((6, 6)))), 2)", "B"),
        ("go.GeneralizedStiefel(operator(-I6), 2).random_point(0)", "B"),
        ("go.GeneralizedStiefel(operator(ones((6, 5))), 2)", "B"),
        ("go.GeneralizedStiefel(masked(I6), 2)", "B"),
    ],
    "HyperbolicStiefel": [
        *[(f"go.HyperbolicStiefel({H}, 2)", "H") for H in MATRICES],
        *[(f"go.HyperbolicStiefel(I6, {size})", "p") for size in [*SIZES, "7"]],
        ("go.HyperbolicStiefel(-I6, 2)", "H"),
        ("go.HyperbolicStiefel(0 * ones(6), 2)", "H"),
        ("go.HyperbolicStiefel([1.0, -1, -1, -1], 2)", "H"),
        ("go.HyperbolicStiefel(operator(-I6), 2).random_point(0)", "H"),
    ],
    "IndefiniteStiefel": [
        *[(f"go.IndefiniteStiefel({A}, [1.0, -1])", "A") for A in MATRICES],
        *[(f"go.IndefiniteStiefel(I6, {J})", "J") for J in MATRICES],
        ("go.IndefiniteStiefel(I6, [1.0, -1])", "A"),
        ("go.IndefiniteStiefel(I6, [1.0, 2])", "J"),
        ("go.IndefiniteStiefel(I6, [[0.0, 1], [-1, 0]])", "J"),
        ("go.IndefiniteStiefel(I6, ones(7))", "J"),
        ("go.IndefiniteStiefel(I6, 0.0)", "J"),
    ],
    "BilinearStiefel": [
        *[(f"go.BilinearStiefel({A}, I2)", "A") for A in MATRICES],
        *[(f"go.BilinearStiefel(I6, {R})", "R") for R in MATRICES],
        ("go.BilinearStiefel(I6, [[0.0, 1], [-1, 0]])", "A"),
        ("go.BilinearStiefel(I6, [[0.0, 1], [-2, 0]])", "R"),
        ("go.BilinearStiefel(I6, 0 * I2)", "R"),
        ("go.BilinearStiefel(I6, -I2)", "A"),
        ("go.BilinearStiefel(I2, I6)", "R"),
        ("go.BilinearStiefel(0 * I6, I2)", "A"),
    ],
    "TensorStiefel": [
        *[(f"go.TensorStiefel({size}, 2, 3)", "n") for size in SIZES],
        *[(f"go.TensorStiefel(6, {size}, 3)", "p") for size in SIZES],
        *[(f"go.TensorStiefel(6, 2, {size})", "l") for size in SIZES],
        *[
            (f"go.TensorStiefel(6, 2, 3, {M})", "transform")
            for M in ("'fft'", "None", "5", "I2", "0 * eye(3)", "nan * eye(3)", "[]", "ones(3)")
        ],
        *[
            (f"tensor.from_tensor({T})", "tensor")
            for T in ("None", "5", "ones(3)", "ones((5, 2, 4))", "'t'", "[[[1.0]]]")
        ],
        *[(f"tensor.to_tensor({T})", "X") for T in ("None", "5", "ones(3)", "ones((4, 5, 2))")],
        ("go.TensorStiefel(5, 2, 3, 'dft').from_tensor(1j * ones((5, 2, 3)))", "tensor"),
    ],
    "from_maps": [
        *[
            (f"go.from_maps({shape}, one, one)", "shape")
            for shape in (
                "6",
                "None",
                "'ab'",
                "(6,)",
                "(6, 0)",
                "(6, 2.0)",
                "(1, 2, 3, 4)",
                "(2, 6)",
                "(True, True)",
                "(6, None)",
                "array([6, 2])",
            )
        ],
        *[(f"go.from_maps((6, 2), {f}, one)", "phi") for f in ("None", "5", "'phi'", "I6")],
        *[(f"go.from_maps((6, 2), one, {f})", "psi") for f in ("None", "5", "'psi'", "I2")],
        *[(f"go.from_maps((6, 2), one, one, ambient={f})", "ambient") for f in ("5", "I6", "'F'")],
        *[
            (f"go.from_maps((6, 2), one, one, companion={Q})", "companion")
            for Q in ("'Q'", "5", "I6", "nan * I2", "0 * I2", "[[1.0, 2], [3, 4]]", "{}", "1j * I2")
        ],
        *[(f"go.from_maps((6, 2), one, one, dtype={t})", "dtype") for t in ("int", "'x'", "None")],
        *[
            (f"go.from_maps((6, 2), one, one, definite={d})", "definite")
            for d in ("'no'", "1", "None")
        ],
        *[(f"go.from_maps((6, 2), one, one, name={n})", "name") for n in ("5", "None", "b'x'")],
        *[
            (f"go.from_maps((6, 2), lambda X: {value}, one).random_point(0)", "phi")
            for value in ("X.T", "None", "X.tolist()", "5.0", "1j * X", "masked(X)", "nan * X")
        ],
        *[
            (f"go.from_maps((6, 2), one, lambda T: {value}).random_point(0)", "psi")
            for value in ("T[0]", "None", "T.tolist()", "5.0", "1j * T", "masked(T)")
        ],
        *[
            (
                f"go.from_maps((6, 2), one, one, ambient=lambda Y: {value}).random_point(0)",
                "ambient",
            )
            for value in ("Y.T", "None", "Y.tolist()", "5.0")
        ],
    ],
    "GenOrthManifold": [
        *[
            (f"M.{method}({X})", "X")
            for method in ("gram", "constraint", "feasibility", "scale", "dissolve", "restore")
            for X in POINTS
        ],
        *[(f"M.project({X}, X)", "X") for X in POINTS],
        *[(f"M.project(X, {D})", "D") for D in POINTS],
        *[(f"M.theta(X, {D})", "D") for D in POINTS],
        *[(f"M.gradient(X, {G})", "egrad") for G in POINTS],
        *[(f"M.hessian(X, X, {H}, X)", "ehess") for H in POINTS],
        *[(f"M.hessian(X, X, X, {Z})", "Z") for Z in POINTS],
        *[(f"M.retract(X, {Z})", "Z") for Z in POINTS],
        *[(f"M.retract({X}, X)", "X") for X in POINTS],
        *[(f"M.transport(X, {Y}, X)", "Y") for Y in POINTS],
        *[(f"M.tangency(X, {Z})", "Z") for Z in POINTS],
        *[(f"M.dissolve_adjoint(X, {T})", "T") for T in POINTS],
        *[(f"M.random_tangent({X}, 0)", "X") for X in POINTS],
        *[(f"M.constraint_adjoint(X, {T})", "T") for T in ("None", "5", "'T'", "X", "nan * I2")],
        *[(f"M.symmetrize({T})", "T") for T in ("None", "5", "'T'", "X", "[[1.0]]", "ones(2)")],
        *[(f"M.retract(X, X, {kind})", "kind") for kind in ("'newton'", "None", "5", "[]", "{}")],
        *[(f"M.restore(X, {tol})", "tol") for tol in ("-1", "nan", "'a'", "[1]", "1j", "True")],
        *[(f"M.random_point({rng})", "rng") for rng in SEEDS],
        *[(f"M.random_ambient({rng})", "rng") for rng in SEEDS],
        *[(f"M.random_tangent(X, {rng})", "rng") for rng in SEEDS],
        *[(f"M.inner(X, {V})", "V") for V in ("None", "5", "'V'", "X.T")],
        *[(f"M.norm({U})", "U") for U in ("None", "5", "'U'", "[1.0]")],
    ],
    "Problem": [
        *[(f"go.Problem({M}, zero)", "manifold") for M in ("None", "5", "'M'", "go.Stiefel", "X")],
        *[(f"go.Problem(M, {f})", "cost") for f in ("None", "5", "'f'", "X")],
        *[(f"go.Problem(M, zero, {g})", "euclidean_gradient") for g in ("5", "'g'", "X")],
        *[(f"go.Problem(M, zero, one, {h})", "euclidean_hessian") for h in ("5", "'h'", "X")],
        *[(f"go.Problem(M, cost_and_gradient={b})", "cost_and_gradient") for b in ("5", "X")],
        *[
            (f"go.Problem(M, zero, autodiff={a})", "autodiff")
            for a in ("'numpy'", "5", "[]", "True")
        ],
        *[(f"go.Problem(M, zero, name={n})", "name") for n in ("5", "[]", "b'x'")],
        *[
            (f"go.Problem(M, lambda X: {value}).cost(X)", "cost")
            for value in ("None", "'1'", "X", "[1.0]", "1j", "{}", "object()", "ones(1)")
        ],
        *[
            (f"go.Problem(M, zero, lambda X: {value}).euclidean_gradient(X)", "euclidean_gradient")
            for value in (
                "None",
                "5.0",
                "X.T",
                "X.tolist()",
                "1j * X",
                "masked(X)",
                "X.astype(object)",
            )
        ],
        *[
            (
                f"go.Problem(M, zero, one, lambda X, Z: {value}).euclidean_hessian(X, X)",
                "euclidean_hessian",
            )
            for value in ("None", "5.0", "X.T", "X.tolist()", "1j * X")
        ],
        *[
            (f"go.Problem(M, cost_and_gradient=lambda X: {value}).cost(X)", "cost_and_gradient")
            for value in (
                "None",
                "5.0",
                "X",
                "(0.0,)",
                "(0.0, X, X)",
                "(X, 0.0)",
                "(1j, X)",
                "('0', X)",
            )
        ],
        ("go.Problem(M, zero).euclidean_gradient(X)", "euclidean_gradient"),
        ("go.Problem(M, zero).euclidean_hessian(X, X)", "euclidean_hessian"),
        *[(f"problem.cost({X})", "X") for X in POINTS if "nan" not in X and "inf" not in X],
        *[
            (f"problem.euclidean_hessian(X, {Z})", "Z")
            for Z in ("None", "5", "X.T", "'Z'", "1j * X")
        ],
        *[(f"problem.start({x0})", "x0") for x0 in ("'x'", "5", "X.T", "nan * X", "1j * X", "{}")],
        *[(f"problem.start(None, {rng})", "rng") for rng in SEEDS],
    ],
    "checks": [
        *[
            (f"go.check_assumptions({M})", "manifold")
            for M in ("None", "5", "go.Stiefel", "problem")
        ],
        *[
            (f"go.check_retraction({M})", "manifold")
            for M in ("None", "5", "go.Stiefel", "problem")
        ],
        *[(f"go.check_gradient({p})", "problem") for p in ("None", "5", "M", "zero")],
        *[(f"go.check_hessian({p})", "problem") for p in ("None", "5", "M", "zero")],
        *[
            (f"go.{check}(rng={rng}, {first})", "rng")
            for check, first in (
                ("check_assumptions", "manifold=M"),
                ("check_retraction", "manifold=M"),
                ("check_gradient", "problem=problem"),
                ("check_hessian", "problem=problem"),
            )
            for rng in SEEDS
        ],
        *[(f"go.check_retraction(M, {kind})", "kind") for kind in ("'newton'", "None", "5", "[]")],
        *[(f"go.check_retraction(M, X={X})", "X") for X in POINTS if X != "None"],
        *[(f"go.check_retraction(M, X=X, Z={Z})", "Z") for Z in POINTS if Z != "None"],
        *[(f"go.check_gradient(problem, {X})", "X") for X in POINTS if X != "None"],
        *[(f"go.check_hessian(problem, {X})", "X") for X in POINTS if X != "None"],
        ("go.check_gradient(go.Problem(M, zero))", "euclidean_gradient"),
        ("go.check_hessian(go.Problem(M, zero, one))", "euclidean_hessian"),
    ],
    "ConstraintDissolving": [
        *[(f"go.ConstraintDissolving({p}, 1)", "problem") for p in ("None", "5", "M", "zero")],
        *[(f"go.ConstraintDissolving(problem, {beta})", "beta") for beta in POSITIVE],
        *[(f"go.ConstraintDissolving(problem, 1, keep={k})", "keep") for k in ("0", "1.5", "None")],
        *[
            (f"h.{method}({X})", "X")
            for method in ("value", "gradient", "value_and_gradient", "cost", "feasibility")
            for X in POINTS
            if "nan" not in X and "inf" not in X
        ],
        *[(f"h.hessian_product(X, {Z})", "Z") for Z in POINTS if "nan" not in Z and "inf" not in Z],
    ],
    "exactness_threshold": [
        *[(f"go.exactness_threshold({p}, X)", "problem") for p in ("None", "5", "M", "zero")],
        *[(f"go.exactness_threshold(problem, {X})", "X") for X in POINTS],
    ],
    "minimize": [
        *[(f"go.minimize({p})", "problem") for p in ("None", "5", "M", "zero", "'p'", "h")],
        *[(f"go.minimize(problem, {x0})", "x0") for x0 in STARTS],
        *[(f"go.minimize(problem, method={m})", "method") for m in ("'newton'", "None", "5", "[]")],
        *[(f"go.minimize(problem, beta={b})", "beta") for b in [*POSITIVE, "'big'"]],
        *[(f"go.minimize(problem, method='rgd', beta={b})", "beta") for b in ("1", "'big'")],
        *[(f"go.minimize(problem, {option})", name) for option, name in OPTIONS],
        ("go.minimize(problem, memory=5, method='cdf-gd')", "memory"),
        ("go.minimize(problem, tolerance=1e-3)", "tolerance"),
        ("go.minimize(problem, method='rgd', geometry='fast')", "geometry"),
        ("go.minimize(go.Problem(M, zero))", "problem"),
        ("go.minimize(go.Problem(M, zero, one), method='cdf-tr')", "problem"),
        ("go.minimize(go.Problem(M, zero, one), method='rtr')", "problem"),
    ],
    "riemannian": [
        call
        for solver in ("rgd", "rcg", "rlbfgs", "rtr")
        for call in (
            *[(f"riemannian.{solver}({p})", "problem") for p in ("None", "5", "M", "zero")],
            *[(f"riemannian.{solver}(problem, {x0})", "x0") for x0 in STARTS],
            (f"riemannian.{solver}(problem, 0 * X)", "x0"),
            (f"riemannian.{solver}(problem, retraction='round')", "retraction"),
            (f"riemannian.{solver}(problem, retraction=None)", "retraction"),
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
def test_a_wrong_call_names_its_argument(expression: str, argument: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of inf - inf; an error follows
        with pytest.raises(ValueError, match=rf"^{re.escape(argument)}\b.*: need ") as caught:
            eval(expression, dict(NAMES))
    assert "; got " in str(caught.value)


def test_the_table_is_as_large_as_promised() -> None:
    calls = [call for group in WRONG.values() for call in group]
    assert len(calls) == len(set(calls)) >= 400
