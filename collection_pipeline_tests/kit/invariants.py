"""What holds after any run, crash or fault (spec section 12), judged by tables and the log.

The simulator's log is the witness: an attempt's counters are compared with the requests that the
platform received, in the order in which it received them. Every broken rule is one sentence.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from collection_pipeline_tests.kit.leak_search import LeakSearch
from collection_pipeline_tests.kit.stack import Record, Row, Stack

RECEIVER_JITTER_US = 5_000
TERMINAL = "('SUCCESS', 'FAILED', 'BUDGET_EXHAUSTED')"
PAGE_REFUSING_FAULTS = frozenset({"missing_id", "missing_title"})
JUDGED_COLUMNS = ("status", "status_reason", "missed_count", "closed_at")


def assert_invariants(
    stack: Stack,
    *,
    delay_ms: int | None = None,
    bodies_as_logged: bool = True,
    secrets: Sequence[str] = (),
    texts: Sequence[str] = (),
    run_elsewhere: Collection[int] = (),
) -> None:
    """I1, I2, I5, I6, I8 and I9 over the whole stack.

    ``bodies_as_logged`` is False where something changed the bodies behind the platform;
    ``texts`` are outputs and log files in which no secret may stand; ``run_elsewhere`` are cycles
    whose runs row an older system wrote (R44).
    """
    delay = delay_ms or int(stack.environment["COLLECTION_HOST_MIN_DELAY_MS"])
    broken = [
        *one_cycle_per_source_and_day(stack),
        *leases_belong_to_running_cycles(stack),
        *terminal_cycles_left_one_run_and_no_seen_rows(stack, run_elsewhere),
        *arrivals_keep_their_distance(stack.requests(), delay),
        *counters_equal_the_log(stack, bodies_as_logged=bodies_as_logged),
        *secrets_in([stack.tables(), stack.requests(), *texts], secrets),
    ]
    assert not broken, "\n".join(broken)


def one_cycle_per_source_and_day(stack: Stack) -> list[str]:
    """I1."""
    twice = stack.rows(
        "SELECT job_source_id, run_date, COUNT(*) AS n FROM job_posting_collection_cycles"
        " GROUP BY job_source_id, run_date HAVING n > 1"
    )
    return [f"I1: {row['n']} cycles of {row['job_source_id']}, {row['run_date']}" for row in twice]


def leases_belong_to_running_cycles(stack: Stack) -> list[str]:
    """I2: RUNNING exactly where there is a lease, and a token is never given twice."""
    wrong = stack.rows(
        "SELECT id, cycle_status FROM job_posting_collection_cycles WHERE"
        " (cycle_status = 'RUNNING') <> (lease_token IS NOT NULL AND lease_until IS NOT NULL)"
    )
    tokens = Counter(
        row["lease_token"]
        for row in stack.rows(
            "SELECT lease_token FROM collection_slices UNION ALL SELECT lease_token"
            " FROM job_posting_collection_cycles WHERE lease_token IS NOT NULL"
        )
    )
    return [
        *(f"I2: cycle {row['id']} is {row['cycle_status']} against its lease" for row in wrong),
        *(f"I2: token {token} was used {n} times" for token, n in tokens.items() if n > 1),
    ]


def terminal_cycles_left_one_run_and_no_seen_rows(
    stack: Stack, run_elsewhere: Collection[int] = ()
) -> list[str]:
    """I5. A unique key keeps runs rows from being two; here none may be missing or early."""
    seen = stack.rows(
        "SELECT c.id, COUNT(*) AS n FROM job_posting_collection_cycles c"
        " JOIN job_posting_collection_seen_postings s ON s.cycle_id = c.id"
        f" WHERE c.cycle_status IN {TERMINAL} GROUP BY c.id"
    )
    found = stack.rows(
        f"SELECT c.id, c.cycle_status, c.cycle_status IN {TERMINAL} AS is_terminal,"
        " c.fetched_count, r.fetched_count AS told, COUNT(r.id) AS n"
        " FROM job_posting_collection_cycles c LEFT JOIN job_posting_collection_runs r"
        " ON r.job_source_id = c.job_source_id AND r.run_date = c.run_date"
        " GROUP BY c.id, c.cycle_status, c.fetched_count, r.fetched_count"
    )
    runs = [row for row in found if row["id"] not in run_elsewhere]
    return [
        *(f"I5: cycle {row['id']} ended and has {row['n']} seen rows" for row in seen),
        *(
            f"I5: cycle {row['id']} is {row['cycle_status']} with {row['n']} runs rows"
            for row in runs
            if row["n"] != row["is_terminal"]
        ),
        *(
            f"I5: cycle {row['id']} fetched {row['fetched_count']}, its run says {row['told']}"
            for row in runs
            if row["n"] and row["told"] != row["fetched_count"]
        ),
    ]


def arrivals_keep_their_distance(records: Iterable[Record], delay_ms: int) -> list[str]:
    """I6, by the receiver's stamps, host by host."""
    by_host: dict[str, list[int]] = defaultdict(list)
    for record in records:
        by_host[record["host_header"]].append(record["at_us"])
    least = delay_ms * 1_000 - RECEIVER_JITTER_US
    return [
        f"I6: {host} got two requests {later - sooner} us apart, the delay is {delay_ms} ms"
        for host, arrivals in by_host.items()
        for sooner, later in pairwise(sorted(arrivals))
        if later - sooner < least
    ]


def counters_equal_the_log(stack: Stack, *, bodies_as_logged: bool = True) -> list[str]:
    """I8: every attempt's counters, then the cycle's sums; what is left over was never stored."""
    broken: list[str] = []
    log = stack.requests()
    served_to: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in log:
        served_to[record["platform"], record["search_key"], record["run_date"]].append(record)
    cycles = stack.rows("SELECT * FROM job_posting_collection_cycles ORDER BY id")
    for cycle in cycles:
        name = f"cycle {cycle['id']} ({stack.sources[cycle['job_source_id']]})"
        slices = [
            row for row in stack.slices(cycle["job_source_id"]) if row["cycle_id"] == cycle["id"]
        ]
        place = stack.sources[cycle["job_source_id"]]
        served = served_to[(*place, cycle["run_date"].isoformat())]
        broken += [f"I8: {name}: {one}" for one in _sums_differ(cycle, slices)]
        broken += [f"I8: {name}: {one}" for one in _slices_differ(slices, served, bodies_as_logged)]
        stored = sum(row["list_page_count"] + row["detail_request_count"] for row in slices)
        may_lose = "LEASE_EXPIRED" in (cycle["failure_reason"], *(s["reason"] for s in slices))
        if len(served) > stored and not may_lose and cycle["cycle_status"] != "RUNNING":
            broken.append(f"I8: {name}: {len(served)} requests arrived, {stored} are stored")
    with_cycle = {(c["job_source_id"], c["run_date"].isoformat()) for c in cycles}
    places = {place: source_id for source_id, place in stack.sources.items()}
    strays = Counter((places.get((r["platform"], r["search_key"])), r["run_date"]) for r in log)
    broken += [
        f"I2: {n} requests for {place} without a cycle"
        for place, n in strays.items()
        if place not in with_cycle
    ]
    return broken


def _sums_differ(cycle: Row, slices: Sequence[Row]) -> list[str]:
    counted = {
        name: sum(row[name] for row in slices)
        for name in (
            "list_page_count",
            "fetched_count",
            "new_count",
            "updated_count",
            "detail_request_count",
            "detail_failure_count",
        )
    }
    counted["attempt_count"] = sum(
        row["list_page_count"] + row["detail_request_count"] > 0 for row in slices
    )
    return [
        f"{name} is {cycle[name]}, its slices add up to {total}"
        for name, total in counted.items()
        if cycle[name] != total
    ]


def _slices_differ(
    slices: Sequence[Row], served: Sequence[Record], bodies_as_logged: bool
) -> list[str]:
    broken: list[str] = []
    seen: set[str] = set()
    place = 0
    for row in slices:
        told = (row["list_page_count"], row["detail_request_count"])
        own = served[place : place + sum(told)]
        place += sum(told)
        kinds = Counter(record["kind"] for record in own)
        if (kinds["list"], kinds["detail"]) != told:
            broken.append(f"slice {row['id']} tells {told}, the log {dict(kinds)}")
        pages = [_ids_of(record) for record in own if record["kind"] == "list"]
        whole = set[str]().union(*pages) - seen
        # The last page of a failed slice may have been refused as a whole.
        part = set[str]().union(*pages[:-1]) - seen if row["outcome"] == "FAILED" else whole
        if bodies_as_logged and row["fetched_count"] not in (len(whole), len(part)):
            broken.append(
                f"slice {row['id']} fetched {row['fetched_count']}, served were {len(whole)}"
            )
        seen |= whole
    return broken


def _ids_of(record: Record) -> set[str]:
    faults = set((record["fault"] or "").split("+"))
    if record["status"] != 200 or faults & PAGE_REFUSING_FAULTS:
        return set()
    return set(record["ids"])


def judged(stack: Stack, source_id: int) -> dict[str, dict[str, Any]]:
    """The columns of a source's postings that only a safe end may worsen (I4)."""
    return {
        key: {name: row[name] for name in (*JUDGED_COLUMNS, "last_seen_run_date")}
        for key, row in stack.postings(source_id).items()
    }


def assert_nothing_was_judged(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]
) -> None:
    """I4: unsighted postings are as before, sighted ones are open."""
    as_new = {"status": "OPEN", "status_reason": None, "missed_count": 0, "closed_at": None}
    assert set(before) <= set(after), "R32: postings vanished"
    for key, now in after.items():
        was = before.get(key)
        unsighted = was is not None and was["last_seen_run_date"] == now["last_seen_run_date"]
        wanted = was if unsighted else {**as_new, "last_seen_run_date": now["last_seen_run_date"]}
        assert now == wanted, f"I4: posting {key} was judged by an unsafe end"


def secrets_in(holders: Iterable[object], secrets: Sequence[str]) -> list[str]:
    """I9, by ``leak_search``."""
    if not secrets:
        return []
    search = LeakSearch({f"secret {number}": one for number, one in enumerate(secrets, 1)})
    found = (search.in_text("what was written", one) for one in texts_in(holders))
    return [str(leak) for leaks in found for leak in leaks]


def texts_in(holder: object) -> Iterator[str]:
    """Every text in rows, lists and records, as it is: ``str`` of a row would escape its quotes."""
    match holder:
        case str():
            yield holder
        case bytes():
            yield holder.decode(errors="replace")
        case Mapping():
            yield from texts_in([*holder.keys(), *holder.values()])
        case Iterable():
            for one in holder:
                yield from texts_in(one)
        case _:
            yield str(holder)
