"""Meanings of markup to a reader: of elements, styles, images, players, footnotes and TeX."""
