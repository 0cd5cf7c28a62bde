"""The mutation check: errors planted one at a time, and which test finds each.

Run as `python -m tests.mutation` in the root of the project; no part of the default test run.
"""
