"""`Problem`: a manifold and a cost with its derivatives, checked, counted, and shared per point.

Every solver, ours or a peer, sees the user's callables through a Problem, so that all of them are
counted alike and none pays twice for the same X.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import attrs
import numpy as np

from genorth.errors import refuse
from genorth.geometry.manifold import GenOrthManifold
from genorth.geometry.product import Blockwise, Euclidean
from genorth.geometry.shaped import Front
from genorth.linalg.arrays import (
    Array,
    constant,
    is_array,
    is_complex,
    library,
    norm,
    number,
    read_only,
    same_devices,
    stays,
    why_not_by_rows,
)
from genorth.linalg.cache import ContentCache
from genorth.linalg.inputs import check_returned
from genorth.problem.constraints import Constraint, as_constraint, on_factors
from genorth.problem.differences import Differences
from genorth.problem.terms import ByFactor, Mapped, Term

_Cost = Callable[..., Any]  # on a product one argument for each factor
_Map = Callable[..., Array]


def evaluations(nfev: int, njev: int, nhev: int) -> int:
    """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
    return max(nfev, njev) + nhev


@attrs.frozen
class Counts:
    """How often a Problem has called the user's functions, and for how long.

    Subtract two to get the counts of one run. A fused call counts as one cost and one gradient.
    """

    nfev: int = 0
    njev: int = 0
    nhev: int = 0
    #: Seconds spent inside the user's callables.
    seconds: float = 0.0
    #: Values of further constraints, and products with their Jacobian.
    constr_nfev: int = 0
    constr_njev: int = 0

    def __sub__(self, earlier: Counts) -> Counts:
        pairs = zip(attrs.astuple(self), attrs.astuple(earlier), strict=True)
        return Counts(*(now - before for now, before in pairs))

    @property
    def calls(self) -> dict[str, Any]:
        """How often f and its derivatives were evaluated, by the name that a Result has for it."""
        return {"nfev": self.nfev, "njev": self.njev, "nhev": self.nhev}

    @property
    def evaluations(self) -> int:
        """Passes over the data: a cost with its gradient is one, a Hessian product is one."""
        return evaluations(self.nfev, self.njev, self.nhev)


class _Evaluation:
    """What is known at one X."""

    __slots__ = ("X", "cost", "gradient")

    def __init__(self, X: Array) -> None:
        self.X = X
        self.cost: Any = None
        self.gradient: Any = None


class Problem:
    """Minimise f(X) over a manifold, from f and its Euclidean derivatives.

        df(X)[Z] = Re tr(G^T Z)

    G is the Euclidean gradient, also for complex entries. NaN and infinity pass through: they end a
    run with a status of their own. Exceptions of the user's functions are never caught. The
    functions get NumPy arrays read-only: copy X if you need to write into it.

    Args:
        manifold: The manifold. On a `Product` the functions take one argument for each factor (the
            Hessian product those of X, then those of Z) and return a tuple in that order.
        cost: X -> f(X), a real number.
        euclidean_gradient: X -> G, of the shape of X.
        euclidean_hessian: (X, Z) -> the derivative of G in the direction Z.
        cost_and_gradient: X -> (f, G) in one call, if they share work.
        autodiff: "jax" or "torch": derive what is missing by automatic differentiation, also the
            Jacobian of a `NonlinearConstraint`. The functions then take arrays of that library.
        preconditioner: (X, V) -> an approximation of the inverse Hessian at X applied to V,
            symmetric and positive definite: docs/metrics.md says how to write one. `minimize`
            uses it with the solvers that can, and says so with the others.
        hessian: "auto": Hessian products as given, else by `autodiff`, else by differences of
            gradients; "differences": by differences in any case, one gradient for each product.
        nonsmooth: A convex term r that is added to the cost, with r(X) and r.prox(Y, t): `L1`,
            `L21`, an operator of pyproximal, or one's own (see `check_prox`). On a `Product` a
            tuple or mapping with a term, or None, for each factor. The cost stays the smooth part.
        constraints: lower <= c(X) <= upper besides X^T phi(X) = I: `Bounds`, `LinearConstraint` or
            `NonlinearConstraint` of scipy.optimize, or a list of them; docs/constraints.md. On a
            product a mapping from the names of factors to their constraints, or a
            `NonlinearConstraint` whose functions take all factors.
        name: The name in tables and reports. Default: that of the cost.

    Raises:
        ValueError: If an argument has the wrong type; later, if the cost returns something other
            than a real number, or the gradient has another shape.
    """

    def __init__(
        self,
        manifold: Any,
        cost: _Cost | None = None,
        euclidean_gradient: _Map | None = None,
        euclidean_hessian: _Map | None = None,
        cost_and_gradient: Callable[..., tuple[Any, Array]] | None = None,
        *,
        autodiff: str | None = None,
        preconditioner: Callable[[Array, Array], Array] | None = None,
        hessian: str = "auto",
        nonsmooth: Any = None,
        constraints: Any = (),
        name: str | None = None,
    ) -> None:
        blocks: Any = getattr(manifold, "blocks", None)
        if not isinstance(manifold, GenOrthManifold | Front | Blockwise):
            need = "a GenOrthManifold, or genorth.Product(M1, M2, ...) of several"
            hint = "Free variables alone need no genorth: use scipy.optimize."
            free = hint if isinstance(manifold, Euclidean) else ""
            refuse("manifold", need, type(manifold).__name__, None, free)
        given: dict[str, Callable[..., Any] | None] = {
            "cost": cost,
            "euclidean_gradient": euclidean_gradient,
            "euclidean_hessian": euclidean_hessian,
            "cost_and_gradient": cost_and_gradient,
        }
        for key, value in (*given.items(), ("preconditioner", preconditioner)):
            if value is not None and not callable(value):
                refuse(key, "a callable", repr(value))
        if name is not None and not isinstance(name, str):
            refuse("name", "a string", repr(name))
        if cost is None and cost_and_gradient is None:
            refuse("cost", "cost or cost_and_gradient", "neither")
        if hessian not in ("auto", "differences"):
            refuse("hessian", "'auto' or 'differences'", repr(hessian))
        self._several = isinstance(blocks, Blockwise)
        if self._several:
            given = {key: f and _of_vectors(manifold, key, f) for key, f in given.items()}
        if autodiff is not None:
            from genorth.problem.autodiff import complete, with_jacobian

            given = complete(autodiff, **given)
            if not isinstance(constraints, Constraint):
                constraints = with_jacobian(autodiff, constraints)
        self.manifold: Any = manifold  # a GenOrthManifold, or what has its methods
        self.preconditioner, self.autodiff = preconditioner, autodiff
        # what the functions are called with: on a product flat vectors, see `_of_vectors`
        self._space: Any = blocks if self._several else manifold
        self._shape, self._dtype = self._space.shape, self._space.dtype
        self._real = self._dtype.kind == "f"
        #: Whether F is the whole space, so that nothing is to be projected onto it.
        self._free = getattr(manifold, "ambient_projector", self) is None
        #: What tables and reports call the problem.
        self.name = name or getattr(cost or cost_and_gradient, "__name__", "problem")
        self._cost, self._gradient = given["cost"], given["euclidean_gradient"]
        self._hessian, self._fused = given["euclidean_hessian"], given["cost_and_gradient"]
        if hessian == "differences":
            self._hessian = None
        #: The nonsmooth term as it acts on what the functions are called with; None without one.
        self.term: Any = None
        if nonsmooth is not None and self._several:
            self.term = ByFactor.of(manifold, nonsmooth)
        elif nonsmooth is not None:
            projector = None if isinstance(manifold, Front) else manifold.ambient_projector
            self.term = Term(nonsmooth, projector)
        #: |G| of the first gradient after this was set to None, which a run with rtol does.
        self.first_size: float | None = 0.0
        self.constraints: Constraint | None = None
        if isinstance(constraints, Constraint):
            self.constraints = constraints
        elif not (isinstance(constraints, list | tuple | dict) and not constraints):
            read = on_factors if self._several else as_constraint
            self.constraints = read(constraints, manifold)
        if self.term is not None and self.constraints is not None:
            refuse("nonsmooth", "a nonsmooth term or constraints", "both, which no solver takes")
        self._forget()

    def __repr__(self) -> str:
        return f"Problem({self.manifold!r}, name={self.name!r})"

    def fresh(self) -> Problem:
        """Return the same problem with counts at zero and nothing remembered of earlier points."""
        other = copy.copy(self)
        if other.constraints is not None:
            other.constraints = other.constraints.uncounted()
        other._forget()
        return other

    def _forget(self) -> None:
        """Counts at zero, and nothing known of any point."""
        self._memo, self._differences = ContentCache(), Differences(self.evaluate_gradient)
        self.reset_counts()

    def substitute(self, T: Any) -> Problem:
        """The problem in Y, X = T Y: cost f(T Y), gradient T^T G, Hessian product T^T H[T Z] (F20).

        Args:
            T: As in `manifold.substitute`; `problem.manifold.metric(W)` gives the T of a metric W.

        Returns:
            The problem, on `manifold.substitute(T)`. This problem's counts go on too.

        Raises:
            ValueError: If T is not invertible or does not fit.
        """
        if self.term is not None:
            need = "no nonsmooth term, whose prox is that of the Euclidean metric"
            refuse("metric", need, "one", None, "Run without a metric or substitution.")
        manifold = self.manifold.substitute(T)
        return self._mapped(manifold, manifold.T.apply, manifold.T.adjoint)

    @property
    def in_blocks(self) -> Problem:
        """The problem in the blocks on which the geometry acts, as solvers see it; or itself.

        It differs on the manifolds whose points have a shape of their own (`Sphere`, `Oblique`),
        and on products, where points are flat vectors. This problem's counts go on too.
        """
        manifold = self.manifold
        if not isinstance(manifold, Front):
            return self
        if self._several:
            return self._mapped(manifold.blocks, _same, _same)
        return self._mapped(manifold.blocks, manifold.outward, manifold.inward)

    def _mapped(self, manifold: GenOrthManifold, apply: _Map, adjoint: _Map) -> Problem:
        """The problem in Y, X = apply(Y), of a linear map with that adjoint."""

        def fused(Y: Array) -> tuple[Any, Array]:
            f, G = self.evaluate(apply(Y))
            return f, adjoint(G)

        return Problem(
            manifold,
            (lambda Y: self.evaluate_cost(apply(Y))) if self._cost else None,
            (lambda Y: adjoint(self.evaluate_gradient(apply(Y)))) if self._gradient else None,
            (lambda Y, Z: adjoint(self.euclidean_hessian(apply(Y), apply(Z))))
            if self._hessian
            else None,
            fused if self._fused else None,
            nonsmooth=None if self.term is None else Mapped(self.term, apply, adjoint),
            constraints=() if self.constraints is None else self.constraints.mapped(apply, adjoint),
            name=self.name,
        )

    def start(self, x0: Any = None, rng: Any = None, on_device: bool = False) -> Array:
        """Check a start, or draw one.

        Args:
            x0: An array of the shape of a point. Default: a random point of M.
            rng: A seed or a NumPy Generator.
            on_device: Whether the solver takes arrays of JAX and PyTorch as they are.

        Returns:
            The start in F: an array of JAX or PyTorch in its own precision and on its own devices,
            any other as a NumPy array of double precision.

        Raises:
            ValueError: If x0 has another shape, or NaN or infinity, or is sharded over its columns,
                or is in another component than the manifold means, or if it is on a device and the
                solver works in NumPy.
        """
        if x0 is None:
            return self.manifold.random_point(rng)
        if self._several:
            return self.manifold.map_parts(partial(_checked_start, on_device=on_device), x0, "x0")
        return _checked_start(self.manifold, "x0", x0, on_device)

    # ------------------------------------------------------------------ counts

    def reset_counts(self) -> None:
        """Set all counts to zero."""
        self._nfev = self._njev = self._nhev = 0
        self._seconds = 0.0
        self._constrained = (0, 0)
        self._constrained = self._constraint_calls()

    @property
    def counts(self) -> Counts:
        """The counts so far."""
        further = self._constraint_calls()
        return Counts(self._nfev, self._njev, self._nhev, self._seconds, *further)

    def _constraint_calls(self) -> tuple[int, int]:
        """Those of this problem: one that it was made from, or in blocks, counts the same calls."""
        if self.constraints is None:
            return 0, 0
        (values, products), calls = self._constrained, self.constraints.calls
        return calls["nfev"] - values, calls["njev"] - products

    @property
    def has_cost(self) -> bool:
        """True if the cost can be evaluated without its gradient."""
        return self._cost is not None

    @property
    def has_gradient(self) -> bool:
        """True if a gradient is given or derived."""
        return self._gradient is not None or self._fused is not None

    @property
    def gradient_name(self) -> str:
        """The argument that gave the gradient which solvers use."""
        return "euclidean_gradient" if self._fused is None else "cost_and_gradient"

    @property
    def has_hessian(self) -> bool:
        """True if a Hessian product is given or derived; else it is made by differences."""
        return self._hessian is not None

    def require_smooth(self, user: str) -> None:
        """Refuse a problem with a nonsmooth term, for what works on f alone.

        Args:
            user: Who needs it smooth, for the message.

        Raises:
            ValueError: If there is a nonsmooth term.
        """
        if self.term is not None:
            need = f"a smooth cost, which is all that {user} takes"
            hint = "Use genorth.minimize with method='manpg', or another with Solver.nonsmooth."
            refuse("nonsmooth", need, "a nonsmooth term", None, hint)

    def lacks(self) -> str | None:
        """Why a solver cannot run on the problem; None if it can."""
        return None if self.has_gradient else "the problem has no gradient"

    # ------------------------------------------------------------------ shared by content

    def cost(self, X: Array) -> float:
        """The cost f(X).

        Args:
            X: An element of F.

        Returns:
            f(X); evaluated once per X.
        """
        here = self._at(X)
        if here.cost is None:
            if self._cost is None:
                here.cost, here.gradient = self.evaluate(here.X)
            else:
                here.cost = self.evaluate_cost(here.X)
        return here.cost

    def objective(self, X: Array) -> float:
        """What is minimised: f(X), plus r(X) where there is a nonsmooth term.

        Args:
            X: An element of F.

        Returns:
            f(X) + r(X).
        """
        return self.cost(X) + (0.0 if self.term is None else self.term(self._vector(X)))

    def euclidean_gradient(self, X: Array) -> Array:
        """The Euclidean gradient G, projected onto F.

        Args:
            X: An element of F.

        Returns:
            G; evaluated once per X.

        Raises:
            ValueError: If the problem has no gradient.
        """
        here = self._at(X)
        if here.gradient is None:
            if self._gradient is None:
                here.cost, here.gradient = self.evaluate(here.X)
            else:
                here.gradient = self.evaluate_gradient(here.X)
        return self._as_given(self._sized(here.gradient), X)

    def cost_and_gradient(self, X: Array) -> tuple[float, Array]:
        """The cost and the Euclidean gradient.

        Args:
            X: An element of F.

        Returns:
            f(X) and G; evaluated once per X.

        Raises:
            ValueError: If the problem has no gradient.
        """
        here = self._at(X)
        if here.cost is None and here.gradient is None:
            here.cost, here.gradient = self.evaluate(here.X)
        elif here.cost is None:
            here.cost = self.cost(here.X)
        elif here.gradient is None:
            here.gradient = self.euclidean_gradient(here.X)
        return here.cost, self._as_given(self._sized(here.gradient), X)

    def euclidean_hessian(self, X: Array, Z: Array) -> Array:
        """The derivative of G in the direction Z, projected onto F.

        By differences where it is neither given nor derived, which counts as gradients.

        Args:
            X: An element of F.
            Z: A direction in F.

        Returns:
            The Euclidean Hessian applied to Z.

        Raises:
            ValueError: If the problem has no gradient.
        """
        if type(Z) is not np.ndarray or Z.dtype is not self._dtype or Z.shape != self._shape:
            if self._several and not is_array(X):
                return self._as_given(self.euclidean_hessian(self._vector(X), self._vector(Z)), X)
            self._space._check(X=X, Z=Z)
        if self._hessian is None:
            return self._differences.product(X, Z)
        begin = time.perf_counter()
        H = self._hessian(read_only(X), read_only(Z))
        self._seconds += time.perf_counter() - begin
        self._nhev += 1
        return self._array(H, X, "euclidean_hessian")

    def _at(self, X: Array) -> _Evaluation:
        X = self._vector(X)
        self._space._check(X=X)
        return self._memo.get(X, _Evaluation)

    def _vector(self, X: Any) -> Array:
        """X; for a point of a product its flat vector."""
        return self.manifold.inward(X) if self._several and not is_array(X) else X

    def _as_given(self, G: Array, X: Any) -> Any:
        """G; of a product as a tuple, where X is one."""
        return self.manifold.outward(G) if self._several and not is_array(X) else G

    # ------------------------------------------------------------------ evaluated anew, for callers
    # that share

    def evaluate_cost(self, X: Array) -> float:
        """The cost f(X), evaluated anew.

        Args:
            X: An element of F.

        Returns:
            f(X).
        """
        if self._cost is None:
            return self.evaluate(X)[0]
        begin = time.perf_counter()
        f = self._cost(read_only(X))
        self._seconds += time.perf_counter() - begin
        self._nfev += 1
        return f if type(f) is float else _scalar(f, "cost")

    def evaluate_gradient(self, X: Array) -> Array:
        """The Euclidean gradient, evaluated anew.

        Args:
            X: An element of F.

        Returns:
            G.
        """
        if self._gradient is None:
            return self.evaluate(X)[1]
        begin = time.perf_counter()
        G = self._gradient(read_only(X))
        self._seconds += time.perf_counter() - begin
        self._njev += 1
        return self._sized(self._array(G, X, "euclidean_gradient"))

    def evaluate(self, X: Array) -> tuple[float, Array]:
        """The cost and the Euclidean gradient, evaluated anew.

        Args:
            X: An element of F.

        Returns:
            f(X) and G.

        Raises:
            ValueError: If the problem has no gradient.
        """
        if self._fused is None:
            if self._gradient is None:
                refuse(
                    "euclidean_gradient",
                    "a gradient",
                    "none",
                    None,
                    "Pass euclidean_gradient or cost_and_gradient, or autodiff='jax' or 'torch' "
                    "(pip install genorth[jax] or genorth[torch]).",
                )
            f, G = self.evaluate_cost(X), self.evaluate_gradient(X)
            self._differences.remember(X, G)
            return f, G
        begin = time.perf_counter()
        pair = self._fused(read_only(X))
        self._seconds += time.perf_counter() - begin
        self._nfev += 1
        self._njev += 1
        try:
            f, G = pair
        except (TypeError, ValueError):
            _refuse_value("cost_and_gradient", "a pair (f, G)", pair)
        G = self._sized(self._array(G, X, "cost_and_gradient"))
        self._differences.remember(X, G)
        return f if type(f) is float else _scalar(f, "cost_and_gradient"), G

    def _sized(self, G: Array) -> Array:
        """G; its norm is kept if a run asks for it."""
        if self.first_size is None:
            self.first_size = number(norm(G))
        return G

    def _array(self, G: Array, X: Array, name: str) -> Array:
        """G in the library of X, in F, and as an array that the user does not hold."""
        if (
            type(G) is np.ndarray
            and G.dtype is self._dtype
            and G.shape == self._shape
            and type(X) is np.ndarray
        ):
            return G.copy() if self._free else self._in_F(G)
        if isinstance(G, np.ndarray) and G.dtype.kind in "iub":
            G = G.astype(float)
        check_returned(name, G, self._shape, self._real)
        if isinstance(X, np.ndarray):
            return self._in_F(np.asarray(G))
        if not same_devices(G, X):
            refuse(name, f"an array where X is, {library(X)}", library(G))
        followed = getattr(G, "requires_grad", False) and not X.requires_grad
        return self._in_F(constant(G) if followed else G)

    def _in_F(self, G: Array) -> Array:
        """The projection of G onto F, as an array that is not the user's."""
        projected = self._space.ambient(G)
        return G.copy() if projected is G and type(G) is np.ndarray else projected


def _checked_start(manifold: Any, name: str, x0: Any, on_device: bool) -> Array:
    """A start in F, or an error that names it."""
    if isinstance(x0, np.ma.MaskedArray):
        refuse(name, "an array without a mask", "a MaskedArray")
    if stays(x0) and not on_device:
        refuse(
            name,
            "a NumPy array, as this solver works on NumPy arrays",
            library(x0),
            None,
            "Pass numpy.asarray(x0), or take a solver that stays on the device, "
            "[s for s in genorth.SOLVERS.values() if s.on_device].",
        )
    X = constant(x0) if stays(x0) else np.asarray(x0)
    if type(X) is np.ndarray and X.dtype.kind in "iub":
        X = X.astype(float)
    manifold._check(**{name: X})
    if (wrong := why_not_by_rows(X)) is not None:
        need = "rows sharded over devices, each row on one of them"
        refuse(name, need, wrong[0], None, wrong[1])
    manifold._require_finite(**{name: X})
    manifold._require_finite_maps(**{name: X})
    if manifold.to_component(X) is not X:
        hint = "manifold.to_component(x0) is there."
        refuse(name, f"a point of the component of {manifold}", "another one", None, hint)
    if type(X) is np.ndarray:
        X = X.astype(complex if manifold.dtype.kind == "c" else float)
    elif manifold.dtype.kind == "c" and not is_complex(X):
        X = X + 0j
    return manifold.ambient(X)


def _of_vectors(product: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one argument for each factor, as one of flat vectors.

    Args:
        product: The product.
        name: Which function of a Problem it is.
        function: What the user gave.

    Returns:
        The function that solvers and automatic differentiation see.
    """

    def called(*vectors: Array) -> Any:
        result = function(*(part for x in vectors for part in product.outward(x)))
        if name == "cost":
            return result
        if name != "cost_and_gradient":
            return product.inward(result, name)
        try:
            f, G = result
        except (TypeError, ValueError):
            _refuse_value(name, "a pair (f, G)", result)
        return f, product.inward(G, f"{name}[1]")

    return called


def _same(X: Array) -> Array:
    return X


def _scalar(f: Any, name: str) -> Any:
    """f as a float; a scalar traced by JAX stays as it is."""
    if type(f) is np.float64:
        return float(f)
    if getattr(f, "shape", ()) in ((1,), (1, 1)):
        f = f.reshape(())
    if getattr(f, "shape", ()) != () or isinstance(
        f, str | bytes | list | tuple | dict | None.__class__
    ):
        _refuse_value(name, "a real number", f)
    if isinstance(f, complex | np.complexfloating) or (
        hasattr(f, "dtype") and "complex" in str(f.dtype)
    ):
        _refuse_value(
            name, "a real number", f, "Return its real part if the imaginary part is rounding."
        )
    try:
        return number(f)
    except OverflowError:
        return math.inf
    except TypeError:
        if type(f).__module__.startswith("jax"):
            return f  # inside jit
        _refuse_value(name, "a real number", f)


def _refuse_value(name: str, need: str, value: Any, hint: str = "") -> NoReturn:
    shape = f" of shape {tuple(value.shape)}" if getattr(value, "shape", ()) else ""
    kind = f" with dtype {value.dtype}" if hasattr(value, "dtype") else ""
    refuse(name, f"{name} to return {need}", f"{type(value).__name__}{shape}{kind}", None, hint)
