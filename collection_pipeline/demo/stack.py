"""The demo's private servers: MySQL in a folder of its own, the simulator in this process.

Everything that a child process needs is in ``environment``; nothing of the caller's own
``COLLECTION_`` settings leaks in, so the demo looks the same everywhere.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.collection.registration import checked_source, store_sources
from collection_pipeline.demo.dagster_home import dagster_home
from collection_pipeline.demo.sources import DEMO_SOURCES
from collection_pipeline.local_db.home import home_folder
from collection_pipeline.local_db.persistent import start_local, stop_local
from collection_pipeline.settings import PREFIX, load_settings
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG
from collection_pipeline.store.sources import JobSources

DEMO_DELAY_MS = "10"
SIMULATOR_LOG = "simulator-requests.jsonl"


@dataclass(frozen=True)
class DemoStack:
    """What runs, and what a child process must be told."""

    pipeline: CollectionPipeline
    simulator: SimulatorServer
    environment: dict[str, str]
    folder: Path
    database: str

    @property
    def today(self) -> date:
        """The KST day of the database's clock."""
        return self.pipeline.transactions.run(self.pipeline.clock.today)


@contextmanager
def demo_stack(*, fresh: bool) -> Iterator[DemoStack]:
    """The running stack; both servers end with the block.

    ``fresh`` begins with an empty database; otherwise what an earlier demo left is kept.
    """
    folder = home_folder() / "demo"
    with _own_environment(folder):
        if fresh:
            stop_local()
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        local = start_local()
        try:
            with SimulatorServer(
                scenario="demo", log_path=folder / SIMULATOR_LOG, separate_ports=True
            ) as simulator:
                simulator.warm()
                environment = _environment(local.url, local.dagster_url, simulator)
                settings = load_settings(environment)
                pipeline = assemble(settings, local.url)
                try:
                    migrate(pipeline.engine)
                    _register_once(pipeline)
                    yield DemoStack(
                        pipeline, simulator, environment, folder, f"{local.kind} {local.version}"
                    )
                finally:
                    pipeline.close()
        finally:
            stop_local()


def first_day(stack: DemoStack) -> date:
    """The day after the database's today, since the simulated clock only moves forward."""
    return stack.today + timedelta(days=1)


def _environment(url: str, dagster_url: str, simulator: SimulatorServer) -> dict[str, str]:
    """The child processes' environment: this one's, with the demo's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {
        **kept,
        **simulator.exports(),
        f"{PREFIX}SARAMIN_ACCESS_KEY": simulator.access_key,
        f"{PREFIX}DATABASE_URL": url,
        f"{PREFIX}DAGSTER_DATABASE_URL": dagster_url,
        f"{PREFIX}HOME": os.environ[f"{PREFIX}HOME"],
        f"{PREFIX}SIMULATION": "1",
        f"{PREFIX}HOST_MIN_DELAY_MS": DEMO_DELAY_MS,
        "DAGSTER_HOME": str(dagster_home()),
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "PYTHONWARNINGS": "ignore",
    }


@contextmanager
def _own_environment(folder: Path) -> Iterator[None]:
    """The private server lives below ``folder``, whatever database the caller has named."""
    urls = (f"{PREFIX}DATABASE_URL", f"{PREFIX}DAGSTER_DATABASE_URL")
    names = (f"{PREFIX}HOME", *urls, *(f"{url}_FILE" for url in urls))
    before = {name: os.environ.pop(name) for name in names if name in os.environ}
    os.environ[f"{PREFIX}HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(f"{PREFIX}HOME", None)
        os.environ.update(before)


def _register_once(pipeline: CollectionPipeline) -> None:
    """Flags on and the demo's sources, unless an earlier demo has left them."""
    if pipeline.transactions.run(JobSources().all):
        return
    new_sources = [checked_source(source.row, pipeline.gateway) for source in DEMO_SOURCES]
    ids = store_sources(pipeline, new_sources)

    def switching(connection: Connection) -> None:
        now = pipeline.clock.now(connection)
        for flag in (DISPATCH_FLAG, AGGREGATOR_FLAG):
            FeatureFlags().set(connection, flag, enabled=True, by="demo", now=now)
        for source_id, source in zip(ids, DEMO_SOURCES, strict=True):
            if not source.active:
                JobSources().switch(connection, source_id, active=False, now=now)

    pipeline.transactions.run(switching)
