"""What all results together say: who wins by problem class, what each ingredient is worth.

Every number is computed from records, so that the pages that show these texts can be held to them;
`paper_repro.guide` and `paper_repro.claims` put them into words.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from genorth import compare
from genorth.compare import Effect, Record, Records, effect
from genorth.compare.analysis import Runs, behind, best_of, by_row, duels, shared
from genorth.errors import refuse
from genorth.gallery import comparison as gallery
from genorth.gallery.base import load as load_instance
from genorth.gallery.base import names as instance_names
from genorth.gallery.base import why_not
from genorth.gallery.comparison import variant_name as retracted
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from paper_repro import experiments, ladder
from paper_repro.experiments import AUTO, ORTHOGONAL

#: What a problem class is called, by the numbers of its tables.
_CLASSES = {
    (1, 2): "Matching, symplectic (Tables 1, 2)",
    (3, 4): "Extrinsic mean, indefinite (Tables 3, 4)",
    (5, 6, 7): "Joint diagonalisation, tensors (Tables 5 to 7)",
}
LADDER, GALLERY = "Ladder of conditions", "Gallery of real problems"
#: The families that are compared.
FAMILIES = (PENALTY, RIEMANNIAN, INFEASIBLE)
#: First-order solvers, of which a user without Hessian products chooses.
FIRST_ORDER = (AUTO, ORTHOGONAL, "odf-cg-lean", "rgd-fast", "rcg-fast", "rlbfgs-fast", "landing")


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
        found = {
            experiments.table(number).name: name
            for numbers, name in _CLASSES.items()
            for number in numbers
        }
        found |= dict.fromkeys(ladder.NAMES.values(), LADDER)
        return found | dict.fromkeys(self.gallery.distinct("problem"), GALLERY)


def is_complete(folder: Path) -> bool:
    """Whether a folder holds more than tables and figures of the paper."""
    return (folder / "ladder" / "records").is_dir()


def load(folder: Path) -> Evidence:
    """The records of a folder of `python -m paper_repro all`.

    The gallery may be missing, if none of its packages is installed.

    Raises:
        ValueError: If the tables or the ladder are missing.
    """
    if not is_complete(folder):
        need = "a folder in which `python -m paper_repro all` has put records"
        refuse("out", need, f"no ladder in {folder}")
    gallery_records = folder / "gallery" / "records"
    real = compare.load(gallery_records) if gallery_records.is_dir() else Records([])
    # there the automatic beta is the only one
    named = (
        attrs.evolve(record, solver=AUTO) if record.solver == "cdf-lbfgs" else record
        for record in real
    )
    paper = experiments.load(folder)
    tables = {experiments.table(number).name for number in experiments.TABLES}
    return Evidence(
        paper.where(lambda record: record.problem in tables),
        compare.load(folder / "ladder" / "records"),
        attrs.evolve(real, records=named),
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


# ---------------------------------------------------------------------- figures


@attrs.frozen
class Standing:
    """How a solver stands among others, over the rows in which all of them run."""

    solver: str
    rows: int
    #: In how many rows it needs least, and at most twice the least.
    best: int
    near: int
    #: The median of its figure over the least; infinite where it solves less than half.
    median: float
    #: How many rows it solves.
    solved: int


def standings(
    records: Records, solvers: Sequence[str], measure: str = "time"
) -> dict[str, Standing]:
    """Compare solvers among themselves, by time or evaluations, from the starts that they share."""
    costs = []
    for runs in by_row(records).values():
        if not all(name in runs for name in solvers):
            continue
        same = shared(runs, *solvers)
        mine = {name: _cost(same[name], measure) for name in solvers}
        least = min(mine.values())
        if math.isfinite(least):
            costs.append({name: cost / least for name, cost in mine.items()})
    if not costs:
        refuse("records", f"a row that one of {', '.join(solvers)} solves", "none")
    return {
        name: Standing(
            name,
            len(costs),
            sum(row[name] <= 1.0 for row in costs),
            sum(row[name] <= 2.0 for row in costs),
            statistics.median(row[name] for row in costs),
            sum(math.isfinite(row[name]) for row in costs),
        )
        for name in solvers
    }


def _cost(runs: Runs, measure: str) -> float:
    if not math.isfinite(runs.time):
        return math.inf
    return runs.time if measure == "time" else max(runs.median("evaluations"), 1.0)


def slower(records: Records, solver: str, family: str = RIEMANNIAN) -> float:
    """The time of a solver over that of the best of a family, the median over the rows."""
    ratios = []
    for runs in by_row(records).values():
        if solver in runs:
            same = shared(runs, solver)
            best = best_of(same, [name for name in same if same[name].family == family])
            if best is not None:
                ratios.append(same[solver].time / same[best].time)
    return statistics.median(ratios) if ratios else math.nan


def effects(evidence: Evidence) -> list[tuple[str, Effect]]:
    """What each ingredient is worth, alone."""
    rungs, tables = evidence.ladder, _equally_limited(evidence.paper)
    curved = rungs.where(lambda record: " 1 " not in record.size)
    definite = rungs.where(lambda record: record.size.startswith("generalized"))
    other = rungs.where(lambda record: not record.size.startswith("generalized"))
    real, both = evidence.gallery, compare.join([tables, rungs, evidence.gallery])
    metric = gallery.metric_name
    asked = [
        ("geometry of O(np^2), tables", tables, "rgd-fast", "rgd-faithful"),
        ("geometry of O(np^2), tables", tables, "rcg-fast", "rcg-faithful"),
        ("retraction chosen step by step, ladder", curved, "rlbfgs-fast", "cayley"),
        ("retraction chosen step by step, ladder", curved, "rlbfgs-fast", "normal"),
        ("retraction chosen step by step, ladder", curved, "rtr-fast", "cayley"),
        ("retraction chosen step by step, ladder", curved, "rtr-fast", "normal"),
        ("orthogonal instead of oblique dissolving, tables", tables, ORTHOGONAL, AUTO),
        ("orthogonal instead of oblique dissolving, ladder", rungs, ORTHOGONAL, AUTO),
        ("orthogonal instead of oblique dissolving, gallery", real, ORTHOGONAL, AUTO),
        ("automatic beta, tables", tables, AUTO, "cdf-lbfgs"),
        ("metric of the domain, gallery", real, metric("rlbfgs-fast"), "rlbfgs-fast"),
        ("metric of the domain, gallery", real, metric(ORTHOGONAL), ORTHOGONAL),
        ("metric of the form, B, ladder", definite, metric("rlbfgs-fast"), "rlbfgs-fast"),
        ("metric of the form, |A|, ladder", other, metric("rlbfgs-fast"), "rlbfgs-fast"),
        ("Hessian products, everywhere", both, "rtr-fast", "rlbfgs-fast"),
        ("on the manifold instead of a penalty, L-BFGS", both, "rlbfgs-fast", ORTHOGONAL),
        ("on the manifold instead of a penalty, CG", both, "rcg-fast", "odf-cg-lean"),
        ("on the manifold instead of a penalty, trust regions", both, "rtr-fast", "odf-tr"),
    ]
    found = []
    for name, records, solver, without in asked:
        rival = retracted(solver, without) if without in ladder.RETRACTIONS else without
        if {solver, rival} <= records.solvers.keys():
            found.append((name, effect(records, solver, rival)))
    return found


def _equally_limited(records: Records) -> Records:
    """The records; those of the reference that took longer than others may count as out of time."""
    limits: dict[str, float] = {}
    for record in records:
        mine = float(record.definition.get("time_limit", math.inf))
        limits[record.problem] = min(mine, limits.get(record.problem, math.inf))

    def limited(record: Record) -> Record:
        if record.solver != experiments.REFERENCE or record.time <= limits[record.problem]:
            return record
        return attrs.evolve(record, success=False, status="TIME_LIMIT")

    return attrs.evolve(records, records=map(limited, records))


# ---------------------------------------------------------------------- by problem class


def by_class(evidence: Evidence) -> str:
    """A Markdown table: how far each family is behind, for each problem class and in all."""
    groups, union = evidence.groups, evidence.union
    parts = {
        name: union.where(lambda record, name=name: groups.get(record.problem) == name)
        for name in dict.fromkeys(groups.values())
    } | {"all": union}
    heads = ["", "rows", *(f"{kind}: median (wins)" for kind in FAMILIES), "no winner"]
    lines = [heads, ["---"] * len(heads)]
    for name, records in parts.items():
        rows = by_row(records)
        if not rows:
            continue
        far = [behind(runs) for runs in rows.values()]
        wins = won(rows)
        medians = {kind: [each[kind] for each in far if kind in each] for kind in FAMILIES}
        cells = [
            f"{times(statistics.median(each))} ({wins[kind]})" if each else "-"
            for kind, each in medians.items()
        ]
        lines.append([name, str(len(rows)), *cells, str(len(rows) - sum(wins.values()))])
    return markdown(lines)


def won(rows: Mapping[Any, Mapping[str, Runs]]) -> dict[str, int]:
    """In how many rows each family beats all others over the whole range of starts."""
    wins = dict.fromkeys(FAMILIES, 0)
    for row, runs in rows.items():
        found = list(duels({row: runs}))
        for kind in FAMILIES:
            mine = [duel for duel in found if kind in (duel.first, duel.second)]
            wins[kind] += bool(mine) and all(_beats(duel, kind) for duel in mine)
    return wins


def _beats(duel: Any, kind: str) -> bool:
    return bool(duel.won[kind != duel.first]) or bool(duel.alone[kind])


# ---------------------------------------------------------------------- text


def times(ratio: float) -> str:
    """1.3x, 24x, 120x."""
    if not math.isfinite(ratio):
        return "unsolved" if ratio > 0 else "-"
    return f"{ratio:.0f}x" if ratio >= 99.5 else f"{ratio:.2g}x"


def markdown(lines: Iterable[Sequence[str]]) -> str:
    """A table; the second line rules off the first."""
    safe = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in safe)
