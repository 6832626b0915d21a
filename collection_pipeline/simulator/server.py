"""The simulator as an object: start it in a test, or in a process of its own.

All platforms answer on one port; an EU Lever site answers on a second one. With
`separate_ports` each platform gets a port of its own too, so that a client's per-host rules can be
seen at work.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from collection_pipeline.simulator.admin_desk import PREFIX, AdminDesk
from collection_pipeline.simulator.lever import EU_LISTENER
from collection_pipeline.simulator.library_csv import load_library_csv
from collection_pipeline.simulator.library_desk import LibraryDesk
from collection_pipeline.simulator.library_rule import LIBRARY
from collection_pipeline.simulator.listener import Listener
from collection_pipeline.simulator.messages import Reply, Request
from collection_pipeline.simulator.platform_desk import PlatformDesk
from collection_pipeline.simulator.request_log import RequestLog
from collection_pipeline.simulator.scenario import (
    PLATFORMS,
    Scenario,
    load_scenario,
    parse_scenario,
)
from collection_pipeline.simulator.simulation import Simulation

MAIN_LISTENER = "all"
SERVICE_KEY_NAME = "COLLECTION_LIBRARY_SERVICE_KEY"


class SimulatorServer:
    """A local server for the five platforms and the library register; a context manager.

    `scenario` is a :class:`Scenario`, its JSON form, a file, or the name of a packaged one.
    `access_key` and `service_key` override the scenario's keys, `library_csv` its register.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        scenario: Scenario | Mapping[str, Any] | str | Path | None = None,
        log_path: str | Path | None = None,
        access_key: str | None = None,
        lever_eu_port: int = 0,
        separate_ports: bool = False,
        library_csv: str | Path | None = None,
        service_key: str | None = None,
    ) -> None:
        chosen = _scenario(scenario)
        if access_key is not None:
            chosen = replace(chosen, access_key=access_key)
        if service_key is not None:
            chosen = replace(chosen, library=replace(chosen.library, service_key=service_key))
        library_rows = None if library_csv is None else load_library_csv(Path(library_csv))
        self.access_key = chosen.access_key
        self.service_key = chosen.library.service_key
        log = RequestLog(
            Path(log_path) if log_path is not None else None, self.access_key, self.service_key
        )
        self._simulation = Simulation(chosen, log, library_rows)
        self._platforms = PlatformDesk(self._simulation)
        self._library = LibraryDesk(self._simulation)
        self._admin = AdminDesk(self._simulation)
        ports = {MAIN_LISTENER: port, EU_LISTENER: lever_eu_port}
        if separate_ports:
            ports |= dict.fromkeys((*PLATFORMS, LIBRARY), 0)
        self._listeners = {
            name: Listener(name, host, number, self._answer) for name, number in ports.items()
        }
        self._simulation.addresses = self._addresses()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to serve, in threads of this process."""
        for listener in self._listeners.values():
            listener.start()

    def stop(self) -> None:
        """End every connection, then close the log file."""
        for listener in self._listeners.values():
            listener.stop()
        self._simulation.log.close()

    @property
    def base_url(self) -> str:
        """`http://host:port` of the port that serves all platforms."""
        return self._listeners[MAIN_LISTENER].base_url

    @property
    def lever_eu_base_url(self) -> str:
        """`http://host:port` where Lever's EU sites answer."""
        return self._listeners[EU_LISTENER].base_url

    @property
    def open_connections(self) -> int:
        """How many connections are open now, those with a silent or slow answer too."""
        return sum(listener.open_connections for listener in self._listeners.values())

    def exports(self) -> dict[str, str]:
        """The client's environment: `COLLECTION_<PLATFORM>_BASE_URL`, and the service key."""
        return self._addresses() | {SERVICE_KEY_NAME: self.service_key}

    def _addresses(self) -> dict[str, str]:
        urls = {
            name: self._listeners.get(name, self._listeners[MAIN_LISTENER]).base_url
            for name in (*PLATFORMS, LIBRARY)
        }
        urls[EU_LISTENER] = self.lever_eu_base_url
        return {f"COLLECTION_{name.upper()}_BASE_URL": url for name, url in urls.items()}

    def records(self, since: int = 0) -> list[dict[str, Any]]:
        """The request log in order of writing, from record number `since` on."""
        return self._simulation.log.records(since)

    def set_day(self, run_date: date | str) -> int:
        """Set the run date; the answer is the scenario's day number."""
        moved = date.fromisoformat(run_date) if isinstance(run_date, str) else run_date
        return self._simulation.move_to(moved).day

    def add_fault(self, document: Mapping[str, Any]) -> int:
        """Switch a fault on (JSON form of :func:`parse_fault`); the answer is its number."""
        return self._simulation.add_faults([document])[0]

    def clear_faults(self) -> None:
        """Switch all faults off, the scenario's own too."""
        self._simulation.faults.clear()

    def faults(self) -> list[dict[str, Any]]:
        """The faults that are on, with the numbers of requests seen and acted on."""
        return self._simulation.faults.listed()

    def load(self, scenario: Scenario | Mapping[str, Any] | str | Path) -> None:
        """Replace the scenario; the keys stay those that this server was made with."""
        self._simulation.load(_scenario(scenario))

    def catalogue(self, platform: str, key: str, run_date: date | None = None) -> list[str]:
        """The ids that a key serves on a day, in list order; [] for a key that is not known."""
        found = self._simulation.catalogue(platform, key, run_date)
        return list(found["ids"]) if found else []

    def inactive(self, platform: str, key: str, run_date: date | None = None) -> list[str]:
        """The ids of that catalogue whose rows say that they are closed."""
        found = self._simulation.catalogue(platform, key, run_date)
        return list(found["inactive"]) if found else []

    def warm(self) -> None:
        """Draw all postings now, so that no first page is slower."""
        self._simulation.warm()

    def _answer(self, request: Request) -> Reply:
        if request.path.startswith(PREFIX) or request.path == PREFIX.rstrip("/"):
            return self._admin.answer(request)
        if self._library.answers(request):
            return self._library.answer(request)
        return self._platforms.answer(request)


def _scenario(scenario: Scenario | Mapping[str, Any] | str | Path | None) -> Scenario:
    if scenario is None:
        return Scenario()
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, str | Path):
        return load_scenario(scenario)
    return parse_scenario(scenario)
