"""Semi-supervised labels by Gaussian random fields: from some blocks of a page to all of them."""
