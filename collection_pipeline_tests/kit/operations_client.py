"""The operations service over a test's database, asked over HTTP, at a time of the test's.

The service's own clock is the database's with the simulated offset, so a test says what time it is
by that offset; the store's frozen sessions see it too, so ask the store's clock nothing meanwhile.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from collection_pipeline.operations.access import LOOPBACK_NAMES
from collection_pipeline.operations.app import create_app
from collection_pipeline.operations.context import OperationsContext, open_context
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.database import NOON, PLATFORMS, Store

RUNS_PATH = "/api/operations/collection-runs"
PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Operations:
    """The application, what it reads from, and a client of it."""

    app: FastAPI
    context: OperationsContext
    client: httpx.Client

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        """The answer to one GET."""
        return self.client.get(path, params=parameters)

    def runs(self, **parameters: Any) -> dict[str, Any]:
        """The history's answer; ``from_`` stands for ``from``. Anything but 200 fails the test."""
        named = {name.rstrip("_"): value for name, value in parameters.items()}
        answer = self.client.get(RUNS_PATH, params=named)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def health(self) -> tuple[int, dict[str, Any]]:
        """Status and document of the health check."""
        answer = self.client.get("/healthz")
        return answer.status_code, answer.json()

    def metrics(self) -> dict[str, float]:
        """Every sample of a scrape, by its name with labels."""
        answer = self.get("/metrics")
        assert answer.status_code == 200
        lines = (line for line in answer.text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@contextmanager
def opened_operations(
    url: str,
    *,
    token: str | None = None,
    dagster_url: str | None = None,
    allowed_hosts: frozenset[str] | None = LOOPBACK_NAMES,
    **settings: object,
) -> Iterator[Operations]:
    """The service over the database at ``url``; ``settings`` by their names without prefix."""
    environment = {f"COLLECTION_{name}": str(value) for name, value in settings.items()}
    context = open_context(load_settings(environment), url, dagster_url, PLATFORMS)
    app = create_app(context, token=token, allowed_hosts=allowed_hosts)
    try:
        with (
            served(app) as address,
            httpx.Client(base_url=address, timeout=PATIENCE_SECONDS) as client,
        ):
            yield Operations(app, context, client)
    finally:
        context.close()


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The application on a free loopback port, in a thread of this process; its address."""
    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="operations")
    thread.start()
    try:
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while not server.started:
            assert thread.is_alive() and time.monotonic() < ends_at, "the service did not start"
            thread.join(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def set_service_time(store: Store, now: datetime = NOON) -> None:
    """The service's clock goes on from ``now`` (naive UTC); the store's stands where it stood."""
    offset = now - datetime.now(UTC).replace(tzinfo=None)
    store.service_offset = offset
    store.write(
        "REPLACE INTO simulation_clock (id, offset_microseconds, changed_at) "
        "VALUES (1, :offset, '2026-01-01')",
        offset=offset.total_seconds() * 1_000_000 // 1,
    )


def make_idle_day(store: Store, now: datetime) -> None:
    """The store's day is made and has nothing to do; the service's clock stands at ``now``."""
    store.gate.ensure_headers()
    store.write("UPDATE job_posting_collection_sla_snapshots SET capture_status = 'CAPTURED'")
    set_service_time(store, now)


def add_run(store: Store, source_id: int, run_date: object, status: str, **columns: object) -> int:
    """A history row as an older system left it; returns its id."""
    values = {"job_source_id": source_id, "run_date": run_date, "run_status": status, **columns}
    names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
    store.write(f"INSERT INTO job_posting_collection_runs ({names}) VALUES ({marks})", **values)
    return int(
        store.value(
            "SELECT id FROM job_posting_collection_runs WHERE job_source_id = :source "
            "AND run_date = :day",
            source=source_id,
            day=run_date,
        )
    )
