"""Penalty methods: the dissolving functions, their thresholds, and how they are minimised."""

import genorth.penalty.registry  # noqa: F401  registers the methods
