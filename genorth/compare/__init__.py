"""Compare solvers: `run` makes records; tables, profiles, plots and the report are made of them.

`runs` makes and keeps records, `analysis` computes figures of them, `render` shows them.
"""

from genorth.optional import optional

optional("cattrs", "compare", "genorth.compare")

from genorth.compare.analysis import profiles
from genorth.compare.analysis.effects import Effect, effect
from genorth.compare.analysis.tuning import tuned
from genorth.compare.comparison import run
from genorth.compare.render import plots, summary, tables
from genorth.compare.render.report import Html, report, training_report
from genorth.compare.runs.record import ENDINGS, About, Record, Records, join
from genorth.compare.runs.schedule import Progress
from genorth.compare.runs.spec import Instance
from genorth.compare.runs.store import load, save
from genorth.compare.runs.training import Learner, Method, Training
from genorth.compare.training import train

__all__ = [
    "ENDINGS",
    "About",
    "Effect",
    "Html",
    "Instance",
    "Learner",
    "Method",
    "Progress",
    "Record",
    "Records",
    "Training",
    "effect",
    "join",
    "load",
    "plots",
    "profiles",
    "report",
    "run",
    "save",
    "summary",
    "tables",
    "train",
    "training_report",
    "tuned",
]
