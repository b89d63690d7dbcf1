"""`python -m dehusk`: the `dehusk` command."""

from dehusk.streams.__main__ import main

main()
