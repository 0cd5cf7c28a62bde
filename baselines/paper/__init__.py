"""Solvers as the paper ran them."""
