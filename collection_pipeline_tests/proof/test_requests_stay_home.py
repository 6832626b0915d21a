"""No setting, link or redirect makes the pipeline ask a host that it was not told of (R28).

A second server stands beside the right one and hears nothing, whatever the answers say.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.notification import Notification, Severity
from collection_pipeline.notification.sending import NotSent
from collection_pipeline.notification.webhook import WebhookNotifier
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import PLATFORM_BASE_URLS, PREFIX, InvalidSetting, load_settings
from collection_pipeline_tests.kit.database import DAY
from collection_pipeline_tests.kit.executor_fixtures import failure_to_send, get, make_settings
from collection_pipeline_tests.kit.hostile_server import HostileServer, answering, reply
from collection_pipeline_tests.kit.platform_bodies import (
    greenhouse_board,
    jumpit_page,
    saramin_page,
)
from collection_pipeline_tests.kit.proof import record
from collection_pipeline_tests.kit.stack import condition_of
from collection_pipeline_tests.kit.stack_fixtures import OpenStack

METADATA = "169.254.169.254"
NO_PLACES = [
    *(f"http://{host}" for host in (METADATA, "10.0.0.1", "0.0.0.0", "[::]", "[fe80::1]")),
    *(f"http://[::ffff:{address}]" for address in (METADATA, "127.0.0.1", "7f00:1")),
    *("http://[fd00:ec2::254]", "http://[::1%25eth0]", "https://[::1].evil.test"),
    # Loopback, and the metadata address, in the spellings that resolvers accept.
    *("http://2130706433", "http://127.1", "http://0x7f.1", "http://017700000001"),
    *("http://2852039166", "http://0xa9fea9fe", "http://127.0.0.1.", "http://localhost."),
    *("http://１２７.0.0.1", "http://①27.0.0.1", "https://１６９.254.169.254"),
    *("http://127.0.0.1.evil.test", "http://localhost.evil.test", "http://evil.test#127.0.0.1"),
    # One reader of URLs takes the part before the @ or the backslash, another the one behind it.
    *("http://127.0.0.1@evil.test", "http://127.0.0.1:80@evil.test"),
    *(
        "http://evil.test\\@127.0.0.1",
        "http://127.0.0.1\\@evil.test",
        "http://evil.test\\.127.0.0.1",
    ),
    *("https://right.test\\@evil.test", "https://right.test\\", "https://right.test;evil.test"),
    *("https://right.test,evil.test", "https://right%2etest", "https://ev\til.test"),
    *("https://ev\r\nHost: right.test", "https://ri ght.test", "https://채용.test", "https://.."),
    *("https://exa℀mple.test", "https://right.test:0", "https://right.test:+443"),
    *("https://right.test:４４３", "https://right.test:443:80", "https://right.test:-1"),
    *("file:///etc/passwd", "gopher://right.test", "ftp://right.test", "//right.test"),
    *("https:right.test", "https:/right.test", "javascript:alert(1)", "data:,x", "unix:///run/x"),
]
STATUSES = range(300, 309)
MESSAGE = Notification("KIND", DAY, Severity.INFO, "title", ("a line",), {})
CHAOS = "/api/chaos/navigation/v1/results"


@pytest.fixture
def trap() -> Iterator[HostileServer]:
    """What nobody may ask; it would answer well."""
    with HostileServer(answering(reply(b"{}"))) as server:
        yield server
        assert server.requests == []


@pytest.mark.parametrize("place", NO_PLACES)
def test_no_address_is_taken_that_can_be_read_in_two_ways(place: str) -> None:
    """R28, section 3: for each platform and for the webhook, at the start and by name."""
    for name in (*(f"{name}_BASE_URL" for name in PLATFORM_BASE_URLS), "WEBHOOK_URL"):
        with pytest.raises(InvalidSetting) as refused:
            load_settings({PREFIX + name: place})
        assert str(refused.value).startswith(PREFIX + name)
        assert "evil" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("HTTP://LOCALHOST:9", "http://LOCALHOST:9"),
        ("https://xn--3e0b707e.test:8443", "https://xn--3e0b707e.test:8443"),
        ("https://right.test.", "https://right.test."),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("https://simulator_1:8443", "https://simulator_1:8443"),
    ],
)
def test_an_unusual_address_that_all_read_alike_is_taken(given: str, kept: str) -> None:
    """Section 3: the refusals above are not there because everything is refused."""
    settings = load_settings({f"{PREFIX}WANTED_BASE_URL": given, f"{PREFIX}WEBHOOK_URL": given})
    assert settings.base_urls["WANTED"] == kept


@pytest.mark.parametrize("status", STATUSES)
def test_no_redirect_is_followed(trap: HostileServer, status: int) -> None:
    """R28: whatever its status and wherever it leads, for a platform as for the webhook."""
    locations = [f"{trap.base_url}/x", trap.base_url.replace("http:", ""), "/x", "\\\\evil.test"]
    for location in locations:
        answer = answering(reply(b"", f"{status} Elsewhere", (f"Location: {location}",)))
        with HostileServer(answer) as server, RequestsSender(make_settings()) as sender:
            failed = failure_to_send(sender, get(server.base_url))
            assert failed.failure.reason is Reason.HTTP_3XX
            hook = WebhookNotifier(make_settings(), f"{server.base_url}/hook")
            assert isinstance(hook.send(MESSAGE, "key"), NotSent)
            assert [seen.target for seen in server.requests] == ["/jobs", "/hook"]


LINKS = {
    "another host": "{trap}{path}?limit=100&offset=100",
    "another host without a scheme": "//{trap_host}{path}?limit=100&offset=100",
    "backslashes": "\\\\{trap_host}{path}?limit=100&offset=100",
    "a slash and a backslash": "/\\{trap_host}{path}?limit=100&offset=100",
    "our host as a user": "http://{own_host}@{trap_host}{path}?limit=100&offset=100",
    "our host, backslash": "http://{trap_host}\\@{own_host}{path}?limit=100&offset=100",
    "our host as a fragment": "{trap}{path}?limit=100&offset=100#{own_host}",
    "our user": "http://user:word@{own_host}{path}?limit=100&offset=100",
    "another port": "http://127.0.0.1:{trap_port}{path}?limit=100&offset=100",
    "another scheme": "https://{own_host}{path}?limit=100&offset=100",
    "no web scheme": "file://{path}?limit=100&offset=100",
    "another name of ours": "http://localhost:{own_port}{path}?limit=100&offset=100",
    "a line break": "{path}?limit=100&offset=100\r\nHost: {trap_host}",
    "an encoded host": "http://%31%32%37.0.0.1:{trap_port}{path}?limit=100&offset=100",
    "full-width dots": "http://127。0。0。1:{trap_port}{path}?limit=100&offset=100",
    "full-width digits": "http://１２７.0.0.1:{trap_port}{path}?limit=100&offset=100",
    "a decimal address": "http://2130706433:{trap_port}{path}?limit=100&offset=100",
    "another path": "/latest/meta-data?limit=100&offset=100",
    "a way out of the path": "{path}/../../../../latest?limit=100&offset=100",
    "an encoded way out": "{path}%2f..%2f..?limit=100&offset=100",
}


def test_no_returned_link_leads_a_tick_away(open_stack: OpenStack, trap: HostileServer) -> None:
    """R28: every form of a next link through a whole tick; the trap and the own server tell."""
    bodies: list[bytes] = []
    scripts = [lambda peer, n=n: answering(reply(bodies[n]))(peer) for n in range(len(LINKS))]
    with HostileServer(*scripts) as own:
        names = {
            "trap": trap.base_url,
            "trap_host": trap.base_url.removeprefix("http://"),
            "trap_port": trap.base_url.rsplit(":", 1)[1],
            "own_host": own.base_url.removeprefix("http://"),
            "own_port": own.base_url.rsplit(":", 1)[1],
            "path": CHAOS,
        }
        bodies += [
            _as_json({"data": [], "links": {"next": link.format(**names)}})
            for link in LINKS.values()
        ]
        stack = open_stack(WANTED_BASE_URL=own.base_url, MAX_LEASES_PER_HOST=1, TICK_CLAIM_LIMIT=1)
        for number in range(len(LINKS)):
            condition = {"form": ["chaos"], "job_group_id": [str(518 + number)]}
            stack.add("wanted", f"link {number}", condition=condition)
        stack.tick()
        ends = {stack.end_of(one) for one in stack.sources}
        details = {stack.cycle(one)["failure_detail"] for one in stack.sources}
        assert len(own.requests) == len(LINKS), "a refused link was asked for at home"
        assert {seen.header("Host") for seen in own.requests} == {names["own_host"]}
    assert ends == {("FAILED", "POLICY")}
    assert not [one for one in details if names["trap_port"] in one or "evil" in one]
    record("requests stay home", links_refused=len(LINKS), redirects=len(STATUSES))


@pytest.mark.parametrize("platform", ["saramin", "jumpit", "greenhouse", "lever"])
def test_a_platform_without_links_follows_none(
    open_stack: OpenStack, trap: HostileServer, platform: str
) -> None:
    """R28: next links in every place of body and head that a client might look at."""
    away = f"{trap.base_url}/next?page=2"
    named = ("next", "nextPage", "next_page_url", "href", "url")
    links: dict[str, Any] = {"links": {"next": away}, "_links": {"next": {"href": away}}}
    links |= dict.fromkeys(named, away)
    bodies: dict[str, object] = {
        "saramin": _with_links(saramin_page([], "0"), links),
        "jumpit": _with_links(jumpit_page([], 0), links),
        "greenhouse": _with_links(greenhouse_board([], 0), links),
        "lever": [],
    }
    head = (f'Link: <{away}>; rel="next"', f"Location: {away}", f"Refresh: 0; url={away}")
    with HostileServer(answering(reply(_as_json(bodies[platform]), "200 OK", head))) as own:
        settings = {f"{platform.upper()}_BASE_URL": own.base_url}
        stack = open_stack(**settings)
        source_id = stack.add(platform, "1", condition=condition_of(platform, "1"))
        stack.tick()
        assert stack.end_of(source_id) == ("SUCCESS", None)
        hosts = {seen.header("Host") for seen in own.requests}
        assert hosts == {own.base_url.removeprefix("http://")}


def _as_json(body: object) -> bytes:
    return json.dumps(body).encode()


def _with_links(body: dict[str, Any], links: dict[str, Any]) -> dict[str, Any]:
    """``links`` beside whatever each object of the body says."""
    inner = {
        name: _with_links(value, links) if isinstance(value, dict) else value
        for name, value in body.items()
    }
    return {**links, **inner}
