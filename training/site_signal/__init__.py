"""Training of the network that corrects a page's probabilities by what its site repeats."""
