"""The tables of the specification's section 7; ``migrations`` brings a database to this state."""

from collection_pipeline.store.schema import cycles, libraries, operations, postings, sources
from collection_pipeline.store.schema.columns import metadata

__all__ = ["cycles", "libraries", "metadata", "operations", "postings", "sources"]
