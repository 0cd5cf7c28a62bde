"""The tables and sentences that pages show of all results, each computed from the records alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from genorth.compare import Effect, Records, summary, tables
from genorth.compare.analysis import Runs, behind, best_of, by_row, lead, shared
from genorth.compare.render import Table, markdown, tolerance_text
from genorth.solve.solver import RIEMANNIAN
from paper_repro.agreement import claims
from paper_repro.experiments import FAST, LABELS, REFERENCE
from paper_repro.findings import (
    CURVED,
    DISSOLVED,
    FAMILIES,
    METRIC,
    ORTHOGONAL,
    Evidence,
    effects,
    registered,
    slower,
    standings,
    times,
    won,
)

#: The lead over RGD as the paper ran it, where that takes over so many seconds.
FACTOR, FROM = 10.0, 5.0


def blocks(evidence: Evidence) -> dict[str, str]:
    """The texts by name."""
    return {
        "result": "".join(f"- {line}\n" for line in result(evidence)),
        "classes": classes(evidence),
        "ingredients": markdown(ingredients(evidence)),
        "claims": table(
            ["the paper says", "as the paper ran it", "with ours"], claims(evidence.paper)
        ),
        "aims": aims(evidence.paper),
        "guide": guide(evidence),
        "solvers": solvers(evidence.union),
    }


# ---------------------------------------------------------------------- how results read


def table(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A Markdown table; code and formulas in it stay."""
    rows = [heads, ["---"] * len(heads), *lines]
    safe = ([str(cell).replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in safe)


def ingredients(evidence: Evidence) -> Table:
    """What each ingredient is worth."""
    found = effects(evidence)
    return tables.effects_table(((key[0], found[key]) for key in found), LABELS)


# ---------------------------------------------------------------------- who wins


def result(evidence: Evidence) -> list[str]:
    """The result in three sentences."""
    union = evidence.union
    rows = by_row(union)
    wins, far = won(rows), [behind(runs) for runs in rows.values()]
    ranked = sorted(FAMILIES, key=lambda kind: -wins[kind])
    counts = ", ".join(f"{kind} {wins[kind]}" for kind in ranked)
    middle = ", ".join(f"{kind} {times(_median(far, kind))}" for kind in ranked)
    runs = sum(record.status != "UNSUPPORTED" for record in union)
    gain = effects(evidence)["geometry of O(np^2), tables", FAST["RGD"], REFERENCE]
    return [
        (
            f"Wins by family, in {len(rows)} rows: {counts}. In the other "
            f"{len(rows) - sum(wins.values())} rows the ranges over the starts overlap. There are "
            f"{runs} runs, on the paper's problems, a ladder of condition numbers and "
            f"{len(evidence.gallery.distinct('problem'))} real problems."
        ),
        (
            "Time of the best solver of each family over the best time, median over the rows: "
            f"{middle}. `rtr`, which `go.minimize` chooses by default, takes "
            f"{times(slower(union, 'rtr'))} the time of the best {RIEMANNIAN} solver."
        ),
        (
            "The paper concludes the opposite because its Riemannian solvers use retractions of "
            "$O(n^3)$. With ours of $O(np^2 + p^3)$ the same gradient descent is "
            f"{times(gain.gain('time'))} faster in the median over the tables, and up to "
            f"{times(gain.range('time')[1])}, not counting {gain.only_solver} rows in which that "
            "of the paper ran out of time."
        ),
    ]


def _median(far: Sequence[dict[str, float]], kind: str) -> float:
    return statistics.median(each.get(kind, math.inf) for each in far)


def classes(evidence: Evidence) -> str:
    """How far each family is behind, for each problem class and in all."""
    groups, union = evidence.groups, evidence.union
    parts = {name: [key for key in groups if groups[key] == name] for name in groups.values()}
    lines = []
    for name, problems in (parts | {"all": list(groups)}).items():
        rows = {row: runs for row, runs in by_row(union).items() if row[0] in problems}
        wins, far = won(rows), [behind(runs) for runs in rows.values()]
        if rows:
            cells = [f"{times(_median(far, kind))} ({wins[kind]})" for kind in FAMILIES]
            lines.append([name, len(rows), *cells, len(rows) - sum(wins.values())])
    return table(["", "rows", *(f"{kind}: median (wins)" for kind in FAMILIES), "no winner"], lines)


# ---------------------------------------------------------------------- what to use


def guide(evidence: Evidence) -> str:
    """What to use for what one has, each line with its figures."""
    found, first = effects(evidence), registered(evidence.union, second_order=False)
    every, cheap = standings(registered(evidence.union)), standings(first)
    few = standings(first, "evaluations")
    lines = [
        ["Hessian products, a start on $\\mathcal M$", *_stands(every)],
        ["gradients, $f$ cheap, a start on $\\mathcal M$", *_stands(cheap)],
        ["gradients, $f$ expensive", *_stands(few, what="fewest evaluations")],
        ["no start on $\\mathcal M$", *_stands(every, ORTHOGONAL)],
        ["eigendecompositions to avoid", *_stands(every, "landing")],
    ]
    for situation, use, ingredient in _INGREDIENTS:
        gains = [each for (name, *_), each in found.items() if name == ingredient]
        lines += [[situation, use, _gains(gains[0])]] if gains else []
    other = ["stochastic gradients", "[PyTorch](pytorch.md), [JAX](jax.md)", "compared there"]
    return table(["you have", "use", "because"], [*lines, other])


#: Situations in which an ingredient helps.
_INGREDIENTS = (
    ("an ill-conditioned $\\varphi$", '`retraction="auto"`, the default', CURVED),
    ("an ill-conditioned $\\varphi$, and a penalty method", "`odf-` methods", DISSOLVED),
    ("a metric in which $f$ is well conditioned", "`metric=`", METRIC),
)


def _stands(found: Any, solver: str | None = None, what: str = "fastest") -> tuple[str, str]:
    """A solver, by default the best, and how it stands."""
    name = solver or found.index[0]
    if name not in found.index:
        return f"`{name}`", "no runs"
    rows, solved, best, near = map(int, found.loc[name][:4])
    return f"`{name}`", f"{what} in {best} of {rows} rows, within 2x in {near}; solves {solved}"


def _gains(found: Effect) -> str:
    low, high = map(times, found.range("evaluations"))
    return (
        f"{times(found.gain('evaluations'))} fewer evaluations ({low} to {high}) and "
        f"{times(found.gain('time'))} less time in {found.rows} rows"
    )


def solvers(records: Records) -> str:
    """How each registered solver stands among all, by time and evaluations."""
    found = standings(registered(records))
    few = standings(registered(records), "evaluations")["median"]
    lines = [
        [f"`{name}`", *map(int, counts), *map(times, (median, few[name], slower(records, name)))]
        for name, *counts, median in found.itertuples()
    ]
    heads = ["solver", *found.columns[:-1], "time", "evaluations"]
    return table([*heads, "time over the best Riemannian solver"], lines)


# ---------------------------------------------------------------------- aims


def aims(records: Records) -> str:
    """The lead over RGD as the paper ran it; what takes the time in rows where it is smaller."""
    rows = by_row(records)
    missed = lead(records, REFERENCE, FACTOR, FROM).missed
    lines = [
        [f"{row[0]} {row[1]} to {tolerance_text(row[2])}", *_lead(shared(rows[row], REFERENCE))]
        for row in missed
    ]
    heads = ["smaller lead at", "fastest", "lead", "its time over that of $f$ alone"]
    return f"- {lead_sentence(records)}\n\n{table(heads, lines)}"


def _lead(runs: Mapping[str, Runs]) -> list[str]:
    """The fastest, its lead, and its time over that of its evaluations of f."""
    best = str(best_of(runs))
    bound = statistics.median(r.time / r.seconds["cost"] for r in runs[best].solved)
    return [f"`{best}`", times(runs[REFERENCE].time / runs[best].time), times(bound)]


def lead_sentence(records: Records) -> str:
    """In how many rows the best solver is ten times faster than the faithful RGD."""
    return summary.lead(records, REFERENCE, FACTOR, FROM, LABELS)
