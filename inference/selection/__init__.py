"""Selection of the content among labeled blocks, with correction by the repetitions on a site."""
