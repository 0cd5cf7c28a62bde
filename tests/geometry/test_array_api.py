"""The geometry on array-api-strict, JAX and PyTorch.

The values of NumPy, in the library of the input.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import genorth as go

N, P = 8, 4  # one size for all: JAX compiles each operation once
Array = Any
Wrap = Callable[[Any], Array]
Build = Callable[[Wrap], go.GenOrthManifold]


def _strict() -> Iterator[Wrap]:
    yield pytest.importorskip(
        "array_api_strict", reason="the extra 'test' is not installed"
    ).asarray


def _torch() -> Iterator[Wrap]:
    torch = pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    yield lambda values: torch.from_numpy(np.array(values))


def _jax() -> Iterator[Wrap]:
    """In double precision, compiled in a hurry.

    Each operation on a new shape or type is compiled, and run once.
    """
    jax = pytest.importorskip("jax", reason="the extra 'jax' is not installed")
    wanted = {"jax_enable_x64": True, "jax_disable_most_optimizations": True}
    before = {option: jax.config.read(option) for option in wanted}
    for option, value in wanted.items():
        jax.config.update(option, value)
    yield jax.numpy.asarray
    for option, value in before.items():
        jax.config.update(option, value)


@pytest.fixture(params=[_strict, _torch], ids=["strict", "torch"])
def wrap(request: pytest.FixtureRequest) -> Iterator[Wrap]:
    """NumPy arrays into a library that computes at once."""
    yield from request.param()


@pytest.fixture
def jax_wrap() -> Iterator[Wrap]:
    """NumPy arrays into JAX."""
    yield from _jax()


@pytest.fixture(params=[_strict, _torch, _jax], ids=["strict", "torch", "jax"])
def any_wrap(request: pytest.FixtureRequest) -> Iterator[Wrap]:
    """NumPy arrays into each library."""
    yield from request.param()


def _matrix(eigenvalues: Array, kind: str = "f") -> Array:
    """A Hermitian matrix with these eigenvalues."""
    rng, n = np.random.default_rng(3), len(eigenvalues)
    G = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if kind == "c" else 0)
    U = np.linalg.qr(G)[0]
    M = U * eigenvalues @ U.conj().T
    return (M + M.conj().T) / 2


def _skew(n: int) -> Array:
    """A skew matrix with singular values between 1 and 2, pairwise equal."""
    J = np.kron(np.diag(np.linspace(1, 2, n // 2)), np.array([[0.0, 1.0], [-1.0, 0.0]]))
    U = np.linalg.qr(np.random.default_rng(4).standard_normal((n, n)))[0]
    M = U @ J @ U.T
    return (M - M.T) / 2


POSITIVE = np.linspace(1.0, 2.0, N)
SIGNED = np.where(np.arange(N) < N - 2, 1.0, -1.0) * POSITIVE
SIGNS = np.where(np.arange(P) < P - 1, 1.0, -1.0)
_SHEAR = np.eye(3) + 0.3 * np.random.default_rng(5).standard_normal((3, 3))


def _symplectic_maps(wrap: Wrap) -> go.GenOrthManifold:
    """A user's own functions, in the operators that all libraries share."""
    left, right = (np.kron(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.eye(k // 2)) for k in (N, P))

    def turn(X: Array) -> Array:
        xp = compat.array_namespace(X)
        rows = left if X.shape[-2] == N else right
        return -(xp.asarray(rows, dtype=X.dtype) @ X @ xp.asarray(right, dtype=X.dtype))

    return go.from_maps((N, P), turn, turn)


MANIFOLDS: dict[str, Build] = {
    "stiefel": lambda wrap: go.Stiefel(N, P),
    "stiefel complex": lambda wrap: go.Stiefel(N, P, complex),
    "generalized": lambda wrap: go.GeneralizedStiefel(wrap(_matrix(POSITIVE)), P),
    "generalized diagonal": lambda wrap: go.GeneralizedStiefel(wrap(POSITIVE), P),
    "generalized complex": lambda wrap: go.GeneralizedStiefel(wrap(_matrix(POSITIVE, "c")), P),
    "hyperbolic": lambda wrap: go.HyperbolicStiefel(wrap(_matrix(SIGNED)), P),
    "symplectic": lambda wrap: go.SymplecticStiefel(N, P),
    "indefinite": lambda wrap: go.IndefiniteStiefel(wrap(_matrix(SIGNED)), wrap(_matrix(SIGNS))),
    "indefinite diagonal": lambda wrap: go.IndefiniteStiefel(wrap(SIGNED), wrap(SIGNS)),
    "bilinear symmetric": lambda wrap: go.BilinearStiefel(
        wrap(SIGNED), wrap(np.linspace(1, 2, P) * SIGNS)
    ),
    "bilinear skew": lambda wrap: go.BilinearStiefel(wrap(_skew(N)), wrap(_skew(P))),
    "bilinear complex": lambda wrap: go.BilinearStiefel(
        wrap(_matrix(SIGNED, "c")), wrap(_matrix(SIGNS, "c"))
    ),
    "tensor dct": lambda wrap: go.TensorStiefel(N, P, 3),
    "tensor dft": lambda wrap: go.TensorStiefel(N, P, 3, "dft"),
    "tensor matrix": lambda wrap: go.TensorStiefel(N, P, 3, wrap(_SHEAR)),
    "from maps": _symplectic_maps,
}

WITH_MATRICES = [
    name for name in MANIFOLDS if name.startswith(("gen", "hyp", "ind", "bil", "tensor matrix"))
]


class Inputs(NamedTuple):
    """X and Y on M, Z tangent at X, ambient D and E, square T."""

    X: Array
    Y: Array
    Z: Array
    D: Array
    E: Array
    T: Array

    def to(self, wrap: Wrap) -> "Inputs":
        return Inputs(*map(wrap, self))


def make_inputs(manifold: go.GenOrthManifold) -> Inputs:
    rng = np.random.default_rng(0)
    X, Y = manifold.random_point(rng), manifold.random_point(rng)
    Z = manifold.random_tangent(X, rng)
    Z *= 0.3 / np.linalg.norm(Z)
    D, E = manifold.random_ambient(rng), manifold.random_ambient(rng)
    return Inputs(X, Y, Z, D, E, X.conj().mT @ E)


# ---------------------------------------------------------------------- methods

Call = Callable[[go.GenOrthManifold, Inputs], Array]
CALLS: dict[str, Call] = {
    "phi": lambda m, a: m.phi(a.D),
    "psi": lambda m, a: m.psi(a.T),
    "gram": lambda m, a: m.gram(a.X, a.D),
    "symmetrize": lambda m, a: m.symmetrize(a.T),
    "constraint": lambda m, a: m.constraint(a.D),
    "feasibility": lambda m, a: m.feasibility(a.D),
    "constraint_differential": lambda m, a: m.constraint_differential(a.D, a.E),
    "constraint_adjoint": lambda m, a: m.constraint_adjoint(a.D, a.T),
    "tangency": lambda m, a: m.tangency(a.X, a.D),
    "dissolve": lambda m, a: m.dissolve(a.D),
    "dissolve_differential": lambda m, a: m.dissolve_differential(a.D, a.E),
    "dissolve_adjoint": lambda m, a: m.dissolve_adjoint(a.D, a.E),
    "dissolve_second_adjoint": lambda m, a: m.dissolve_second_adjoint(a.D, a.E, a.Z),
    "theta": lambda m, a: m.theta(a.X, a.D),
    "project": lambda m, a: m.project(a.X, a.D),
    "gradient": lambda m, a: m.gradient(a.X, a.D),
    "hessian": lambda m, a: m.hessian(a.X, a.D, a.E, a.Z),
    "transport": lambda m, a: m.transport(a.X, a.Y, a.Z),
    "random_tangent": lambda m, a: m.random_tangent(a.X, 1),
    "inner": lambda m, a: m.inner(a.D, a.E),
    "norm": lambda m, a: m.norm(a.D),
    "scale": lambda m, a: m.scale(a.D),
    "retract cayley": lambda m, a: m.retract(a.X, a.Z, "cayley"),
    "newton_step": lambda m, a: m.newton_step(a.X + 0.1 * a.D),
}
LONG_CALLS: dict[str, Call] = {  # JAX takes a second to compile each
    "retract polar": lambda m, a: m.retract(a.X, a.Z, "polar"),
    "retract exp": lambda m, a: m.retract(a.X, a.Z, "exp"),
    "retract normal": lambda m, a: m.retract(a.X, a.Z, "normal"),
    "velocity cayley": lambda m, a: m.ray(a.X, a.Z, "cayley").velocity(0.5),
    "velocity polar": lambda m, a: m.ray(a.X, a.Z, "polar").velocity(0.5),
    "velocity exp": lambda m, a: m.ray(a.X, a.Z, "exp").velocity(0.5),
    "velocity normal": lambda m, a: m.ray(a.X, a.Z, "normal").velocity(0.5),
}
EAGER_CALLS: dict[str, Call] = {
    "restore": lambda m, a: m.restore(a.X + a.Z / 100)
}  # looks at values
ALL_CALLS = CALLS | LONG_CALLS | EAGER_CALLS


def _plain(values: Array) -> Array:
    return values


class Reference(NamedTuple):
    """A manifold, inputs, and what NumPy makes of them."""

    manifold: go.GenOrthManifold
    inputs: Inputs
    results: dict[str, Array]
    scale: float

    def check(self, method: str, result: Array, eps: float = 2.0**-52) -> None:
        """Equal up to rounding, which phi and the size of the inputs magnify."""
        assert_close(method, result, self.results[method], eps * self.scale)


@cache
def reference(name: str) -> Reference:
    manifold = MANIFOLDS[name](_plain)
    inputs = make_inputs(manifold)
    results = {method: call(manifold, inputs) for method, call in ALL_CALLS.items()}
    return Reference(manifold, inputs, results, float(manifold.scale(inputs.X)))


def assert_close(what: str, result: Array, expected: Array, unit: float) -> None:
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.shape == expected.shape, what
    defect, size = (
        float(np.linalg.norm(result - expected)),
        max(1.0, float(np.linalg.norm(expected))),
    )
    assert defect <= 100 * N * unit * size, f"{what}: differs from NumPy by {defect:.3g}"


def assert_library(what: str, result: Array, like: Array) -> None:
    """Of scalars too; those of NumPy are floats, and `scale` is one always."""
    if isinstance(result, np.generic):
        assert type(like) is np.ndarray, what
    elif isinstance(result, float):
        assert what == "scale" or type(like) is np.ndarray
    else:
        assert compat.array_namespace(result) is compat.array_namespace(like), what


def check_all(
    calls: dict[str, Call], manifold: go.GenOrthManifold, known: Reference, wrap: Wrap
) -> None:
    inputs = known.inputs.to(wrap)
    for method, call in calls.items():
        result = call(manifold, inputs)
        assert_library(method, result, inputs.X)
        known.check(method, result)


@pytest.mark.parametrize("name", MANIFOLDS)
def test_every_method_gives_the_values_of_numpy(name, wrap):
    known = reference(name)
    check_all(ALL_CALLS, known.manifold, known, wrap)


@pytest.mark.parametrize("name", ["generalized", "symplectic"])
def test_every_method_gives_the_values_of_numpy_in_jax(name, jax_wrap):
    """Operation by operation; all manifolds are run under jit below, which compiles much less."""
    known = reference(name)
    check_all(ALL_CALLS, MANIFOLDS[name](jax_wrap), known, jax_wrap)


@pytest.mark.parametrize("name", WITH_MATRICES)
def test_matrices_may_be_arrays_of_the_library(name, wrap):
    """Made from them, a manifold takes arrays of that library and NumPy's alike."""
    known, manifold = reference(name), MANIFOLDS[name](wrap)
    assert manifold.dtype == known.manifold.dtype and manifold.dim == known.manifold.dim
    check_all(ALL_CALLS, manifold, known, wrap)
    check_all(ALL_CALLS, manifold, known, _plain)
    X = manifold.random_point(0)
    assert manifold.feasibility(X) <= 1e-12 * manifold.scale(X)


@pytest.mark.parametrize("name", [name for name in MANIFOLDS if name.startswith("tensor")])
def test_tensors_and_blocks(name, any_wrap):
    known = reference(name)
    manifold: Any = known.manifold
    X = known.inputs.X
    tensor = manifold.to_tensor(X)
    for result, expected in (
        (manifold.to_tensor(any_wrap(X)), tensor),
        (manifold.from_tensor(any_wrap(tensor)), X),
        (manifold.from_tensor(any_wrap(tensor.real)), manifold.from_tensor(tensor.real)),
    ):
        assert_library("tensor", result, any_wrap(X))
        assert_close("tensor", result, expected, 2.0**-52 * known.scale)


def _single(known: Reference, wrap: Wrap) -> Inputs:
    kind = np.complex64 if known.manifold.dtype.kind == "c" else np.float32
    return known.inputs.to(lambda values: wrap(values.astype(kind)))


def _check_single(method: str, result: Array, known: Reference) -> None:
    if type(result) is not float:  # which widens no array
        assert np.asarray(result).dtype in (np.float32, np.complex64), method
    known.check(method, result, eps=2.0**-23)


@pytest.mark.parametrize("name", MANIFOLDS)
def test_single_precision_stays_single(name):
    """Matrices of double precision do not double the arrays; tolerances are those of the input."""
    known = reference(name)
    single = _single(known, _plain)
    for method, call in (CALLS | LONG_CALLS).items():
        _check_single(method, call(known.manifold, single), known)
    restored = known.manifold.restore(single.X + single.Z / 100)
    assert restored.dtype == single.X.dtype
    assert known.manifold.feasibility(restored) <= 4500 * 2.0**-23 * known.manifold.scale(restored)


@pytest.mark.parametrize("kind", ["cayley", "polar", "exp", "normal"])
@pytest.mark.parametrize(
    ("name", "narrow"),
    [("stiefel complex", np.float64), ("generalized diagonal", np.float32)],
    ids=["real", "single"],
)
def test_types_may_be_mixed(name, narrow, kind):
    """A real point of a complex manifold, a point of lower precision.

    Nothing is cut off by writing in place.
    """
    manifold = reference(name).manifold
    real = go.Stiefel(N, P) if narrow is np.float64 else manifold
    X, D = real.random_point(0).astype(narrow), manifold.random_ambient(1)
    wide, unit = X.astype(manifold.dtype), N * float(np.finfo(narrow).eps)
    Z = manifold.project(wide, D) / 10
    assert_close("project", manifold.project(X, D), 10 * Z, unit)
    assert (
        manifold.project(X, X).dtype == narrow
    )  # what is remembered of the wide X is not taken for that of X
    assert_close(
        "hessian", manifold.hessian(X, X, D, X), manifold.hessian(wide, wide, D, wide), unit
    )
    assert_close(kind, manifold.retract(X, Z, kind), manifold.retract(wide, Z, kind), unit)


@pytest.mark.parametrize("name", ["stiefel complex", "indefinite", "tensor dct"])
def test_single_precision_in_other_libraries(name, wrap):
    known = reference(name)
    for method, call in (CALLS | LONG_CALLS).items():
        _check_single(method, call(known.manifold, _single(known, wrap)), known)


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.linalg.aslinearoperator])
def test_scipy_matrices_take_numpy_arrays_alone(form, any_wrap):
    manifold = go.GeneralizedStiefel(form(np.diag(POSITIVE)), P)
    X = manifold.random_point(0)
    for call in (
        manifold.phi,
        manifold.constraint,
        manifold.dissolve,
        lambda Y: manifold.project(Y, Y),
    ):
        with pytest.raises(
            ValueError,
            match=r"X: need a NumPy array, as B is a SciPy matrix.*; .*Pass B as an array",
        ):
            call(any_wrap(X))


def _outside(kind: str) -> tuple[go.GenOrthManifold, Array, Array]:
    """Two hyperbolas x^2 - y^2 = 1 at (1, 0).

    The tangent vector (0, z) makes 1 - z^2/4 (Cayley) or 1 - z^2 (polar).

    The former is zero for z = 2, the latter negative for z = 1.5; the other hyperbola takes a step
    inside its domain.
    """
    manifold = go.HyperbolicStiefel(np.array([1.0, 1.0, -1.0, -1.0]), 2)
    return (
        manifold,
        np.eye(4, 2),
        np.eye(4, 2, k=-2) * np.array([2.0 if kind == "cayley" else 1.5, 0.5]),
    )


@pytest.mark.parametrize("kind", ["cayley", "polar"])
def test_a_step_outside_the_domain_is_refused_where_values_can_be_seen(kind, any_wrap):
    manifold, X, Z = _outside(kind)
    with pytest.raises(go.OutsideDomainError, match="Halve the step"):
        manifold.retract(any_wrap(X), any_wrap(Z), kind)


@pytest.mark.parametrize("kind", ["cayley", "polar"])
def test_traced_steps_outside_the_domain_are_not_finite(kind, jax_wrap):
    import jax

    manifold, X, Z = _outside(kind)
    retract = jax.jit(lambda X, Z: manifold.retract(X, Z, kind))
    assert not np.all(np.isfinite(retract(jax_wrap(X), jax_wrap(Z))))
    assert np.all(np.isfinite(retract(jax_wrap(X), jax_wrap(Z / 2))))


def _jitted(
    calls: dict[str, Call], manifold: go.GenOrthManifold
) -> Callable[[Inputs], dict[str, Array]]:
    import jax

    return jax.jit(
        lambda inputs: {method: call(manifold, inputs) for method, call in calls.items()}
    )


@pytest.mark.parametrize("name", MANIFOLDS)
def test_jit_gives_the_values_of_numpy_and_leaks_no_tracer(name, jax_wrap):
    """The manifold is used for the first time under jit, so that all it remembers is made there.

    Then by NumPy.
    """
    import jax

    known, manifold = reference(name), MANIFOLDS[name](jax_wrap)
    with jax.checking_leaks():
        results = _jitted(CALLS, manifold)(known.inputs.to(jax_wrap))
    for method in CALLS:
        known.check(method, results[method])
    check_all(CALLS, manifold, known, _plain)


@pytest.mark.parametrize(
    "name",
    [
        "stiefel complex",
        pytest.param("symplectic", marks=pytest.mark.slow),
        pytest.param("tensor dct", marks=pytest.mark.slow),
    ],
)
def test_jit_of_the_retractions_that_iterate(name, jax_wrap):
    known = reference(name)
    for method, result in _jitted(LONG_CALLS, known.manifold)(known.inputs.to(jax_wrap)).items():
        known.check(method, result)


def test_jit_in_single_precision(jax_wrap):
    known = reference("indefinite")
    for method, result in _jitted(CALLS | LONG_CALLS, known.manifold)(
        _single(known, jax_wrap)
    ).items():
        _check_single(method, result, known)


def test_a_users_functions_may_be_written_in_jax(jax_wrap):
    """Q is read off psi at the first use, which may be under jit.

    Its values are seen there, and kept.
    """
    import jax

    known = reference("bilinear skew")
    A, R = jax_wrap(_skew(N)), jax_wrap(_skew(P))
    inverse = jax.numpy.linalg.inv(R)
    manifold = go.from_maps((N, P), lambda X: A @ X @ inverse, lambda T: R @ T @ inverse)
    with jax.checking_leaks():
        result = jax.jit(manifold.project)(jax_wrap(known.inputs.X), jax_wrap(known.inputs.D))
    known.check("project", result)


def _conjugate(X):
    return X.conj()


def test_what_looks_at_values_says_so_under_jit(jax_wrap):
    import jax

    manifold = go.Stiefel(N, P)
    with pytest.raises(NotImplementedError, match="restore looks at values"):
        jax.jit(manifold.restore)(jax_wrap(manifold.random_point(0)))
    by_iteration = go.from_maps((N, P), _conjugate, _conjugate, dtype=complex)
    assert by_iteration.theta_solver.name == "conjugate gradients"
    X = by_iteration.random_point(0)
    with pytest.raises(NotImplementedError, match="conjugate gradients looks at values"):
        jax.jit(by_iteration.project)(jax_wrap(X), jax_wrap(X))


@pytest.fixture(params=["jax", "torch"])
def gradient(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[Callable[[Array], Array], Array], Array]]:
    """The Euclidean gradient G of a function at X, df = Re tr(G^T Z)."""
    for _ in _jax() if request.param == "jax" else _torch():
        yield _gradient_by_jax if request.param == "jax" else _gradient_by_torch


def _gradient_by_jax(function: Callable[[Array], Array], X: Array) -> Array:
    import jax

    return np.conj(jax.grad(function)(jax.numpy.asarray(X)))  # JAX gives the conjugate


def _gradient_by_torch(function: Callable[[Array], Array], X: Array) -> Array:
    import torch

    leaf = torch.from_numpy(X.copy()).requires_grad_()
    function(leaf).backward()
    return leaf.grad.numpy()


def _like(values: Array, X: Array) -> Array:
    return compat.array_namespace(X).asarray(values)


@pytest.mark.parametrize(
    "name", ["stiefel complex", "symplectic", "bilinear complex", "tensor dct"]
)
def test_the_derivative_of_dissolve_is_its_adjoint(name, gradient):
    """The gradient of <T, A(X)> is DA(X)*[T]."""
    known = reference(name)
    m, a = known.manifold, known.inputs
    known.check("dissolve_adjoint", gradient(lambda X: m.inner(_like(a.E, X), m.dissolve(X)), a.D))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("stiefel complex", "polar"), *(("symplectic", kind) for kind in ("cayley", "polar", "exp"))],
)
def test_the_derivative_of_retract(name, kind, gradient):
    """Along V it is the central difference.

    At Z = 0, where eigenvalues meet and roots vanish, it is V.
    """
    known = reference(name)
    m, a = known.manifold, known.inputs
    V = m.random_tangent(a.X, 7)

    def function(Z: Array) -> Array:
        return m.inner(_like(a.E, Z), m.retract(_like(a.X, Z), Z, kind))

    h, size = 1e-5, float(m.norm(a.E) * m.norm(V)) * known.scale
    difference = (function(a.Z + h * V) - function(a.Z - h * V)) / (2 * h)
    error = abs(m.inner(gradient(function, a.Z), V) - difference)
    assert error <= size * (h**2 * float(m.norm(V)) ** 2 + 100 * N * 2.0**-52 / h)
    error = abs(m.inner(gradient(function, 0 * a.Z), V) - m.inner(a.E, V))
    assert error <= 100 * N * 2.0**-52 * size
