"""The library client as a test runs it: real sender and socket, a throttle that lets all pass."""

from collections.abc import Callable

from collection_pipeline.domain.key_quota import KeyQuota
from collection_pipeline.domain.library import LibraryPage, LibraryReadFailed
from collection_pipeline.domain.slices import ThrottleRefusal, ThrottleSlot
from collection_pipeline.platforms.library.client import LibraryClient
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import Settings, load_settings
from collection_pipeline.simulator.server import SimulatorServer

KEY = "s3cretKEY/with+signs=="


class OpenThrottle:
    """Every slot is now; notes whom it was asked about and what was held back."""

    def __init__(self, slot: ThrottleSlot | ThrottleRefusal | None = None) -> None:
        self.slot = slot or ThrottleSlot(0.0)
        self.hosts: list[str] = []
        self.held_back: list[float] = []

    def reserve(
        self,
        host: str,
        delay_seconds: float,
        longest_wait_seconds: float,
        quota: KeyQuota | None = None,
        missed: ThrottleSlot | None = None,
    ) -> ThrottleSlot | ThrottleRefusal:
        """The same slot for all."""
        self.hosts.append(host)
        return self.slot

    def hold_back(self, host: str, seconds: float) -> None:
        """Noted only."""
        self.held_back.append(seconds)


class NoTransactions:
    """A process without a database."""

    def assert_none_open(self) -> None:
        """There is none."""


def library_settings(base_url: str, key: str = KEY, **numbers: int) -> Settings:
    """Settings that point the library at ``base_url``."""
    environment = {f"COLLECTION_{name}": str(number) for name, number in numbers.items()}
    environment |= {
        "COLLECTION_LIBRARY_BASE_URL": base_url,
        "COLLECTION_LIBRARY_SERVICE_KEY": key,
        "COLLECTION_HOST_MIN_DELAY_MS": "1",
    }
    return load_settings(environment)


def library_client(settings: Settings, throttle: OpenThrottle | None = None) -> LibraryClient:
    """A client that really sends."""
    return LibraryClient(
        settings, lambda: RequestsSender(settings), throttle or OpenThrottle(), NoTransactions()
    )


def library_simulator(**rule: object) -> SimulatorServer:
    """A simulator with ``rule`` as the library's part of its scenario."""
    scenario = {"base_date": "2026-12-01", "library": rule}
    return SimulatorServer(scenario=scenario, service_key=KEY)


def read_pages(
    server: SimulatorServer, key: str = KEY, between_pages: Callable[[], None] = lambda: None
) -> list[LibraryPage]:
    """All pages that a client gets from ``server``."""
    return list(library_client(library_settings(server.base_url, key)).read(between_pages))


def read_failure(server: SimulatorServer, key: str = KEY) -> LibraryReadFailed:
    """How reading ``server`` fails; a reading that ends well is an error of the test."""
    try:
        pages = read_pages(server, key)
    except LibraryReadFailed as failed:
        return failed
    raise AssertionError(f"no failure but {sum(len(page.rows) for page in pages)} rows")
