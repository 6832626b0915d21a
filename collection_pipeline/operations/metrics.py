"""``GET /metrics`` for Prometheus: what the queue says at the moment of the scrape.

Nothing is counted in this process, so that several services say the same and a restart forgets
nothing. Scrapes share one thread and one connection; a database that does not answer in time is
``collection_database_up 0``, answered with 200, for the monitor must learn of it from here.
"""

import logging
from collections.abc import Callable, Iterable

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection

from collection_pipeline.collection.cleanup import SeenRowCleanup
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.gauges import Reading, database_up, gauges
from collection_pipeline.operations.openapi import problem_answers
from collection_pipeline.operations.single_flight import SingleFlight
from collection_pipeline.store.read_only import ReadTerms
from collection_pipeline.store.transaction import TransactionRunner

ANSWER_SECONDS = 3.0
"""Below the 10 s after which Prometheus gives a scrape up."""
SCRAPE_TERMS = ReadTerms(statement_seconds=2, connect_seconds=2, socket_seconds=3, pool_size=1)
logger = logging.getLogger(__name__)


class MetricsScrape:
    """Answers scrapes; ``close`` ends its thread and its connection."""

    def __init__(self, context: OperationsContext) -> None:
        self._context = context
        self._database = context.database.with_terms(SCRAPE_TERMS)
        self._cleanup = SeenRowCleanup(
            TransactionRunner(self._database.engine), context.clock, context.settings
        )
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_QueueCollector(self._read))
        self._flight = SingleFlight("metrics", lambda: generate_latest(registry))

    async def text(self) -> bytes:
        """The exposition, within ``ANSWER_SECONDS``."""
        found = await self._flight.answer(ANSWER_SECONDS)
        return _without_database() if found is None else found

    def close(self) -> None:
        """Scrape nothing more, and give the connection back."""
        self._flight.close()
        self._database.close()

    def _read(self) -> list[Metric]:
        def reading(connection: Connection) -> list[Metric]:
            context = self._context
            now = context.clock.now(connection)
            return gauges(
                Reading(
                    connection,
                    now,
                    context.settings,
                    context.platforms,
                    self._cleanup.count_overdue,
                )
            )

        try:
            return [database_up(1), *self._database.read(reading)]
        except DatabaseUnavailable as error:
            logger.warning("metrics: %s", error)
        except Exception as error:
            logger.error("metrics: unexpected %s", type(error).__name__)
        return [database_up(0)]


class _QueueCollector(Collector):
    def __init__(self, read: Callable[[], list[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Everything, read now."""
        return self._read()


class _NoDatabase(Collector):
    def collect(self) -> Iterable[Metric]:
        """Only that there is none."""
        return [database_up(0)]


def metrics_router(metrics: MetricsScrape) -> APIRouter:
    """``/metrics``."""
    router = APIRouter(tags=["monitoring"])

    @router.get(
        "/metrics",
        summary="Gauges for Prometheus",
        description="Answers within 4 s; `collection_database_up 0` when the database does not.",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
            **problem_answers(500),
        },
        operation_id="metrics",
    )
    async def scrape() -> Response:
        return Response(await metrics.text(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return router


def _without_database() -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_NoDatabase())
    return generate_latest(registry)
