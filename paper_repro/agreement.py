"""Where our figures agree with the paper's and where they do not, in words, and why.

Random instances agree in size only, machines differ, and the paper's code is not public: what can
be reproduced are the size of f, iteration counts within a factor, and which solvers win.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import attrs

from genorth.compare import Records
from genorth.compare.analysis import Runs, best_of, by_row
from genorth.compare.render import tolerance_text
from paper_repro import data
from paper_repro.experiments import LABELS, PAPERS, SOLVERS, Experiment

_ZERO = 1e-6  # an f below has gone to zero: its size only says how far the last step went
_FACTOR = 2.0  # within which iteration counts are said to agree
_NAMES = {ours: theirs for theirs, ours in data.SOLVERS.items()}


@attrs.frozen
class Cell:
    """One run of the paper beside ours (of all seeds)."""

    paper: data.Printed
    ours: Runs

    @property
    def both_solved(self) -> bool:
        """Whether both came to the tolerance."""
        return self.paper.solved and len(self.ours.solved) == len(self.ours.records)

    @property
    def place(self) -> str:
        """Size and tolerance."""
        return f"{self.paper.size} to {tolerance_text(self.paper.tolerance)}"


def cells(experiment: Experiment, records: Records) -> list[Cell]:
    """What there is of the paper's figures and of ours for the same run."""
    rows = by_row(records.where(problem=experiment.name))
    return [
        Cell(row, runs[row.solver])
        for row in experiment.paper()
        if row.solver in (runs := rows.get((experiment.name, row.size, row.tolerance), {}))
    ]


def sentences(experiment: Experiment, records: Records) -> list[str]:
    """The agreement of one table; empty where nothing of it was measured."""
    found = cells(experiment, records)
    if experiment.table is None or not found:
        return []
    told = [
        _values(found),
        _iterations(found),
        _winners(experiment, records, found),
        _limits(found),
        f"What is not reproduced, and why: {experiment.problem.differs}",
        "" if experiment.printed else experiment.table.remark,
        *experiment.missing,
    ]
    return [line for line in told if line]


# ---------------------------------------------------------------------- values


def _values(found: Sequence[Cell]) -> str:
    """The size of f at the tighter tolerance that both reached."""
    parts = []
    for size in dict.fromkeys(cell.paper.size for cell in found):
        solved = [cell for cell in found if cell.paper.size == size and cell.both_solved]
        tightest = min((cell.paper.tolerance for cell in solved), default=None)
        if tightest is not None:
            parts.append(_value([cell for cell in solved if cell.paper.tolerance == tightest]))
    return f"Fval: {'; '.join(parts)}." if parts else ""


def _value(found: Sequence[Cell]) -> str:
    ours = [cell.ours.median("fun") for cell in found]
    theirs: list[float] = [cell.paper.figures[0] for cell in found]  # type: ignore[misc]
    at = f"at {found[0].paper.size}"
    if max(*ours, *theirs) < _ZERO:
        return (
            f"{at} zero for both, at most {max(ours):.1e} (paper {max(theirs):.1e}) "
            f"to {tolerance_text(found[0].paper.tolerance)}"
        )
    mine, printed = statistics.median(ours), statistics.median(theirs)
    off = abs(mine / printed - 1)
    how = f"within {100 * off:.0f} %" if off <= 0.2 else f"{_apart(mine / printed):.2g}x apart"
    return f"{at} {mine:.3g} (paper {printed:.3g}), {how}"


# ---------------------------------------------------------------------- iterations


def _iterations(found: Sequence[Cell]) -> str:
    """How many counts are within a factor of the paper's, and which is farthest."""
    ratios = [
        (cell.ours.median("nit") / nit, cell)
        for cell in found
        if cell.both_solved and (nit := cell.paper.figures[1]) and cell.ours.median("nit") > 0
    ]
    if not ratios:
        return ""
    near = sum(_apart(ratio) <= _FACTOR for ratio, _ in ratios)
    ratio, cell = max(ratios, key=lambda entry: _apart(entry[0]))
    middle = statistics.median(ratio for ratio, _ in ratios)
    return (
        f"Iterations: {near} of {len(ratios)} counts are within a factor {_FACTOR:g} of the "
        f"paper's; ours are {middle:.3g}x the paper's in the median; farthest off is "
        f"{LABELS[cell.paper.solver]} at {cell.place}, {ratio:.3g}x the paper's."
    )


def _apart(ratio: float) -> float:
    return max(ratio, 1 / ratio)


# ---------------------------------------------------------------------- winners


def _winners(experiment: Experiment, records: Records, found: Sequence[Cell]) -> str:
    """The fastest of the paper's six, there and here, row by row; and the fastest of all."""
    rows = by_row(records.where(problem=experiment.name))
    pairs, ours = [], []
    for (_, size, tolerance), runs in rows.items():
        place = f"{size} to {tolerance_text(tolerance)}"
        timed = {
            cell.paper.solver: cell.paper.figures[-1]
            for cell in found
            if cell.place == place and cell.paper.solved
        }
        mine = best_of(runs, [solver for solver in PAPERS if solver in runs])
        if timed and mine is not None:
            pairs.append((place, mine, min(timed, key=timed.__getitem__)))
        best = best_of(runs)
        if best is not None and best not in PAPERS:
            ours.append(LABELS.get(best, best))
    if not pairs:
        return ""
    differ = [f"{at}: {_NAMES[a]}, not {_NAMES[b]}" for at, a, b in pairs if a != b]
    kind = sum(SOLVERS[mine].family == SOLVERS[theirs].family for _, mine, theirs in pairs)
    more = [f"{len(differ) - 4} more"] if len(differ) > 4 else []
    differing = f" ({'; '.join([*differ[:4], *more])})" if differ else ""
    text = (
        f"Fastest of the paper's six: the same in {len(pairs) - len(differ)} of {len(pairs)} rows, "
        f"of the same family in {kind}{differing}."
    )
    if ours:
        names = ", ".join(dict.fromkeys(ours))
        text += f" One of ours is faster in {len(ours)} of {len(rows)} rows ({names})."
    return text


# ---------------------------------------------------------------------- limits


def _limits(found: Sequence[Cell]) -> str:
    """Runs that one side solved and the other did not."""
    failed = [cell for cell in found if cell.paper.solved and not cell.ours.solved]
    late = [cell for cell in failed if cell.ours.out_of_time]
    other = [cell for cell in failed if not cell.ours.out_of_time]
    theirs = [cell for cell in found if not cell.paper.solved and cell.ours.solved]
    limit = max((cell.ours.spent for cell in late), default=0.0)
    told = {
        f"Solved in the paper, and out of time here after {limit:.0f} s": _named(late),
        "Solved in the paper, and not here": _named(other, note=True),
        f"Solved here, and over {data.TIME_LIMIT:.0f} s in the paper": _named(theirs),
    }
    return " ".join(f"{text}: {names}." for text, names in told.items() if names)


def _named(found: Sequence[Cell], note: bool = False) -> str:
    """The solvers of these runs, by size and tolerance."""
    groups: dict[str, list[str]] = {}
    for cell in found:
        name = f"{_NAMES[cell.paper.solver]}{f' ({cell.ours.note})' if note else ''}"
        groups.setdefault(cell.place, []).append(name)
    return "; ".join(f"{', '.join(names)} at {place}" for place, names in groups.items())
