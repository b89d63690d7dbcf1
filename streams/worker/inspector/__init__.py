"""The page inspector among the monitoring pages, whose work a process of its own does."""
