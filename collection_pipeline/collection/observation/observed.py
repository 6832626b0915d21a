"""What one observation check found, as a value (R45)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import Connection

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock

RUNBOOK = "docs/runbook.md"
MOST_NAMED = 5
Number = str | int | float


class ObservationState(StrEnum):
    """ALARM wants somebody to act, WARNING to look; UNKNOWN could not be judged."""

    OK = "OK"
    WARNING = "WARNING"
    ALARM = "ALARM"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class Observation:
    """``sentence`` is for people, ``numbers`` are for programs; their units are in their names.

    ``is_answered`` is False where the database did not answer the check's question.
    """

    name: str
    state: ObservationState
    sentence: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    is_answered: bool = True

    @property
    def runbook(self) -> str:
        """Where it is written what this means and what to type."""
        return f"{RUNBOOK}#{self.name}"


@dataclass(frozen=True)
class Asked:
    """What a check is asked with; ``now`` is naive UTC by the database's clock."""

    connection: Connection
    now: datetime
    clock: DatabaseClock
    settings: Settings
    platforms: Collection[str]

    @property
    def today(self) -> date:
        """The KST day."""
        return run_date_of(self.now)


Check = Callable[[Asked], Observation]


def alarm_if(
    is_wrong: bool, name: str, sentence: str, numbers: Mapping[str, Number]
) -> Observation:
    """ALARM or OK."""
    state = ObservationState.ALARM if is_wrong else ObservationState.OK
    return Observation(name, state, sentence, numbers)


def some(ids: Iterable[object]) -> str:
    """The first few of a list, in words."""
    named = [str(one) for one in ids]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return ", ".join(named[:MOST_NAMED]) + more
