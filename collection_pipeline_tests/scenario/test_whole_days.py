"""Three whole days against the platforms: what is stored follows what they really had."""

from collection_pipeline.domain.kst import utc_of_kst
from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack
from collection_pipeline_tests.scenario.conftest import OpenStack

SUCCESS = ("SUCCESS", None)
SARAMIN_PAGE = 110


def run_days(stack: Stack, last: int) -> None:
    """Day 1 to ``last``, each drained, with a second tick that must find nothing."""
    for number in range(1, last + 1):
        if number > 1:
            stack.set_clock(number)
        stack.tick()
        arrived = len(stack.requests())
        assert stack.tick().slices == 0
        assert len(stack.requests()) == arrived, "R12: a terminal cycle ran again"


def expected_judgement(stack: Stack, source_id: int, last: int) -> dict[str, tuple[str, int]]:
    """Status and missed count of every posting, from the platform's own catalogues (R7, R32)."""
    expected: dict[str, tuple[str, int]] = {}
    for number in range(1, last + 1):
        alive = stack.catalogue(source_id, number)
        for key in alive | set(expected):
            missed = expected.get(key, ("OPEN", 0))[1] + 1
            if key in alive:
                expected[key] = ("OPEN", 0)
            elif expected[key][0] != "CLOSED":
                expected[key] = ("CLOSED" if missed >= 2 else "MISSED", missed)
    return expected


def assert_follows_catalogue(stack: Stack, source_id: int, last: int) -> None:
    """Every posting that the platform ever had is there, judged as its days say."""
    stored = stack.postings(source_id)
    expected = expected_judgement(stack, source_id, last)
    assert {key: (row["status"], row["missed_count"]) for key, row in stored.items()} == expected
    assert all(
        (row["closed_at"] is not None) == (row["status"] == "CLOSED") for row in stored.values()
    )
    cycle = stack.cycle(source_id, last)
    assert cycle["fetched_count"] == len(stack.catalogue(source_id, last))


def test_postings_are_missed_then_closed_and_open_again_when_they_return(
    open_stack: OpenStack,
) -> None:
    """R7, R32: gone on day 2 is missed once, gone on day 3 is closed, back on day 3 is open."""
    changes = {"2": {"remove": 5, "add": 4, "edit": 3}, "3": {"restore": 2, "remove": 1}}
    stack = open_stack(
        source("saramin", "backend", 2594, changes=changes),
        source("greenhouse", "acme", 45, changes=changes),
        source("lever", "acme", 130, changes=changes),
        source("lever", "euro", 12, changes=changes, eu=True),
        source("wanted", "518", 230, changes=changes),
        HOST_MIN_DELAY_MS=2,
    )
    sources = [
        stack.add("saramin", "backend"),
        stack.add("greenhouse", "acme"),
        stack.add("lever", "acme"),
        stack.add("lever", "euro", condition={"site": ["euro"], "region": ["eu"]}),
        stack.add("wanted", "518", detail_mode="off"),
    ]
    disabled = stack.add("saramin", "frontend", active=False)

    run_days(stack, 3)

    for source_id in sources:
        assert [stack.end_of(source_id, number) for number in (1, 2, 3)] == [SUCCESS] * 3
        assert_follows_catalogue(stack, source_id, 3)
        statuses = {row["status"] for row in stack.postings(source_id).values()}
        assert statuses == {"OPEN", "MISSED", "CLOSED"}
        assert stack.cycle(source_id, 2)["missed_count"] == 5
        assert stack.cycle(source_id, 2)["new_count"] == 4
        assert stack.cycle(source_id, 2)["updated_count"] == 3
        assert stack.cycle(source_id, 3)["closed_count"] == 3
    assert not stack.requests(disabled)
    assert disabled not in {
        row["job_source_id"] for row in stack.rows("SELECT * FROM job_posting_collection_cycles")
    }
    assert_invariants(stack)


def test_a_large_search_is_several_slices_and_one_success(open_stack: OpenStack) -> None:
    """R6, R20: 2,594 results are 24 pages in slices of at most 500 postings, each page once."""
    stack = open_stack(source("saramin", "backend", 2594))
    source_id = stack.add("saramin", "backend")

    stack.tick()

    slices = stack.slices(source_id)
    assert [row["outcome"] for row in slices] == ["PENDING"] * 5 + ["SUCCESS"]
    assert all(row["fetched_count"] <= 500 and row["list_page_count"] <= 5 for row in slices)
    assert stack.pages(source_id) == list(range(24))
    assert stack.cycle(source_id)["attempt_count"] == 6
    assert_follows_catalogue(stack, source_id, 1)
    assert_invariants(stack)


def test_a_list_that_ends_with_a_full_page_is_complete(open_stack: OpenStack) -> None:
    """R23: the end is where the platform says so, neither a page early nor one too far."""
    stack = open_stack(
        source("saramin", "exact", 2 * SARAMIN_PAGE),
        source("wanted", "1", 200),
        source("wanted", "2", 200, boundary_next=True),
        source("lever", "exact", 200),
        source("jumpit", "9", 32),
    )
    wanted = {
        stack.add("saramin", "exact"): [0, 1],
        stack.add("wanted", "1", detail_mode="off"): [0, 1],
        stack.add("wanted", "2", detail_mode="off"): [0, 1, 2],
        stack.add("lever", "exact"): [0, 1, 2],
        stack.add("jumpit", "9", detail_mode="off"): [0, 1, 2],
    }

    stack.tick()

    for source_id, pages in wanted.items():
        assert stack.pages(source_id) == pages
        assert stack.end_of(source_id) == SUCCESS
        assert stack.cycle(source_id)["is_complete"] == 1
        assert_follows_catalogue(stack, source_id, 1)
    assert_invariants(stack)


def test_completion_exactly_at_a_daily_limit_is_success(open_stack: OpenStack) -> None:
    """R21: pages, postings and details that just suffice."""
    stack = open_stack(source("saramin", "exact", 2 * SARAMIN_PAGE), source("jumpit", "9", 20))
    pages = stack.add("saramin", "exact", list_pages=2)
    postings = stack.add("saramin", "exact-again-220", postings=2 * SARAMIN_PAGE)
    details = stack.add("jumpit", "9", detail_requests=20)

    stack.tick()

    assert {stack.end_of(one) for one in (pages, postings, details)} == {SUCCESS}
    assert stack.cycle(details)["detail_request_count"] == 20
    assert_invariants(stack)


def test_a_source_that_is_too_large_for_a_day_ends_protected(open_stack: OpenStack) -> None:
    """R9, R24: BUDGET_EXHAUSTED keeps its cursor, closes nothing, and starts at page 0 again."""
    stack = open_stack(
        source("saramin", "everything", 620, changes={"2": {"remove": 100}}),
        DAILY_MAX_POSTINGS=500,
    )
    postings = stack.add("saramin", "everything")
    pages = stack.add("saramin", "pages-500", list_pages=3, postings=1000)

    run_days(stack, 2)

    assert stack.end_of(postings) == ("BUDGET_EXHAUSTED", "POSTINGS")
    assert stack.end_of(pages) == ("BUDGET_EXHAUSTED", "LIST_PAGES")
    assert stack.cycle(postings)["continuation_cursor"] is not None
    assert stack.cycle(postings)["fetched_count"] == 440
    assert stack.pages(postings, 1) == [*stack.pages(pages, 2), 3] == [0, 1, 2, 3]
    # 520 are left on day 2, the fifth page would still not fit.
    assert stack.end_of(postings, 2) == ("BUDGET_EXHAUSTED", "POSTINGS")
    assert {row["status"] for row in stack.postings(postings).values()} == {"OPEN"}
    assert_invariants(stack)


def test_a_whole_board_is_cut_at_the_daily_limit(open_stack: OpenStack) -> None:
    """R20: one response may exceed the slice's limit, never the day's; nothing is closed."""
    stack = open_stack(
        source("greenhouse", "big", 60), SLICE_MAX_POSTINGS=20, DAILY_MAX_POSTINGS=50
    )
    source_id = stack.add("greenhouse", "big")
    whole = stack.add("greenhouse", "small-45")

    stack.tick()

    assert stack.end_of(source_id) == ("BUDGET_EXHAUSTED", "POSTINGS")
    assert stack.cycle(source_id)["fetched_count"] == len(stack.postings(source_id)) == 50
    assert stack.end_of(whole) == SUCCESS
    assert stack.cycle(whole)["fetched_count"] == 45
    assert len(stack.requests()) == 2
    assert_invariants(stack, bodies_as_logged=False)


def test_a_backlog_of_details_is_worked_off_over_days(open_stack: OpenStack) -> None:
    """R22: 340 details at 300 a day; the list is read once a day, each detail once in all."""
    stack = open_stack(
        source("jumpit", "1", 340, changes={"2": {"add": 4, "edit": 5}}), HOST_MIN_DELAY_MS=2
    )
    source_id = stack.add("jumpit", "1")

    run_days(stack, 3)

    assert stack.end_of(source_id, 1) == ("BUDGET_EXHAUSTED", "DETAIL_REQUESTS")
    assert stack.cycle(source_id, 1)["fetched_count"] == 340
    assert stack.cycle(source_id, 1)["detail_request_count"] == 300
    assert [stack.end_of(source_id, number) for number in (2, 3)] == [SUCCESS] * 2
    details = [stack.cycle(source_id, number)["detail_request_count"] for number in (2, 3)]
    assert 40 + 4 <= details[0] <= 40 + 4 + 5
    assert details[1] == 0
    first = [record["item_id"] for record in stack.requests(source_id, 1, "detail")]
    assert first == sorted(stack.catalogue(source_id), key=int, reverse=True)[:300]
    states = {row["detail_state"] for row in stack.postings(source_id).values()}
    assert states == {"DONE"}
    for number in (1, 2, 3):
        pages = stack.pages(source_id, number)
        assert pages == sorted(set(pages)), "R22: a page was read twice"
    assert_invariants(stack)


def test_best_effort_details_let_the_cycle_complete(open_stack: OpenStack) -> None:
    """R22: leftover details wait for later days without making the day unsafe."""
    stack = open_stack(source("jumpit", "1", 40, changes={"2": {"remove": 3}}))
    source_id = stack.add("jumpit", "1", detail_mode="best_effort", detail_requests=30)

    run_days(stack, 2)

    assert [stack.end_of(source_id, number) for number in (1, 2)] == [SUCCESS] * 2
    assert stack.cycle(source_id, 1)["detail_request_count"] == 30
    assert stack.cycle(source_id, 2)["missed_count"] == 3
    assert_follows_catalogue(stack, source_id, 2)
    assert_invariants(stack)


def test_no_results_at_all_are_suspicious_and_close_nothing(open_stack: OpenStack) -> None:
    """R8, R33: complete with zero is SUCCESS, counts against the source's health, no delta."""
    stack = open_stack(
        source("saramin", "single", 1),
        source("saramin", "nothing", 0),
        source("saramin", "emptied", 30, changes={"2": {"remove": 30}}),
        source("greenhouse", "emptied", 30, changes={"2": {"remove": 30}}),
    )
    single, nothing = stack.add("saramin", "single"), stack.add("saramin", "nothing")
    emptied = [stack.add("saramin", "emptied"), stack.add("greenhouse", "emptied")]

    run_days(stack, 2)

    assert stack.cycle(single)["fetched_count"] == 1
    for source_id in (nothing, *emptied):
        cycle = stack.cycle(source_id, 2)
        ended = (cycle["cycle_status"], cycle["is_complete"], cycle["fetched_count"])
        assert ended == ("SUCCESS", 1, 0)
        assert {row["status"] for row in stack.postings(source_id).values()} <= {"OPEN"}
    health = {
        row["job_source_id"]: row["abnormal_days"]
        for row in stack.rows("SELECT * FROM job_source_health")
    }
    assert health == {single: 0, nothing: 2, emptied[0]: 1, emptied[1]: 1}
    assert_invariants(stack)


def test_a_day_that_an_older_system_ran_is_left_alone(open_stack: OpenStack) -> None:
    """R44: a runs row without a cycle means no cycle and no request on that date only."""
    stack = open_stack(source("saramin", "old", 5))
    source_id = stack.add("saramin", "old")
    stack.write(
        "INSERT INTO job_posting_collection_runs (job_source_id, run_date, run_status)"
        " VALUES (:source, :day, 'SUCCESS')",
        source=source_id,
        day=stack.day(1),
    )

    summary = stack.tick()

    assert (summary.claimed, summary.prepared) == (0, 0)
    assert not stack.requests()
    assert not stack.pipeline.dispatch.has_work()
    assert not stack.rows("SELECT * FROM job_posting_collection_cycles")
    stack.move_clock_to(utc_of_kst(stack.day(2)))
    stack.simulator.set_day(stack.day(2))
    stack.tick()
    assert stack.end_of(source_id, 2) == SUCCESS
    assert_invariants(stack)
