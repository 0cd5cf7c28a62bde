"""Solvers of other packages, one file per package."""
