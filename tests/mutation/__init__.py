"""Planted errors: wrong formulas, one at a time, and whether the tests find each.

Run as `python -m tests.mutation` in the root of the project; no part of the default test run.
"""
