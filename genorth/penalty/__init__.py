"""Penalty methods: the dissolving functions, their thresholds, and how they are minimised."""
