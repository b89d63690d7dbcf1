"""Documents: the chosen blocks of a page as text, Markdown and HTML, its language, and keys of duplicates."""
