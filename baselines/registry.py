"""The records of what genorth is compared with: one entry each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from baselines.infeasible.alm import alm
from baselines.infeasible.landing import landing
from baselines.infeasible.newton import landing_newton
from baselines.infeasible.plam import plam
from baselines.infeasible.pogo import pogo
from baselines.infeasible.prox_landing import prox_landing
from baselines.nonsmooth import smooth, smoothing, subgradient_adam, torch_reason
from baselines.paper.geometry import unsupported
from baselines.paper.penalty import LOOPS
from baselines.paper.riemannian import rcg_paper, rgd_paper
from baselines.peers import cdopt
from baselines.peers import scipy as scipy_peers
from genorth.penalty.registry import PENALTIES, record
from genorth.problem.problem import Problem
from genorth.solve.result import Result
from genorth.solve.solver import INFEASIBLE, PENALTY, RIEMANNIAN, SOLVERS, Solver

_BOTH = ("gradient", "hessian")


def _paper(name: str, run: Callable[..., Result], algorithm: str, *cites: str) -> Solver:
    return Solver(
        name=name,
        family=RIEMANNIAN,
        run=run,
        algorithm=algorithm,
        variant="paper",
        cites=("absil2008optimization", *cites, "gao2021riemannian"),
        reason=lambda problem: unsupported(problem.manifold),
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
    _paper("rgd-paper", rgd_paper, "gd", *_BB),
    _paper("rcg-paper", rcg_paper, "cg", "sato2022riemannian"),
    *(
        record(
            penalty,
            algorithm,
            loop,
            *(cite, "virtanen2020scipy"),
            name=f"{penalty.prefix}-{algorithm}-scipy",
            variant=f"{penalty.prefix}-scipy",
            modules=("scipy.optimize",),
            on_device=False,
        )
        for penalty in PENALTIES.values()
        for algorithm, (loop, cite) in LOOPS.items()
    ),
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
    _infeasible(
        "prox-landing",
        prox_landing,
        *("liu2024penalty", *_BB[:2]),
        algorithm="prox",
        nonsmooth=True,
    ),
    Solver(
        name="smoothing",
        family=RIEMANNIAN,
        run=smoothing,
        algorithm="smoothing",
        cites=("beck2012smoothing", *_TR),
        reason=smooth,
        nonsmooth=True,
    ),
    Solver(
        name="subgradient-adam",
        family=PENALTY,
        run=subgradient_adam,
        algorithm="adam",
        cites=("hu2024nonsmooth", "kingma2015adam"),
        reason=torch_reason,
        nonsmooth=True,
        modules=("torch",),
    ),
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
        scipy_peers.slsqp,
        "virtanen2020scipy",
        algorithm="sqp",
        variant="scipy",
        reason=scipy_peers.slsqp_reason,
        constrained=True,
        modules="scipy.optimize",
    ),
    _infeasible(
        "trust-constr",
        scipy_peers.trust_constr,
        "virtanen2020scipy",
        algorithm="sqp",
        variant="scipy",
        reason=scipy_peers.trust_constr_reason,
        constrained=True,
        modules="scipy.optimize",
    ),
)
SOLVERS.register(*RECORDS, home="baselines")
