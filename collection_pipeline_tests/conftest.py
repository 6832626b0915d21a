"""Fixtures of every test; each is documented where it is written."""

from collection_pipeline_tests.kit.database_fixtures import (
    migrated_url,
    open_store,
    other,
    store,
    store_url,
    yesterdays,
)
from collection_pipeline_tests.kit.morning_fixtures import early_store, morning, rival
from collection_pipeline_tests.kit.servers import database_server, database_url

__all__ = [
    "database_server",
    "database_url",
    "early_store",
    "migrated_url",
    "morning",
    "open_store",
    "other",
    "rival",
    "store",
    "store_url",
    "yesterdays",
]
