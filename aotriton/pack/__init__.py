"""Packs: AKS2 clusters in a ZIP per kernel, the index among its entries, a signature beside it."""
