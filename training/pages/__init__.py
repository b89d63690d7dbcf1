"""Pages to learn from: gold texts and labels, alignment of both, and altered pages."""
