"""The day's calls of an access key, counted before they are made (R9, R20).

Invariant: the count never exceeds the quota, however many processes take calls at once, and is
never below the calls that were sent. A call that was taken and then not sent stays counted.
"""

from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.domain.key_quota import KeyQuota
from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.store.schema.cycles import platform_key_quotas as quotas

_COUNT = (
    "UPDATE platform_key_quotas SET used_count = used_count + 1, updated_at = %s "
    "WHERE key_fingerprint = %s AND quota_date = %s AND used_count < %s"
)


def take_call(connection: Connection, quota: KeyQuota, now: datetime) -> bool:
    """Count one call for the KST day of ``now`` (naive UTC); False when none is left.

    Run twice after a lost COMMIT it counts twice.
    """
    if _counted(connection, quota, now):
        return True
    # No row yet, or none left; the day's row is made so that two first calls wait for each other.
    adding = insert(quotas).values(
        key_fingerprint=quota.fingerprint,
        quota_date=run_date_of(now),
        platform=quota.platform,
        used_count=0,
        updated_at=now,
    )
    connection.execute(
        adding.on_duplicate_key_update(key_fingerprint=adding.inserted.key_fingerprint)
    )
    return _counted(connection, quota, now)


def _counted(connection: Connection, quota: KeyQuota, now: datetime) -> bool:
    """One conditional statement: the comparison and the count are under the row's lock."""
    parameters = (now, quota.fingerprint, run_date_of(now), quota.daily_calls)
    return connection.exec_driver_sql(_COUNT, parameters).rowcount == 1
