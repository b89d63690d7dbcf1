"""The compiled steps: the walk over the parser's tree and the words of a text, in Cython."""
