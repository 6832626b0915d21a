"""Which day it is in the simulation.

The day is set from outside, or follows the scenario's base date by the KST calendar of this
machine. Without a base date the first run date that is set becomes day 1.
"""

from dataclasses import dataclass
from datetime import date

from collection_pipeline.simulator.run_days import day_number, kst_today


@dataclass(frozen=True, slots=True)
class Today:
    """A run date and its place in the scenario."""

    run_date: date
    first: date
    day: int


class CalendarHand:
    """Holds the run date; changing it is one assignment, so readers see a whole value."""

    def __init__(self, base_date: date | None) -> None:
        self._base = base_date
        self._provisional = kst_today()
        self._set: date | None = None

    def today(self) -> Today:
        """The current day."""
        return self.on(self._set or kst_today())

    def on(self, run_date: date) -> Today:
        """A given run date's place in the scenario."""
        first = self._base or self._provisional
        return Today(run_date, first, day_number(run_date, first))

    def move_to(self, run_date: date) -> Today:
        """Set the run date."""
        if self._base is None:
            self._base = run_date
        self._set = run_date
        return self.today()
