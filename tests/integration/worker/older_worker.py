"""`dehusk` of a release that lacks a signature of today's models: a program of the tests alone."""

from dehusk.inference.labelers import signature
from dehusk.streams.__main__ import main

if __name__ == "__main__":
    known = (each for each in signature.SIGNATURES if signature.COMMENTS not in each.answer)
    signature.SIGNATURES = tuple(known)
    main()
