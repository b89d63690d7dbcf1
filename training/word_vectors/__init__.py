"""Word vectors of the pages: positive pointwise mutual information of neighbours, in a few dimensions."""
