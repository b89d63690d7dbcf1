"""Web servers on this machine: pages, access, certificates."""
