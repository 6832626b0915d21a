"""Dagster's own storage in MySQL, under every spelling of the URL that the settings allow.

dagster-mysql hands its URL to SQLAlchemy as it is, for which ``mysql://`` means a driver that the
project does not bring. It also updates the row of a check's evaluation and inserts it where there
was none, at REPEATABLE READ: two runs that evaluate a check at the same time lock the same gap, and
one of them would fail by a deadlock. Everything else is dagster-mysql's.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from dagster._core.events.log import EventLogEntry
from dagster._core.storage.config import MySqlStorageConfig
from dagster._serdes import ConfigurableClassData
from dagster_mysql import DagsterMySQLStorage, MySQLEventLogStorage
from dagster_mysql.utils import mysql_url_from_config
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from collection_pipeline.store.connection import collection_url
from collection_pipeline.store.transaction import is_conflict

T = TypeVar("T")

CHECK_TRIES = 20
LONGEST_PAUSE_SECONDS = 0.2


class PatientEventLogStorage(MySQLEventLogStorage):
    """Stores a check's evaluation again after a deadlock: nothing of the first try is left."""

    def store_asset_check_event(self, event: EventLogEntry, event_id: int | None) -> None:
        """Called by Dagster for each planned or made evaluation."""
        storing = super().store_asset_check_event
        patiently(lambda: storing(event, event_id))


def patiently(work: Callable[[], T]) -> T:
    """``work`` once more after each deadlock, up to a bound; raises what it raises in the end."""
    for _ in range(CHECK_TRIES - 1):
        try:
            return work()
        except DBAPIError as error:
            if not is_conflict(error):
                raise
        time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))
    return work()


class CollectionDagsterStorage(DagsterMySQLStorage):
    """``DagsterMySQLStorage`` that reads ``mysql://`` as the queue's own connections do."""

    def __init__(self, mysql_url: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(mysql_url, inst_data)
        self._event_log_storage = PatientEventLogStorage(mysql_url)

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
