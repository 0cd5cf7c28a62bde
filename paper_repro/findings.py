"""What the records say: who wins by problem class, what each ingredient is worth, and the paper.

Random instances agree with the paper's in size only, machines differ, and its code is not public:
what can be reproduced are the size of f, iteration counts within a factor, and which solvers win.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from baselines import SOLVERS as REGISTRY
from genorth import compare
from genorth.compare import Effect, Record, Records, effect, tables
from genorth.compare.analysis import (
    Row,
    Runs,
    behind,
    best,
    best_of,
    by_row,
    duels,
    elsewhere,
    over_least,
    shared,
)
from genorth.compare.render import (
    Block,
    Head,
    Line,
    Table,
    ranged,
    seconds_text,
    tolerance_text,
    words,
)
from genorth.gallery.comparison import variant_name
from genorth.optional import optional
from genorth.solve.solver import INFEASIBLE, OTHER, PENALTY, RIEMANNIAN
from paper_repro import data, experiments, ladder
from paper_repro.experiments import (
    AUTO,
    FAST,
    LABELS,
    ORTHOGONAL,
    PAPERS,
    REFERENCE,
    SOLVERS,
    TABLES,
)
from paper_repro.kinds import KINDS

#: Trust regions on h_n.
REGION = "odf-tr"
LADDER, GALLERY = "Ladder of conditions", "Gallery of real problems"
#: The families that are compared.
FAMILIES = (PENALTY, RIEMANNIAN, INFEASIBLE)


# ---------------------------------------------------------------------- the records


@attrs.frozen
class Evidence:
    """The records of everything: the paper's tables, the ladder, the gallery, the other kinds."""

    paper: Records
    ladder: Records
    gallery: Records
    kinds: Mapping[str, Records] = attrs.field(factory=dict)

    @property
    def union(self) -> Records:
        """All of them, without the domains' own solvers and those as the paper ran them."""
        every = compare.join([self.paper, self.ladder, self.gallery, *self.kinds.values()])
        return every.where(lambda record: record.family != OTHER and record.solver not in PAPERS)

    @property
    def groups(self) -> dict[str, str]:
        """The class of each problem, by name."""
        return {
            **{
                experiments.table(number).name: problem.group
                for number, (problem, _) in TABLES.items()
            },
            **dict.fromkeys(ladder.NAMES.values(), LADDER),
            **dict.fromkeys(self.gallery.distinct("problem"), GALLERY),
            **{
                problem: KINDS[kind].title
                for kind, records in self.kinds.items()
                for problem in records.distinct("problem")
            },
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
    found = {
        part: compare.load(folder / part / "records")
        for part in ("gallery", *KINDS)
        if (folder / part / "records").is_dir()
    }
    real = found.pop("gallery", Records([]))
    tables = {experiments.table(number).name for number in TABLES}
    return Evidence(
        compare.load(folder / "records").where(lambda record: record.problem in tables),
        compare.load(folder / "ladder" / "records"),
        real,
        found,
    )


# ---------------------------------------------------------------------- solvers


def standings(records: Records, measure: str = "time") -> Any:
    """Compare registered solvers by time or evaluations.

    From the starts that all solvers of a row have.

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
        for runs in by_row(records.where(lambda r: r.solver in REGISTRY)).values()
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


def classes(evidence: Evidence) -> Table:
    """How far each family is behind, for each problem class and in all."""
    groups, union, lines = evidence.groups, evidence.union, []
    parts = {name: [key for key in groups if groups[key] == name] for name in groups.values()}
    for name, problems in (parts | {"all": list(groups)}).items():
        rows = by_row(union.where(lambda record, mine=problems: record.problem in mine))
        wins, far = won(rows), [behind(runs) for runs in rows.values()]
        if rows:
            cells = [
                f"{statistics.median(each.get(kind, math.inf) for each in far):.2g} ({wins[kind]})"
                for kind in FAMILIES
            ]
            lines.append([name, len(rows), *cells, len(rows) - sum(wins.values())])
    heads = ["", "rows", *(f"{kind}: median (wins)" for kind in FAMILIES), "no winner"]
    return table(heads, lines)


def solvers(records: Records) -> Table:
    """How each registered solver stands among all, by time and evaluations."""
    found = standings(records)
    found["evaluations"] = standings(records, "evaluations")["median"]
    found["over"] = [slower(records, name) for name in found.index]
    lines = [
        [name, *map(int, counts[:4]), *(f"{ratio:.2g}" for ratio in counts[4:])]
        for name, *counts in found.itertuples()
    ]
    heads = ["solver", *found.columns[:4], "time", "evaluations"]
    return table([*heads, "time over the best Riemannian solver"], lines)


def table(heads: Iterable[str], lines: Iterable[Sequence[object]], left: int = 1) -> Table:
    """A table of words and numbers, of which the first columns are aligned to the left."""
    made = [Line([words(cell) for cell in line]) for line in lines]
    shown = [Head(name, numeric=number >= left) for number, name in enumerate(heads)]
    return Table("", shown, [Block("", made)])


# ---------------------------------------------------------------------- the default, and peers

#: What "auto" takes for a smooth problem; the variants of other packages' solvers; from where on
#: "auto" is far behind.
DEFAULT, _PEERS, _FAR = "rtr", ("pymanopt", "scipy", "cdopt"), 2.0


@attrs.frozen
class Standing:
    """A row: the best solver, "auto" over it, and our best solver over the best peer."""

    row: Row
    first: str
    over: float
    ours: str | None
    peer: str | None
    #: NaN where only one of the two solves the row.
    ratio: float


def standing(evidence: Evidence) -> list[Standing]:
    """The rows of smooth problems that "auto" has; SciPy's solvers count as the paper ran them."""
    found, smooth = [], [each for kind, each in evidence.kinds.items() if KINDS[kind].smooth]
    every = compare.join([evidence.paper, evidence.ladder, evidence.gallery, *smooth])
    every = every.where(lambda record: record.family != OTHER)
    peers = {name for name in every.solvers if any(word in name for word in _PEERS)}
    peers |= {name for name, about in every.solvers.items() if about.variant in _PEERS}
    own = every.solvers.keys() - peers - {*PAPERS}
    for row, runs in by_row(every.where(lambda r: r.solver in own | peers)).items():
        first, *sides = (best_of(runs, {*runs} & names) for names in (own | peers, own, peers))
        if first is not None and DEFAULT in runs:
            same = shared(runs, *filter(None, sides))
            ratio = same[sides[0]].time / same[sides[1]].time if all(sides) else math.nan
            found.append(Standing(row, first, over_least(runs, DEFAULT, [first]), *sides, ratio))
    return found


def default(evidence: Evidence) -> Table:
    """How "auto" stands to the best solver, and our best to the best peer, by problem class."""
    groups, rows, lines = evidence.groups, standing(evidence), []
    for name in (*dict.fromkeys(groups.values()), "all"):
        mine = [each for each in rows if name in ("all", groups[each.row[0]])]
        ratios = [each.ratio for each in mine if math.isfinite(each.ratio)]
        if mine:
            over = [each.over for each in mine]
            shares = np.quantile(over, (0.5, 0.9, 1.0), method="inverted_cdf")
            middle = f"{statistics.median(ratios):.2g}" if ratios else "-"
            faster = sum(ratio > 1 for ratio in ratios)
            figures = [f"{share:.3g}" for share in shares]
            lines.append([name, len(mine), *figures, len(ratios), middle, faster])
    heads = ("", "rows", "auto over the best: median", "in 90 % at most", "at most")
    return table([*heads, "rows with a peer", "our best over the best peer", "peer faster"], lines)


def misses(evidence: Evidence) -> Table:
    """Every smooth row in which "auto" takes over twice the least time, or a peer is faster."""
    lines = []
    for each in standing(evidence):
        problem, size, tolerance = each.row
        where = f"{problem} {size} to {tolerance_text(tolerance)}"
        if each.over > _FAR:
            lines.append([where, f"auto ({DEFAULT})", each.first, f"{each.over:.3g}"])
        if each.ratio > 1:
            lines.append([where, str(each.ours), str(each.peer), f"{each.ratio:.3g}"])
    return table(("where", "solver", "faster", "times the time"), lines, 3)


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
    in_metric = variant_name("rlbfgs", "metric")
    asked = [
        *((f"{geometry}, tables", tables, FAST[name], data.SOLVERS[name]) for name in FAST),
        *(
            (f"{retraction}, ladder", curved, solver, variant_name(solver, kind))
            for solver in ladder.RETRACTED
            for kind in ladder.RETRACTIONS
        ),
        (f"{retraction}, condition 1000", hard, "rlbfgs", variant_name("rlbfgs", "cayley")),
        (f"{dissolving}, tables", tables, ORTHOGONAL, AUTO),
        (f"{dissolving}, ladder", rungs, ORTHOGONAL, AUTO),
        (f"{dissolving}, gallery", real, ORTHOGONAL, AUTO),
        (f"{dissolving}, condition 1000", hard, ORTHOGONAL, AUTO),
        ("automatic beta, tables", tables, AUTO, data.SOLVERS["CDFLBFGS"]),
        ("metric of the domain, gallery", real, in_metric, "rlbfgs"),
        ("metric of the domain, gallery", real, variant_name(ORTHOGONAL, "metric"), ORTHOGONAL),
        ("metric of the form, B, ladder", definite, in_metric, "rlbfgs"),
        ("metric of the form, |A|, ladder", other, in_metric, "rlbfgs"),
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


def ingredients(evidence: Evidence) -> Table:
    """What each ingredient is worth."""
    return tables.effects_table(
        ((key[0], found) for key, found in effects(evidence).items()), LABELS
    )


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
        late = record.solver == REFERENCE and record.time > limits[record.problem]
        return attrs.evolve(record, success=False, status="TIME_LIMIT") if late else record

    return attrs.evolve(records, records=map(limited, records))


# ---------------------------------------------------------------------- the paper's figures

_ZERO = 1e-6  # an f below has gone to zero: its size only says how far the last step went
_FACTOR = 2.0  # within which iteration counts are said to agree
_HEADS = (
    "table",
    "solved by both",
    "by the paper alone",
    "here alone",
    "f over the paper's",
    "iterations over the paper's",
    f"within {_FACTOR:g}x",
    "same solver fastest",
    "same family",
    "one of ours faster",
)


def agreement(records: Records) -> Table:
    """The paper's runs beside ours; ratios are medians over the runs that both solve (range)."""
    lines = []
    for number in TABLES:
        rows = by_row(records.where(problem=experiments.table(number).name))
        if rows:
            lines.append([number, *_solved(number, rows), *_winners(number, rows)])
    return table(_HEADS, lines)


def _solved(number: int, rows: Mapping[Row, Mapping[str, Runs]]) -> list[object]:
    """Who solves what, and the values and iterations of what both solve."""
    pairs = [
        (row, runs[row.solver])
        for row in experiments.table(number).paper()
        if row.solver
        in (runs := rows.get((experiments.table(number).name, row.size, row.tolerance), {}))
    ]
    both = [(row, mine) for row, mine in pairs if row.solved and not mine.failed]
    theirs = sum(row.solved and not mine.solved for row, mine in pairs)
    ours = sum(bool(mine.solved) and not row.solved for row, mine in pairs)
    found = [(*row.figures[:2], mine) for row, mine in both]
    values = [mine.median("fun") / fun for fun, _, mine in found if fun > _ZERO]
    counts = [mine.median("nit") / nit for _, nit, mine in found if nit]
    near = sum(1 / _FACTOR <= count <= _FACTOR for count in counts)
    return [
        len(both),
        theirs,
        ours,
        ranged(values, 2) if values else "both zero" if both else "-",
        ranged(counts, 2) if counts else "-",
        f"{near} of {len(counts)}",
    ]


def _winners(number: int, rows: Mapping[Row, Mapping[str, Runs]]) -> list[str]:
    """The fastest of the paper's six, there and here, row by row; and the fastest of all."""
    paper, same, kind, ours = experiments.table(number).paper(), 0, 0, 0
    for (_, size, tolerance), runs in rows.items():
        timed = {
            row.figures[-1]: row.solver
            for row in paper
            if (row.size, row.tolerance) == (size, tolerance) and row.solved
        }
        mine = best_of(runs, [solver for solver in PAPERS if solver in runs])
        if timed and mine is not None:
            theirs = timed[min(timed)]
            same += mine == theirs
            kind += SOLVERS[mine].family == SOLVERS[theirs].family
        ours += best_of(runs) not in (None, *PAPERS)
    return [f"{count} of {len(rows)}" for count in (same, kind, ours)]


# ---------------------------------------------------------------------- the paper's claims

_ALL = tuple(TABLES)
#: What the paper says of tables (of their largest size): who is faster than whom. A side is a
#: family, or a solver by its name in the paper.
_CLAIMS = (
    (
        "The penalty surpasses Riemannian solvers on large problems",
        (1, 2),
        True,
        PENALTY,
        RIEMANNIAN,
    ),
    ("Penalty methods outperform Riemannian ones as n grows", (3, 4), True, PENALTY, RIEMANNIAN),
    ("RCG is less efficient than RGD, by the cost of transport", _ALL, False, "RGD", "RCG"),
    ("On tensors CDFGD is comparable with RGD", (5, 6, 7), False, "CDFGD", "RGD"),
    ("On tensors CDFCG is comparable with RCG", (5, 6, 7), False, "CDFCG", "RCG"),
    ("On tensors CDFLBFGS beats Riemannian solvers", (5, 6, 7), False, "CDFLBFGS", RIEMANNIAN),
)


def claims(records: Records) -> Table:
    """Each claim of the paper, with what the records say of its solvers and of ours."""
    compared = []
    for claim, numbers, largest, first, second in _CLAIMS:
        mine = [records.where(problem=experiments.table(number).name) for number in numbers]
        part = compare.join(
            each.where(size=each.distinct("size")[-1]) if largest else each for each in mine
        )
        sides = [[_side(part, side, ours) for side in (first, second)] for ours in (False, True)]
        places = f"Tables {', '.join(map(str, numbers))}"
        compared.append([f"{claim} ({places})", *(_ahead(part, *each) for each in sides)])
    heads = ("the paper says", "as the paper ran it", "with ours")
    return table(heads, [_values(records), *compared, _share(records)], len(heads))


def _side(records: Records, side: str, ours: bool) -> set[str]:
    """The solvers of a side, as the paper ran them or with ours."""
    if side in data.SOLVERS:
        return {FAST.get(side, data.SOLVERS[side]) if ours else data.SOLVERS[side]}
    names = {name for name, about in records.solvers.items() if about.family == side}
    return names if ours else names & {*PAPERS}


def _ahead(records: Records, first: set[str], second: set[str]) -> str:
    """How often the best of some is faster than the best of others, and its time over theirs."""
    found = ratios(records, first, second)
    won = sum(ratio < 1 for ratio in found)
    both = [ratio for ratio in found if 0 < ratio < math.inf]
    middle = f"; {statistics.median(both):.2g} times the time where both solve" if both else ""
    return f"faster in {won} of {len(found)} rows{middle}"


def _values(records: Records) -> list[str]:
    cells = []
    for solvers in (PAPERS, records.solvers):
        mine = records.where(lambda r, solvers=solvers: r.solver in solvers)
        rows, away = by_row(mine), max(r.feasibility for r in mine if r.success)
        same = sum(not elsewhere(runs) for runs in rows.values())
        cells.append(f"same f in {same} of {len(rows)} rows, |C| at most {away:.1e}")
    return ["Penalty methods reach the f of Riemannian solvers, with high feasibility", *cells]


def _share(records: Records) -> list[str]:
    shares = [
        statistics.median(
            [
                sum(r.seconds.get(phase, 0.0) for phase in ("retraction", "projection")) / r.time
                for r in records.where(solver=solver)
                if r.problem.endswith("matching") and r.time > 0
            ]
            or [math.nan]
        )
        for solver in (data.SOLVERS["RGD"], FAST["RGD"])
    ]
    claim = "RGD spends over 90 % of its time in retraction and projection (Figure 1)"
    return [claim, *(f"{share:.0%} in the median" for share in shares)]


# ---------------------------------------------------------------------- claims of newer papers

#: Who says that a solver is faster than others (a family, or solvers), of which kind of problem, or
#: of all smooth ones.
_NEWER = (
    (
        "Landing is faster than gradient descent with retractions",
        "ablin2024infeasible",
        "landing",
        "rgd",
    ),
    (
        "POGO is faster than gradient descent with retractions",
        "javaloy2026embarrassingly",
        "pogo",
        "rgd",
    ),
    ("POGO is faster than landing", "javaloy2026embarrassingly", "pogo", "landing"),
    ("Second-order landing is faster than landing", "xiong2026second", "landing-newton", "landing"),
    (
        "Second-order landing keeps up with Riemannian ones",
        "goyens2026riemannian",
        "landing-newton",
        "rtr",
    ),
    ("Trust regions beat gradient descent", "jensen2024riemannian", "rtr", "rgd"),
    (
        "SLPG, which needs no inner solver, is faster than ManPG",
        "liu2024penalty",
        "prox-landing",
        "manpg",
    ),
)
#: From which share of its rows a claim is confirmed, and up to which it is not.
_MOST, _FEW = 0.9, 0.1


def newer(evidence: Evidence) -> Table:
    """Claims of newer papers: in how many rows they hold here, with our implementations."""
    lines = []
    for claim, key, first, second in _NEWER:
        found = ratios(evidence.union, {first}, {second})
        if not found:
            continue
        share = sum(ratio < 1 for ratio in found) / len(found)
        word = "confirmed" if share >= _MOST else "not confirmed" if share <= _FEW else "in part"
        names = f"{first} against {second}"
        lines.append([f"{claim} ({key})", names, _ahead(evidence.union, {first}, {second}), word])
    return table(("newer papers say", "solvers", "here", "verdict"), lines, 4)


# ---------------------------------------------------------------------- leads over the paper's RGD

#: The lead over RGD as the paper ran it is measured where that takes over so many seconds.
FROM = 5.0


def leads(records: Records) -> Table:
    """How much faster than RGD as the paper ran it the best solver is, from the same starts.

    The last column is the time of the best over that of its evaluations of f: near 1, f is the
    bottleneck.
    """
    seeds, lines = records.where(solver=REFERENCE).distinct("seed"), []
    same = records.where(lambda record: record.seed in seeds)
    rows = by_row(same)
    for row in best(same):
        more = "> " if REFERENCE in row.at_least else ""
        lead = row.at_least.get(REFERENCE, row.ratios.get(REFERENCE, math.nan))
        if FROM < lead * row.time < math.inf:
            runs = rows[row.problem, row.size, row.tolerance][str(row.solver)]
            bound = statistics.median(run.time / run.seconds["cost"] for run in runs.solved)
            where = f"{row.problem} {row.size} to {tolerance_text(row.tolerance)}"
            seconds = f"{more}{seconds_text(lead * row.time)}"
            lines.append(
                [where, seconds, row.solver, f"{more}{seconds_text(lead)}", seconds_text(bound)]
            )
    return table(("where", "seconds of RGD", "fastest", "lead", "its time over that of f"), lines)
