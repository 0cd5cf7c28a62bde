"""The penalty methods as records: one entry each."""

from __future__ import annotations

from functools import partial

from genorth.penalty.algorithm import minimize_penalty
from genorth.solve.solver import PENALTY, SOLVERS, Solver

_CDF = ("zhang-improved", "xiao2024dissolving")
_SCIPY = "virtanen2020scipy"


def _cdf(name: str, algorithm: str, *cites: str, variant: str = "cdf") -> Solver:
    """A record; `algorithm`, and the variant "lean", are names of `genorth.penalty.methods`."""
    unconstrained = algorithm if variant == "cdf" else f"{algorithm}-{variant}"
    return Solver(
        name=name,
        family=PENALTY,
        run=partial(minimize_penalty, unconstrained=unconstrained),
        algorithm=algorithm,
        variant=variant,
        needs=("gradient", "hessian") if algorithm == "tr" else ("gradient",),
        cites=(*_CDF, *cites),
        modules=("genorth.penalty.methods",),
    )


SOLVERS.register(
    _cdf("cdf-gd", "gd", "barzilai1988two", "zhang2004nonmonotone"),
    _cdf("cdf-cg", "cg", "polak1969note", _SCIPY),
    _cdf("cdf-lbfgs", "lbfgs", "liu1989limited", _SCIPY),
    _cdf("cdf-lbfgs-lean", "lbfgs", "liu1989limited", variant="lean"),
    _cdf("cdf-tr", "tr", "steihaug1983conjugate", _SCIPY),
)
