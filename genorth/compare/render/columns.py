"""The columns of records: one list, from which the tables and `Records.to_frame` are made.

A column is one entry of `COLUMNS`: its name, its heading, how to get it from a record, how to write
it, and in which tables it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from genorth.compare.render.table import (
    Entry,
    count,
    plain,
    scientific,
    seconds,
    seconds_text,
    tolerance,
    words,
)

if TYPE_CHECKING:
    from genorth.compare.analysis.rows import Runs
    from genorth.compare.runs.record import Record

#: The tables in which a column can stand: the paper's layout, and the list of failures.
PAPER, FAILURES = "paper", "failures"


def _median(column: Column, runs: Runs) -> Entry:
    """The median over the seeds; nothing if the solver left no figures."""
    entry = column.write(runs.median(column.name)) if runs.ran else Entry()
    return attrs.evolve(entry, failed=not runs.solved)


def range_text(runs: Runs) -> str:
    """The shortest and the longest time of the runs that succeeded; empty for a single one."""
    times = [record.time for record in runs.solved]
    return f"{seconds_text(min(times))} to {seconds_text(max(times))}" if len(times) > 1 else ""


def _time(_: Column, runs: Runs) -> Entry:
    """The median time and, of several seeds, the range; or the time spent if it is infinite.

    "2.1 (1.8 to 3.0)"; "> 60" by a time limit.
    """
    hint = plain(" ".join(dict.fromkeys(record.message for record in runs.failed)))
    if math.isfinite(runs.time):
        note = ", ".join(filter(None, [range_text(runs), runs.note]))
        return Entry(seconds_text(runs.time), runs.time, note, hint)
    if math.isnan(runs.spent):
        return Entry(note=runs.note, hint=hint, failed=True)
    more = "> " if runs.out_of_time else ""
    return Entry(more + seconds_text(runs.spent), runs.spent, runs.note, hint, failed=True)


@attrs.frozen
class Column:
    """A column.

    Args:
        name: Its name in `Records.to_frame`, and the attribute of a record that it shows.
        heading: Its heading in tables.
        write: Turns a value into an `Entry`.
        tables: Where it stands, besides `to_frame`.
        get: Gets the value from a record; by default the attribute `name`.
        over_seeds: Turns the runs of several seeds into an `Entry`; by default their median.
        beside: True if the paper's figure stands beside ours.
        ranked: True if the entry of the winner is bold.
        named: True if labels apply to it.
    """

    name: str
    heading: str = ""
    write: Callable[[Any], Entry] = words
    tables: tuple[str, ...] = ()
    get: Callable[[Record], Any] = attrs.Factory(
        lambda self: attrgetter(self.name), takes_self=True
    )
    over_seeds: Callable[[Column, Runs], Entry] = _median
    beside: bool = False
    ranked: bool = False
    named: bool = False

    @property
    def numeric(self) -> bool:
        """False for words."""
        return self.write not in (words, _status)


def _status(value: str) -> Entry:
    return words(value.lower().replace("_", " "))


COLUMNS = (
    Column("problem", "Problem", words, (FAILURES,), named=True),
    Column("size", "Size", words, (FAILURES,)),
    Column("seed", "Seed", count, (FAILURES,)),
    Column("solver", "Solver", words, (FAILURES,), named=True),
    Column("label", get=attrgetter("about.label")),
    Column("family"),
    Column("algorithm", get=attrgetter("about.algorithm")),
    Column("variant", get=attrgetter("about.variant")),
    Column("tolerance", "tol", tolerance, (FAILURES,)),
    Column("status", "Status", _status, (FAILURES,)),
    Column("success"),
    Column("fun", "Fval", scientific, (PAPER,), beside=True),
    Column("nit", "Iter", count, (PAPER,), beside=True),
    Column("gradient_norm", "Grad", scientific, (PAPER, FAILURES)),
    Column("feasibility", "Feas", scientific, (PAPER,)),
    Column(
        "time",
        "CPU time (s)",
        seconds,
        (PAPER, FAILURES),
        over_seeds=_time,
        beside=True,
        ranked=True,
    ),
    Column("cpu"),
    Column("nfev"),
    Column("njev"),
    Column("nhev"),
    Column("evaluations"),
    Column("beta"),
    Column("threshold"),
    Column("traced_by"),
    Column("message", "Message", words, (FAILURES,)),
)


def columns(table: str) -> list[Column]:
    """The columns of a table, in order."""
    return [column for column in COLUMNS if table in column.tables]
