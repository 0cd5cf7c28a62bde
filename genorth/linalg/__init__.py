"""Small matrices and structured ones: arrays of any library, operators, matrix functions, inertia.

Nothing here knows of a manifold.
"""
