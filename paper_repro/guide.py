"""What the results say to a user: three sentences, and what to use for what one has."""

from __future__ import annotations

import math
import statistics

from genorth.compare import effect
from genorth.compare.analysis.ranking import behind
from genorth.gallery.comparison import metric_name
from genorth.solve.solver import RIEMANNIAN
from paper_repro.experiments import AUTO, ORTHOGONAL
from paper_repro.findings import (
    FAMILIES,
    FIRST_ORDER,
    Evidence,
    Standing,
    effects,
    markdown,
    slower,
    standings,
    times,
    won,
)
from paper_repro.internals import by_row
from paper_repro.ladder import retracted

_ALL = (*FIRST_ORDER, "rtr-fast", "landing-newton")


def result(evidence: Evidence) -> list[str]:
    """The result in three sentences."""
    union = evidence.union
    rows = by_row(union)
    wins, far = won(rows), [behind(runs) for runs in rows.values()]
    middle = {k: statistics.median(each.get(k, math.inf) for each in far) for k in FAMILIES}
    ranked = sorted(FAMILIES, key=lambda kind: -wins[kind])
    counts = ", ".join(f"{kind} {wins[kind]}" for kind in ranked)
    runs = sum(record.status != "UNSUPPORTED" for record in union)
    real = len(evidence.gallery.distinct("problem"))
    behind_all = ", ".join(
        f"the best {kind} one {times(middle[kind])}" for kind in FAMILIES if kind != ranked[0]
    )
    gain = next(found for _, found in effects(evidence) if found.solver == "rgd-fast")
    return [
        (
            f"{ranked[0][0].upper()}{ranked[0][1:]} solvers win most of {len(rows)} rows, from "
            f"{runs} runs on the paper's problems, a ladder of condition numbers and {real} real "
            f"problems ({counts}; in {len(rows) - sum(wins.values())} the ranges over the starts "
            "overlap)."
        ),
        (
            f"In the median over the rows {behind_all} the best time; `{ORTHOGONAL}`, the default "
            f"of `go.minimize`, takes {times(slower(union, ORTHOGONAL))} the time of the best "
            f"{RIEMANNIAN} solver."
        ),
        (
            "The paper concludes the opposite because its Riemannian solvers use retractions of "
            "$O(n^3)$: with ours of $O(np^2 + p^3)$ the same gradient descent is "
            f"{times(gain.gain('time'))} faster in the median and up to "
            f"{times(gain.range('time')[1])}."
        ),
    ]


def guide(evidence: Evidence) -> str:
    """The decision guide as a Markdown table, each line with its figures."""
    asked = [_second_order, _cheap, _expensive, _conditioned, _metric, _away, _landing]
    if metric_name("rlbfgs-fast") not in evidence.gallery.solvers:
        asked.remove(_metric)
    stochastic = [
        "stochastic gradients",
        "[PyTorch](pytorch.md) or [JAX](jax.md)",
        "these pages have a comparison of their own",
    ]
    lines = [["you have", "use", "because"], ["---"] * 3]
    return markdown([*lines, *(line(evidence) for line in asked), stochastic])


def _second_order(evidence: Evidence) -> list[str]:
    found = _least(standings(evidence.union, _ALL))
    because = f"of {len(_ALL)} solvers {_stands(found)}"
    return ["Hessian products, and a start on $\\mathcal M$", f"`{found.solver}`", because]


def _cheap(evidence: Evidence) -> list[str]:
    found = _least(standings(evidence.union, FIRST_ORDER))
    because = f"of {len(FIRST_ORDER)} first-order solvers {_stands(found)}"
    return ["gradients only, $f$ cheap", f"`{found.solver}`", because]


def _expensive(evidence: Evidence) -> list[str]:
    found = standings(evidence.union, FIRST_ORDER, "evaluations")
    few, free = _least(found), _least({name: found[name] for name in (AUTO, ORTHOGONAL)})
    because = f"{_stands(few, 'fewest evaluations')}; {times(few.median)} the fewest in the median"
    if few.solver != free.solver:
        because += f", `{free.solver}` {times(free.median)}"
    return ["gradients only, $f$ expensive", f"`{few.solver}`", because]


def _conditioned(evidence: Evidence) -> list[str]:
    hard = evidence.ladder.where(lambda record: " 1000 " in record.size)
    curve = effect(hard, "rlbfgs-fast", retracted("rlbfgs-fast", "cayley"))
    oblique = effect(hard, ORTHOGONAL, AUTO)
    told = [
        f"{name} needs {times(found.gain('evaluations'))} the evaluations in the median, up to "
        f"{times(found.range('evaluations')[1])}"
        for name, found in (("the Cayley curve alone", curve), ("oblique dissolving", oblique))
    ]
    use = '`retraction="auto"`, which is the default, and `odf-` methods'
    because = f"at condition 1000 {' and '.join(told)}"
    return ["an ill-conditioned $\\varphi$", use, because]


def _metric(evidence: Evidence) -> list[str]:
    found = effect(evidence.gallery, metric_name("rlbfgs-fast"), "rlbfgs-fast")
    low, high = found.range("evaluations")
    because = (
        f"on {found.rows} real problems `rlbfgs-fast` needs {times(found.gain('evaluations'))} "
        f"fewer evaluations in the median ({times(low)} to {times(high)}); a metric that fits the "
        "form but not $f$ loses"
    )
    return ["a metric in which $f$ is well conditioned", "`metric=`", because]


def _away(evidence: Evidence) -> list[str]:
    use = f"`{ORTHOGONAL}`, the default; `go.OrthogonalDissolving`"
    return [
        "no start on $\\mathcal M$, or an unconstrained solver of your own",
        use,
        _against(evidence, ORTHOGONAL),
    ]


def _landing(evidence: Evidence) -> list[str]:
    situation = "no wish for an eigendecomposition or an inverse"
    return [situation, "`landing`", _against(evidence, "landing")]


def _against(evidence: Evidence, solver: str) -> str:
    found = standings(evidence.union, FIRST_ORDER)[solver]
    ratio = times(slower(evidence.union, solver))
    return (
        f"{ratio} the time of the best Riemannian solver in the median; solves {found.solved} of "
        f"{found.rows} rows"
    )


def _least(found: dict[str, Standing]) -> Standing:
    return min(found.values(), key=lambda each: each.median)


def _stands(found: Standing, what: str = "fastest") -> str:
    return f"{what} in {found.best} of {found.rows} rows, within twice that in {found.near}"
