"""The whole pipeline on one machine: private servers, simulated platforms, days of Dagster runs."""
