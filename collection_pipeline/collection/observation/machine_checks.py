"""What the pipeline stands on: schema, Dagster's daemon, clocks and growing tables (R15, R34)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, text

from collection_pipeline.collection.observation.observed import (
    Asked,
    Number,
    Observation,
    ObservationState,
    alarm_if,
)
from collection_pipeline.store.daemon_heartbeats import DaemonAges
from collection_pipeline.store.migration import SchemaState
from collection_pipeline.store.table_sizes import earlier_sizes, sizes_now
from collection_pipeline.store.views.tick_due import STALE_SECONDS

SCHEMA = "schema_current"
DAEMON = "daemon_alive"
CLOCKS = "clocks_agree"
GROWTH = "tables_grow_slowly"
CLOCK_READS = 3
CLOCK_WARNING_SECONDS = 5.0
CLOCK_ALARM_SECONDS = 30.0
"""The host's clock starts the capture's run a minute ahead, of which starting needs a part."""
BYTES_A_MB = 1_000_000
_SERVER_TIME = text("SELECT UTC_TIMESTAMP(6)")
NO_DAGSTER = Observation(
    DAEMON,
    ObservationState.UNKNOWN,
    "COLLECTION_DAGSTER_DATABASE_URL is not set, so the daemon cannot be seen",
)


def host_time() -> datetime:
    """This machine's clock, naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def schema_current(schema: SchemaState) -> Observation:
    """Behind this release nothing works; ahead of it everything does (R34)."""
    words = f"the schema is at revision {schema.current}"
    if not schema.is_current:
        words = (
            f"the schema is at revision {schema.current or 'none'}, this release needs "
            f"{schema.expected}: run 'collection-pipeline db migrate'"
        )
    numbers = {"revision": schema.current or "none", "expected_revision": schema.expected}
    return alarm_if(not schema.is_current, SCHEMA, words, numbers)


def daemon_alive(ages: DaemonAges) -> Observation:
    """Without the daemon nothing starts by itself, neither ticks nor the capture."""
    if ages.never_seen:
        words = f"no heartbeat of {', '.join(ages.never_seen)} was ever seen"
        return alarm_if(True, DAEMON, words, {"never_seen": len(ages.never_seen)})
    age = round(max(0.0, ages.oldest or 0.0), 3)
    words = f"the daemon's oldest heartbeat is {age:.0f} s old"
    numbers = {"oldest_heartbeat_seconds": age, "most_seconds": STALE_SECONDS}
    return alarm_if(age > STALE_SECONDS, DAEMON, words, numbers)


def daemon_silent(reason: str) -> Observation:
    """Dagster's database is away, and with it everything that Dagster does."""
    return alarm_if(True, DAEMON, f"Dagster's database cannot be asked: {reason}", {})


def clocks_agree(asked: Asked, read_host: Callable[[], datetime] = host_time) -> Observation:
    """The database decides, but the host starts the runs that it decides about (R15)."""
    offset, precision = min(
        (_measured(asked.connection, read_host) for _ in range(CLOCK_READS)),
        key=lambda measured: measured[1],
    )
    numbers: dict[str, Number] = {
        "offset_seconds": round(offset, 6),
        "precision_seconds": round(precision, 6),
        "alarm_seconds": CLOCK_ALARM_SECONDS,
    }
    if asked.clock.is_simulated(asked.connection):
        words = "the simulated clock is in force, which is no clock of a machine's"
        return Observation(CLOCKS, ObservationState.OK, words, numbers)
    certain = max(0.0, abs(offset) - precision)
    state = ObservationState.OK
    if certain > CLOCK_WARNING_SECONDS:
        is_alarm = certain > CLOCK_ALARM_SECONDS
        state = ObservationState.ALARM if is_alarm else ObservationState.WARNING
    side = "ahead of" if offset >= 0 else "behind"
    words = f"the database's clock is {abs(offset):.3f} s {side} this host's"
    return Observation(CLOCKS, state, words, numbers)


def tables_grow_slowly(asked: Asked) -> Observation:
    """Growth a day since the figure of a week ago, against ``TABLE_GROWTH_ALARM_MB``."""
    now = sizes_now(asked.connection)
    largest = max(now, key=lambda name: now[name])
    most = asked.settings["TABLE_GROWTH_ALARM_MB"]
    numbers: dict[str, Number] = {
        "size_bytes": sum(now.values()),
        "largest_table": largest,
        "largest_table_bytes": now[largest],
        "alarm_mb_a_day": most,
    }
    size = f"the tables hold {sum(now.values()) / BYTES_A_MB:,.0f} MB"
    earlier = earlier_sizes(asked.connection, asked.today)
    if earlier is None:
        words = f"{size}; growth is known from the day after the first figure was kept"
        return Observation(GROWTH, ObservationState.OK, words, numbers)
    # A table that was made since then has no earlier figure, and is no growth of another.
    grown = {name: now[name] - before for name, before in earlier.sizes.items() if name in now}
    days = (asked.today - earlier.day) / timedelta(days=1)
    a_day = sum(grown.values()) / days
    fastest = max(grown, key=lambda name: grown[name], default=largest)
    numbers |= {
        "growth_bytes_a_day": round(a_day),
        "compared_days": round(days),
        "fastest_table": fastest,
        "fastest_table_bytes_a_day": round(grown.get(fastest, 0) / days),
    }
    state = ObservationState.OK
    if a_day >= most * BYTES_A_MB / 2:
        is_alarm = a_day >= most * BYTES_A_MB
        state = ObservationState.ALARM if is_alarm else ObservationState.WARNING
    words = f"{size}, {a_day / BYTES_A_MB:+,.1f} MB a day since {earlier.day}, most in {fastest}"
    return Observation(GROWTH, state, words, numbers)


def _measured(connection: Connection, read_host: Callable[[], datetime]) -> tuple[float, float]:
    """Seconds by which the server is ahead, and how far that may be wrong."""
    before = read_host()
    server: datetime = connection.execute(_SERVER_TIME).scalar_one()
    after = read_host()
    half = (after - before) / 2
    return (server - (before + half)).total_seconds(), abs(half.total_seconds())
