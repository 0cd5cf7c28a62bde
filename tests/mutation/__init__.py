"""The mutation check: errors planted one at a time into the geometry and the penalty, and which test finds each.

Run as `python -m tests.mutation` in the root of the project; no part of the default test run.
"""
