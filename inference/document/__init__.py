"""Documents: the chosen blocks of a page as Markdown and HTML, and the language of their text."""
