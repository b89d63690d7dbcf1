"""The page inspector among the monitoring pages, whose work is done in a process beside the worker."""
