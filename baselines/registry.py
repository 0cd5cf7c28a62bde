"""`SOLVERS`: every solver that can be compared, by name, behind one signature."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import attrs

from baselines.geometry.choice import GEOMETRIES
from baselines.peers import cdopt
from baselines.riemannian.rcg import rcg
from baselines.riemannian.rgd import rgd
from baselines.riemannian.rlbfgs import rlbfgs
from baselines.riemannian.rtr import rtr
from genorth.penalty.minimize import minimize
from genorth.problem.problem import Problem
from genorth.solve.result import Result

_Reason = Callable[[Problem], str | None]


@attrs.frozen
class Solver:
    """A solver, called as `solver(problem, x0, tol=..., ...)`.

    The arguments of `genorth.penalty.minimize`, and a `Result`.

    What else a solver takes (beta of a penalty method, the preconditioner of rlbfgs and rtr) can be
    passed too.
    """

    name: str
    #: "Riemannian" or "penalty".
    family: str
    #: "fast", "products" or "faithful"; None for a penalty method, which has none.
    geometry: str | None
    _call: Callable[..., Result] = attrs.field(repr=False)
    #: True if it needs a Hessian product.
    second_order: bool = False
    _reason: _Reason | None = attrs.field(default=None, repr=False)
    #: Modules that it imports when it is first called.
    _modules: tuple[str, ...] = attrs.field(default=(), repr=False)

    def supports(self, problem: Problem) -> str | None:
        """Why the solver cannot run on the problem; None where it can."""
        return problem.lacks(self.second_order) or (
            None if self._reason is None else self._reason(problem)
        )

    def load(self) -> None:
        """Import what it needs, which may take seconds.

        A comparison does that before it watches the time.
        """
        for module in self._modules:
            importlib.import_module(module)

    def __call__(self, problem: Problem, x0: Any = None, **arguments: Any) -> Result:
        """Run it."""
        return attrs.evolve(self._call(problem, x0, **arguments), method=self.name)

    def __reduce__(self) -> tuple[Callable[[str], Solver], tuple[str]]:
        """Pickled as its name: what it calls may be a closure, and worker processes have the same registry."""
        if SOLVERS.get(self.name) is not self:
            raise pickle.PicklingError(
                f"{self.name!r} is not the solver of this name in baselines.SOLVERS"
            )
        return _registered, (self.name,)


def _registered(name: str) -> Solver:
    return SOLVERS[name]


def _penalty(name: str) -> Solver:
    return Solver(
        name, "penalty", None, partial(minimize, method=name), second_order=name == "cdf-tr"
    )


def _riemannian(
    name: str, solver: Callable[..., Result], geometry: str, second_order: bool = False
) -> Solver:
    kind = GEOMETRIES[geometry]
    return Solver(
        f"{name}-{geometry}",
        "Riemannian",
        geometry,
        partial(solver, geometry=geometry),
        second_order,
        lambda problem: kind.unsupported(problem.manifold),
    )


def _pymanopt(name: str, optimizer: str) -> Solver:
    def call(problem: Problem, x0: Any = None, **arguments: Any) -> Result:
        import pymanopt.optimizers

        from genorth.interop.pymanopt import run

        return run(getattr(pymanopt.optimizers, optimizer), problem, x0, **arguments)

    return Solver(
        name,
        "Riemannian",
        "fast",
        call,
        second_order=optimizer == "TrustRegions",
        modules=("pymanopt.optimizers", "genorth.interop.pymanopt"),
    )


def _cdopt(name: str, method: str) -> Solver:
    return Solver(
        name,
        "penalty",
        None,
        partial(cdopt.cdopt, method=method),
        method == "trust-ncg",
        lambda problem: cdopt.unsupported(problem.manifold),
        cdopt.MODULES,
    )


#: The solvers by name.
SOLVERS: Mapping[str, Solver] = MappingProxyType(
    {
        solver.name: solver
        for solver in (
            *map(_penalty, ("cdf-gd", "cdf-cg", "cdf-lbfgs", "cdf-tr")),
            *(_riemannian("rgd", rgd, geometry) for geometry in GEOMETRIES),
            *(_riemannian("rcg", rcg, geometry) for geometry in GEOMETRIES),
            *(_riemannian("rlbfgs", rlbfgs, geometry) for geometry in ("fast", "products")),
            _riemannian("rtr", rtr, "fast", second_order=True),
            _pymanopt("pymanopt-sd", "SteepestDescent"),
            _pymanopt("pymanopt-cg", "ConjugateGradient"),
            _pymanopt("pymanopt-tr", "TrustRegions"),
            _cdopt("cdopt-cg", "CG"),
            _cdopt("cdopt-lbfgs", "L-BFGS-B"),
            _cdopt("cdopt-tr", "trust-ncg"),
        )
    }
)
