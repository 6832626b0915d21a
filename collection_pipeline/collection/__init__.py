"""The services of collection: the same from a test, from the command line and from Dagster."""
