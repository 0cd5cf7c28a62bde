"""Compare solvers: `run` makes records; tables, profiles, plots and the report are made of them.

`runs` makes and keeps records, `analysis` computes figures of them, `render` shows them.
"""

from genorth.compare import analysis, render
from genorth.compare.analysis import Effect, effect, profiles
from genorth.compare.comparison import run
from genorth.compare.render import notebook, plots, summary, tables
from genorth.compare.render.report import Html, report
from genorth.compare.runs.record import ENDINGS, About, Outcome, Record, Records, join
from genorth.compare.runs.schedule import Observer
from genorth.compare.runs.spec import Case, size_of
from genorth.compare.runs.store import load, save
from genorth.errors import moved
from genorth.machine import environment, pinned

__getattr__ = moved(
    __name__,
    {
        "Instance": "is genorth.compare.Case now",
        "Progress": "is genorth.compare.Observer now",
        "train": "is genorth.training.train now",
        "training_report": "is genorth.training.report now",
        **{
            name: f"is genorth.training.{name} now"
            for name in ("Learner", "Method", "Training", "tuned")
        },
    },
)

Records._repr_html_ = notebook.rich  # type: ignore[assignment]  # who wins, and a picture

__all__ = [
    "ENDINGS",
    "About",
    "Case",
    "Effect",
    "Html",
    "Observer",
    "Outcome",
    "Record",
    "Records",
    "analysis",
    "effect",
    "environment",
    "join",
    "load",
    "pinned",
    "plots",
    "profiles",
    "render",
    "report",
    "run",
    "save",
    "size_of",
    "summary",
    "tables",
]
