"""Compare solvers: `run` makes records; tables, profiles, plots and the report are made of records."""
