"""Training of Web2Text (Vogels, Ganea and Eickhoff, ECIR 2018)."""
