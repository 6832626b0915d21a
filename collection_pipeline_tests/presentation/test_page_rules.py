"""What holds for every page: its words, its links, its errors, and text from outside (R43)."""

import re
from collections.abc import Iterator
from string import Formatter
from typing import Any

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.failure import CollectionBudgetLimit, CollectionFailureReason
from collection_pipeline.domain.posting import DeadlineKind
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.domain.source import SourceType
from collection_pipeline.operations.page.rendering import TEMPLATES_FOLDER
from collection_pipeline.operations.page.texts_en import ENGLISH
from collection_pipeline.operations.page.texts_ko import KOREAN
from collection_pipeline.store.views.posting_search import PostingState
from collection_pipeline.store.views.source_rank import SourceState
from collection_pipeline_tests.kit.database import DAY, Store
from collection_pipeline_tests.kit.html_reading import read_html
from collection_pipeline_tests.kit.operations_client import (
    Operations,
    opened_operations,
    set_service_time,
)
from collection_pipeline_tests.kit.page_reading import page
from collection_pipeline_tests.kit.page_rows import add_posting
from collection_pipeline_tests.kit.page_world import PageWorld, opened_morning

HOSTILE = "<script>alert(1)</script>\u202e\u2067 \" onload='x' &amp; {{ 7*7 }} "


@pytest.fixture(scope="module")
def operations(migrated_url: str) -> Iterator[Operations]:
    """The service over the tests' database; it starts once, since it remembers nothing."""
    with opened_operations(migrated_url, DAGSTER_UI_URL="https://dagster.example.com") as opened:
        yield opened


@pytest.fixture(autouse=True)
def noon(store: Store) -> None:
    """The service's time where a test says nothing else."""
    set_service_time(store)


@pytest.fixture
def paths(store: Store, operations: Operations) -> list[str]:
    """A page of every kind, filled."""
    world: PageWorld = opened_morning(store)
    (posting,) = store.rows("SELECT MAX(id) AS id FROM job_postings")
    source_id = world.sources["원티드 · 백엔드 개발"]
    return ["/", f"/sources/{source_id}", "/postings", f"/postings/{posting['id']}", "/sources/0"]


def names_in(text: str) -> set[str]:
    """The names in braces, the plural sign aside."""
    return {name for _, name, _, _ in Formatter().parse(text) if name} - {"s"}


def test_both_languages_have_the_same_texts() -> None:
    """Keys, order and the values that are put in."""
    assert list(KOREAN) == list(ENGLISH)
    for key in KOREAN:
        assert names_in(KOREAN[key]) == names_in(ENGLISH[key]), key
        assert KOREAN[key].strip() and ENGLISH[key].strip(), key


def test_every_value_that_is_shown_has_words() -> None:
    """A state or reason that is added to the domain needs its texts."""
    wanted = {
        *(f"state_{one}" for one in (*CycleStatus, *SourceState)),
        *(f"capture_{one}" for one in CaptureStatus),
        *(f"capture_{one}_explained" for one in CaptureStatus),
        *(f"reason_{one}" for one in (*CollectionFailureReason, *CollectionBudgetLimit)),
        *(f"type_{one}" for one in SourceType),
        *(f"posting_{one}" for one in PostingState),
        *(f"deadline_{one}" for one in (DeadlineKind.ALWAYS_OPEN, DeadlineKind.UNTIL_FILLED)),
    }
    assert not wanted - set(KOREAN)


def test_every_text_that_a_template_names_exists_and_no_template_has_words() -> None:
    """The other half of "nothing is written elsewhere"."""
    for template in TEMPLATES_FOLDER.glob("*.html"):
        source = template.read_text(encoding="utf-8")
        assert not set(re.findall(r"""\bt\(["']([a-z_]+)["']""", source)) - set(KOREAN)
        assert not re.search("[가-힣]", source)


def test_pages_carry_no_style_or_script_of_their_own(
    operations: Operations, paths: list[str]
) -> None:
    """The content security policy allows files of this host only."""
    for path in paths:
        answer = operations.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        for element in read_html(answer.text).walk():
            assert "style" not in element.attributes
            assert not [name for name in element.attributes if name.startswith("on")]
            assert element.tag != "style"
            if element.tag == "script":
                assert element.attributes["src"] == "/static/refresh.js"
                assert not element.children
            for name in ("src", "href"):
                given = element.attributes.get(name, "/")
                is_away = "away" in element.attributes.get("class", "")
                assert given.startswith(("/", "#")) or is_away, given


def test_the_language_stays_in_every_link(operations: Operations, paths: list[str]) -> None:
    """And the link to the other language leads to the same page with the same query."""
    for path in paths:
        answer = operations.client.get(path, params={"lang": "en"})
        shown = read_html(answer.text)
        assert shown.one("html").attributes["lang"] == "en"
        assert not re.search("[가-힣]", shown.one("footer").text)
        for link in shown.all("a"):
            href = link.attributes["href"]
            of_page = href == "/" or href.startswith(("/?", "/sources", "/postings"))
            if of_page and "language" not in link.attributes.get("class", ""):
                assert "lang=en" in href, href
    other = page(operations, "/", state="FAILED", lang="en").one("a", "language")
    assert other.attributes["href"] == "/?state=FAILED"
    back = page(operations, "/", state="FAILED").one("a", "language")
    assert back.attributes["href"] == "/?state=FAILED&lang=en"


def test_whatever_can_be_focused_has_an_id(operations: Operations, paths: list[str]) -> None:
    """R43: the refresh finds the reader's place by it; that none comes twice, reading checks."""
    for path in [*paths, "/postings?q=%EB%B0%B1", "/nowhere"]:
        answer = operations.client.get(path, headers={"Accept": "text/html"})
        within = read_html(answer.text).one("main").walk()
        stops = [one for one in within if one.tag in {"a", "summary", "button", "input", "select"}]
        shown = [one for one in stops if one.attributes.get("type") != "hidden"]
        assert shown, path
        assert [one for one in shown if not one.attributes.get("id")] == [], path


def test_text_from_outside_stays_text(store: Store, operations: Operations) -> None:
    """Labels, details, titles, companies and descriptions: shown, isolated, never markup."""
    source_id = store.add_source()
    text = (HOSTILE * 10)[:200]
    store.write("UPDATE job_sources SET label = :text", text=text)
    store.add_cycle(source_id, CycleStatus.FAILED, failure_reason="INTERNAL", failure_detail=text)
    posting_id = add_posting(
        store, source_id, "1", title=text, company_name=text, description=HOSTILE, salary=text
    )
    for path in ("/", f"/sources/{source_id}", "/postings", f"/postings/{posting_id}"):
        shown = page(operations, path)
        assert len(shown.all("script")) == 1
        full = [one for one in shown.all("bdi") if one.children == [text]]
        assert full, path
        assert all(one.attributes["dir"] == "auto" for one in shown.all("bdi"))
        assert "49" not in shown.text.replace(f"{DAY}", "")


def test_long_text_is_cut_with_the_whole_of_it_beside(store: Store, operations: Operations) -> None:
    """It opens without a script."""
    title = "가" * 500
    add_posting(store, store.add_source(), "1", title=title)
    shown = page(operations, "/postings")
    assert shown.one("th", "source").all("a")[0].text == "가" * 79 + "…"
    (folded,) = shown.all("details", "long")
    assert folded.one("p").text == title


@pytest.mark.parametrize(
    "address",
    [
        "/?lang=xx",
        "/?state=BROKEN",
        "/?platform=../x",
        "/?after=1",
        "/?after=1-99999999999999999999",
        "/?after=%EF%BC%91-1",
        "/sources/abc",
        "/sources/-1",
        "/sources/99999999999999999999",
        "/sources/%00",
        "/postings?source=x",
        "/postings?state=LATE",
        "/postings?after=OPEN.2026-13-01.5",
        "/postings?source=1&after=5",
        "/postings?q=" + "x" * 101,
        "/postings?q=1+2+3+4+5+6+7+8+9",
        "/postings/1e3",
    ],
)
def test_what_cannot_be_asked_is_told_on_a_page(operations: Operations, address: str) -> None:
    """400 with what to write, in the design of the rest, and nothing of it repeated."""
    answer = operations.client.get(address)
    assert answer.status_code == 400
    shown = read_html(answer.text)
    assert "400" in shown.one("div", "problem").text
    assert shown.one("a", "button").attributes["href"] == "/"


@pytest.mark.parametrize("address", ["/sources/1", "/postings/1", "/sources/999999999999999999"])
def test_what_does_not_exist_is_told_on_a_page(operations: Operations, address: str) -> None:
    """404."""
    answer = operations.get(address, lang="en")
    assert answer.status_code == 404
    assert "There is no" in read_html(answer.text).one("div", "problem").text


@pytest.mark.parametrize(
    "query", [{"q": "\x00\x1b"}, {"q": "😀" * 100}, {"source": "0"}, {"after": "0"}, {"other": "1"}]
)
def test_odd_questions_are_answered(
    store: Store, operations: Operations, query: dict[str, Any]
) -> None:
    """Nothing matches, or everything; never an error of the service."""
    add_posting(store, store.add_source(), "1")
    assert operations.client.get("/postings", params=query).status_code == 200


def test_a_database_that_is_away_is_told_on_a_page(store: Store) -> None:
    """503 within the service's patience, in both languages, without an address."""
    url = re.sub(r"@[^/]+/", "@127.0.0.1:1/", store.url)
    with opened_operations(url) as operations:
        for path in ("/", "/sources/1", "/postings", "/postings/1"):
            answer = operations.client.get(path)
            assert answer.status_code == 503
            assert answer.headers["retry-after"]
            assert "데이터베이스를 읽을 수 없습니다" in read_html(answer.text).text
            assert "127.0.0.1" not in answer.text


def test_files_of_the_page_are_served(operations: Operations) -> None:
    """Style sheet, script and icon, with their types."""
    kinds = {"style.css": "text/css", "refresh.js": "javascript", "icon.svg": "svg"}
    for name, kind in kinds.items():
        answer = operations.get(f"/static/{name}")
        assert answer.status_code == 200
        assert kind in answer.headers["content-type"]
