"""What a site repeats: the network that corrects a page's probabilities by what is known of its site."""
