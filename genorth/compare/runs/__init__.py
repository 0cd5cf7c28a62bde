"""Making records: what is compared, in which order, by which processes, and where it is kept."""
