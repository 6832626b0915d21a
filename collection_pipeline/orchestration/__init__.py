"""Dagster: starts the services and shows what they did; no state of the queue lives here."""
