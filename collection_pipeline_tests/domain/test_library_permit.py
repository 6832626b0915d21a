"""How long a page of the register may wait for its host (R18, R26)."""

import threading
from dataclasses import dataclass

from collection_pipeline.platforms.library.read_permit import ReadPermit, page_delay_seconds
from collection_pipeline.settings import Settings
from collection_pipeline_tests.kit.executor_fixtures import make_settings


@dataclass
class _Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def _permit(settings: Settings, clock: _Clock) -> ReadPermit:
    return ReadPermit(settings, threading.Event(), clock)


def test_every_page_has_its_own_time() -> None:
    """A register of many pages must not run out of a time that was meant for one."""
    clock = _Clock()
    permit = _permit(make_settings(), clock)
    for _ in range(100):
        permit.begin_page()
        clock.now += 299
        assert permit.seconds_left() == 1
    clock.now += 2
    assert permit.seconds_left() < 0


def test_a_delay_longer_than_a_slice_still_lets_the_second_page_come() -> None:
    """R26: the pace is the operator's to choose."""
    settings = make_settings(HOST_MIN_DELAY_MS=3_600_000)
    permit = _permit(settings, _Clock())
    permit.begin_page()
    assert permit.seconds_left() > page_delay_seconds(settings) == 3_600


def test_a_stop_ends_waits_and_forbids_requests() -> None:
    """R18."""
    stop = threading.Event()
    permit = ReadPermit(make_settings(), stop)
    assert permit.stop_reason() is None
    assert permit.wait(0.0) and permit.wait(0.001)
    stop.set()
    assert permit.stop_reason() is not None
    assert not permit.wait(0.0)
    assert not permit.wait(60.0)
