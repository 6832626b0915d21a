"""Asks every observation check, each by itself: one that is not answered hides no other (R45).

Everything is read through connections that cannot write and whose statements the server ends when
they take too long. What Dagster shows and what ``doctor`` prints come from here.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.collection.observation import (
    machine_checks,
    morning_checks,
    queue_checks,
    source_checks,
)
from collection_pipeline.collection.observation.observed import (
    Asked,
    Check,
    Observation,
    ObservationState,
)
from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.store.daemon_heartbeats import daemon_ages
from collection_pipeline.store.migration import SchemaState, schema_state
from collection_pipeline.store.read_only import ReadOnlyDatabase, ReadTerms
from collection_pipeline.store.table_sizes import keep_sizes

TERMS = ReadTerms(statement_seconds=5, connect_seconds=2, socket_seconds=8, pool_size=1)
NAMES = (
    morning_checks.CAPTURED,
    morning_checks.BEFORE_NOTIFICATION,
    queue_checks.TICKS,
    queue_checks.STUCK_LEASE,
    queue_checks.SEEN_ROWS,
    source_checks.BOARDS,
    source_checks.INTERVALS,
    source_checks.BROKEN,
    source_checks.CONFIRMED,
    machine_checks.DAEMON,
    machine_checks.SCHEMA,
    machine_checks.CLOCKS,
    machine_checks.GROWTH,
)
"""Every check, in the order in which they are shown."""


class ObservationChecks:
    """The checks over one queue's database and, where it is known, Dagster's."""

    def __init__(
        self,
        pipeline: CollectionPipeline,
        queue: ReadOnlyDatabase,
        dagster: ReadOnlyDatabase | None,
        read_host: Callable[[], datetime] = machine_checks.host_time,
    ) -> None:
        self._pipeline = pipeline
        self._queue = queue
        self._dagster = dagster
        self._checks: dict[str, Check] = {
            morning_checks.CAPTURED: morning_checks.snapshot_captured,
            morning_checks.BEFORE_NOTIFICATION: morning_checks.snapshot_before_notification,
            queue_checks.TICKS: queue_checks.ticks_on_time,
            queue_checks.STUCK_LEASE: queue_checks.no_stuck_lease,
            queue_checks.SEEN_ROWS: self._seen_rows,
            source_checks.BOARDS: source_checks.boards_fit_budget,
            source_checks.INTERVALS: source_checks.host_intervals_kept,
            source_checks.BROKEN: source_checks.no_broken_source,
            source_checks.CONFIRMED: source_checks.open_postings_confirmed,
            machine_checks.CLOCKS: partial(machine_checks.clocks_agree, read_host=read_host),
            machine_checks.GROWTH: machine_checks.tables_grow_slowly,
        }

    def observe(self) -> list[Observation]:
        """Every check once, in the order of ``NAMES``.

        Raises ``DatabaseUnavailable`` when the queue's database cannot be asked at all.
        """
        schema = self._queue.read(schema_state)
        return [self._observed(name, schema) for name in NAMES]

    def observe_one(self, name: str) -> Observation:
        """One check; raises as ``observe`` does."""
        return self._observed(name, self._queue.read(schema_state))

    def keep_sizes(self) -> bool:
        """Keep the day's table sizes, from which later days tell growth; whether it kept any."""

        def keeping(connection: Connection) -> bool:
            return keep_sizes(connection, self._pipeline.clock.today(connection))

        return self._pipeline.transactions.run(keeping)

    def _observed(self, name: str, schema: SchemaState) -> Observation:
        if name == machine_checks.SCHEMA:
            return machine_checks.schema_current(schema)
        if name == machine_checks.DAEMON:
            return self._daemon()
        if not schema.is_current:
            words = "not asked: the schema is behind this release"
            return Observation(name, ObservationState.UNKNOWN, words)
        try:
            return self._queue.read(lambda connection: self._checks[name](self._asked(connection)))
        except DatabaseUnavailable as error:
            words = f"the check was not answered: {error}"
            return Observation(name, ObservationState.UNKNOWN, words, is_answered=False)

    def _asked(self, connection: Connection) -> Asked:
        pipeline = self._pipeline
        return Asked(
            connection,
            pipeline.clock.now(connection),
            pipeline.clock,
            pipeline.settings,
            pipeline.gateway.platforms,
        )

    def _seen_rows(self, asked: Asked) -> Observation:
        return queue_checks.seen_rows_observation(
            self._pipeline.cleanup.count_overdue(asked.connection)
        )

    def _daemon(self) -> Observation:
        if self._dagster is None:
            return machine_checks.NO_DAGSTER
        try:
            return machine_checks.daemon_alive(self._dagster.read(daemon_ages))
        except DatabaseUnavailable as error:
            return machine_checks.daemon_silent(str(error))


@contextmanager
def opened_checks(
    pipeline: CollectionPipeline,
    database_url: str,
    dagster_url: str | None,
    read_host: Callable[[], datetime] = machine_checks.host_time,
) -> Iterator[ObservationChecks]:
    """The checks through connections of their own, which are given back at the end."""
    with ExitStack() as opened:
        queue = ReadOnlyDatabase(database_url, TERMS)
        opened.callback(queue.close)
        dagster = None
        if dagster_url is not None:
            dagster = ReadOnlyDatabase(dagster_url, TERMS)
            opened.callback(dagster.close)
        yield ObservationChecks(pipeline, queue, dagster, read_host)


def worst_state(observations: list[Observation]) -> ObservationState:
    """The state of the whole: an alarm outweighs what is unknown, that outweighs a warning."""
    order = (ObservationState.ALARM, ObservationState.UNKNOWN, ObservationState.WARNING)
    states = {one.state for one in observations}
    return next((state for state in order if state in states), ObservationState.OK)
