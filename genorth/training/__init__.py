"""Train models whose weights are on manifolds, and compare the ways to do so.

`train` makes records of every method with every step size; `tuned` chooses the step sizes, and
`loss_tables`, `ranges`, `curves`, `step_sizes` and `report` show the results. Nothing here knows
PyTorch or JAX.
"""

from genorth.training.comparison import Tuning, load, save, train, tuned, tunings
from genorth.training.method import Learner, Method, Training
from genorth.training.report import curves, loss_tables, ranges, report, step_sizes
from genorth.training.trainer import TrainingRecord

__all__ = [
    "Learner",
    "Method",
    "Training",
    "TrainingRecord",
    "Tuning",
    "curves",
    "load",
    "loss_tables",
    "ranges",
    "report",
    "save",
    "step_sizes",
    "train",
    "tuned",
    "tunings",
]
