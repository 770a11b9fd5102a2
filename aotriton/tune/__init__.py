"""Tuning: measure → database → bake. A tuning build's configs are timed on a GPU; the winners become look-up tables."""
