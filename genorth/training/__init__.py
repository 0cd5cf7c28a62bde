"""Train models whose weights are on manifolds, and compare the ways to do so.

`train` makes records of every method with every step size; `tuned` chooses the step sizes, and
`report`, `plots` and `tables` show what came of it. Nothing here knows PyTorch or JAX.
"""

from genorth.training import plots, tables
from genorth.training.comparison import load, save, train
from genorth.training.method import Learner, Method, Training
from genorth.training.report import report
from genorth.training.trainer import TrainingRecord
from genorth.training.tuning import Tuning, tuned, tunings

__all__ = [
    "Learner",
    "Method",
    "Training",
    "TrainingRecord",
    "Tuning",
    "load",
    "plots",
    "report",
    "save",
    "tables",
    "train",
    "tuned",
    "tunings",
]
