"""The library client against the simulator: whole registers, typed ends, no trace of the key."""

import json
import threading
import traceback
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

import pytest

from collection_pipeline.domain.library import (
    LIBRARY_FIELDS,
    LibraryFailure,
    LibraryPage,
    LibraryReadFailed,
    SnapshotMoved,
    library_of,
)
from collection_pipeline.domain.slices import ThrottleRefusal
from collection_pipeline.platforms.contract import PlatformReply, PlatformRequest, RequestPolicy
from collection_pipeline.platforms.library.client import LibraryClient
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import InvalidSetting
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.hostile_server import HostileServer, answering, reply
from collection_pipeline_tests.kit.library_reading import (
    KEY,
    NoTransactions,
    OpenThrottle,
    library_client,
    library_settings,
    library_simulator,
    read_failure,
    read_pages,
)
from collection_pipeline_tests.kit.log_watching import log_everything, logged_by_the_test

RETRY, CONFIGURATION, KEY_REFUSED, QUOTA, BAD = (
    LibraryFailure.RETRY_LATER,
    LibraryFailure.CONFIGURATION,
    LibraryFailure.KEY,
    LibraryFailure.QUOTA,
    LibraryFailure.BAD_ANSWER,
)
CORE = "s3cretKEY"


@pytest.fixture(scope="module")
def register() -> Iterator[SimulatorServer]:
    """A register of 3,601 rows, without faults unless a test adds some."""
    with library_simulator(count=3_601) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_left_over(
    register: SimulatorServer, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """Everything is logged; afterwards no log of either side shows the key (R29)."""
    log_everything(caplog)
    start = len(register.records())
    yield
    register.clear_faults()
    assert CORE not in logged_by_the_test(caplog) + json.dumps(register.records(start))


def _read_on(register: SimulatorServer) -> LibraryClient:
    return library_client(library_settings(register.base_url))


@pytest.mark.parametrize("key", [KEY, quote(KEY, safe="")])
def test_either_form_of_the_key_reads_3601_rows_in_4_requests(
    register: SimulatorServer, key: str
) -> None:
    """R47; the simulator decodes once, so a bare ``+`` or a second encoding would be refused."""
    start = len(register.records())
    pages = read_pages(register, key)
    records = register.records(start)
    assert [len(page.rows) for page in pages] == [1_000, 1_000, 1_000, 601]
    assert {page.stated_total for page in pages} == {3_601}
    assert [(r["page"], r["key_ok"], r["status"]) for r in records] == [
        (page, True, 200) for page in range(4)
    ]
    rows = [row for page in pages for row in page.rows]
    assert [f"{r['insttCode']}/{r['lbrryNm'].strip()}" for r in rows] == register.catalogue(
        "library", "all"
    )


def test_the_key_is_sent_encoded_exactly_once_and_the_request_as_documented() -> None:
    """R47, R28: nothing but the documented parameters."""
    with HostileServer(answering(reply(b'{"resultCode":"03"}'))) as server:
        assert [page.rows for page in library_client(library_settings(server.base_url)).read(_idle)]
        target = server.requests[0].target
    assert target == (
        "/openapi/tn_pubr_public_lbrry_api?pageNo=1&numOfRows=1000&type=json"
        f"&serviceKey={quote(KEY, safe='')}"
    )


def _idle() -> None:
    """Nothing happens between two pages."""


@pytest.mark.parametrize(
    "form",
    [
        {"envelope": "wrapped", "items": "list"},
        {"envelope": "bare", "items": "list", "ok_code": "0000"},
        {"names": "sister", "commas": True},
        {"names": "korean", "envelope": "wrapped", "commas": True},
    ],
)
def test_every_form_of_the_answer_brings_the_same_libraries(form: dict[str, Any]) -> None:
    """Section 5.1 a to d: nothing may look changed because the portal spells it otherwise."""
    with library_simulator(count=200) as server:
        plain = [library_of(row) for page in read_pages(server) for row in page.rows]
        server.add_fault({"name": "library_form"} | form)
        formed = [library_of(row) for page in read_pages(server) for row in page.rows]
    assert [vars(library) | {"raw": {}} for library in formed] == [
        vars(library) | {"raw": {}} for library in plain
    ]


ROW = {field.english[0]: "1" for field in LIBRARY_FIELDS}


def _read_rows(*rows: Mapping[str, str]) -> list[LibraryPage]:
    body = {"items": rows, "totalCount": len(rows)}
    answer = reply(json.dumps({"header": {"resultCode": "00"}, "body": body}).encode())
    with HostileServer(answering(answer)) as server:
        return list(library_client(library_settings(server.base_url)).read(_idle))


def test_a_column_that_no_row_has_any_more_is_a_changed_form() -> None:
    """R49: renamed or gone, it must not empty the column of every library by a success."""
    renamed = {("bookCount" if name == "bookCo" else name): text for name, text in ROW.items()}
    keys = {name: ROW[name] for name in ("lbrryNm", "insttCode")}
    for row, words in ((renamed, "columns 자료수(도서) are missing"), (keys, "columns 시도명, ")):
        with pytest.raises(LibraryReadFailed) as failed:
            _read_rows(row, row)
        assert failed.value.kind is BAD and words in failed.value.detail
    assert [len(page.rows) for page in _read_rows(keys, ROW)] == [2], "judged over all rows"


CODES: list[tuple[int, dict[str, Any], LibraryFailure]] = [
    (4, {}, RETRY),
    (10, {"spaced": True}, CONFIGURATION),
    (22, {"spaced": True}, QUOTA),
    (30, {}, KEY_REFUSED),
    (30, {"status": 403}, KEY_REFUSED),
    (22, {"status": 429}, QUOTA),
    (55, {}, BAD),
]
FAULTS: list[tuple[dict[str, Any], LibraryFailure]] = [
    *[
        ({"name": "library_error", "carrier": carrier, "code": code} | more, kind)
        for carrier in ("gateway_xml", "gateway_json", "service", "flat")
        for code, more, kind in CODES
    ],
    ({"name": "http_status", "status": 401}, KEY_REFUSED),
    ({"name": "http_403"}, KEY_REFUSED),
    ({"name": "http_404"}, CONFIGURATION),
    ({"name": "http_429", "retry_after": "5"}, QUOTA),
    ({"name": "http_500"}, RETRY),
    ({"name": "http_status", "status": 502}, RETRY),
    ({"name": "http_status", "status": 202}, RETRY),
    ({"name": "http_status", "status": 206}, RETRY),
    ({"name": "http_status", "status": 418}, CONFIGURATION),
    ({"name": "redirect", "status": 301}, CONFIGURATION),
    ({"name": "captcha"}, RETRY),
    ({"name": "empty_body"}, RETRY),
    ({"name": "reset"}, RETRY),
    ({"name": "reset_midbody"}, RETRY),
    ({"name": "timeout"}, RETRY),
    ({"name": "truncated_gzip"}, RETRY),
    ({"name": "key_echo", "encoding": "raw"}, KEY_REFUSED),
    ({"name": "key_echo", "encoding": "percent"}, KEY_REFUSED),
    ({"name": "key_echo", "encoding": "double", "status": 401}, KEY_REFUSED),
    ({"name": "broken_json"}, RETRY),
    ({"name": "changed_envelope"}, BAD),
    ({"name": "wrong_encoding"}, BAD),
    ({"name": "oversize", "size": 3_000_000}, BAD),
    ({"name": "error_body"}, BAD),
    ({"name": "library_form", "charset": "cp949"}, BAD),
    ({"name": "library_form", "charset": "invalid"}, BAD),
    ({"name": "offset_ignored"}, BAD),
    ({"name": "long_pages"}, BAD),
]


@pytest.mark.parametrize(("fault", "kind"), FAULTS)
def test_every_failure_has_its_class_and_shows_no_key(
    register: SimulatorServer, fault: dict[str, Any], kind: LibraryFailure
) -> None:
    """Section 5.3, R29: on the second page, after a good one, since any page may meet it."""
    # Only silence ends at the deadline; a slow machine must not turn others into it.
    deadline = 1 if fault["name"] == "timeout" else 30
    settings = library_settings(
        register.base_url, REQUEST_DEADLINE_SECONDS=deadline, MAX_RESPONSE_BYTES=2_000_000
    )
    register.add_fault({"page": 1} | fault)
    reading = library_client(settings).read(_idle)
    assert len(next(reading).rows) == 1_000
    with pytest.raises(LibraryReadFailed) as failed:
        next(reading)
    assert (failed.value.kind, type(failed.value)) == (kind, LibraryReadFailed)
    _assert_no_trace_of_the_key(failed.value)


def _assert_no_trace_of_the_key(failed: LibraryReadFailed) -> None:
    shown = [repr(failed), repr(failed.__dict__), failed.detail]
    shown.append("".join(traceback.format_exception(failed)))
    assert CORE not in "".join(shown)
    assert failed.__cause__ is None
    assert failed.__context__ is None


@pytest.mark.parametrize(
    "faults",
    [
        [{"name": "shifting"}],
        [{"name": "vanish"}],
        [{"name": "changing_total"}],
        [{"name": "short_pages"}],
        [{"name": "empty_page_with_next", "page": 2}],
        [{"name": "zero_results", "page": 3}],
        [{"name": "shifting"}, {"name": "total_shrunk", "total": 3_601}],
        [{"name": "vanish"}, {"name": "total_shrunk", "total": 3_601}],
    ],
)
def test_a_register_that_moves_while_it_is_read_is_told_apart(
    register: SimulatorServer, faults: list[dict[str, Any]]
) -> None:
    """R49: the reading may be repeated; also when one row came, one went and the total stayed."""
    for fault in faults:
        register.add_fault(fault)
    assert isinstance(read_failure(register), SnapshotMoved)
    register.clear_faults()
    assert sum(len(page.rows) for page in read_pages(register)) == 3_601


@pytest.mark.parametrize("items", ["text", "null"])
def test_an_empty_register_is_one_empty_page(register: SimulatorServer, items: str) -> None:
    """Section 5.1 b, 5.3: 03, or no items and a total of 0."""
    register.add_fault({"name": "zero_results"})
    (page,) = read_pages(register)
    register.add_fault({"name": "library_form", "items": items})
    (other,) = read_pages(register)
    assert (page.rows, page.stated_total) == (other.rows, other.stated_total) == ((), 0)


@pytest.mark.parametrize(("count", "requests"), [(1, 1), (1_000, 1), (1_001, 2)])
@pytest.mark.parametrize("envelope", ["bare", "wrapped"])
def test_no_page_past_the_end_is_asked_for(count: int, requests: int, envelope: str) -> None:
    """Each request costs quota; one row comes as an object."""
    with library_simulator(count=count, envelope=envelope) as server:
        assert sum(len(page.rows) for page in read_pages(server)) == count
        assert len(server.records()) == requests


def test_a_used_up_quota_ends_the_reading_as_such() -> None:
    """Section 5.3: neither a retry nor another key helps before midnight in Seoul."""
    with library_simulator(count=3_601, quota=3) as server:
        assert read_failure(server).kind is QUOTA
        assert len(server.records()) == 4


def test_a_wrong_key_is_one_request(register: SimulatorServer) -> None:
    """Section 5.2: what the portal answers to a key that it does not know."""
    start = len(register.records())
    assert read_failure(register, f"{CORE}other").kind is KEY_REFUSED
    assert [record["key_ok"] for record in register.records(start)] == [False]


def test_a_malformed_key_is_refused_before_anything_is_sent(register: SimulatorServer) -> None:
    """R47: at start, so that no lock is taken and no call is spent."""
    start = len(register.records())
    with pytest.raises(InvalidSetting) as refused:
        library_client(library_settings(register.base_url, f"{CORE}%G0"))
    assert CORE not in "".join(traceback.format_exception(refused.value))
    assert register.records(start) == []


def test_nothing_is_sent_in_the_clear_to_another_machine() -> None:
    """Section 5: https, or loopback; the policy refuses it before a socket is opened."""
    settings = library_settings("https://api.data.go.kr")
    plain = replace(settings, base_urls={"LIBRARY": "http://api.data.go.kr"})
    with pytest.raises(LibraryReadFailed) as failed:
        list(library_client(plain).read(_idle))
    assert failed.value.kind is CONFIGURATION
    assert "https" in failed.value.detail


def test_pages_are_handed_on_one_by_one_and_asked_for_in_between(
    register: SimulatorServer,
) -> None:
    """R48: the lock is asked for between pages; its loss ends the reading without a request."""
    start = len(register.records())
    asked: list[int] = []

    def between_pages() -> None:
        asked.append(len(register.records(start)))
        if len(asked) == 3:
            raise InterruptedError

    reading = _read_on(register).read(between_pages)
    seen = [next(reading).number, next(reading).number, next(reading).number]
    assert (seen, asked) == ([1, 2, 3], [1, 2])
    with pytest.raises(InterruptedError):
        next(reading)
    assert len(register.records(start)) == 3


def test_a_busy_host_and_a_stop_end_the_reading_without_a_request(
    register: SimulatorServer,
) -> None:
    """R18, R26: both may work later."""
    start = len(register.records())
    settings = library_settings(register.base_url)
    busy = OpenThrottle(ThrottleRefusal(datetime(2026, 12, 1, 3, 0)))
    stop = threading.Event()
    stop.set()
    stopped = LibraryClient(
        settings, lambda: RequestsSender(settings), OpenThrottle(), NoTransactions(), stop
    )
    for client, words in ((library_client(settings, busy), "03:00"), (stopped, "stop")):
        with pytest.raises(LibraryReadFailed, match=words) as failed:
            list(client.read(_idle))
        assert failed.value.kind is RETRY
    assert register.records(start) == []


def test_a_slow_consumer_does_not_use_up_the_next_pages_time(register: SimulatorServer) -> None:
    """R26: the patience with the host is a page's, however long the reading takes."""
    now = [0.0]

    def between_pages() -> None:
        now[0] += 3_600.0

    settings = library_settings(register.base_url)
    client = LibraryClient(
        settings,
        lambda: RequestsSender(settings),
        OpenThrottle(),
        NoTransactions(),
        monotonic=lambda: now[0],
    )
    assert sum(len(page.rows) for page in client.read(between_pages)) == 3_601


def test_each_request_waits_for_its_hosts_turn(register: SimulatorServer) -> None:
    """R26: one reservation a page; a 429 holds the host back for everybody."""
    throttle = OpenThrottle()
    client = library_client(library_settings(register.base_url), throttle)
    register.add_fault({"name": "http_429", "retry_after": "7", "page": 3})
    with pytest.raises(LibraryReadFailed):
        list(client.read(_idle))
    assert set(throttle.hosts) == {register.base_url.removeprefix("http://")}
    assert len(throttle.hosts) >= 4  # more where a busy machine missed a slot
    assert throttle.held_back == [7.0]


class _EndlessSender:
    """Answers page after page of a large register, without a socket."""

    def __init__(self, pages: int) -> None:
        self._total = pages * 1_000

    def open(self, request: PlatformRequest, policy: RequestPolicy) -> None:
        """There is nothing to connect to."""

    def send(
        self,
        request: PlatformRequest,
        policy: RequestPolicy,
        deadline_seconds: float,
        before_write: Callable[[], None] | None = None,
    ) -> PlatformReply:
        """One page of one-column rows."""
        number = dict(request.params)["pageNo"]
        rows: list[Mapping[str, str]] = [{"lbrryNm": f"{number}-{row}"} for row in range(1_000)]
        rows[0] = {field.english[0]: number for field in LIBRARY_FIELDS}
        body = {"items": rows, "totalCount": self._total}
        document = {"header": {"resultCode": "00"}, "body": body}
        return PlatformReply(200, {}, json.dumps(document).encode())


def test_memory_does_not_grow_with_the_number_of_pages() -> None:
    """100,000 rows and more are read in the memory of two pages."""
    settings = library_settings("http://127.0.0.1:9")
    client = LibraryClient(
        settings, lambda: nullcontext(_EndlessSender(40)), OpenThrottle(), NoTransactions()
    )
    held: dict[int, int] = {}
    tracemalloc.start()
    try:
        for page in client.read(_idle):
            held[page.number] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(held) == 40
    assert held[40] - held[10] < 100_000
