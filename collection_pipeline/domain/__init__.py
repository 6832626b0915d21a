"""The rules of collection as plain values: no SQL, no HTTP, no Dagster."""
