"""Web2Text (Vogels, Ganea and Eickhoff, ECIR 2018): the input of its model."""
