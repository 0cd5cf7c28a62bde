"""How a comparison tells of its progress: silently, in lines, or by a bar on a terminal.

The bar shows the last run and the best of its row so far, and a table of winners at the end.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, TextIO

from genorth.compare.analysis.rows import Row, best_of, by_row
from genorth.compare.render.table import Names, plain, seconds_text, text
from genorth.compare.render.tables import best_table
from genorth.compare.runs.record import Outcome, Records
from genorth.compare.runs.schedule import Observer
from genorth.errors import require
from genorth.optional import installed, optional


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
        stream = self._stream or sys.stderr  # looked up now: it may have been redirected since
        with suppress(OSError, ValueError, AttributeError):  # closed: the records matter more
            stream.write(
                f"[{self._finished}/{self._total}] {place}, {plain(record.solver)} to "
                f"{record.tolerance:g}: {record.status}, {record.time:.3g} s, {record.progress}\n"
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
    methods = (getattr(progress, name, None) for name in ("start", "begin", "finish", "close"))
    need = "'auto', 'brief', None, or an object with start, begin, finish and close"
    require(all(map(callable, methods)), "progress", need, repr(progress))
    observer: Observer = progress
    return observer


# ---------------------------------------------------------------------- the bar


class Bar(Observer):
    """A bar with finished and total runs, time used and time left.

    Beside it the run that began last, and who leads its row. It is drawn between runs only, so that
    drawing takes no time from a run that is being clocked. The time left is a guess from the pace
    so far.

    Args:
        console: A rich Console; by default standard error.
        winners: Whether to print the table of winners at the end.
        best: Whether to tell the fastest solver so far.
    """

    def __init__(self, console: Any = None, winners: bool = True, best: bool = True) -> None:
        self._winners, self._best = winners, best
        made = optional("rich.console", "report", "The progress bar").Console
        self._console = made(stderr=True) if console is None else console
        self._bar: Any = None
        self._records: list[Outcome] = []

    def start(self, total: int) -> None:
        """Show the bar."""
        from rich import progress

        self.close()
        columns = (
            progress.MofNCompleteColumn(),
            progress.BarColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            # a name is text, though it has brackets
            progress.TextColumn("{task.description}", markup=False),
        )
        how = {"transient": True, "auto_refresh": False, "console": self._console}
        self._bar = progress.Progress(*columns, **how)
        self._bar.add_task("", total=total)
        self._bar.start()

    def begin(self, problem: str, size: str, seed: int, solver: str, tolerance: float) -> None:
        """Show the run."""
        row = problem, size, tolerance
        best = f" (best so far: {self.best_so_far(row)})" if self._best else ""
        self._update(description=f"{Names().row(row)}, seed {seed}: {plain(solver)}{best}")

    def finish(self, record: Outcome) -> None:
        """Advance the bar."""
        self._records.append(record)
        self._update(advance=1)

    def tell(self, doing: str) -> None:
        """Advance the bar, and say what is done."""
        self._update(description=doing, advance=1)

    def close(self) -> None:
        """Take the bar away and print the table of what was finished."""
        if self._bar is not None:
            self._bar.stop()
            if self._records and self._winners:
                table = text(best_table(Records(self._records), ratios=False))
                self._console.print(table, markup=False, highlight=False, soft_wrap=True)
        self._bar, self._records = None, []

    def best_so_far(self, row: Row) -> str:
        """Who leads the row among the finished runs, in words."""
        runs = by_row(Records(self._records).where(row=row)).get(row, {})
        best = best_of(runs)
        return "none yet" if best is None else f"{plain(best)}, {seconds_text(runs[best].time)} s"

    def _update(self, **changes: Any) -> None:
        if self._bar is not None:
            self._bar.update(0, refresh=True, **changes)
