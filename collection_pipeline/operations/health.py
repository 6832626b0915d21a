"""``GET /healthz``: is the pipeline fit, answered within two seconds whatever hangs.

* ``down`` (503): the queue's database does not answer, or its schema is behind this release.
* ``degraded`` (503): the database is fit, but ticks have stopped although there is work, or
  Dagster's daemon is silent.
* ``ok`` (200): neither. A daemon that is unknown, since Dagster's database is not named, is no
  fault of the pipeline's: ticks tell of it as soon as there is work.

The checks have threads and connections of their own, one each (``SingleFlight``): requests that
hang on the database take nothing from them, and a check that hangs is not asked a second time.
Without the token, where one is needed, only the word is said: it holds no data, and a monitor needs
no secret.
"""

import asyncio
import time
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.operations.access import carries_token
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.daemon import DaemonHeartbeats
from collection_pipeline.operations.health_report import (
    Check,
    Checks,
    CheckState,
    HealthReport,
    HealthStatus,
    report_of,
)
from collection_pipeline.operations.single_flight import SingleFlight
from collection_pipeline.store.migration import SchemaState, known_revisions, schema_state
from collection_pipeline.store.read_only import ReadTerms
from collection_pipeline.store.views.tick_due import (
    STALE_SECONDS,
    TickStanding,
    tick_standing,
)

ANSWER_SECONDS = 1.2
PROBE_TERMS = ReadTerms(statement_seconds=1, connect_seconds=1, socket_seconds=1, pool_size=1)
SILENT = Check(
    state=CheckState.DOWN,
    seconds=None,
    detail=f"The database did not answer within {ANSWER_SECONDS:g} s.",
)
NOT_ASKED = Check(
    state=CheckState.UNKNOWN, seconds=None, detail="Not asked: the database is not fit."
)
NO_DAGSTER = Check(
    state=CheckState.UNKNOWN,
    seconds=None,
    detail="COLLECTION_DAGSTER_DATABASE_URL is not set, so the daemon cannot be seen.",
)


@dataclass(frozen=True)
class _QueueChecks:
    database: Check
    migrations: Check
    last_tick: Check


class HealthChecks:
    """Asks both databases, each in a thread of its own; ``close`` ends them."""

    def __init__(self, context: OperationsContext) -> None:
        # Read now: the first check has a second, on a machine that may be busy.
        known_revisions()
        self._context = context
        self._probe = context.database.with_terms(PROBE_TERMS)
        self._queue = SingleFlight("health-queue", self._ask_queue)
        self._daemon = SingleFlight("health-daemon", self._ask_daemon)

    async def report(self) -> HealthReport:
        """Every check, within ``ANSWER_SECONDS``."""
        queue, daemon = await asyncio.gather(
            self._queue.answer(ANSWER_SECONDS), self._daemon.answer(ANSWER_SECONDS)
        )
        queue = queue or _QueueChecks(SILENT, NOT_ASKED, NOT_ASKED)
        return report_of(
            Checks(
                database=queue.database,
                migrations=queue.migrations,
                lastTick=queue.last_tick,
                daemon=daemon or _silent_daemon("did not answer in time"),
            )
        )

    def close(self) -> None:
        """Ask nothing more, and give the connections back."""
        self._queue.close()
        self._daemon.close()
        self._probe.close()

    def _ask_queue(self) -> _QueueChecks:
        began = time.monotonic()
        try:
            schema = self._probe.read(schema_state)
            seconds = round(time.monotonic() - began, 3)
            last_tick = self._probe.read(self._last_tick) if schema.is_current else NOT_ASKED
        except DatabaseUnavailable as error:
            detail = f"{str(error)[:1].upper()}{str(error)[1:]}."
            return _QueueChecks(
                Check(state=CheckState.DOWN, seconds=None, detail=detail), NOT_ASKED, NOT_ASKED
            )
        except Exception as error:
            detail = f"Asking the database met an unexpected {type(error).__name__}."
            return _QueueChecks(
                Check(state=CheckState.DOWN, seconds=None, detail=detail), NOT_ASKED, NOT_ASKED
            )
        answered = Check(
            state=CheckState.OK, seconds=seconds, detail=f"The database answered in {seconds:g} s."
        )
        return _QueueChecks(answered, _migrations(schema), last_tick)

    def _last_tick(self, connection: Connection) -> Check:
        now = self._context.clock.now(connection)
        return _tick_check(
            tick_standing(connection, now, self._context.settings, self._context.platforms)
        )

    def _ask_daemon(self) -> Check:
        heartbeats = self._context.daemon
        if heartbeats is None:
            return NO_DAGSTER
        try:
            return _daemon_check(heartbeats)
        except DatabaseUnavailable as error:
            return _silent_daemon(f"cannot be asked: {error}")
        except Exception as error:
            return _silent_daemon(f"met an unexpected {type(error).__name__}")


def health_router(health: HealthChecks, token: str | None) -> APIRouter:
    """``/healthz``, open to everybody; the checks only to who carries the token."""
    router = APIRouter(tags=["monitoring"])

    @router.get(
        "/healthz",
        summary="Whether the pipeline is fit",
        description="200 when it is ok, 503 when it is degraded or down; answers within 2 s.",
        response_model=HealthReport,
        responses={503: {"model": HealthReport, "description": "Degraded or down"}},
        operation_id="health",
    )
    async def healthz(request: Request) -> Response:
        report = await health.report()
        is_ok = report.status is HealthStatus.OK
        if not carries_token(request.headers, token):
            report = HealthReport(status=report.status)
        return Response(
            report.model_dump_json(exclude_unset=True),
            HTTPStatus.OK if is_ok else HTTPStatus.SERVICE_UNAVAILABLE,
            media_type="application/json",
        )

    return router


def _migrations(schema: SchemaState) -> Check:
    if schema.is_current:
        said = f"The schema is at revision {schema.current}."
        return Check(state=CheckState.OK, seconds=None, detail=said)
    said = (
        f"The schema is at revision {schema.current or 'none'}, this release needs "
        f"{schema.expected}: run 'collection-pipeline db migrate'."
    )
    return Check(state=CheckState.BEHIND, seconds=None, detail=said)


def _tick_check(standing: TickStanding) -> Check:
    age, overdue = standing.seconds_since_tick, standing.overdue
    last = "No tick has ever begun" if age is None else f"The newest tick began {age:.0f} s ago"
    if overdue is not None:
        return Check(state=CheckState.STALE, seconds=age, detail=f"{last}, although {overdue}.")
    return Check(state=CheckState.OK, seconds=age, detail=f"{last}; nothing waits for one.")


def _daemon_check(heartbeats: DaemonHeartbeats) -> Check:
    ages = heartbeats.read()
    if ages.never_seen:
        said = f"No heartbeat of {', '.join(ages.never_seen)} was ever seen."
        return Check(state=CheckState.STALE, seconds=None, detail=said)
    age = round(max(0.0, ages.oldest or 0.0), 3)
    is_stale = age > STALE_SECONDS
    said = f"The daemon's oldest heartbeat is {age:.0f} s old."
    return Check(state=CheckState.STALE if is_stale else CheckState.OK, seconds=age, detail=said)


def _silent_daemon(said: str) -> Check:
    return Check(state=CheckState.STALE, seconds=None, detail=f"Dagster's database {said}.")
