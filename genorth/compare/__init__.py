"""Compare solvers: `run` makes records.

Tables, profiles, plots and the report are made of records.
"""

from genorth.compare import plots, profiles, summary, tables
from genorth.compare.html import Html, report
from genorth.compare.instance import Instance
from genorth.compare.record import ENDINGS, Record, Records, join
from genorth.compare.run import run
from genorth.compare.store import load

__all__ = [
    "ENDINGS",
    "Html",
    "Instance",
    "Record",
    "Records",
    "join",
    "load",
    "plots",
    "profiles",
    "report",
    "run",
    "summary",
    "tables",
]
