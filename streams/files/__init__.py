"""Pages in files: HTML, JSON lines and web archives, plain or compressed, onto a topic."""
