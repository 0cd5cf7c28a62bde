"""Riemannian solvers to compare with: as the paper ran them, and as fast as they can be.

Uses genorth. Empty until the penalty side of the comparison exists.
"""
