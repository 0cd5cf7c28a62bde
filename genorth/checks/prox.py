"""`check_prox`: whether a user's proximal map is that of its term."""

from __future__ import annotations

from typing import Any

import numpy as np

from genorth.checks.report import Finding, Report
from genorth.linalg.arrays import eps, inner, norm
from genorth.linalg.inputs import as_generator
from genorth.problem.terms import Term

_PAIRS = 20
_STEPS = (0.1, 1.0, 10.0)
_ROUNDING = 1e3  # units of roundoff, relative


def check_prox(
    nonsmooth: Any, shape: tuple[int, ...], dtype: Any = float, rng: Any = None
) -> Report:
    """Check that r.prox(Y, t) minimises t r(V) + |V - Y|^2/2, and with it that r is convex.

        t r(U) + |U - Y|^2/2 >= t r(V) + |V - Y|^2/2 + |U - V|^2/2, V = prox(Y, t), for all U
        |V1 - V2|^2 <= <V1 - V2, Y1 - Y2>

    Where r(2X) = 2 r(X) its conjugate is the indicator of a convex set, and by Moreau's identity
    Y - prox(Y, t) is in t times that set: its own prox is zero.

    Args:
        nonsmooth: The term, as for `Problem(nonsmooth=...)`.
        shape: The shape of X.
        dtype: The type of its entries.
        rng: A seed or a NumPy Generator.

    Returns:
        A report; it fails where an inequality is violated by more than rounding.
    """
    term, rng, unit = Term(nonsmooth), as_generator(rng), _ROUNDING * eps(np.empty(0, dtype))

    def draw() -> Any:
        X = rng.standard_normal(shape) * 10 ** rng.uniform(-1, 1)
        return X + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else X

    firm, optimal, moreau = [], [], []
    for t in _STEPS:
        for _ in range(_PAIRS):
            Y, Y2, U = draw(), draw(), draw()
            V, V2 = term.prox(Y, t), term.prox(Y2, t)
            gap = float(inner(V - V2, V - V2) - inner(V - V2, Y - Y2))
            firm.append(gap / float(norm(Y - Y2)) ** 2)
            for trial in (U, V + 0.01 * (U - V), 0 * V, Y):
                better = t * (term(V) - term(trial)) + float(inner(V - Y, V - Y)) / 2
                better += float(inner(trial - V, trial - V) - inner(trial - Y, trial - Y)) / 2
                size = t * (abs(term(V)) + abs(term(trial))) + float(
                    inner(Y, Y) + inner(trial, trial)
                )
                optimal.append(better / size)
            moreau.append(float(norm(term.prox(Y - V, t))) / float(norm(Y)))
    X = draw()
    findings = [
        Finding("minimiser", "t r(V) + |V - Y|^2/2 least at V = prox(Y, t)", max(optimal), unit),
        Finding("firmly nonexpansive", "|V1 - V2|^2 <= <V1 - V2, Y1 - Y2>", max(firm), unit),
    ]
    if abs(term(2 * X) - 2 * term(X)) <= unit * abs(term(X)):
        findings.append(Finding("Moreau", "prox(Y - prox(Y, t), t) = 0", max(moreau), unit))
    return Report(f"prox of {type(nonsmooth).__name__}, {shape}", tuple(findings))
