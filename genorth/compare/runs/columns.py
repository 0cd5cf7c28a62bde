"""The columns of records: one list, from which the tables and `Records.to_frame` are made.

A column is one entry of `COLUMNS`: its name, its heading, how to get it from a record, how its
values read, and in which tables it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import attrs

#: The tables in which a column can stand: the paper's layout, and the list of failures.
PAPER, FAILURES = "paper", "failures"


@attrs.frozen
class Column:
    """A column.

    Args:
        name: Its name in `Records.to_frame`, and the attribute of a record that it shows.
        heading: Its heading in tables.
        form: How its values read: "words", "name" (labels apply to it), "status", "count",
            "scientific", "seconds" or "tolerance".
        tables: Where it stands, besides `to_frame`.
        get: Gets the value from a record; by default the attribute `name`.
        beside: True if the paper's figure stands beside ours.
    """

    name: str
    heading: str = ""
    form: str = "words"
    tables: tuple[str, ...] = ()
    get: Callable[[Any], Any] = attrs.Factory(lambda self: attrgetter(self.name), takes_self=True)
    beside: bool = False

    @property
    def numeric(self) -> bool:
        """False for words."""
        return self.form not in ("words", "name", "status")


COLUMNS = (
    Column("problem", "Problem", "name", (FAILURES,)),
    Column("size", "Size", "words", (FAILURES,)),
    Column("seed", "Seed", "count", (FAILURES,)),
    Column("solver", "Solver", "name", (FAILURES,)),
    Column("label", get=attrgetter("about.label")),
    Column("family"),
    Column("algorithm", get=attrgetter("about.algorithm")),
    Column("variant", get=attrgetter("about.variant")),
    Column("tolerance", "tol", "tolerance", (FAILURES,)),
    Column("status", "Status", "status", (FAILURES,)),
    Column("success"),
    Column("fun", "Fval", "scientific", (PAPER,), beside=True),
    Column("nit", "Iter", "count", (PAPER,), beside=True),
    Column("gradient_norm", "Grad", "scientific", (PAPER, FAILURES)),
    Column("feasibility", "Feas", "scientific", (PAPER,)),
    Column("time", "CPU time (s)", "seconds", (PAPER, FAILURES), beside=True),
    Column("cpu"),
    Column("nfev"),
    Column("njev"),
    Column("nhev"),
    Column("evaluations"),
    Column("beta"),
    Column("threshold"),
    Column("traced_by"),
    Column("certificate"),
    Column("message", "Message", "words", (FAILURES,)),
)


def shared(*names: str) -> tuple[Column, ...]:
    """The columns of these names."""
    return tuple(column for column in COLUMNS if column.name in names)
