"""The records of the Riemannian and infeasible solvers, pymanopt's and CDOpt's: one entry each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from baselines.geometry import GEOMETRIES
from baselines.infeasible import slsqp as slsqp_module
from baselines.infeasible import trust_constr as trust_constr_module
from baselines.infeasible.alm import alm
from baselines.infeasible.landing import landing
from baselines.infeasible.newton import landing_newton
from baselines.infeasible.plam import plam
from baselines.infeasible.pogo import pogo
from baselines.peers import cdopt
from baselines.riemannian.rcg import rcg
from baselines.riemannian.rgd import rgd
from baselines.riemannian.rlbfgs import rlbfgs
from baselines.riemannian.rtr import rtr
from genorth.problem.problem import Problem
from genorth.solve.result import Result
from genorth.solve.solver import INFEASIBLE, PENALTY, RIEMANNIAN, SOLVERS, Solver

_BOTH = ("gradient", "hessian")


def _riemannian(
    run: Callable[..., Result], algorithm: str, geometry: str, *cites: str, needs: Any = _BOTH[:1]
) -> Solver:
    kind = GEOMETRIES[geometry]
    return Solver(
        name=f"{run.__name__}-{geometry}",
        family=RIEMANNIAN,
        run=partial(run, geometry=geometry),
        algorithm=algorithm,
        variant=geometry,
        needs=needs,
        cites=("absil2008optimization", *cites, *kind.cites),
        reason=lambda problem: kind.unsupported(problem.manifold),
        on_device=geometry != "faithful",
    )


def _pymanopt(name: str, algorithm: str, optimizer: str, *cites: str) -> Solver:
    def run(problem: Problem, x0: Any = None, **arguments: Any) -> Result:
        import pymanopt.optimizers

        from genorth.interop.pymanopt import run

        return run(getattr(pymanopt.optimizers, optimizer), problem, x0, **arguments)

    return Solver(
        name=name,
        family=RIEMANNIAN,
        run=run,
        algorithm=algorithm,
        variant="pymanopt",
        needs=_BOTH if algorithm == "tr" else _BOTH[:1],
        cites=("absil2008optimization", "townsend2016pymanopt", *cites),
        modules=("pymanopt.optimizers", "genorth.interop.pymanopt"),
    )


def _cdopt(name: str, algorithm: str, method: str, *cites: str) -> Solver:
    return Solver(
        name=name,
        family=PENALTY,
        run=partial(cdopt.cdopt, method=method),
        algorithm=algorithm,
        variant="cdopt",
        needs=_BOTH if algorithm == "tr" else _BOTH[:1],
        cites=("xiao2024dissolving", "xiao2022cdopt", "virtanen2020scipy", *cites),
        reason=lambda problem: cdopt.unsupported(problem.manifold),
        modules=cdopt.MODULES,
    )


def _infeasible(name: str, run: Callable[..., Result], *cites: str, **fields: Any) -> Solver:
    return Solver(name=name, family=INFEASIBLE, run=run, cites=cites, **fields)


_BB = ("barzilai1988two", "zhang2004nonmonotone", "wen2013feasible", "iannazzo2018riemannian")
_LANDING = ("ablin2022fast", "ablin2024infeasible", "vary2024optimization")
_TR = ("absil2007trust", "steihaug1983conjugate")

#: What this package adds to `genorth.SOLVERS`; the entry point of the group `genorth.solvers`.
RECORDS = (
    *(_riemannian(rgd, "gd", geometry, *_BB) for geometry in GEOMETRIES),
    *(_riemannian(rcg, "cg", geometry, "sato2022riemannian") for geometry in GEOMETRIES),
    *(
        _riemannian(rlbfgs, "lbfgs", geometry, "liu1989limited", "huang2015broyden")
        for geometry in ("fast", "products")
    ),
    _riemannian(rtr, "tr", "fast", *_TR, needs=_BOTH),
    _pymanopt("pymanopt-sd", "gd", "SteepestDescent"),
    _pymanopt("pymanopt-cg", "cg", "ConjugateGradient"),
    _pymanopt("pymanopt-tr", "tr", "TrustRegions", *_TR),
    _cdopt("cdopt-cg", "cg", "CG", "polak1969note"),
    _cdopt("cdopt-lbfgs", "lbfgs", "L-BFGS-B", "liu1989limited"),
    _cdopt("cdopt-tr", "tr", "trust-ncg", "steihaug1983conjugate"),
    _infeasible("landing", landing, *_LANDING, *_BB[:2], algorithm="gd", on_device=True),
    _infeasible(
        "landing-auto",
        partial(landing, lam="auto"),
        *_LANDING,
        *_BB[:2],
        algorithm="gd",
        variant="auto",
        on_device=True,
    ),
    _infeasible("pogo", pogo, "javaloy2026embarrassingly", *_BB[:2], algorithm="gd"),
    _infeasible("plam", plam, "gao2019parallelizable", *_BB[:1], algorithm="gd"),
    *(
        _infeasible(
            name,
            partial(landing_newton, normal=normal),
            *("xiong2026second", "goyens2026riemannian", "steihaug1983conjugate"),
            algorithm="tr",
            variant=normal,
            needs=_BOTH,
        )
        for name, normal in (("landing-newton", "A"), ("landing-newton-normal", "newton"))
    ),
    _infeasible("alm", alm, "nocedal2006numerical", "liu1989limited", algorithm="lbfgs"),
    _infeasible(
        "slsqp",
        slsqp_module.slsqp,
        "virtanen2020scipy",
        algorithm="sqp",
        variant="scipy",
        reason=slsqp_module.reason,
        modules="scipy.optimize",
    ),
    _infeasible(
        "trust-constr",
        trust_constr_module.trust_constr,
        "virtanen2020scipy",
        algorithm="sqp",
        variant="scipy",
        reason=trust_constr_module.reason,
        modules="scipy.optimize",
    ),
)
SOLVERS.register(*RECORDS, home="baselines")
