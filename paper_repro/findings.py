"""What all results together say: who wins by problem class, what each ingredient is worth.

Every number is computed from records; `paper_repro.pages` makes tables of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from baselines import SOLVERS as REGISTRY
from genorth import compare
from genorth.compare import Effect, Record, Records, effect
from genorth.compare.analysis import Row, Runs, best_of, by_row, duels, shared
from genorth.gallery import comparison as gallery
from genorth.gallery.base import load as load_instance
from genorth.gallery.base import names as instance_names
from genorth.gallery.base import why_not
from genorth.gallery.comparison import metric_name, variant_name
from genorth.optional import optional
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from paper_repro import data, experiments, ladder
from paper_repro.experiments import FAST

#: L-BFGS on h, and L-BFGS and trust regions on h_n, with the beta that genorth chooses, as the
#: records have them: by SciPy, until the records are made anew with the loops of genorth.
AUTO, ORTHOGONAL, REGION = "cdf-lbfgs-scipy, auto", "odf-lbfgs-scipy", "odf-tr-scipy"

LADDER, GALLERY = "Ladder of conditions", "Gallery of real problems"
#: The families that are compared.
FAMILIES = (PENALTY, RIEMANNIAN, INFEASIBLE)


# ---------------------------------------------------------------------- the records


@attrs.frozen
class Evidence:
    """The records of everything: the paper's tables, the ladder, the gallery."""

    paper: Records
    ladder: Records
    gallery: Records

    @property
    def union(self) -> Records:
        """All of them, without the domains' own solvers and those as the paper ran them."""
        every = compare.join([self.paper, self.ladder, self.gallery])
        return every.where(
            lambda record: record.family != OTHER and record.solver not in experiments.PAPERS
        )

    @property
    def groups(self) -> dict[str, str]:
        """The class of each problem, by name."""
        return {
            **{
                experiments.table(number).name: problem.group
                for number, (problem, _) in experiments.TABLES.items()
            },
            **dict.fromkeys(ladder.NAMES.values(), LADDER),
            **dict.fromkeys(self.gallery.distinct("problem"), GALLERY),
        }


def is_complete(folder: Path) -> bool:
    """Whether a folder holds more than tables and figures of the paper."""
    return (folder / "ladder" / "records").is_dir()


def load(folder: Path) -> Evidence:
    """The records of a folder of `python -m paper_repro all`.

    The gallery may be missing, if none of its packages is installed.

    Raises:
        ValueError: If the tables or the ladder are missing.
    """
    kept = folder / "gallery" / "records"
    real = compare.load(kept) if kept.is_dir() else Records([])
    tables = {experiments.table(number).name for number in experiments.TABLES}
    return Evidence(
        compare.load(folder / "records").where(lambda record: record.problem in tables),
        compare.load(folder / "ladder" / "records"),
        real,
    )


def run_gallery(folder: Path, quick: bool = False, **how: Any) -> Records:
    """Make the runs of the gallery that are missing, for the instances that are installed.

    Args:
        folder: Where the records are kept, in `records/`.
        quick: Few solvers.
        **how: Further arguments of `genorth.compare.run`.

    Returns:
        The records.
    """
    found = [name for name in instance_names() if why_not(name) is None]
    left = len(instance_names()) - len(found)
    if left:
        print(f"Gallery: {left} instances are left out; pip install 'genorth[gallery]' adds them")
    solvers = gallery.chosen(None, gallery.QUICK if quick else gallery.ALL)
    return gallery.run(folder, [load_instance(name) for name in found], solvers, **how)


# ---------------------------------------------------------------------- solvers


def registered(records: Records, second_order: bool = True) -> Records:
    """The records of registered solvers, as they are; perhaps of first-order ones alone."""
    known = {AUTO: REGISTRY["cdf-lbfgs-scipy"], **REGISTRY}
    return records.where(
        lambda r: r.solver in known and (second_order or "hessian" not in known[r.solver].needs)
    )


def standings(records: Records, measure: str = "time") -> Any:
    """Compare solvers by time or evaluations, from the starts that all solvers of a row have.

    Args:
        records: The records.
        measure: "time" or "evaluations".

    Returns:
        A DataFrame with a line for each solver that runs in half of the rows or more, the best
        first: in how many rows it runs, solves, is best and within twice the best; and the median
        of its figure over the best, infinite where it solves less than half.
    """
    pandas = optional("pandas", "report", "a table of solvers")
    costs = pandas.DataFrame(
        {name: each.spread(measure)[1] for name, each in shared(runs, *runs).items()}
        for runs in by_row(records).values()
    )
    over = costs.div(costs.min(axis=1), axis=0)[np.isfinite(costs.min(axis=1))]
    found = pandas.DataFrame(
        {
            "rows": over.count(),
            "solved": (over < math.inf).sum(),
            "best": (over <= 1).sum(),
            "within 2x": (over <= 2).sum(),
            "median": over.median(),
        }
    )
    return found[2 * found["rows"] >= len(over)].sort_values("median")


def times(ratio: float) -> str:
    """How a ratio reads: 1.3x, 24x, 120x."""
    if not math.isfinite(ratio):
        return "unsolved" if ratio > 0 else "-"
    return f"{ratio:.0f}x" if ratio >= 99.5 else f"{ratio:.2g}x"


def ratios(records: Records, first: Container[str], second: Container[str]) -> list[float]:
    """The best time of some solvers over the best time of others, in the rows that have both.

    From the starts that the two share; infinite or zero where only one side solves the row.
    """
    found = []
    for runs in by_row(records).values():
        sides = [[name for name in runs if name in side] for side in (first, second)]
        best = [best_of(runs, side) for side in sides]
        if all(sides) and any(best):
            same = shared(runs, *filter(None, best))
            mine, theirs = (same[name].time if name else math.inf for name in best)
            found.append(mine / theirs)
    return found


def slower(records: Records, solver: str, family: str = RIEMANNIAN) -> float:
    """The time of a solver over that of the best of a family, the median over the rows."""
    others = {name for name, about in records.solvers.items() if about.family == family}
    found = ratios(records, {solver}, others)
    return statistics.median(found) if found else math.nan


def won(rows: Mapping[Row, Mapping[str, Runs]]) -> dict[str, int]:
    """In how many rows each family beats all others over the whole range of starts."""
    wins = dict.fromkeys(FAMILIES, 0)
    for row, runs in rows.items():
        found = list(duels({row: runs}))
        for kind in FAMILIES:
            mine = [duel for duel in found if kind in (duel.first, duel.second)]
            wins[kind] += bool(mine) and all(
                duel.won[kind != duel.first] or duel.alone[kind] for duel in mine
            )
    return wins


# ---------------------------------------------------------------------- ingredients


def effects(evidence: Evidence) -> dict[tuple[str, str, str], Effect]:
    """What each ingredient is worth, alone, by its name and the solvers with and without it."""
    rungs, tables, real = evidence.ladder, _equally_limited(evidence.paper), evidence.gallery
    curved = rungs.where(lambda record: " 1 " not in record.size)
    hard = rungs.where(lambda record: " 1000 " in record.size)
    definite = rungs.where(lambda record: record.size.startswith("generalized"))
    other = rungs.where(lambda record: not record.size.startswith("generalized"))
    every = compare.join([tables, rungs, real])
    geometry, dissolving = "geometry of O(np^2)", "orthogonal instead of oblique dissolving"
    manifold, retraction = "on the manifold instead of a penalty", "retraction chosen step by step"
    asked = [
        *((f"{geometry}, tables", tables, FAST[name], data.SOLVERS[name]) for name in FAST),
        *(
            (f"{retraction}, ladder", curved, solver, variant_name(solver, kind))
            for solver in ladder.RETRACTED
            for kind in ladder.RETRACTIONS
        ),
        (CURVED, hard, "rlbfgs", variant_name("rlbfgs", "cayley")),
        (f"{dissolving}, tables", tables, ORTHOGONAL, AUTO),
        (f"{dissolving}, ladder", rungs, ORTHOGONAL, AUTO),
        (f"{dissolving}, gallery", real, ORTHOGONAL, AUTO),
        (DISSOLVED, hard, ORTHOGONAL, AUTO),
        ("automatic beta, tables", tables, AUTO, data.SOLVERS["CDFLBFGS"]),
        (METRIC, real, metric_name("rlbfgs"), "rlbfgs"),
        (METRIC, real, metric_name(ORTHOGONAL), ORTHOGONAL),
        ("metric of the form, B, ladder", definite, metric_name("rlbfgs"), "rlbfgs"),
        ("metric of the form, |A|, ladder", other, metric_name("rlbfgs"), "rlbfgs"),
        ("Hessian products, everywhere", every, "rtr", "rlbfgs"),
        (f"{manifold}, L-BFGS", every, "rlbfgs", ORTHOGONAL),
        (f"{manifold}, CG", every, "rcg", "odf-cg"),
        (f"{manifold}, trust regions", every, "rtr", REGION),
    ]
    return {
        (name, solver, without): effect(records, solver, without)
        for name, records, solver, without in asked
        if {solver, without} <= records.solvers.keys()
    }


#: Ingredients that the guide names.
CURVED = "retraction chosen step by step, condition 1000"
DISSOLVED = "orthogonal instead of oblique dissolving, condition 1000"
METRIC = "metric of the domain, gallery"


def _equally_limited(records: Records) -> Records:
    """The records; those of the reference that took longer than others may count as out of time."""
    limits = {
        name: min(
            float(record.definition.get("max_time", math.inf))
            for record in records.where(problem=name)
        )
        for name in records.distinct("problem")
    }

    def limited(record: Record) -> Record:
        late = record.solver == experiments.REFERENCE and record.time > limits[record.problem]
        return attrs.evolve(record, success=False, status="TIME_LIMIT") if late else record

    return attrs.evolve(records, records=map(limited, records))
