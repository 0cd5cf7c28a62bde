"""What every solver shares.

Its record and the registry (solver), options and budgets (options), the stopping rule (monitor),
the Result and its status (result, ending), the line searches (wolfe, descent), L-BFGS (pairs).
"""
