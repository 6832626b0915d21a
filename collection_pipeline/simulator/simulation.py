"""Everything that a simulator knows: the scenario's world, the faults and the log.

A new scenario replaces the world in one assignment; a request works with the world it began with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from collection_pipeline.simulator.calendar_hand import CalendarHand, Today
from collection_pipeline.simulator.catalogue import Catalogue, CatalogueShelf
from collection_pipeline.simulator.fault_plan import Fault, FaultBoard, parse_fault
from collection_pipeline.simulator.greenhouse import Greenhouse
from collection_pipeline.simulator.jumpit import Jumpit
from collection_pipeline.simulator.lever import Lever
from collection_pipeline.simulator.library_columns import Row
from collection_pipeline.simulator.library_register import LibraryRegister
from collection_pipeline.simulator.library_rule import LIBRARY
from collection_pipeline.simulator.messages import Request
from collection_pipeline.simulator.questions import Question, Site
from collection_pipeline.simulator.request_log import RequestLog
from collection_pipeline.simulator.saramin import Saramin
from collection_pipeline.simulator.scenario import Scenario
from collection_pipeline.simulator.wanted import Wanted


@dataclass(frozen=True, slots=True)
class World:
    """One scenario at work."""

    scenario: Scenario
    shelf: CatalogueShelf
    sites: tuple[Site, ...]
    calendar: CalendarHand
    library: LibraryRegister

    def ask(self, request: Request) -> tuple[Site, Question] | None:
        """The platform that the request is for, and what it asks."""
        for site in self.sites:
            question = site.ask(request)
            if question is not None:
                return site, question
        return None

    def resolve(self, question: Question, day: int) -> tuple[str | None, Catalogue | None]:
        """The search key and its catalogue: the first known key, else the most specific one."""
        for key in question.keys:
            catalogue = self.shelf.find(question.platform, key)
            if catalogue is not None:
                return key, catalogue
        if question.item_id is None or question.platform in ("greenhouse", "lever"):
            return (question.keys[0] if question.keys else None), None
        catalogue = self.shelf.holder(question.platform, question.item_id, day)
        return (catalogue.key if catalogue else None), catalogue


class Simulation:
    """The state that the platforms, the admin interface and the Python interface share."""

    def __init__(
        self, scenario: Scenario, log: RequestLog, library_rows: Sequence[Row] | None = None
    ) -> None:
        self._library_rows = library_rows
        self.faults = FaultBoard()
        self.log = log
        self.addresses: dict[str, str] = {}
        self.world = self._start(scenario)

    def load(self, scenario: Scenario) -> None:
        """Replace the scenario and the faults; the keys stay, since the log hides those.

        Raises FaultError for a fault that is not usable, before anything is replaced.
        """
        for document in scenario.faults:
            parse_fault(document)
        self.faults.clear()
        before = self.world.scenario
        library = replace(scenario.library, service_key=before.library.service_key)
        self.world = self._start(replace(scenario, access_key=before.access_key, library=library))

    def move_to(self, run_date: date) -> Today:
        """Set the run date."""
        return self.world.calendar.move_to(run_date)

    def add_faults(self, documents: Iterable[Mapping[str, Any]]) -> list[int]:
        """Switch faults on; all are read before the first is added."""
        parsed: list[Fault] = [parse_fault(document) for document in documents]
        return [self.faults.add(fault) for fault in parsed]

    def catalogue(self, platform: str, key: str, run_date: date | None) -> dict[str, Any] | None:
        """What a key serves on a day (today by default); None for a key that is not known."""
        today = self.world.calendar.today()
        if run_date is not None:
            today = self.world.calendar.on(run_date)
        if platform == LIBRARY:
            return self.world.library.document(today)
        catalogue = self.world.shelf.find(platform, key)
        if catalogue is None:
            return None
        state = catalogue.state(today.day)
        closed = catalogue.rule.closed_rows
        return {
            "platform": platform,
            "key": key,
            "run_date": today.run_date.isoformat(),
            "day": today.day,
            "count": len(state.order),
            "ids": [catalogue.id_of(serial) for serial in state.order],
            "gone": [catalogue.id_of(serial) for serial in state.gone],
            "edited": [catalogue.id_of(serial) for serial in sorted(state.versions)],
            "inactive": [catalogue.id_of(serial) for serial in state.order if serial < closed],
        }

    def warm(self) -> None:
        """Draw every posting of the scenario once, so that no first page is slower."""
        day = self.world.calendar.today().day
        for catalogue in self.world.shelf.all():
            for serial in catalogue.state(day).order:
                catalogue.facts(serial, day)

    def _start(self, scenario: Scenario) -> World:
        sites: tuple[Site, ...] = (
            Wanted(scenario.wanted_over_limit),
            Saramin(scenario.access_key),
            Jumpit(),
            Greenhouse(),
            Lever(),
        )
        self.add_faults(scenario.faults)
        calendar = CalendarHand(scenario.base_date)
        library = LibraryRegister(scenario.library, scenario.seed, self._library_rows)
        return World(scenario, CatalogueShelf(scenario), sites, calendar, library)
