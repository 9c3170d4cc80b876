"""Uncertainty at every step, the paper's letter: draws of nominal noise and their worst case."""
