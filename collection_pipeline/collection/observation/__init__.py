"""Observation checks: does the pipeline keep its promises, by its own rows (R45)."""
