"""The simulator as a process of its own, and a pipeline with sources that it serves."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.collection.registration import checked_source, store_sources
from collection_pipeline.store.flags import FeatureFlags
from collection_pipeline.store.migration import migrate
from collection_pipeline.store.runnable import AGGREGATOR_FLAG, DISPATCH_FLAG


@contextmanager
def simulator() -> Iterator[dict[str, str]]:
    """The simulator as a process of its own; its exports."""
    with simulator_process() as (_, exports):
        yield exports


@contextmanager
def simulator_process() -> Iterator[tuple[int, dict[str, str]]]:
    """The same, and its process id."""
    command = [sys.executable, "-m", "collection_pipeline.simulator", "--separate-ports"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            exports: dict[str, str] = {}
            while "COLLECTION_SARAMIN_ACCESS_KEY" not in exports:
                name, _, value = process.stdout.readline().removeprefix("export ").partition("=")
                exports[name] = value.strip()
            yield process.pid, exports
        finally:
            process.terminate()


@contextmanager
def registered(pipeline: CollectionPipeline, keywords: list[str]) -> Iterator[CollectionPipeline]:
    """The pipeline over a migrated database with one Saramin source a keyword, flags on."""
    try:
        migrate(pipeline.engine)
        _register(pipeline, keywords)
        yield pipeline
    finally:
        pipeline.close()


def _register(pipeline: CollectionPipeline, keywords: list[str]) -> None:
    rows = [
        {"platform": "saramin", "label": word, "condition": {"keywords": word}} for word in keywords
    ]
    store_sources(pipeline, [checked_source(row, pipeline.gateway) for row in rows])

    def switching(connection: Connection) -> None:
        now = pipeline.clock.now(connection)
        for flag in (DISPATCH_FLAG, AGGREGATOR_FLAG):
            FeatureFlags().set(connection, flag, enabled=True, by="benchmark", now=now)

    pipeline.transactions.run(switching)
