"""What ``/healthz`` says: one word for all, and per check a state, a number and a sentence."""

from enum import StrEnum

from pydantic import BaseModel, Field


class HealthStatus(StrEnum):
    """The word for the whole pipeline; only ``ok`` is answered with 200."""

    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


class CheckState(StrEnum):
    """The state of one check. ``unknown``: it could not be asked."""

    OK = "ok"
    STALE = "stale"
    BEHIND = "behind"
    DOWN = "down"
    UNKNOWN = "unknown"


class Check(BaseModel):
    """One check."""

    state: CheckState
    seconds: float | None = Field(
        description="database: how long it took to answer. lastTick: since the newest tick began. "
        "daemon: since the heartbeat of the daemon that has been silent for longest."
    )
    detail: str = Field(description="A sentence for people.")


class Checks(BaseModel):
    """Every check."""

    database: Check
    migrations: Check
    lastTick: Check
    daemon: Check


class HealthReport(BaseModel):
    """``checks`` is left out where the request does not carry the token that the service needs."""

    status: HealthStatus
    checks: Checks | None = None


def report_of(checks: Checks) -> HealthReport:
    """The word that follows from the checks."""
    if {checks.database.state, checks.migrations.state} != {CheckState.OK}:
        status = HealthStatus.DOWN
    elif CheckState.STALE in {checks.lastTick.state, checks.daemon.state}:
        status = HealthStatus.DEGRADED
    else:
        status = HealthStatus.OK
    return HealthReport(status=status, checks=checks)
