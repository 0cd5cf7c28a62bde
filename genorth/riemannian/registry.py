"""The Riemannian solvers as records: one entry each."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from genorth.riemannian.manpg import manpg
from genorth.riemannian.solvers import rcg, rgd, rlbfgs, rtr
from genorth.solve.result import Result
from genorth.solve.solver import RIEMANNIAN, SOLVERS, Solver


def _record(
    run: Callable[..., Result], algorithm: str, *cites: str, hessian: bool = False
) -> Solver:
    return Solver(
        name=run.__name__,
        family=RIEMANNIAN,
        run=run,
        algorithm=algorithm,
        needs=("gradient", "hessian") if hessian else ("gradient",),
        cites=("absil2008optimization", *cites),
        on_device=True,
    )


SOLVERS.register(
    _record(
        rgd,
        "gd",
        *("barzilai1988two", "zhang2004nonmonotone", "wen2013feasible", "iannazzo2018riemannian"),
    ),
    _record(rcg, "cg", "sato2022riemannian"),
    _record(rlbfgs, "lbfgs", "liu1989limited", "huang2015broyden"),
    _record(rtr, "tr", "absil2007trust", "steihaug1983conjugate", hessian=True),
    attrs.evolve(
        _record(manpg, "prox", "chen2020proximal", "zhang2004nonmonotone"), nonsmooth=True
    ),
)
