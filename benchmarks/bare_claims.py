"""What a claim would be without the pipeline: hand-written SQL on the plain driver, two forms.

``PlainClaims`` takes the longest waiting cycle and nothing else: three statements and a COMMIT, no
gate, no switch, no limit of a host, no clock of its own. ``GuardedClaims`` is the least SQL that
gives what a claim of the pipeline gives (R5, R13, R15, R44): the gate, the host's turn and its
limit, a runnable source, no other date of it RUNNING, and the clock after the locks.
"""

import uuid
from datetime import date, datetime, timedelta

import pymysql
from sqlalchemy.engine import make_url

LEASE = timedelta(minutes=10)
KST = timedelta(hours=9)
PLAIN_CANDIDATE = (
    "SELECT id FROM job_posting_collection_cycles FORCE INDEX (ix_cycles_ready)"
    " WHERE cycle_status = 'PENDING' AND run_date = %s AND next_eligible_at <= UTC_TIMESTAMP(6)"
    " ORDER BY next_eligible_at, id LIMIT 1"
)
LOCK_CYCLE = (
    "SELECT * FROM job_posting_collection_cycles WHERE id = %s AND cycle_status = 'PENDING'"
    " FOR UPDATE SKIP LOCKED"
)
TAKE_CYCLE = (
    "UPDATE job_posting_collection_cycles SET cycle_status = 'RUNNING', lease_token = %s,"
    " lease_owner = 'bare', lease_until = %s, started_at = %s, updated_at = %s WHERE id = %s"
)
NOW = "SELECT UTC_TIMESTAMP(6), (SELECT offset_microseconds FROM simulation_clock WHERE id = 1)"
RUNNABLE = (
    " s.active = 1 AND s.platform IN ('greenhouse', 'jumpit', 'lever', 'saramin', 'wanted')"
    " AND EXISTS (SELECT 1 FROM feature_flags WHERE name = 'posting.collection-dispatch-v2'"
    " AND enabled = 1)"
    " AND (s.source_type <> 'AGGREGATOR' OR EXISTS (SELECT 1 FROM feature_flags"
    " WHERE name = 'aggregator.collection' AND enabled = 1))"
    " AND NOT EXISTS (SELECT 1 FROM job_posting_collection_runs AS r"
    " WHERE r.job_source_id = s.id AND r.run_date = %(day)s)"
    " AND NOT EXISTS (SELECT 1 FROM job_posting_collection_cycles AS o"
    " WHERE o.cycle_status = 'RUNNING' AND o.job_source_id = s.id AND o.run_date <> %(day)s)"
)
FIRST_OF_HOST = (
    "SELECT h.host, (SELECT c.next_eligible_at FROM job_posting_collection_cycles AS c"
    " FORCE INDEX (ix_cycles_ready_host) WHERE c.cycle_status = 'PENDING' AND c.run_date = %(day)s"
    " AND c.request_host = h.host ORDER BY c.request_host, c.next_eligible_at, c.id LIMIT 1) AS due"
    " FROM collection_host_claims AS h"
    " LEFT JOIN external_request_host_limits AS l ON l.host = h.host"
    " WHERE (l.next_allowed_at IS NULL OR l.next_allowed_at <= %(now)s + INTERVAL 5 MINUTE)"
    " AND (SELECT COUNT(*) FROM job_posting_collection_cycles AS r"
    " WHERE r.cycle_status = 'RUNNING' AND r.lease_until > %(now)s AND r.request_host = h.host)"
    " < %(cap)s HAVING due <= %(now)s ORDER BY due LIMIT 1"
)
CANDIDATE_OF_HOST = (
    "SELECT c.id FROM job_posting_collection_cycles AS c FORCE INDEX (ix_cycles_ready_host)"
    " JOIN job_sources AS s ON s.id = c.job_source_id"
    " WHERE c.cycle_status = 'PENDING' AND c.run_date = %(day)s AND c.request_host = %(host)s"
    f" AND c.next_eligible_at <= %(now)s AND {RUNNABLE}"
    " ORDER BY c.next_eligible_at, c.id LIMIT 1"
)
SHARE_GATE = (
    "SELECT id, capture_status FROM job_posting_collection_sla_snapshots"
    " WHERE snapshot_date = %s LOCK IN SHARE MODE"
)
HOSTS_TURN = "SELECT host FROM collection_host_claims WHERE host = %s FOR UPDATE SKIP LOCKED"
CHECK_AGAIN = (
    "SELECT s.*, (SELECT COUNT(*) FROM job_posting_collection_cycles AS r"
    " WHERE r.cycle_status = 'RUNNING' AND r.lease_until > %(now)s AND r.request_host = %(host)s)"
    f" AS leases FROM job_sources AS s WHERE s.id = %(source)s AND {RUNNABLE}"
)


class PlainClaims:
    """Queue order and SKIP LOCKED only."""

    def __init__(self, url: str, day: date) -> None:
        self._connection = _connected(url)
        self._day = day

    def claim(self) -> int:
        """The id of the cycle that is RUNNING now."""
        with self._connection.cursor() as cursor:
            cursor.execute(PLAIN_CANDIDATE, (self._day,))
            (cycle_id,) = cursor.fetchone() or (0,)
            cursor.execute(LOCK_CYCLE, (cycle_id,))
            cursor.fetchall()
            now = datetime.now()
            cursor.execute(TAKE_CYCLE, (str(uuid.uuid4()), now + LEASE, now, now, cycle_id))
        self._connection.commit()
        return int(cycle_id)

    def close(self) -> None:
        """Ends the session."""
        self._connection.close()


class GuardedClaims:
    """Everything that a claim of the pipeline checks, in as few statements as it takes."""

    def __init__(self, url: str, day: date, cap: int) -> None:
        self._connection = _connected(url)
        self._day = day
        self._cap = cap

    def claim(self) -> int:
        """The id of the cycle that is RUNNING now."""
        with self._connection.cursor() as cursor:
            now = _now(cursor)
            values: dict[str, object] = {"day": self._day, "cap": self._cap, "now": now}
            cursor.execute(FIRST_OF_HOST, values)
            values["host"] = (cursor.fetchone() or ("",))[0]
            cursor.execute(SHARE_GATE, (self._day,))
            cursor.execute(HOSTS_TURN, (values["host"],))
            cursor.execute(CANDIDATE_OF_HOST, values)
            (cycle_id,) = cursor.fetchone() or (0,)
            cursor.execute(LOCK_CYCLE, (cycle_id,))
            (_, source_id, *_) = cursor.fetchone() or (0, 0)
            now = _now(cursor)
            cursor.execute(CHECK_AGAIN, {**values, "now": now, "source": source_id})
            source = cursor.fetchone()
            if (now + KST).date() != self._day or source is None or source[-1] >= self._cap:
                raise RuntimeError("the bare loop found nothing that it may take")
            cursor.execute(TAKE_CYCLE, (str(uuid.uuid4()), now + LEASE, now, now, cycle_id))
        self._connection.commit()
        return int(cycle_id)

    def close(self) -> None:
        """Ends the session."""
        self._connection.close()


def _plain_connection(database_url: str) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    """PyMySQL without SQLAlchemy, as hand-written code would have it."""
    url = make_url(database_url)
    return pymysql.connect(
        host=url.host or "127.0.0.1",
        port=url.port or 3306,
        user=url.username or "",
        password=url.password or "",
        database=url.database,
        charset="utf8mb4",
        ssl_disabled=True,
    )


def _connected(url: str) -> "pymysql.Connection[pymysql.cursors.Cursor]":
    connection = _plain_connection(url)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    return connection


def _now(cursor: "pymysql.cursors.Cursor") -> datetime:
    cursor.execute(NOW)
    moment, offset = cursor.fetchone() or (None, None)
    assert isinstance(moment, datetime)
    return moment + timedelta(microseconds=offset or 0)
