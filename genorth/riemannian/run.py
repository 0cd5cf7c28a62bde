"""`OnManifold`: a run on the places of M: the start is restored, steps are retractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from genorth.errors import NotRestorableError, OutsideDomainError, refuse, require_known
from genorth.geometry.place import Place
from genorth.geometry.retractions import RETRACTIONS, Ray
from genorth.linalg.arrays import Array, eps
from genorth.problem.problem import Problem
from genorth.solve.ending import BEST, end_at, outcome, result
from genorth.solve.monitor import Monitor, Stop
from genorth.solve.options import Common, Options, refuse_retired, require
from genorth.solve.result import Result, Status
from genorth.solve.run import Iterate, Preconditioner, Run
from genorth.solve.solver import RIEMANNIAN

_CHECK = 16  # iterations between two checks of the drift from M, each of which costs a product
# of feasibility_tol: a point farther from M is led back by A before anything is evaluated there
_DRIFT = 0.05
# steps of A, which square the violation; a point that needs more was not reached by a retraction
_REPAIRS = 3


class OnManifold(Run):
    """One run of a loop on M.

    Args:
        problem: The problem.
        x0: Start near M, which is restored. Default: a random point of M.
        method: The name of the solver.
        retraction: A kind of `GenOrthManifold.retract`.
        precondition: The preconditioner of the solvers that take one. Under another name, so that a
            solver that takes none refuses it.
        on_device: Whether arrays of JAX and PyTorch are taken as they are.
        **common: The arguments of every solver, see `genorth.solve.options.Options`.

    Raises:
        ValueError: If the problem lacks a derivative, or an argument is wrong.
        NotRestorableError: If x0 is too far from M.
    """

    #: Whether it takes problems with a nonsmooth term.
    nonsmooth = False

    def __init__(
        self,
        problem: Problem,
        x0: Any,
        method: str,
        *,
        retraction: str = "auto",
        precondition: Preconditioner | None = None,
        on_device: bool = True,
        **common: Unpack[Common],
    ) -> None:
        require(problem, method, self.nonsmooth)
        refuse_retired(common)
        require_known("retraction", retraction, RETRACTIONS)
        options = Options(**common)
        self.problem, self.manifold, self.method = problem, problem.manifold, method
        self.dimension = problem.manifold.dim
        self._retraction = problem.manifold.retraction(retraction)
        self._onto_F = problem.manifold.ambient_projector
        self._start = restored_start(problem, x0, options, on_device)
        super().__init__(Monitor(problem, options), precondition)
        self._drift = max(_DRIFT * options.feasibility_tol, 20 * eps(self._start))
        self._last: Iterate | None = None
        # the lowest cost, where and with which G: what a run that meets NaN returns
        self._best: tuple[float, Array, Array] | None = None

    def place(self, X: Array) -> Place:
        """The place of X."""
        return self.manifold.place(X)

    def start(self) -> Iterate:
        """The first iterate, in the trace."""
        place = self.place(self._start)
        with self.monitor.paused():
            self._feasibility = place.feasibility
        first = self.evaluate(place)
        self.accept(first)
        return first

    def ray(self, place: Place, Z: Array) -> Ray:
        """The retraction along Z."""
        return self._retraction(place, Z)

    def arrive(self, ray: Ray, X: Array) -> Place:
        """The place of X, led back to M where the rounding of one or of many steps has left it.

        Rounding off F would grow from step to step, so that every X is projected.
        """
        if self._onto_F is not None:
            X = self._onto_F(X)
        if type(X) is np.ndarray:
            X.flags.writeable = False  # it is handed to the user's functions as it is
        place = self.place(X)
        if ray.trusted and self.monitor.nit % _CHECK:
            return place
        for repairs in range(_REPAIRS + 1):
            if place.feasibility <= self._drift * place.size < math.inf:
                return place
            if repairs < _REPAIRS:
                place = self.place(place.dissolved())
        message = f"|C| = {place.feasibility:.3g} after the step, too long for this retraction"
        raise OutsideDomainError(message)

    def evaluate(self, place: Place, ray: Ray | None = None, t: float = 0.0) -> Iterate:
        """f and its gradient at a place; a value that is not finite ends the run."""
        value, G = self.monitor.evaluate(place.X, self._last is None)
        return Iterate(self, place, value, G, ray, t)

    def accept(self, point: Iterate) -> None:
        """The point is the next iterate: to the trace. Raises `Stop` where it is the last one."""
        gradient_norm = math.sqrt(point.decrease)
        if self._last is not None and not math.isfinite(gradient_norm):
            raise Stop(Status.DIVERGED)  # f and G are finite: X is too long for its projection
        if self._last is not None and self._last is not point:
            self._last.G = None  # of this one the gradient is enough, and arrays take memory
        self._last = point
        if self._best is None or point.value < self._best[0]:
            self._best = point.value, point.X, point.G
        self._feasibility = vars(point.place).get("feasibility", self._feasibility)
        self.monitor.iteration(point.X, point.value, gradient_norm, self._feasibility)

    def model(self, point: Iterate) -> tuple[Array, Callable[[Array], Array]]:
        """Grad f(X), and hess f(X)[Z] = P_X(H - phi(Z) Theta_X(G)), in F."""
        curved, X, seconds = point.place.curvature(point.multiplier), point.X, self.seconds
        check, ehess = self.monitor.check, self.problem.euclidean_hessian
        inside = self.manifold.ambient

        def product(Z: Array) -> Array:
            check()
            H = ehess(X, Z)
            begin = perf_counter()
            H = inside(curved(H, Z))
            seconds["projection"] += perf_counter() - begin
            return H

        return point.gradient, product

    def solve(self, loop: Callable[..., None], *constants: Any) -> Result:
        """Run the loop until it is stopped, or returns because it is stuck."""
        status = outcome(loop, self, *constants).status
        X, known = self._start, None
        if self._last is not None and self._best is not None:
            last = self._last.value, self._last.X, self._last.G
            value, X, G = self._best if status in BEST else last
            known = value, G
        end = end_at(self.monitor, X, self._start, known)
        return result(
            self.monitor,
            status,
            end,
            family=RIEMANNIAN,
            method=self.method,
            seconds=self.seconds,
            retractions=self.retractions,
        )


def restored_start(problem: Problem, x0: Any, options: Options, on_device: bool) -> Array:
    """The start on M: x0 restored, or a random point. Refused where x0 is too far from M."""
    X, tol = problem.start(x0, options.rng, on_device), options.feasibility_tol
    manifold = problem.manifold
    try:
        return manifold.restore(X, tol)
    except NotRestorableError:
        need = "a point near M, where a Riemannian solver starts: |C(x0)|"
        hint = (
            "Neither A nor Newton's map leads to M from there. Start from "
            "manifold.random_point(rng), or use a penalty method."
        )
        refuse("x0", need, float(manifold.feasibility(X)), tol, hint, NotRestorableError)
