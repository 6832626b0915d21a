"""Which postings are alive on which day.

Invariant: a serial number is given once, in order of birth; the list is always newest first, so a
day's order is its living serials from high to low. A posting that went away can come back under
the same serial (and so the same id), an edited one keeps its place and raises its version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from threading import Lock

EVERY_DAY = "*"


@dataclass(frozen=True, slots=True)
class DayChange:
    """What happens to a catalogue at the start of one day (numbers of postings)."""

    remove: int = 0
    add: int = 0
    edit: int = 0
    restore: int = 0


@dataclass(frozen=True, slots=True)
class DayState:
    """A catalogue on one day: living serials newest first, the gone ones, versions above 0."""

    order: tuple[int, ...]
    gone: tuple[int, ...]
    versions: Mapping[int, int]
    born: int
    born_days: Mapping[int, int]


NO_CHANGE = DayChange()


class Lifecycle:
    """The states of one catalogue, day after day, from its count and its changes."""

    def __init__(self, count: int, changes: Mapping[str, DayChange], seed: str) -> None:
        self._changes = changes
        self._seed = seed
        self._states = [DayState(tuple(range(count - 1, -1, -1)), (), {}, count, {})]
        self._lock = Lock()

    def state(self, day: int) -> DayState:
        """The state on day `day` (1 is the first); days are computed once, in order."""
        with self._lock:
            while len(self._states) < day:
                self._states.append(self._next(len(self._states) + 1))
            return self._states[day - 1]

    def _next(self, day: int) -> DayState:
        change = self._changes.get(str(day), self._changes.get(EVERY_DAY, NO_CHANGE))
        before = self._states[-1]
        if change == NO_CHANGE:
            return before
        chance = Random(f"{self._seed}|day{day}")
        removed = chance.sample(before.order, min(change.remove, len(before.order)))
        back = chance.sample(before.gone, min(change.restore, len(before.gone)))
        living = (set(before.order) - set(removed)) | set(back)
        edited = chance.sample(sorted(living), min(change.edit, len(living)))
        newborn = range(before.born, before.born + change.add)
        versions = dict(before.versions)
        for serial in edited:
            versions[serial] = versions.get(serial, 0) + 1
        gone = [serial for serial in before.gone if serial not in set(back)] + removed
        born_days = dict(before.born_days) | dict.fromkeys(newborn, day)
        order = tuple(sorted(living | set(newborn), reverse=True))
        return DayState(order, tuple(gone), versions, before.born + change.add, born_days)
