"""What every solver shares: the monitor of a run, its Result and status, line searches."""
