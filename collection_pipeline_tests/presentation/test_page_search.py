"""The posting search: what matches, what it costs, where it may send a reader (R32a, R43)."""

from datetime import timedelta
from typing import Any

import pytest

from collection_pipeline.store.views.posting_facts import unconfirmed_until
from collection_pipeline.store.views.posting_search import (
    PostingPlace,
    PostingQuestion,
    PostingState,
    find_postings,
)
from collection_pipeline_tests.kit.database import DAY, NOON, Store
from collection_pipeline_tests.kit.html_reading import Element
from collection_pipeline_tests.kit.operations_client import (
    Operations,
)
from collection_pipeline_tests.kit.page_reading import cell, labels, marks, next_link, page
from collection_pipeline_tests.kit.page_rows import add_posting
from collection_pipeline_tests.kit.statement_costs import listening, plan_of

pytestmark = pytest.mark.usefixtures("noon")


UNCONFIRMED = unconfirmed_until(DAY, 7)


def found(operations: Operations, **query: Any) -> list[str]:
    """Titles in the order shown."""
    return labels(page(operations, "/postings", **query))


def rows(shown: Element) -> list[Element]:
    """The postings shown."""
    return [row for row in shown.one("table", "postings").all("tr") if row.all("td")]


def test_every_word_must_occur_in_title_or_company(store: Store, operations: Operations) -> None:
    """Whatever its case; the newest stored come first."""
    source_id = store.add_source()
    for number, (title, company) in enumerate(
        [
            ("백엔드 Engineer", "하늘소프트"),
            ("데이터 엔지니어", "BACKEND 랩"),
            ("디자이너", "하늘소프트"),
        ]
    ):
        add_posting(store, source_id, str(number), title=title, company_name=company)
    assert found(operations) == ["디자이너", "데이터 엔지니어", "백엔드 Engineer"]
    assert found(operations, q="하늘소프트") == ["디자이너", "백엔드 Engineer"]
    assert found(operations, q="  engineer\t하늘 ") == ["백엔드 Engineer"]
    assert found(operations, q="backend") == ["데이터 엔지니어"]
    assert found(operations, q="없는말") == []


@pytest.mark.parametrize("sign", ["%", "_", "\\", "/", "'", '"', "%%", "100%"])
def test_wildcards_are_letters_like_others(store: Store, operations: Operations, sign: str) -> None:
    """LIKE's own signs are escaped."""
    source_id = store.add_source()
    add_posting(store, source_id, "1", title=f"a{sign}b")
    add_posting(store, source_id, "2", title="a100b plain")
    assert found(operations, q=sign) == [f"a{sign}b"]


def test_states_and_sources_narrow_the_search(store: Store, operations: Operations) -> None:
    """Unconfirmed and a passed deadline are open postings and derived (R32a)."""
    one, two = store.add_source(), store.add_source()
    add_posting(store, one, "open", title="open")
    add_posting(store, one, "old", title="old", last_seen_run_date=DAY - timedelta(days=7))
    add_posting(store, one, "six", title="six", last_seen_run_date=DAY - timedelta(days=6))
    add_posting(store, one, "missed", title="missed", status="MISSED")
    add_posting(store, two, "closed", title="closed", status="CLOSED")
    add_posting(
        store, two, "late", title="late", deadline_kind="DATE", deadline_at=NOON - timedelta(1)
    )
    assert found(operations, state="UNCONFIRMED") == ["old"]
    assert found(operations, state="DEADLINE_PASSED") == ["late"]
    assert found(operations, state="MISSED") == ["missed"]
    assert found(operations, state="OPEN", source=two) == ["late"]
    assert found(operations, source=two) == ["late", "closed"]
    assert found(operations, source=one, state="UNCONFIRMED") == ["old"]
    assert found(operations, source=one, q="o", state="OPEN") == ["open", "old"]
    names = found(operations)
    shown = dict(zip(names, rows(page(operations, "/postings")), strict=True))
    assert marks(shown["old"]) == ["미확인"]
    assert marks(shown["late"]) == ["마감일 지남"]
    assert [marks(shown[name]) for name in ("open", "six", "missed", "closed")] == [[]] * 4
    assert len(names) == 6


def test_each_posting_says_when_it_was_confirmed(store: Store, operations: Operations) -> None:
    """R32a: status, first and last seen, and how long ago."""
    source_id = store.add_source()
    add_posting(store, source_id, "1", last_seen_run_date=DAY - timedelta(days=3))
    (row,) = rows(page(operations, "/postings"))
    assert cell(row, "상태").text == "열림"
    first, last = DAY - timedelta(days=20), DAY - timedelta(days=3)
    assert cell(row, "마지막 확인").text == f"3일 전 확인 {first} – {last}"


@pytest.mark.parametrize("in_source", [False, True])
@pytest.mark.parametrize("state", [None, PostingState.OPEN])
def test_walking_on_finds_each_posting_once(
    store: Store, in_source: bool, state: PostingState | None
) -> None:
    """Keyset, by id or in the order of the source's index."""
    source_id = store.add_source()
    for number in range(23):
        add_posting(
            store,
            source_id,
            str(number),
            status=["OPEN", "MISSED", "CLOSED"][number % 3],
            last_seen_run_date=DAY - timedelta(days=number % 4),
        )
    question = PostingQuestion((), source_id if in_source else None, state)
    seen, place = [], None
    for _ in range(30):
        answer = store.run(
            lambda c, place=place: find_postings(c, question, place, 4, UNCONFIRMED, NOON, 7)  # type: ignore[misc]  # bound at once
        )
        seen += [row.id for row in answer.rows]
        place = answer.next_after
        if place is None:
            break
    assert place is None
    assert len(seen) == len(set(seen)) == (8 if state else 23)
    if not in_source:
        assert seen == sorted(seen, reverse=True)


def test_a_search_looks_at_so_many_rows_and_says_so(store: Store) -> None:
    """Bounded: what was not looked at is one step away, found or not."""
    source_id = store.add_source()
    ids = [add_posting(store, source_id, str(number), title="x") for number in range(9)]
    add_posting(store, source_id, "rare", title="rare")
    question = PostingQuestion(("x",))

    def asked(question: PostingQuestion, place: PostingPlace | None) -> Any:
        return store.run(lambda c: find_postings(c, question, place, 50, UNCONFIRMED, NOON, 5))

    first = asked(question, None)
    assert ([row.id for row in first.rows], first.stopped_after) == (ids[:4:-1], 5)
    second = asked(question, first.next_after)
    assert [row.id for row in second.rows] == ids[4::-1]
    third = asked(question, second.next_after)
    assert (third.rows, third.next_after, third.stopped_after) == ([], None, None)
    nothing = asked(PostingQuestion(("absent",)), None)
    assert (nothing.rows, nothing.stopped_after) == ([], 5)
    assert nothing.next_after is not None


def test_the_page_offers_to_go_on(
    store: Store, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words, the filter and the language stay."""
    source_id = store.add_source()
    for number in range(60):
        add_posting(store, source_id, str(number), title=f"t{number}")
    first = page(operations, "/postings", q="t", source=source_id, lang="en")
    on = next_link(first)
    assert on is not None and "q=t" in on and "lang=en" in on and f"source={source_id}" in on
    second = page(operations, on)
    assert len(labels(first)) == 50
    assert len(labels(second)) == 10
    assert not set(labels(first)) & set(labels(second))
    assert next_link(second) is None


@pytest.mark.parametrize(
    ("url", "is_linked"),
    [
        ("https://jobs.example.com/1?a=1&b=2", True),
        ("http://jobs.example.com", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        ("data:text/html,x", False),
        ("//evil.example.com", False),
        ("https://user@evil.example.com", False),
        ("https://a.example.com\\@evil.example.com", False),
        ("java\nscript:alert(1)", False),
        ("https://[broken", False),
        ("", False),
        (None, False),
    ],
)
def test_only_web_addresses_are_linked(
    store: Store, operations: Operations, url: str | None, is_linked: bool
) -> None:
    """Without a referrer, an opener or a vote."""
    posting_id = add_posting(store, store.add_source(), "1", url=url)
    for path in ("/postings", f"/postings/{posting_id}"):
        links = page(operations, path).all("a", "away")
        assert [link.attributes["href"] for link in links] == [url] * is_linked
        assert {link.attributes["rel"] for link in links} <= {"noopener noreferrer nofollow"}


def test_a_posting_has_a_page_of_its_own(store: Store, operations: Operations) -> None:
    """Its description is text, whatever it is made of."""
    text = "<h1>Senior</h1>\n<script>alert(1)</script> & more"
    posting_id = add_posting(store, store.add_source(), "J-1", title="a title", description=text)
    shown = page(operations, f"/postings/{posting_id}")
    assert shown.one("h1").text == "a title"
    assert shown.one("div", "prose").children == [text]
    assert "J-1" in shown.text


@pytest.mark.parametrize("with_place", [False, True])
def test_a_search_within_a_source_reads_its_index_in_order(
    store: Store, operations: Operations, with_place: bool
) -> None:
    """No sort and no walk over other sources' postings."""
    source_id = store.add_source()
    for number in range(5):
        add_posting(store, source_id, str(number))
    query = {"source": source_id, "q": "posting"}
    if with_place:
        query["after"] = f"OPEN.{DAY}.999999"
    with listening(operations.context.database.engine) as heard:
        page(operations, "/postings", **query)
    for statement, parameters in heard.on("FORCE INDEX"):
        steps = [s for s in plan_of(store, statement, parameters) if s["table"] == "job_postings"]
        (step,) = steps
        assert step["key"] == "ix_job_postings_sighting"
        assert "filesort" not in (step["Extra"] or "")
    assert heard.on("FORCE INDEX")
