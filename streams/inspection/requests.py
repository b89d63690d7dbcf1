"""What a worker asks its process for inspections, and at which paths."""

READY = b"ready\n"
"""What the process says once it answers."""
POSITIONS, DOCUMENTS, PASTES = "/positions", "/documents", "/pastes"
"""Where inspections are opened, each by POST; the answer is JSON, `{"page": "pages/NAME/"}`."""
