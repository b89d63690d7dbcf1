"""The default model: features and token scores of each block, a small bidirectional LSTM over the page."""
