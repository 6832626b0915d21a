"""Dagster's own storage in MySQL, under every spelling of the URL that the settings allow.

dagster-mysql hands its URL to SQLAlchemy as it is, for which ``mysql://`` means a driver that the
project does not bring. It also updates the row of a check's evaluation and inserts it where there
was none, at REPEATABLE READ: two runs that evaluate a check at the same time lock the same gap, and
one of them would fail by a deadlock. Everything else is dagster-mysql's.

Where ``dagster.yaml`` names no URL, each process reads COLLECTION_DAGSTER_DATABASE_URL or its file,
so that one ``dagster.yaml`` fits every way of deployment and holds no password (R29).
"""

import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster._config import UserConfigSchema
from dagster._core.events.log import EventLogEntry
from dagster._serdes import ConfigurableClassData
from dagster_mysql import DagsterMySQLStorage, MySQLEventLogStorage
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from collection_pipeline.settings import PREFIX, InvalidSetting, load_database_url
from collection_pipeline.store.connection import collection_url
from collection_pipeline.store.transaction import is_conflict

CHECK_TRIES = 20
LONGEST_PAUSE_SECONDS = 0.2


class PatientEventLogStorage(MySQLEventLogStorage):
    """Stores a check's evaluation again after a deadlock: nothing of the first try is left."""

    def store_asset_check_event(self, event: EventLogEntry, event_id: int | None) -> None:
        """Called by Dagster for each planned or made evaluation."""
        for _ in range(CHECK_TRIES - 1):
            try:
                return super().store_asset_check_event(event, event_id)
            except DBAPIError as error:
                if not is_conflict(error):
                    raise
            time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))
        return super().store_asset_check_event(event, event_id)


class CollectionDagsterStorage(DagsterMySQLStorage):
    """``DagsterMySQLStorage`` that reads ``mysql://`` as the queue's own connections do."""

    def __init__(self, mysql_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(mysql_url, inst_data)
        self._event_log_storage = PatientEventLogStorage(mysql_url)

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """Called by Dagster to check the section: ``mysql_url`` or nothing."""
        return {"mysql_url": dg.Field(dg.StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "CollectionDagsterStorage":
        """Called by Dagster with the section of ``dagster.yaml``; raises ``InvalidSetting``."""
        url = collection_url(config_value.get("mysql_url") or _named_address())
        with _creation_lock(url):
            return cls(url.render_as_string(hide_password=False), inst_data)


def _named_address() -> str:
    """Of this setting alone: a wrong other one is told by the job that uses it."""
    address = load_database_url(os.environ, "DAGSTER_DATABASE_URL")
    if address is None:
        variable = f"{PREFIX}DAGSTER_DATABASE_URL"
        raise InvalidSetting(f"set {variable} or {variable}_FILE: Dagster has no database")
    return address


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
