"""`Problem`: a cost on a manifold with its derivatives, counted and checked."""

from genorth.problem.problem import Counts, Problem

__all__ = ["Counts", "Problem"]
