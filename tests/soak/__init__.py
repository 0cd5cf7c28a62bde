"""A soak: random problems, every solver, and each Result checked in extended precision."""
