"""Dagster's storage under the project's own class: opened and written by several at once."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from collection_pipeline.orchestration import dagster_storage
from collection_pipeline.orchestration.dagster_sessions import IDLE_SECONDS
from collection_pipeline.orchestration.dagster_storage import (
    CollectionDagsterStorage,
    DagsterTablesBusy,
)
from collection_pipeline_tests.kit.dagster_events import CHECK, evaluation_event
from collection_pipeline_tests.kit.rivals import PATIENCE_SECONDS

OPENERS = 4
TAKE_LOCK = "SELECT GET_LOCK(LEFT(SHA2(CONCAT('dagster-storage:', DATABASE()), 256), 64), 0)"
EVALUATIONS = 40


def test_processes_that_open_a_new_storage_at_once_all_can(database_url: str) -> None:
    """Dagster makes its tables when it is first opened, and cannot make them twice."""
    together = Barrier(OPENERS)

    def opening(_number: int) -> int:
        together.wait()
        storage = CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        return storage.run_storage.get_runs_count()

    with ThreadPoolExecutor(OPENERS) as openers:
        assert list(openers.map(opening, range(OPENERS))) == [0] * OPENERS


def test_runs_that_evaluate_a_check_at_once_all_store_it(database_url: str) -> None:
    """By dagster-mysql's own storage one of them ends in a deadlock, and its run with it."""
    storages = [
        CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        for _ in range(OPENERS)
    ]
    together = Barrier(OPENERS, timeout=PATIENCE_SECONDS)

    def evaluating(storage: CollectionDagsterStorage) -> None:
        for _ in range(EVALUATIONS):
            together.wait()
            storage.event_log_storage.store_event(evaluation_event(str(uuid.uuid4())))

    with ThreadPoolExecutor(OPENERS) as writers:
        list(writers.map(evaluating, storages))
    records = storages[0].event_log_storage.get_asset_check_execution_history(CHECK, limit=1_000)
    assert len(records) == OPENERS * EVALUATIONS


def test_a_host_that_fell_silent_while_it_opened_the_storage_keeps_nobody_out(
    database_url: str,
) -> None:
    """The lock for making the tables lasts as long as its session; made tables need no lock."""
    CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
    impatient = {"mysql_url": f"{database_url}&read_timeout=2"}
    silent = create_engine(database_url, poolclass=NullPool)
    with silent.connect() as session:
        assert session.execute(text(TAKE_LOCK)).scalar() == 1
        storage = CollectionDagsterStorage.from_config_value(None, impatient)
        assert storage.run_storage.get_runs_count() == 0


def test_tables_that_another_makes_for_too_long_are_not_made_beside_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lock two would make them at once; a sentence says what to do instead."""
    monkeypatch.setattr(dagster_storage, "LOCK_TRIES", 1)
    monkeypatch.setattr(dagster_storage, "LOCK_TRY_SECONDS", 0)
    maker = create_engine(database_url, poolclass=NullPool)
    with maker.connect() as session:
        assert session.execute(text(TAKE_LOCK)).scalar() == 1
        with pytest.raises(DagsterTablesBusy, match="start again"):
            CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
        assert session.execute(text("SHOW TABLES")).all() == []


def engines(storage: CollectionDagsterStorage) -> list[Engine]:
    """Those of its three parts; Dagster has no public name for them."""
    parts: list[Any] = [
        storage.run_storage,
        storage.event_log_storage,
        storage.schedule_storage,
    ]
    return [part._engine for part in parts]


def test_no_session_of_the_storage_waits_for_ever_on_either_side(database_url: str) -> None:
    """A cut link sends no reset: the client gives up a call, the server a session and its locks."""
    own = {"mysql_url": f"{database_url}&read_timeout=7"}
    for config, seconds in (({"mysql_url": database_url}, 30), (own, 7)):
        storage = CollectionDagsterStorage.from_config_value(None, config)
        for engine in engines(storage):
            with engine.connect() as session:
                idle = session.execute(text("SELECT @@session.wait_timeout")).scalar()
                assert idle == IDLE_SECONDS
                driver: Any = session.connection.driver_connection
                assert driver._read_timeout == seconds


def test_a_webservers_pooled_sessions_are_replaced_before_the_server_ends_them(
    database_url: str,
) -> None:
    """Dagster keeps them for an hour, which is longer than a session may idle."""
    storage = CollectionDagsterStorage.from_config_value(None, {"mysql_url": database_url})
    for part in (storage.run_storage, storage.event_log_storage, storage.schedule_storage):
        part.optimize_for_webserver(statement_timeout=0, pool_recycle=3_600, max_overflow=-1)
    for engine in engines(storage):
        assert engine.pool._recycle < IDLE_SECONDS
        engine.dispose()
