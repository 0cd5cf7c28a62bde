"""Train models whose weights are on manifolds, and compare the ways to do so.

`train` makes records of every method with every step size; `tuned` chooses the step sizes, and
`loss_tables`, `plots` and `report` show the results. Nothing here knows PyTorch or JAX.
"""

from genorth.training import plots
from genorth.training.comparison import Tuning, load, save, train, tuned, tunings
from genorth.training.method import Learner, Method, Training
from genorth.training.report import loss_tables, report
from genorth.training.trainer import TrainingRecord

__all__ = [
    "Learner",
    "Method",
    "Training",
    "TrainingRecord",
    "Tuning",
    "load",
    "loss_tables",
    "plots",
    "report",
    "save",
    "train",
    "tuned",
    "tunings",
]
