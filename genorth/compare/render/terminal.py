"""How a comparison tells of its progress: silently, in lines, or by a bar on a terminal.

The bar shows the current run and the best of its row so far, and a table of winners at the end.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from genorth.compare.analysis.rows import Row, best_by_family, best_of, by_row, leaders
from genorth.compare.render.table import Names, plain, seconds_text, tolerance_text
from genorth.compare.runs.record import Outcome, Records
from genorth.compare.runs.schedule import Observer
from genorth.errors import require
from genorth.optional import installed, optional
from genorth.solve.solver import FAMILIES

if TYPE_CHECKING:
    from rich import progress as rich_progress
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.table import Table

_METHODS = ("start", "begin", "finish", "close")


class Lines(Observer):
    """One line for each finished run, for log files.

    Args:
        stream: Where to; by default standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._finished = self._total = 0

    def start(self, total: int) -> None:
        """Take down the total."""
        self._finished, self._total = 0, total

    def finish(self, record: Outcome) -> None:
        """Write the line."""
        self._finished += 1
        place = plain(f"{record.problem} {record.size} seed {record.seed}")
        end = f"{record.status}, {record.time:.3g} s, {record.progress}"
        stream = self._stream or sys.stderr  # looked up now: it may have been redirected since
        with suppress(OSError, ValueError, AttributeError):  # closed: the records matter more
            stream.write(
                f"[{self._finished}/{self._total}] {place}, {plain(record.solver)} to "
                f"{record.tolerance:g}: {end}\n"
            )
            stream.flush()


def chosen(progress: Any, by_time: bool = True) -> Observer:
    """The object for "auto", "brief" (a bar alone on a terminal, else nothing) or None.

    "auto" is a bar with a table of winners on a terminal if rich is installed, else lines. Where
    the time does not tell who is best, the bar says nothing of winners.
    """
    if progress is None:
        return Observer()
    if isinstance(progress, str) and progress in ("auto", "brief"):
        auto, terminal = progress == "auto", getattr(sys.stderr, "isatty", bool)
        if terminal() and installed("rich"):
            return Bar(winners=auto and by_time, best=by_time)
        return Lines() if auto else Observer()
    able = all(callable(getattr(progress, name, None)) for name in _METHODS)
    need = "'auto', 'brief', None, or an object with start, begin, finish and close"
    require(able, "progress", need, repr(progress))
    observer: Observer = progress
    return observer


# ---------------------------------------------------------------------- the bar


class Bar(Observer):
    """A bar with finished and total runs, time used and time left.

    Below it the current runs, and who leads their rows. It is drawn between runs only, so that
    drawing takes no time from a run that is being clocked. The time left is a guess from the pace
    so far.

    Args:
        console: A rich Console; by default standard error.
        winners: Whether to print the table of winners at the end.
        best: Whether to tell the fastest solver so far.
    """

    def __init__(
        self, console: Console | None = None, winners: bool = True, best: bool = True
    ) -> None:
        self._winners, self._best = winners, best
        console_class = optional("rich.console", "report", "The progress bar").Console
        self._console = console_class(stderr=True) if console is None else console
        self._live: Live | None = None
        self._records: list[Outcome] = []
        self._running: list[tuple[str, str, int, str, float]] = []

    def start(self, total: int) -> None:
        """Show the bar."""
        from rich import progress as parts
        from rich.live import Live

        self.close()
        self._progress = parts.Progress(
            parts.TextColumn("[bold]runs"),
            parts.BarColumn(bar_width=None),
            parts.MofNCompleteColumn(),
            parts.TimeElapsedColumn(),
            parts.TextColumn("left"),
            parts.TimeRemainingColumn(),
            console=self._console,
            expand=True,
        )
        self._task: rich_progress.TaskID = self._progress.add_task("", total=total)
        self._live = Live(self._shown(), console=self._console, transient=True, auto_refresh=False)
        self._live.start()

    def begin(self, problem: str, size: str, seed: int, solver: str, tolerance: float) -> None:
        """Show the run."""
        self._running.append((problem, size, seed, solver, tolerance))
        self._update()

    def finish(self, record: Outcome) -> None:
        """Advance the bar."""
        with suppress(ValueError):  # a run that an executor makes elsewhere has no beginning
            self._running.remove(record.key)
        self._records.append(record)
        if self._live is not None:
            self._progress.advance(self._task)
        self._update()

    def close(self) -> None:
        """Take the bar away and print the table of what was finished."""
        if self._live is not None:
            self._live.stop()
            self._live = None
            if self._records and self._winners:
                show(Records(self._records), self._console)
        self._records, self._running = [], []

    def best_so_far(self, row: Row) -> str:
        """Who leads the row among the finished runs, in words."""
        runs = by_row(Records(self._records).where(row=row)).get(row, {})
        best = best_of(runs)
        return "none yet" if best is None else f"{plain(best)}, {seconds_text(runs[best].time)} s"

    def _update(self) -> None:
        if self._live is not None:
            self._live.update(self._shown(), refresh=True)

    def _shown(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        lines = []
        for problem, size, seed, solver, tolerance in self._running:
            row = problem, size, tolerance
            line = f"{Names().row(row)}, seed {seed}: {plain(solver)}"
            line += f"   best so far: {self.best_so_far(row)}" if self._best else ""
            lines.append(Text(line, no_wrap=True, overflow="ellipsis"))
        return Group(self._progress, *lines)


def show(records: Records, console: Console | None = None) -> None:
    """Print who wins each row, with the best of each family and how many runs failed.

    Args:
        records: The records.
        console: A rich Console; by default standard output.
    """
    rich = optional("rich.console", "report", "The table of winners")
    (rich.Console() if console is None else console).print(winners(records))


def winners(records: Records) -> Table:
    """The table that `show` prints."""
    from rich.table import Table
    from rich.text import Text

    families = [kind for kind in FAMILIES if kind in records.distinct("family")]
    table = Table(header_style="bold", title="Fastest solver of each row", title_justify="left")
    for name in ("Problem", "Size", "tol"):
        table.add_column(name, justify="right" if name == "tol" else "left")
    for name in ("best", *families):
        table.add_column(name[0].upper() + name[1:])
        table.add_column("seconds", justify="right")
    table.add_column("failed", justify="right")
    place = None
    for row, runs in by_row(records).items():
        if place not in (None, row[:2]):
            table.add_section()
        place, best = row[:2], best_by_family(runs)
        texts = [plain(row[0]), plain(row[1]), tolerance_text(row[2])]
        for found in (leaders(runs), *(filter(None, [best.get(kind)]) for kind in families)):
            found = tuple(found)
            texts.append(plain(" or ".join(found) or "none"))
            texts.append(seconds_text(runs[found[0]].time) if found else "-")
        texts.append(str(sum(len(entry.failed) for entry in runs.values()) or ""))
        # Text, not str: rich would read brackets in a name as markup.
        table.add_row(*(Text(each, "bold" if n in (3, 4) else "") for n, each in enumerate(texts)))
    return table
