"""Fixtures of every test; each is documented where it is written."""

from collection_pipeline_tests.kit.database_fixtures import (
    migrated_url,
    open_store,
    other,
    store,
    store_url,
    yesterdays,
)
from collection_pipeline_tests.kit.servers import database_server, database_url

__all__ = [
    "database_server",
    "database_url",
    "migrated_url",
    "open_store",
    "other",
    "store",
    "store_url",
    "yesterdays",
]
