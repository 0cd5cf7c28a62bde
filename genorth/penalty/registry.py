"""The penalty methods as records: one entry each."""

from __future__ import annotations

from functools import partial

from genorth.penalty.algorithm import minimize_penalty
from genorth.penalty.beta import Oblique, Orthogonal, Rule
from genorth.solve.solver import PENALTY, SOLVERS, Solver

_CDF = ("zhang-improved", "xiao2024dissolving")
_SCIPY = "virtanen2020scipy"


def _record(
    prefix: str, rule: type[Rule], algorithm: str, *cites: str, variant: str = ""
) -> Solver:
    """A record; `algorithm`, and the variant "lean", are names of `genorth.penalty.methods`."""
    unconstrained = f"{algorithm}-{variant}" if variant else algorithm
    return Solver(
        name=f"{prefix}-{unconstrained}",
        family=PENALTY,
        run=partial(minimize_penalty, rule=rule, unconstrained=unconstrained),
        algorithm=algorithm,
        variant=f"{prefix}-{variant}" if variant else prefix,
        needs=("gradient", "hessian") if algorithm == "tr" else ("gradient",),
        cites=(*_CDF, *cites),
        modules=("genorth.penalty.methods",),
        on_device=algorithm == "gd" or variant == "lean",
    )


_PENALTIES = (("cdf", Oblique), ("odf", Orthogonal))
for _prefix, _rule in _PENALTIES:
    SOLVERS.register(
        _record(_prefix, _rule, "gd", "barzilai1988two", "zhang2004nonmonotone"),
        _record(_prefix, _rule, "cg", "polak1969note", _SCIPY),
        _record(_prefix, _rule, "lbfgs", "liu1989limited", _SCIPY),
        _record(_prefix, _rule, "tr", "steihaug1983conjugate", _SCIPY),
    )
for _prefix, _rule in _PENALTIES:
    SOLVERS.register(
        _record(_prefix, _rule, "cg", "sato2022riemannian", variant="lean"),
        _record(_prefix, _rule, "lbfgs", "liu1989limited", variant="lean"),
    )
