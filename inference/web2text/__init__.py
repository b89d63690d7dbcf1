"""Web2Text (Vogels, Ganea and Eickhoff, ECIR 2018): what its model reads of a page."""
