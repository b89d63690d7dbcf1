"""Pages to learn from: gold texts and labels, alignment of both, altered pages, and their scores."""
