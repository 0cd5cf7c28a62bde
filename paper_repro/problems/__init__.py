"""The problems of the paper, one file each: generator, beta, tables, figures and why ours differ.

A file with a `PROBLEM` is found by itself: adding a problem is adding a file.
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
    "discovered",
]


def discovered() -> dict[str, PaperProblem]:
    """The problems of all files in this folder, by name, in the order of their tables."""
    files = (module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    found = (getattr(importlib.import_module(file), "PROBLEM", None) for file in files)
    problems = (problem for problem in found if problem is not None)
    return {each.name: each for each in sorted(problems, key=lambda each: each.tables[0].number)}


#: The problems by name.
PROBLEMS: Mapping[str, PaperProblem] = MappingProxyType(discovered())
