"""How often each block of text was seen on its site."""
