"""The problems of the paper, one file each: generator, beta, tables, figures and why ours differ.

A file that defines a `PROBLEM` is found automatically.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from paper_repro.problems.base import PaperInstance, PaperProblem, PaperTable, Size
from paper_repro.problems.extrinsic_mean import ExtrinsicMean
from paper_repro.problems.joint_diagonalisation import JointDiagonalisation
from paper_repro.problems.matching import Matching

__all__ = [
    "PROBLEMS",
    "ExtrinsicMean",
    "JointDiagonalisation",
    "Matching",
    "PaperInstance",
    "PaperProblem",
    "PaperTable",
    "Size",
]


_files = pkgutil.iter_modules(__path__, f"{__name__}.")
_found = [getattr(importlib.import_module(file.name), "PROBLEM", None) for file in _files]
_problems = sorted(filter(None, _found), key=lambda problem: problem.tables[0].number)
#: The problems by name, in the order of their tables.
PROBLEMS: Mapping[str, PaperProblem] = MappingProxyType({each.name: each for each in _problems})
