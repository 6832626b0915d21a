"""The page in Chromium: what a person sees, hears and can reach (R43)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from collection_pipeline_tests.kit.browser import opened_browser, opened_page
from collection_pipeline_tests.kit.contrast import CONTRAST_SCRIPT
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.operations_client import Operations, opened_operations
from collection_pipeline_tests.kit.page_rows import add_posting
from collection_pipeline_tests.kit.page_world import PageWorld, opened_morning

LONG = 4_000
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\u202e\u2067abc"
NARROW = (360, 740)
TABLET = (1024, 768)
NARROWEST_TABLE = (1201, 800)
OVERFLOW_SCRIPT = """() => [...document.querySelectorAll('main *, header *, footer *')]
  .filter((one) => {
    const box = one.getBoundingClientRect();
    const isOut = box.right > innerWidth + 0.5 || box.left < -0.5;
    return isOut && box.width > 1 && !one.closest('.skip');
  }).map((one) => one.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests here."""
    with opened_browser() as opened:
        yield opened


@pytest.fixture
def morning(store: Store) -> PageWorld:
    """Sources in every state, with a month of history."""
    return opened_morning(store)


@pytest.fixture(scope="module")
def operations(migrated_url: str) -> Iterator[Operations]:
    """The service over the tests' database; it starts once, since it remembers nothing."""
    with opened_operations(migrated_url, DAGSTER_UI_URL="https://dagster.example.com") as opened:
        yield opened


class Watch:
    """What a tab asked for and complained about."""

    def __init__(self, tab: Page, origin: str) -> None:
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self._origin = origin
        tab.on("console", self._hear)
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("request", self._see)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _see(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "data:")):
            self.strangers.append(request.url)


@contextmanager
def tab(browser: Browser, operations: Operations, **options: Any) -> Iterator[tuple[Page, Watch]]:
    """A tab that must end without a complaint and without a request to another host."""
    origin = str(operations.client.base_url).rstrip("/")
    with opened_page(browser, origin, **options) as opened:
        watch = Watch(opened, origin)
        yield opened, watch
        assert watch.complaints == []
        assert watch.strangers == []


def paths(morning: PageWorld) -> list[str]:
    """A page of every kind."""
    source_id = morning.sources["원티드 · 백엔드 개발"]
    return ["/", f"/sources/{source_id}", "/postings", "/postings/1"]


def test_a_person_sees_the_morning(
    browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """Both states, the badge, the progress; links lead from the day to a source and to English."""
    with tab(browser, operations) as (shown, _):
        shown.goto("/")
        row = shown.locator(f"#source-{morning.sources['원티드 · 백엔드 개발']}")
        assert row.get_by_text("대기", exact=True).is_visible()
        assert row.get_by_text("예산 소진", exact=True).is_visible()
        assert row.get_by_text("마감 판정 제외").count() == 2
        assert row.locator("svg.bar").first.bounding_box()
        row.get_by_role("link", name="원티드 · 백엔드 개발").click()
        assert shown.get_by_role("heading", level=1).inner_text() == "원티드 · 백엔드 개발"
        shown.get_by_role("link", name="English").click()
        assert shown.get_by_role("heading", name="Last 30 days").is_visible()
        shown.get_by_role("link", name="Today", exact=True).click()
        assert shown.get_by_text("Close-guarded").first.is_visible()
        assert shown.locator("html").get_attribute("lang") == "en"


def test_a_hostile_title_is_shown_and_does_nothing(
    store: Store, browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """Markup, right-to-left marks, 4,000 characters: readable, in its place, never run."""
    source_id = morning.sources["하늘소프트 채용"]
    store.write("UPDATE job_sources SET label = :x WHERE id = :id", x=HOSTILE, id=source_id)
    wide = "W" * LONG
    add_posting(
        store,
        source_id,
        "x1",
        title=HOSTILE + wide[: 500 - len(HOSTILE)],
        description=HOSTILE + wide,
    )
    with tab(browser, operations, size=NARROW) as (shown, _):
        shown.goto("/postings?q=script")
        link = shown.locator("th.source > a").first
        assert "<script>window.hacked = 1</script>" in link.inner_text()
        state = shown.locator("td", has_text="열림").first
        direction = state.evaluate("(one) => getComputedStyle(one).direction")
        assert direction == "ltr"
        assert shown.evaluate(OVERFLOW_SCRIPT) == []
        link.click()
        assert shown.locator(".prose").inner_text().endswith("W" * 100)
        assert shown.evaluate(OVERFLOW_SCRIPT) == []
        for path in ("/", f"/sources/{source_id}"):
            shown.goto(path)
            assert shown.evaluate("window.hacked") is None
            assert shown.locator("main img, main script").count() == 0


@pytest.mark.parametrize("size", [NARROW, TABLET, NARROWEST_TABLE])
def test_nothing_sticks_out_at_any_width(
    browser: Browser, operations: Operations, morning: PageWorld, size: tuple[int, int]
) -> None:
    """Both languages, cards and tables: no sideways scrolling, nothing outside the screen."""
    with tab(browser, operations, size=size) as (shown, _):
        for path in paths(morning):
            for language in ("", "?lang=en"):
                shown.goto(path + language)
                width = shown.evaluate("document.documentElement.scrollWidth")
                assert (width, shown.evaluate(OVERFLOW_SCRIPT)) == (size[0], []), path


@pytest.mark.parametrize("dark", [False, True])
def test_words_can_be_read_by_day_and_by_night(
    browser: Browser, operations: Operations, morning: PageWorld, dark: bool
) -> None:
    """WCAG AA: 4.5 to 1, 3 to 1 for large words; the dark page really is dark."""
    with tab(browser, operations, dark=dark) as (shown, _):
        for path in [*paths(morning), "/?state=FAILED"]:
            shown.goto(path)
            ground = shown.evaluate("getComputedStyle(document.body).backgroundColor")
            brightness = sum(int(part) for part in ground[4:-1].split(","))
            assert (brightness < 200) == dark
            assert shown.evaluate(CONTRAST_SCRIPT) == [], path


def test_everything_is_reached_by_keyboard(
    browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """The first stop skips to the content, each stop is seen, a tile opens by Enter."""
    with tab(browser, operations) as (shown, _):
        shown.goto("/")
        shown.keyboard.press("Tab")
        focused = "document.activeElement"
        assert shown.evaluate(f"{focused}.className") == "skip"
        assert shown.evaluate(f"{focused}.getBoundingClientRect().top") >= 0
        shown.keyboard.press("Enter")
        assert shown.evaluate(f"{focused}.id") == "content"
        shown.keyboard.press("Tab")
        assert shown.evaluate(f"{focused}.id") == "tile-failed"
        outline = shown.evaluate(f"getComputedStyle({focused}).outlineStyle")
        assert outline == "solid"
        shown.keyboard.press("Enter")
        shown.wait_for_url("**/?state=FAILED")
        assert shown.locator("tbody tr").count() == 2


def test_a_screen_reader_finds_its_way(
    browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """Landmarks, one first heading, tables with heads, also where rows are cards."""
    with tab(browser, operations, size=NARROW) as (shown, _):
        shown.goto("/")
        for role in ("banner", "main", "contentinfo"):
            assert shown.get_by_role(role).count() == 1
        assert shown.get_by_role("heading", level=1).count() == 1
        assert shown.get_by_role("table").count() == 1
        assert shown.get_by_role("rowheader").count() == len(morning.sources)
        assert shown.get_by_role("columnheader").count() == 7
        assert shown.get_by_role("img", name="공고: 5,000 중 4,870 사용").count() == 1


def test_the_page_refreshes_itself_and_leaves_the_reader_alone(
    store: Store, browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """Every 30 s: new content, said politely; focus, place and what is folded open stay."""
    failed = morning.sources["새벽물류랩 채용"]
    changing = morning.sources["사람인 · 백엔드 서울"]
    with tab(browser, operations) as (shown, _):
        shown.clock.install()
        shown.goto("/")
        shown.locator(f"#source-{failed}-detail summary").click()
        shown.locator("#tile-running").focus()
        shown.evaluate("window.scrollTo(0, 200)")
        store.write(
            "UPDATE job_posting_collection_cycles SET cycle_status = 'FAILED',"
            " failure_reason = 'TIMEOUT' WHERE job_source_id = :id ORDER BY run_date DESC LIMIT 1",
            id=changing,
        )
        row = shown.locator(f"#source-{changing}")
        shown.clock.run_for(28_000)
        assert "응답 시간 초과" not in row.inner_text()
        shown.clock.run_for(3_000)
        row.get_by_text("응답 시간 초과").wait_for()
        assert shown.locator("#refresh-note").inner_text() == "새로 고쳤습니다."
        assert shown.evaluate("document.activeElement.id") == "tile-running"
        assert shown.evaluate("window.scrollY") == 200
        assert shown.locator(f"#source-{failed}-detail").get_attribute("open") is not None


def test_a_refresh_returns_the_focus_to_the_same_link(
    store: Store, browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """R43: to a source's link although its row moves up; to main where the row is gone."""
    source_id = morning.sources["Northwind Robotics"]
    change = (
        "UPDATE job_posting_collection_cycles SET cycle_status = :status"
        " WHERE job_source_id = :id ORDER BY run_date DESC LIMIT 1"
    )
    with tab(browser, operations) as (shown, _):
        shown.clock.install()
        row = shown.locator(f"#source-{source_id}")
        link = row.get_by_role("link", name="Northwind Robotics")
        shown.goto("/")
        link.focus()
        store.write(change, id=source_id, status="FAILED")
        shown.clock.run_for(31_000)
        row.get_by_text("실패", exact=True).wait_for()
        focused = shown.evaluate("document.activeElement.getAttribute('href')")
        assert focused == f"/sources/{source_id}"
        shown.goto("/?state=FAILED")
        link.focus()
        store.write(change, id=source_id, status="PENDING")
        shown.clock.run_for(31_000)
        row.wait_for(state="detached")
        assert shown.evaluate("document.activeElement.id") == "content"


def test_a_refresh_that_fails_says_so_and_keeps_the_page(
    browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """The next one makes it good."""
    origin = str(operations.client.base_url).rstrip("/")
    with opened_page(browser, origin) as shown:
        shown.clock.install()
        shown.goto("/")
        shown.route("**/*", lambda route: route.abort())
        shown.clock.run_for(31_000)
        note = shown.locator("#refresh-note")
        note.get_by_text("새로 고치지 못했습니다").wait_for()
        assert shown.locator("tbody tr").count() == len(morning.sources)
        shown.unroute("**/*")
        shown.clock.run_for(31_000)
        note.get_by_text("새로 고쳤습니다").wait_for()


def test_the_page_is_whole_without_a_script(
    browser: Browser, operations: Operations, morning: PageWorld
) -> None:
    """Filters, long texts and the search are links, folds and a form."""
    with tab(browser, operations, script=False) as (shown, _):
        shown.goto("/")
        assert not shown.get_by_text("30초마다").is_visible()
        shown.get_by_role("link", name="lever").click()
        assert shown.locator("tbody tr").count() == 3
        shown.locator("details.long summary").first.click()
        assert shown.get_by_text("answers every address with its new home page").last.is_visible()
        shown.get_by_role("link", name="공고 찾기").click()
        shown.get_by_label("제목이나 회사").fill("물류")
        shown.get_by_role("button", name="찾기").click()
        assert shown.get_by_text("9일 전 확인").first.is_visible()
        assert shown.locator(".mark", has_text="미확인").first.is_visible()
