"""Dagster's own storage in MySQL, under every spelling of the URL that the settings allow.

dagster-mysql hands its URL to SQLAlchemy as it is, for which ``mysql://`` means a driver that the
project does not bring. Everything else is dagster-mysql's.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from dagster._core.storage.config import MySqlStorageConfig
from dagster._serdes import ConfigurableClassData
from dagster_mysql import DagsterMySQLStorage
from dagster_mysql.utils import mysql_url_from_config
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool

from collection_pipeline.store.connection import collection_url


class CollectionDagsterStorage(DagsterMySQLStorage):
    """``DagsterMySQLStorage`` that reads ``mysql://`` as the queue's own connections do."""

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "CollectionDagsterStorage":
        """Called by Dagster with the section of ``dagster.yaml``."""
        url = collection_url(mysql_url_from_config(cast(MySqlStorageConfig, config_value)))
        with _creation_lock(url):
            return cls(url.render_as_string(hide_password=False), inst_data)


@contextmanager
def _creation_lock(url: URL) -> Iterator[None]:
    """Dagster makes its tables when it is first opened; two that open at once make them twice.

    The lock belongs to its own session and ends with it.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        name = text(
            "SELECT GET_LOCK(LEFT(SHA2(CONCAT('dagster-storage:', DATABASE()), 256), 64), 60)"
        )
        connection.execute(name)
        yield
    engine.dispose()
