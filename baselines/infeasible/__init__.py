"""Infeasible methods: iterates near M that reach it in the limit, without a retraction."""
