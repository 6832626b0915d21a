"""The monthly ingest of the public library register (spec section 11)."""
