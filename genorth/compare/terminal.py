"""On a terminal: a bar with the current run and the best of its row so far, and a table of the winners at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genorth.compare.families import PENALTY, RIEMANNIAN, family
from genorth.compare.record import Record, Records
from genorth.compare.rows import Row, Runs, best_of, by_row, row_text, tolerance_text
from genorth.compare.table import seconds_text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from genorth.compare.instance import Instance


def _rich() -> Any:
    try:
        import rich
    except ImportError as error:
        raise ImportError(
            "genorth.compare.terminal needs rich: pip install 'genorth[report]'"
        ) from error
    return rich


class Bar:
    """A bar: finished and total runs, time used and time left.

    Below it what runs now, and who leads its row.

    It is drawn between runs only, so that drawing takes no time from a run that is being clocked.
    The time left is a guess from the pace so far.
    """

    def __init__(self, console: Console | None = None) -> None:
        _rich()
        from rich.console import Console

        self._console = Console(stderr=True) if console is None else console
        self._live: Live | None = None
        self._records: list[Record] = []
        self._running: dict[tuple[str, str, int, str, float], str] = {}

    def start(self, total: int) -> None:
        """Show the bar."""
        from rich import progress as parts
        from rich.live import Live

        self.close()
        self._progress: Progress = parts.Progress(
            parts.TextColumn("[bold]runs"),
            parts.BarColumn(bar_width=None),
            parts.MofNCompleteColumn(),
            parts.TimeElapsedColumn(),
            parts.TextColumn("left"),
            parts.TimeRemainingColumn(),
            console=self._console,
            expand=True,
        )
        self._task: TaskID = self._progress.add_task("", total=total)
        self._live = Live(self._shown(), console=self._console, transient=True, auto_refresh=False)
        self._live.start()

    def begin(self, instance: Instance, seed: int, solver: str, tolerance: float) -> None:
        """Show the run."""
        key = (instance.problem, instance.size, seed, solver, tolerance)
        self._running[key] = f"{row_text((*key[:2], tolerance))}, seed {seed}: {solver}"
        self._update()

    def finish(self, record: Record) -> None:
        """Advance the bar."""
        self._running.pop(record.key, None)
        self._records.append(record)
        if self._live is not None:
            self._progress.advance(self._task)
        self._update()

    def close(self) -> None:
        """Take the bar away and print the table of what was finished."""
        if self._live is not None:
            self._live.stop()
            self._live = None
            if self._records:
                show(Records(self._records), self._console)
        self._records, self._running = [], {}

    def best_so_far(self, row: Row) -> str:
        """Who leads the row among the runs that are finished; in words."""
        runs: dict[str, list[Record]] = {}
        for record in self._records:
            if record.row == row:
                runs.setdefault(record.solver, []).append(record)
        entries = {solver: Runs(tuple(records)) for solver, records in runs.items()}
        best = best_of(entries)
        return "none yet" if best is None else f"{best}, {seconds_text(entries[best].time)} s"

    def _update(self) -> None:
        if self._live is not None:
            self._live.update(self._shown(), refresh=True)

    def _shown(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        lines = [
            Text(
                f"{text}   best so far: {self.best_so_far((key[0], key[1], key[4]))}",
                no_wrap=True,
                overflow="ellipsis",
            )
            for key, text in self._running.items()
        ]
        return Group(self._progress, *lines)


def show(records: Records, console: Console | None = None) -> None:
    """Print who wins each row, with the best of each family and how many runs failed."""
    _rich()
    from rich.console import Console

    (Console() if console is None else console).print(winners(records))


def winners(records: Records) -> Table:
    """The table that `show` prints."""
    from rich.table import Table

    table = Table(header_style="bold", title="Fastest solver of each row", title_justify="left")
    for name in ("Problem", "Size"):
        table.add_column(name)
    table.add_column("tol", justify="right")
    for name in ("Best", "Penalty", "Riemannian"):
        table.add_column(name)
        table.add_column("seconds", justify="right")
    table.add_column("failed", justify="right")
    previous = None
    for row, runs in by_row(records).items():
        if previous is not None and previous != row[:2]:
            table.add_section()
        previous = row[:2]
        table.add_row(*_texts(row, runs))
    return table


def _texts(row: Row, runs: dict[str, Runs]) -> list[Any]:
    from rich.text import Text

    names = [
        best_of(runs),
        *(best_of(runs, [s for s in runs if family(s) == kind]) for kind in (PENALTY, RIEMANNIAN)),
    ]
    found: list[Any] = []
    for number, name in enumerate(names):
        style = "bold" if number == 0 else ""
        found += [
            Text(name or "none", style),
            Text("-" if name is None else seconds_text(runs[name].time), style),
        ]
    failed = sum(len(entry.failed) for entry in runs.values())
    # Text, not str: rich would read brackets in a name as markup.
    return [
        Text(row[0]),
        Text(row[1]),
        Text(tolerance_text(row[2])),
        *found,
        Text(str(failed) if failed else ""),
    ]
