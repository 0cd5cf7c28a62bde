"""Interfaces to other packages.

Nothing is imported here: each module loads the package that it is for.
"""
