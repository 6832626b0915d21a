"""The postings of one search key, and the shelf of all catalogues.

Invariant: an id belongs to one catalogue of its platform and never to another posting. Facts and
rendered rows are made once and kept, so a list page costs a slice and a JSON dump.
"""

import hashlib
from collections.abc import Callable, Sequence
from datetime import date
from threading import RLock
from typing import Any
from uuid import UUID

from collection_pipeline.simulator.lifecycle import DayState, Lifecycle
from collection_pipeline.simulator.posting_facts import PostingFacts, draw_posting
from collection_pipeline.simulator.run_days import MINUTES_PER_DAY
from collection_pipeline.simulator.scenario import Scenario, SourceRule

Row = dict[str, Any]

SERIALS_PER_CATALOGUE = 100_000
FIRST_LATE_SERIAL = 90_000  # born while a list is being read (fault `shifting`)
SLOTS = 9_000
GREENHOUSE_FLOOR = 4_300_000_000  # Greenhouse ids do not fit 32 bits
OLDEST_MINUTES = 30 * MINUTES_PER_DAY
FIRST_POST_OF_DAY = 8 * 60


class Catalogue:
    """All postings that one (platform, key) ever serves."""

    def __init__(self, rule: SourceRule, seed: int, slot: int) -> None:
        self.rule = rule
        self.platform = rule.platform
        self.key = rule.key
        self._seed = f"{seed}|{rule.platform}|{rule.key}"
        self._first_number = slot * SERIALS_PER_CATALOGUE
        if rule.platform == "greenhouse":
            self._first_number += GREENHOUSE_FLOOR
        self._life = Lifecycle(rule.count, rule.changes, self._seed)
        self._facts: dict[tuple[int, int], PostingFacts] = {}
        self._rows: dict[tuple[str, int, int, date], Row] = {}
        self._serials = {self.id_of(serial): serial for serial in range(rule.count)}
        self._registered = rule.count

    def id_of(self, serial: int) -> str:
        """The platform's id as text: a uuid for Lever, else the decimal number."""
        if self.platform != "lever":
            return str(self._first_number + serial)
        digest = hashlib.sha256(f"{self._seed}|{serial}".encode()).digest()
        return str(UUID(bytes=digest[:16], version=4))

    def state(self, day: int) -> DayState:
        """The living postings of a day."""
        state = self._life.state(day)
        for serial in range(self._registered, state.born):
            self._serials[self.id_of(serial)] = serial
        self._registered = max(self._registered, state.born)
        return state

    def ids(self, day: int) -> list[str]:
        """The ids in list order, newest first."""
        return [self.id_of(serial) for serial in self.state(day).order]

    def serial(self, posting_id: str) -> int | None:
        """The serial behind an id, whether alive or gone; None for a foreign id."""
        return self._serials.get(posting_id)

    def facts(self, serial: int, day: int) -> PostingFacts:
        """The facts of a posting as they read on a day."""
        state = self.state(day)
        version = state.versions.get(serial, 0)
        known = self._facts.get((serial, version))
        if known is None:
            posting_id = self.id_of(serial)
            self._serials.setdefault(posting_id, serial)
            known = draw_posting(
                self._seed,
                serial,
                self._first_number + serial,
                posting_id,
                version,
                self._posted_minutes(serial, state),
            )
            self._facts[(serial, version)] = known
        return known

    def rows(
        self,
        form: str,
        serials: Sequence[int],
        day: int,
        first: date,
        render: Callable[[PostingFacts, date], Row],
    ) -> list[Row]:
        """The rendered rows; shared, so a caller that changes one copies it before."""
        found = []
        for serial in serials:
            facts = self.facts(serial, day)
            place = (form, serial, facts.version, first)
            row = self._rows.get(place)
            if row is None:
                row = self._rows[place] = render(facts, first)
            found.append(row)
        return found

    def late_serials(self, amount: int) -> list[int]:
        """Postings born while the list is read, newest first."""
        newest = min(FIRST_LATE_SERIAL + amount, SERIALS_PER_CATALOGUE) - 1
        return list(range(newest, FIRST_LATE_SERIAL - 1, -1))

    def _posted_minutes(self, serial: int, state: DayState) -> int:
        count = self.rule.count
        if serial < count:
            step = max(1, OLDEST_MINUTES // max(count, 1))
            return FIRST_POST_OF_DAY - 60 - (count - 1 - serial) * step
        day = state.born_days.get(serial, 1)
        return (day - 1) * MINUTES_PER_DAY + FIRST_POST_OF_DAY + serial % 600


class CatalogueShelf:
    """All catalogues of a scenario, made on first use; numbered slots keep their ids apart."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._found: dict[tuple[str, str], Catalogue] = {}
        self._slots: dict[str, set[int]] = {}
        self._lock = RLock()
        for rule in scenario.sources:
            self._put(rule)

    def find(self, platform: str, key: str) -> Catalogue | None:
        """The catalogue of a key; None when the scenario knows no such key."""
        with self._lock:
            known = self._found.get((platform, key))
            if known is None:
                rule = self._scenario.rule_for(platform, key)
                known = self._put(rule) if rule else None
            return known

    def holder(self, platform: str, posting_id: str, day: int) -> Catalogue | None:
        """The catalogue that an id belongs to by that day, among those made so far."""
        for catalogue in self.all():
            if catalogue.platform == platform:
                catalogue.state(day)
                if catalogue.serial(posting_id) is not None:
                    return catalogue
        return None

    def all(self) -> list[Catalogue]:
        """Every catalogue made so far, in order of making."""
        with self._lock:
            return list(self._found.values())

    def _put(self, rule: SourceRule) -> Catalogue:
        taken = self._slots.setdefault(rule.platform, set())
        digest = hashlib.sha256(f"{rule.platform}|{rule.key}".encode()).digest()
        slot = 1_000 + int.from_bytes(digest[:4]) % SLOTS
        while slot in taken:
            slot = 1_000 + (slot - 999) % SLOTS
        taken.add(slot)
        made = Catalogue(rule, self._scenario.seed, slot)
        self._found[(rule.platform, rule.key)] = made
        return made
