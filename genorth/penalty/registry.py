"""The penalties, and the methods that minimise them: a loop each."""

from __future__ import annotations

from functools import partial
from typing import Any

import genorth.penalty.product  # noqa: F401  penalties on products
from genorth.penalty.algorithm import Loop, minimize_penalty
from genorth.penalty.base import Penalty
from genorth.penalty.cdf import ConstraintDissolving
from genorth.penalty.odf import OrthogonalDissolving
from genorth.solve.cg import cg
from genorth.solve.descent import gd
from genorth.solve.lbfgs import lbfgs
from genorth.solve.solver import PENALTY, SOLVERS, Solver
from genorth.solve.tr import tr

#: The penalties by name; another one is a file and an entry here.
PENALTIES: dict[str, type[Penalty[Any]]] = {
    penalty.name: penalty for penalty in (ConstraintDissolving, OrthogonalDissolving)
}

_LOOPS: dict[str, tuple[Loop, tuple[str, ...]]] = {
    "gd": (gd, ("barzilai1988two", "zhang2004nonmonotone")),
    "cg": (cg, ("sato2022riemannian",)),
    "lbfgs": (lbfgs, ("liu1989limited",)),
    "tr": (tr, ("steihaug1983conjugate",)),
}


def record(
    penalty: type[Penalty[Any]], algorithm: str, loop: Loop, *cites: str, **fields: Any
) -> Solver:
    """The record of a method.

    Args:
        penalty: The penalty.
        algorithm: "gd", "cg", "lbfgs" or "tr".
        loop: What minimises it.
        *cites: Keys of the bibliography, besides those of the penalties.
        **fields: Other fields of `Solver`; `name` by default is that of the penalty and algorithm.

    Returns:
        The record.
    """
    on_device = fields.setdefault("on_device", True)
    defaults = {
        "name": f"{penalty.prefix}-{algorithm}",
        "variant": penalty.prefix,
        "needs": ("gradient", "hessian") if algorithm == "tr" else ("gradient",),
    }
    fixed: dict[str, Any] = (
        {} if on_device else {"preconditioner": None}
    )  # other packages' loops take none
    run = partial(minimize_penalty, penalty=penalty, loop=loop, on_device=on_device, **fixed)
    return Solver(
        family=PENALTY,
        run=run,
        algorithm=algorithm,
        cites=("zhang-improved", "xiao2024dissolving", *cites),
        **(defaults | fields),
    )


SOLVERS.register(
    *(
        record(penalty, algorithm, loop, *cites)
        for penalty in PENALTIES.values()
        for algorithm, (loop, cites) in _LOOPS.items()
    )
)
