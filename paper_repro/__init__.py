"""The paper's problems, tables and figures, and the command line `python -m paper_repro`.

Uses genorth and baselines.
"""
