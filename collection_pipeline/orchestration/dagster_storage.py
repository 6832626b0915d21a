"""Dagster's own storage in MySQL, under every spelling of the URL that the settings allow.

dagster-mysql hands its URL to SQLAlchemy as it is, for which ``mysql://`` means a driver that the
project does not bring. It also updates the row of a check's evaluation and inserts it where there
was none, at REPEATABLE READ: two runs that evaluate a check at the same time lock the same gap, and
one of them would fail by a deadlock. And a host that is cut off must not hold up the others: no
session is without limits, and the lock for making the tables is taken only where some are missing.
Everything else is dagster-mysql's.

Where ``dagster.yaml`` names no URL, each process reads COLLECTION_DAGSTER_DATABASE_URL or its file,
so that one ``dagster.yaml`` fits every way of deployment and holds no password (R29).
"""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import dagster as dg
from dagster._config import UserConfigSchema
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.schema import SqlEventLogStorageMetadata
from dagster._core.storage.runs.schema import RunStorageSqlMetadata
from dagster._core.storage.schedules.schema import ScheduleStorageSqlMetadata
from dagster._serdes import ConfigurableClassData
from dagster_mysql import DagsterMySQLStorage
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from collection_pipeline.orchestration.dagster_sessions import (
    RecycledEventLogStorage,
    RecycledRunStorage,
    RecycledScheduleStorage,
    bounded_url,
)
from collection_pipeline.settings import PREFIX, InvalidSetting, load_database_url
from collection_pipeline.store.connection import collection_url
from collection_pipeline.store.transaction import is_conflict

T = TypeVar("T")

CHECK_TRIES = 20
LONGEST_PAUSE_SECONDS = 0.2
LOCK_TRIES = 12
LOCK_TRY_SECONDS = 5
DAGSTER_TABLES = frozenset(
    {
        *RunStorageSqlMetadata.tables,
        *SqlEventLogStorageMetadata.tables,
        *ScheduleStorageSqlMetadata.tables,
    }
)


class DagsterTablesBusy(Exception):
    """Another process has been making Dagster's tables for a minute; start again later."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class PatientEventLogStorage(RecycledEventLogStorage):
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
        self.mysql_url = mysql_url
        self._inst_data = inst_data
        self._run_storage = RecycledRunStorage(mysql_url)
        self._event_log_storage = PatientEventLogStorage(mysql_url)
        self._schedule_storage = RecycledScheduleStorage(mysql_url)
        # Past the class between, which would open dagster-mysql's own three. Dagster is untyped.
        super(DagsterMySQLStorage, self).__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """Called by Dagster to check the section: ``mysql_url`` or nothing."""
        return {"mysql_url": dg.Field(dg.StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> "CollectionDagsterStorage":
        """Called by Dagster with the section of ``dagster.yaml``; raises ``InvalidSetting``."""
        given = config_value.get("mysql_url") or _named_address()
        url = bounded_url(collection_url(given))
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

    Held only where a table is missing: a host that is cut off while it holds the lock would keep
    every other from opening the storage until the server ends its session, which also ends the
    lock.
    """
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        if not _has_every_table(connection):
            _take_creation_lock(connection)
        yield
    engine.dispose()


def _has_every_table(connection: Connection) -> bool:
    found = connection.execute(
        text("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
    )
    return {name for (name,) in found} >= DAGSTER_TABLES


def _take_creation_lock(connection: Connection) -> None:
    """Each try is shorter than a session's read time-out; making the tables takes seconds.

    Raises ``DagsterTablesBusy``.
    """
    take = text(
        "SELECT GET_LOCK(LEFT(SHA2(CONCAT('dagster-storage:', DATABASE()), 256), 64), "
        f"{LOCK_TRY_SECONDS})"
    )
    for _ in range(LOCK_TRIES):
        if connection.execute(take).scalar() == 1:
            return
    raise DagsterTablesBusy
