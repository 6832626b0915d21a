"""Where the service's own morning alerts start: one function, after the header is final (R40).

``COLLECTION_MORNING_HOOK=package.module:function`` names it. The job ``morning_alerts`` calls it
once a snapshot date, for CAPTURED, MISSED and NOT_APPLICABLE alike, with the snapshot as it was
stored; nothing in it was read from a cycle. For example, in a module of the service::

    def send_job_alerts(morning: MorningSnapshot) -> None:
        if morning.status is not CaptureStatus.CAPTURED:
            return alert_desk.hold_back(morning.snapshot_date, morning.miss_reason)
        ready = [item.job_source_id for item in morning.items if not item.close_guarded]
        alert_desk.send(morning.snapshot_date, ready, late=morning.late_count)

An exception that it raises fails the run, is noted like every failed run, and is not tried again by
itself; "re-execute" in the UI calls it again for the same date, so it should be idempotent by date.
A date can be days old when Dagster was stopped meanwhile: the function decides what that means.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import cast

from sqlalchemy import Connection

from collection_pipeline.domain.kst import KST
from collection_pipeline.domain.snapshot import (
    CaptureStatus,
    SnapshotHeader,
    SnapshotItem,
    late_count,
)
from collection_pipeline.settings import PREFIX, InvalidSetting
from collection_pipeline.store.snapshots import SlaSnapshots

VARIABLE = f"{PREFIX}MORNING_HOOK"


@dataclass(frozen=True)
class MorningSnapshot:
    """A final snapshot. ``captured_at`` is aware, in KST.

    ``late_count`` is ``None`` and ``items`` is empty unless the status is CAPTURED (R42);
    ``miss_reason`` says why a day is MISSED or NOT_APPLICABLE.
    """

    snapshot_date: date
    status: CaptureStatus
    captured_at: datetime | None
    miss_reason: str | None
    late_count: int | None
    items: tuple[SnapshotItem, ...]


MorningHook = Callable[[MorningSnapshot], object]


class WrongMorningHook(InvalidSetting):
    """``COLLECTION_MORNING_HOOK`` names nothing that can be called."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{VARIABLE}={name}: {problem}")


class SnapshotNotFinal(Exception):
    """Alerts were asked for a day whose header may still change, or was never made."""

    def __init__(self, day: date, status: CaptureStatus) -> None:
        super().__init__(
            f"the snapshot of {day} is {status.value}: morning alerts start when it is final"
        )


def load_hook(name: str) -> MorningHook:
    """The function called ``name`` (``package.module:function``); raises ``WrongMorningHook``."""
    module_name, _, function_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        # Only its kind: what a foreign module says when it is loaded may hold anything.
        raise WrongMorningHook(
            name, f"the module {module_name!r} cannot be imported ({type(error).__name__})"
        ) from None
    hook = getattr(module, function_name, None)
    if not callable(hook):
        raise WrongMorningHook(name, f"{module_name} has no function {function_name!r}")
    return cast(MorningHook, hook)


def morning_snapshot(connection: Connection, day: date) -> MorningSnapshot:
    """``day``'s snapshot by plain reads; raises ``SnapshotNotFinal``."""
    snapshots = SlaSnapshots()
    header = snapshots.header(connection, day)
    if header is None:
        raise SnapshotNotFinal(day, CaptureStatus.UNAVAILABLE)
    if not header.status.is_final:
        raise SnapshotNotFinal(day, header.status)
    return _morning(header, snapshots.items(connection, header.snapshot_id))


def _morning(header: SnapshotHeader, items: list[SnapshotItem]) -> MorningSnapshot:
    captured_at = header.captured_at
    return MorningSnapshot(
        header.snapshot_date,
        header.status,
        captured_at.replace(tzinfo=UTC).astimezone(KST) if captured_at else None,
        header.miss_reason,
        late_count(header.status, items),
        tuple(items),
    )
