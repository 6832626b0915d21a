"""Dagster's own storage in MySQL, under every spelling of the URL that the settings allow.

dagster-mysql hands its URL to SQLAlchemy as it is, for which ``mysql://`` means a driver that the
project does not bring. Everything else is dagster-mysql's.
"""

from collections.abc import Mapping
from typing import Any, cast

from dagster._core.storage.config import MySqlStorageConfig
from dagster._serdes import ConfigurableClassData
from dagster_mysql import DagsterMySQLStorage
from dagster_mysql.utils import mysql_url_from_config

from collection_pipeline.store.connection import collection_url


class CollectionDagsterStorage(DagsterMySQLStorage):
    """``DagsterMySQLStorage`` that reads ``mysql://`` as the queue's own connections do."""

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "CollectionDagsterStorage":
        """Called by Dagster with the section of ``dagster.yaml``."""
        url = collection_url(mysql_url_from_config(cast(MySqlStorageConfig, config_value)))
        return cls(url.render_as_string(hide_password=False), inst_data)
