"""The figures of the paper: measured, kept as data, told in a table and drawn.

Each kind of figure is a module with `METHODS`, `Run`, `measure`, `told` and `draw`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

import genorth as go
from genorth.compare import pinned
from genorth.compare.render import Table
from genorth.errors import refuse, require_known
from genorth.files import replace_file
from genorth.optional import optional
from paper_repro.figures import iteration_times, sample_errors
from paper_repro.problems import PROBLEMS, PaperProblem
from paper_repro.problems.base import PaperFigure, Size

_KINDS = {"iteration_times": iteration_times, "sample_errors": sample_errors}

#: The figures by number, each with its problem.
FIGURES = MappingProxyType(
    dict(
        sorted(
            (figure.number, (problem, figure))
            for problem in PROBLEMS.values()
            for figure in problem.figures
        )
    )
)


@attrs.frozen
class Data:
    """The data of a figure: how it was measured, and its runs."""

    problem: PaperProblem
    figure: PaperFigure
    settings: dict[str, Any]
    runs: list[Any] = attrs.field(factory=list)

    def told(self) -> Table:
        """What the figure says, in numbers."""
        return _KINDS[self.figure.kind].told(self.runs)

    def draw(self) -> Any:
        """The matplotlib Figure; without pyplot, so that no window opens.

        Raises:
            ImportError: If matplotlib is not installed.
        """
        with optional("matplotlib", "report", "drawing figures").rc_context(_LOOK):
            return _KINDS[self.figure.kind].draw(self.runs)


_LOOK = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "axes.axisbelow": True,
}


def load(folder: Path, number: int) -> Data | None:
    """The data of a figure; None where there are none.

    Raises:
        ValueError: If there is no such figure, or its file is damaged.
    """
    require_known("figure", number, FIGURES)
    problem, figure = FIGURES[number]
    file = folder / f"figure-{number}.json"
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_text("utf-8"))
        runs = [_KINDS[figure.kind].Run(**run) for run in content["runs"]]
        return Data(problem, figure, dict(content["settings"]), runs)
    except (ValueError, TypeError, KeyError) as error:
        reason = f"{file}: {type(error).__name__}: {error}"
        refuse("out", f"the data of figure {number}", reason, None, "Remove it to measure again.")


def load_all(folder: Path) -> dict[int, Data]:
    """The figures that have been measured, by number."""
    return {n: data for n in FIGURES if (data := load(folder, n)) is not None and data.runs}


def save(folder: Path, data: Data) -> Path:
    """Write the data of a figure."""
    content = {"settings": data.settings, "runs": [attrs.asdict(run) for run in data.runs]}
    text = json.dumps(content, indent=1) + "\n"
    return replace_file(folder / f"figure-{data.figure.number}.json", text.encode())


def measure(
    folder: Path,
    number: int,
    *,
    mode: str,
    max_time: float,
    starts: int = 1,
    say: Callable[[str], object] = print,
) -> Data:
    """Measure what is missing of a figure; its file is written after every run.

    Args:
        folder: Where its data are kept.
        number: 1 to 3.
        mode: "full", or "quick" (the first two sizes), or "toy" (sizes of a few rows).
        max_time: Seconds of each method at each size, which its starts share.
        starts: How many starts, or fewer where the time is up before.
        say: Called with a line for every run.

    Returns:
        The data.

    Raises:
        ValueError: If there is no such figure, or the folder has data with other settings.
    """
    known = load(folder, number)
    problem, figure = FIGURES[number]
    settings = {
        "figure": number,
        "version": go.__version__,
        "max_time": max_time,
        "iterations": iteration_times.ITERATIONS,
        "starts": starts,
    }
    if known is not None and known.settings != settings:
        need = f"data of figure {number} with {settings}"
        refuse("out", need, known.settings, None, "Choose another folder, or remove its file.")
    data, kind = known or Data(problem, figure, settings), _KINDS[figure.kind]
    cells = product(_sizes(problem, figure, mode), kind.METHODS, range(starts))
    with pinned(1):
        for size, solver, start in cells:
            mine = [run for run in data.runs if (run.size, run.solver) == (size.name, solver)]
            left = max_time - sum(getattr(run, "seconds", 0.0) for run in mine)
            if start >= len(mine) and (not mine or left > 0):
                run = kind.measure(problem, size, solver, start, left)
                data.runs.append(run)
                save(folder, data)
                say(f"figure {number}, {size.name}, {solver}: {run.summary}")
    return data


def _sizes(problem: PaperProblem, figure: PaperFigure, mode: str) -> Sequence[Size]:
    if mode == "toy":
        return [size.evolve(**problem.cheap) for size in problem.sizes([problem.toy])]
    return problem.sizes(figure.sizes[: None if mode == "full" else 2])
