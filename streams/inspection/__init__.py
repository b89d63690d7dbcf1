"""The page inspector: one page, what becomes of each of its blocks, and why."""
